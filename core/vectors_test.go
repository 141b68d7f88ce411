package core

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

type vector struct {
	Name  string `json:"name"`
	Steps []struct {
		Command jsontext.Value   `json:"command"`
		OK      bool             `json:"ok"`
		Error   *string          `json:"error"`
		Events  []jsontext.Value `json:"events"`
		Result  jsontext.Value   `json:"result"`
	} `json:"steps"`
	State         jsontext.Value `json:"state"`
	IntegrityOK   bool           `json:"integrityOk"`
	CorrelationOK bool           `json:"correlationOk"`
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	if dir := os.Getenv("GAIA_VECTORS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(more) == 0 {
			t.Fatalf("GAIA_VECTORS: no *.jsonl in %q (%v)", dir, err)
		}
		files = append(files, more...)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(bytes.NewReader(b))
		sc.Buffer(nil, 1<<24)
		for sc.Scan() {
			var v vector
			if err := json.Unmarshal(sc.Bytes(), &v, jsontext.AllowInvalidUTF8(true)); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			t.Run(v.Name, func(t *testing.T) {
				if err := runVector(v); err != nil {
					t.Fatal(err)
				}
			})
		}
		if err := sc.Err(); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
}

// command takes a vector's command apart: its type is the verb, its at the
// instant, the rest the arguments as they stand.
func command(raw jsontext.Value) (Command, error) {
	m, err := readMembers(raw, true)
	if err != nil {
		return Command{}, err
	}
	c := Command{Verb: UnknownVerb, Args: jsontext.Value("{")}
	for _, name := range m.names {
		switch v := m.values[name]; {
		case name == "type":
			if v.Kind() == '"' {
				c.Verb = text(v)
			}
		case name == "at":
			c.At = text(v)
		default:
			if len(c.Args) > 1 {
				c.Args = append(c.Args, ',')
			}
			if c.Args, err = jsontext.AppendQuote(c.Args, name); err != nil {
				return Command{}, err
			}
			c.Args = append(append(c.Args, ':'), v...)
		}
	}
	c.Args = append(c.Args, '}')
	return c, nil
}

// vectorState is the part of a snapshot that vectors tell, in their order.
func vectorState(n Snapshot) string {
	type message struct {
		MessageID   string  `json:"messageId"`
		DeliveredAt *string `json:"deliveredAt"`
		AckedBy     *string `json:"ackedBy"`
		AckedAt     *string `json:"ackedAt"`
		AckNote     *string `json:"ackNote"`
	}
	messages := []message{}
	for _, m := range n.Messages {
		messages = append(messages, message{m.MessageID, m.DeliveredAt, m.AckedBy, m.AckedAt, m.AckNote})
	}
	return string(appendJSON(nil, struct {
		Counters         Counters    `json:"counters"`
		LastEventAt      *string     `json:"lastEventAt"`
		Actors           []ActorView `json:"actors"`
		Messages         []message   `json:"messages"`
		Handoffs         []string    `json:"handoffs"`
		AuthorityDenials []Denial    `json:"authorityDenials"`
		Rejections       int         `json:"rejections"`
	}{n.Counters, n.LastEventAt, n.Actors, messages, n.Handoffs, n.AuthorityDenials, n.Rejections}))
}

func runVector(v vector) error {
	live, replayed := NewState(), NewState()
	for n, step := range v.Steps {
		c, err := command(step.Command)
		if err != nil {
			return fmt.Errorf("step %d: %s: %w", n+1, step.Command, err)
		}
		d := Commit(live, c)
		fail := func(what string, got, want any) error {
			return fmt.Errorf("step %d: %s\n%s:\n got %v\nwant %v", n+1, step.Command, what, got, want)
		}
		if d.Refused() == step.OK {
			return fail("ok", !d.Refused(), step.OK)
		}
		ownWords := step.Error != nil && *step.Error == "*"
		if step.Error != nil && !ownWords && *step.Error != d.Refusal {
			return fail("error", d.Refusal, *step.Error)
		}
		if len(d.Events) != len(step.Events) {
			return fail("events", len(d.Events), len(step.Events))
		}
		for i, e := range d.Events {
			line := AppendEvent(nil, e)
			if err := FoldLine(replayed, line); err != nil {
				return fail("event", err, string(line))
			}
			if r, ok := e.(*CommandRejected); ok && ownWords {
				if r.Reason != d.Refusal {
					return fail("reason", r.Reason, d.Refusal)
				}
				line = AppendEvent(nil, &CommandRejected{r.Type, r.At, r.Command, "*"})
			}
			if string(line) != string(step.Events[i]) {
				return fail("event", string(line), string(step.Events[i]))
			}
		}
		result := "null"
		if d.Result != nil {
			result = string(AppendResult(nil, d.Result))
		}
		if result != string(step.Result) {
			return fail("result", result, string(step.Result))
		}
	}
	for how, s := range map[string]*State{"live": live, "replayed": replayed} {
		if got := vectorState(s.Snapshot()); got != string(v.State) {
			return fmt.Errorf("%s state: %s", how, cmp.Diff(string(v.State), got))
		}
		if i, c := s.Integrity(), s.Correlation(); i.OK != v.IntegrityOK || c.OK != v.CorrelationOK {
			return fmt.Errorf("%s: integrity %+v, want ok %v; correlation %+v, want ok %v", how, i, v.IntegrityOK, c, v.CorrelationOK)
		}
	}
	return nil
}

// A runner that passes whatever it is given would prove nothing.
func TestVectorRunnerRejectsAForgedVector(t *testing.T) {
	const good = `{"name":"forged","steps":[{"command":{"at":"2026-09-15T23:52:42.764Z","type":"register","actorId":"a"},"ok":true,"error":null,` +
		`"events":[{"type":"actor.registered","at":"2026-09-15T23:52:42.764Z","ref":"act-0001","name":"a","isNew":true,"kind":"unknown","declaredCapabilities":[],"busAuthority":["send","receive","ack","heartbeat","handoff"]}],` +
		`"result":{"ref":"act-0001","name":"a","busAuthority":["send","receive","ack","heartbeat","handoff"],"nameSharedWith":[],"addressing":"addressable as \"a\" or act-0001"}}],` +
		`"state":{"counters":{"actor":1,"message":0,"correlation":0,"event":1},"lastEventAt":"2026-09-15T23:52:42.764Z","actors":[{"ref":"act-0001","name":"a","kind":"unknown","declaredCapabilities":[],"busAuthority":["send","receive","ack","heartbeat","handoff"],"registeredAt":"2026-09-15T23:52:42.764Z","lastSeenAt":"2026-09-15T23:52:42.764Z","status":"online","heartbeats":0,"nameSharedWith":[],"pending":[]}],"messages":[],"handoffs":[],"authorityDenials":[],"rejections":0},"integrityOk":true,"correlationOk":true}`
	run := func(text string) error {
		var v vector
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return runVector(v)
	}
	if err := run(good); err != nil {
		t.Fatalf("the vector that the forgeries are made from: %v", err)
	}
	for _, forgery := range [][2]string{
		{`"isNew":true,"kind"`, `"isNew":false,"kind"`}, {`"ok":true`, `"ok":false`}, {`"addressable as`, `"Addressable as`}, {`"rejections":0`, `"rejections":1`},
		{`"integrityOk":true`, `"integrityOk":false`}, {`"correlationOk":true`, `"correlationOk":false`}, {`"actorId":"a"`, `"actorId":"b"`},
		{`"status":"online"`, `"status":"stale"`}, {`"heartbeats":0,`, ``}, {`"events":[`, `"events":[{},`},
	} {
		forged := strings.Replace(good, forgery[0], forgery[1], 1)
		if forged == good {
			t.Fatalf("%s is not in the vector", forgery[0])
		}
		if run(forged) == nil {
			t.Errorf("passed with %s in the place of %s", forgery[1], forgery[0])
		}
	}
}
