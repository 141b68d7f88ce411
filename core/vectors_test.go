package core

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
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
	files, _ := filepath.Glob("testdata/vectors/*.jsonl")
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
				t.Fatal(err)
			}
			t.Run(v.Name, func(t *testing.T) { runVector(t, v) })
		}
	}
}

func runVector(t *testing.T, v vector) {
	s, re := NewState(), NewState()
	for n, step := range v.Steps {
		m, err := readMembers(step.Command, false)
		if err != nil {
			t.Fatal(err)
		}
		verb := UnknownVerb
		if m.values["type"].Kind() == '"' {
			verb = text(m.values["type"])
		}
		at := text(m.values["at"])
		args := []byte("{")
		for _, k := range m.names {
			if k == "type" || k == "at" {
				continue
			}
			if len(args) > 1 {
				args = append(args, ',')
			}
			q, _ := jsontext.AppendQuote(nil, k)
			args = append(append(append(args, q...), ':'), m.values[k]...)
		}
		args = append(args, '}')
		d := Commit(s, Command{verb, at, args})
		if d.Refused() == step.OK {
			t.Fatalf("step %d: %s: refusal %q, want ok %v", n, step.Command, d.Refusal, step.OK)
		}
		if step.Error != nil && *step.Error != "*" && *step.Error != d.Refusal {
			t.Fatalf("step %d: refusal %q, want %q", n, d.Refusal, *step.Error)
		}
		if len(d.Events) != len(step.Events) {
			t.Fatalf("step %d %s: %d events, want %d", n, step.Command, len(d.Events), len(step.Events))
		}
		for i, e := range d.Events {
			line := AppendEvent(nil, e)
			if err := FoldLine(re, line); err != nil {
				t.Fatal(err)
			}
			if r, ok := e.(*CommandRejected); ok && step.Error != nil && *step.Error == "*" {
				c := *r
				c.Reason = "*"
				line = AppendEvent(nil, &c)
			}
			if string(line) != string(step.Events[i]) {
				t.Fatalf("step %d:\n got %s\nwant %s", n, line, step.Events[i])
			}
		}
		got := []byte("null")
		if d.Result != nil {
			got = AppendResult(nil, d.Result)
		}
		if string(got) != string(step.Result) {
			t.Fatalf("step %d:\n got %s\nwant %s", n, got, step.Result)
		}
	}
	for _, st := range []*State{s, re} {
		type short struct {
			MessageID   string  `json:"messageId"`
			DeliveredAt *string `json:"deliveredAt"`
			AckedBy     *string `json:"ackedBy"`
			AckedAt     *string `json:"ackedAt"`
			AckNote     *string `json:"ackNote"`
		}
		snap := st.Snapshot()
		ms := []short{}
		for _, m := range snap.Messages {
			ms = append(ms, short{m.MessageID, m.DeliveredAt, m.AckedBy, m.AckedAt, m.AckNote})
		}
		got, err := json.Marshal(struct {
			Counters         Counters    `json:"counters"`
			LastEventAt      *string     `json:"lastEventAt"`
			Actors           []ActorView `json:"actors"`
			Messages         []short     `json:"messages"`
			Handoffs         []string    `json:"handoffs"`
			AuthorityDenials []Denial    `json:"authorityDenials"`
			Rejections       int         `json:"rejections"`
		}{snap.Counters, snap.LastEventAt, snap.Actors, ms, snap.Handoffs, snap.AuthorityDenials, snap.Rejections})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(v.State) {
			t.Fatal(cmp.Diff(string(v.State), string(got)))
		}
		if st.Integrity().OK != v.IntegrityOK || st.Correlation().OK != v.CorrelationOK {
			t.Fatal(st.Integrity(), st.Correlation())
		}
	}
}
