package core

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Random logs for the property tests: commands of every verb, good and bad,
// and between them lines that another hand wrote.

type source interface{ IntN(n int) int }

func pick[T any](r source, from ...T) T { return from[r.IntN(len(from))] }

var someNames = []string{"gaia", "builder", "reviewer", " builder ", "审查", "a\"b", "__proto__", "tab\tin", "<b>&amp;", "line\u2028sep", "act-7", ""}

func someAddress(r source, s *State) string {
	if len(s.actors) > 0 && r.IntN(5) > 0 {
		return s.actors[r.IntN(len(s.actors))].ref
	}
	return pick(r, someNames...)
}

func someCommand(r source, s *State, at string) Command {
	args := map[string]any{}
	put := func(odds int, name string, v any) {
		if r.IntN(100) < odds {
			args[name] = v
		}
	}
	verb := pick(r, "register", "send", "send", "send", "inbox", "ack", "heartbeat", "handoff", "merge")
	text := pick(r, "Please merge this.", "ok", "multi\nline", "ctl \x01\b\f\x1f\x7f", "emoji 🎸", "  ", "u2028\u2028", strings.Repeat("x", 500), `quote " \ end`)
	switch verb {
	case "register":
		put(97, "actorId", pick(r, someNames...))
		put(50, "kind", pick(r, "codex", "claude-code", " ", "worker"))
		put(60, "capabilities", []string{pick(r, "cwd=C:/repos/ga", `cwd=c:\repos\ga\`, "cwd=/srv/x", " "), pick(r, "branch=main", "branch=Main", "observe")})
		put(40, "ref", someAddress(r, s))
	case "inbox":
		put(97, "actorId", someAddress(r, s))
		put(20, "after", mint("msg-", int64(r.IntN(8))))
	case "ack":
		put(97, "actorId", someAddress(r, s))
		put(97, "messageId", mint("msg-", int64(r.IntN(12))))
		put(50, "note", text)
	case "heartbeat":
		put(97, "actorId", someAddress(r, s))
		put(50, "note", text)
	default:
		put(97, "from", someAddress(r, s))
		put(97, "to", someAddress(r, s))
		put(97, map[string]string{"send": "text", "handoff": "summary", "merge": "text"}[verb], text)
		put(30, "replyTo", someAddress(r, s))
		put(50, "correlationId", pick(r, "cor-review", "cor-7", "cor-0042", "cor-999999", "cor-9007199254740990", "thread", " cor-0003 "))
		put(30, "expectsReply", r.IntN(2) == 0)
		put(40, "requestedAuthority", []any{pick(r, "draft", "report", "merge", "Read", " read "), pick[any](r, "approve", "suggest", 7, " ")})
		put(20, "idempotencyKey", pick(r, "k1", "k2", ""))
	}
	put(2, "requested_authority", true)
	raw, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return Command{verb, at, raw}
}

// foreignLine is a readable line that this bus would not have written here.
func foreignLine(r source, at string) string {
	ref := func() string { return mint("act-", int64(r.IntN(9))) }
	// Small ids, so that some are borne twice.
	msg := func() string {
		return pick(r, mint("msg-", int64(r.IntN(5))), mint("msg-", int64(r.IntN(15))), "msg-1", "msg-x", "msg-00007", "msg-9007199254740991")
	}
	return strings.ReplaceAll(pick(r,
		`{"type":"bus.compacted","at":"AT","note":"a type of another time"}`,
		`{"type":"bus.compacted"}`,
		`{"type":"Actor.Registered","at":7}`,
		fmt.Sprintf(`{"at":"AT","type":"actor.heartbeat","actorId":"%s","note":null,"mood":["fine"]}`, ref()),
		fmt.Sprintf(`{"type":"actor.heartbeat","at":"2026-09-15T23:41:09Z","actorId":"%s","note":"\ud800 lone"}`, ref()),
		fmt.Sprintf(`{"type":"actor.registered","at":"AT","ref":"%s","name":"%s","isNew":%v,"kind":"k","declaredCapabilities":[],"busAuthority":["send","merge"]}`, ref(), pick(r, "builder", "gaia", ""), r.IntN(2) == 0),
		fmt.Sprintf(`{"type":"inbox.polled","at":"AT","actorId":"%s","messageIds":["%s","%s"]}`, ref(), msg(), msg()),
		fmt.Sprintf(`{"type":"message.acked","at":"%s","actorId":"%s","messageId":"%s","note":null}`, pick(r, "AT", "", "yesterday"), pick(r, ref(), ""), msg()),
		fmt.Sprintf(`{"type":"work.handed-off","at":"AT","from":"%s","to":"%s","messageId":"%s","correlationId":"x","replyTo":"%s","summary":"s","authorityTransferred":["approve"]}`, ref(), ref(), msg(), ref()),
		fmt.Sprintf(`{"type":"message.sent","at":"AT","message":{"messageId":"%s","correlationId":"%s","from":"%s","fromName":"f","to":"%s","toName":"t","replyTo":"%s","replyToName":"r","expectsReply":false,"kind":"note","text":"t\u0041","trust":"%s","authority":{"granted":["merge"],"denied":[],"effect":"%s","neverGrantable":[]},"flags":[%s],"sentAt":"%s","delivery":"d","deliveredAt":%s,"ackedBy":%s,"ackedAt":%s}}`,
			msg(), pick(r, "cor-3", "cor-0003", "cor-9007199254740991", "cor-99999999999999999999", ""), ref(), ref(), ref(), pick(r, "untrusted-text", "trusted"), pick(r, "none", "all"),
			pick(r, ``, `"a","b"`, `"authority-language-detected"`), pick(r, "AT", "noon"), pick(r, "null", `"AT"`, `""`), pick(r, "null", `"act-0001"`, `""`), pick(r, "null", `"AT"`)),
	), "AT", at)
}

// randomLog is a log of n steps or so, whole lines without their newlines.
func randomLog(seed uint64, n int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	s := NewState()
	now := time.Date(2026, 9, 15, 23, 41, 9, 954e6, time.UTC)
	var lines [][]byte
	for range n {
		now = now.Add(time.Duration(r.IntN(9000)-500) * time.Millisecond)
		if r.IntN(10) == 0 {
			line := []byte(foreignLine(r, FormatTime(now)))
			if err := FoldLine(s, line); err != nil {
				panic(fmt.Sprintf("%s: %v", line, err))
			}
			lines = append(lines, line)
			continue
		}
		for _, e := range Commit(s, someCommand(r, s, FormatTime(now))).Events {
			lines = append(lines, AppendEvent(nil, e))
		}
	}
	return lines
}
