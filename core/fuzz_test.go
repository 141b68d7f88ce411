package core

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// Any bytes are read or refused, never worse; the two ways through a line
// agree; what is parsed from our own bytes is written as the same bytes.
func FuzzFoldLine(f *testing.F) {
	for _, line := range randomLog(1, 60) {
		f.Add(line)
	}
	for _, line := range []string{
		``, ` `, `null`, `{}`, `[]`, `{"type":7}`, `{"Type":"x"}`, `{"type":"x"} {}`, `{"type":"x","type":"y"}`, "\ufeff{\"type\":\"x\"}", "{\"type\":\"x\xff\"}",
		`{"type":"actor.heartbeat","at":"x"}`, `{"type":"actor.heartbeat","at":"x","actorId":"\ud800","note":null}`, `{"type":"message.sent","at":"x","message":{}}`,
		`{"type":"inbox.polled","at":"2026-09-15T23:41:48.115Z","actorId":"act-0003","messageIds":["msg-0002",]}`,
		`{"type":"actor.heartbeat","at":"2026-02-29T23:41:48.115Z","actorId":"act-0003","note":"a` + "\x01" + `"}`,
		messageLine(`x\"y`, "msg-0001", `x"y`), messageLine(`\t`, "msg-0001", "\t"), messageLine(`a\\n`, "msg-0001", `a\n`),
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		base := func() *State {
			s := NewState()
			for _, l := range randomLog(3, 12) {
				if err := FoldLine(s, l); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}
		short, long := base(), base()
		err := FoldLine(short, line)
		e, longErr := ParseEvent(line)
		if (err == nil) != (longErr == nil) {
			t.Fatalf("FoldLine says %v, ParseEvent says %v", err, longErr)
		}
		if err != nil {
			return
		}
		Apply(long, e)
		if diff := cmp.Diff(snapshotJSON(long.Snapshot()), snapshotJSON(short.Snapshot())); diff != "" {
			t.Fatalf("the short way differs: %s", diff)
		}
		if diff := cmp.Diff(long.findings, short.findings) + cmp.Diff(long.keys, short.keys); diff != "" {
			t.Fatalf("the short way finds or binds other things: %s", diff)
		}
		written := AppendEvent(nil, e)
		if _, unknown := e.(*UnknownEvent); !unknown {
			back, err := ParseEvent(written)
			if err != nil {
				t.Fatalf("%s: %v", written, err)
			}
			if again := AppendEvent(nil, back); string(again) != string(written) {
				t.Fatalf("not stable:\n%s\n%s", written, again)
			}
		}
	})
}

// messageLine is a line as we write it, but for three JSON strings that are
// put in as they stand.
func messageLine(at, id, sentAt string) string {
	e := &MessageSent{Type: "message.sent", At: "AT", Message: Message{MessageID: "ID", CorrelationID: "x", From: "act-0001", FromName: "a", To: "act-0001",
		ToName: "a", ReplyTo: "act-0001", ReplyToName: "a", Kind: "note", Text: "t", Trust: trustLabel,
		Authority: Authority{noStrings, noStrings, "none", neverGrantable}, Flags: noStrings, SentAt: "SENT", Delivery: delivery}}
	return strings.NewReplacer("AT", at, "ID", id, "SENT", sentAt).Replace(string(AppendEvent(nil, e)))
}

// Any arguments are decided, and what is decided can be read back.
func FuzzDecide(f *testing.F) {
	seed := NewState()
	for _, l := range randomLog(3, 12) {
		if err := FoldLine(seed, l); err != nil {
			f.Fatal(err)
		}
	}
	src := drawnFrom{n: 5}
	for range 40 {
		c := someCommand(&src, seed, "2026-09-16T00:00:00.000Z")
		f.Add(c.Verb, []byte(c.Args))
	}
	f.Add("send", []byte(`{"from":"\ud800"}`))
	f.Add("send", []byte("\xff"))
	f.Add("mer\xffge", []byte(`7`))
	f.Fuzz(func(t *testing.T, verb string, raw []byte) {
		s := NewState()
		for _, l := range randomLog(3, 12) {
			if err := FoldLine(s, l); err != nil {
				t.Fatal(err)
			}
		}
		d := Commit(s, Command{verb, "2026-09-16T00:00:00.000Z", raw})
		if d.Refused() == (d.Result != nil) {
			t.Fatalf("refusal %q and result %v", d.Refusal, d.Result)
		}
		if d.Refused() && len(d.Refusal) > 2000 {
			t.Fatalf("a refusal of %d bytes", len(d.Refusal))
		}
		for _, e := range d.Events {
			line := AppendEvent(nil, e)
			if !utf8.Valid(line) || !jsontext.Value(line).IsValid() {
				t.Fatalf("wrote %q", line)
			}
			if _, err := ParseEvent(line); err != nil {
				t.Fatalf("wrote what can't be read back: %s: %v", line, err)
			}
		}
	})
}

// drawnFrom is a plain source of choices for seeding a corpus.
type drawnFrom struct{ n int }

func (d *drawnFrom) IntN(n int) int {
	d.n = (d.n*1103515245 + 12345) & 0x7fffffff
	return (d.n >> 8) % n
}
