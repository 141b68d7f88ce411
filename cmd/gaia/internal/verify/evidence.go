package verify

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
)

// The names of the checks of a log.
const (
	replayable       = "replayable"
	deterministic    = "deterministic replay"
	noTransfer       = "no handoff transferred authority"
	noGrant          = "no message was granted a privileged authority"
	labelled         = "every body is labelled untrusted-text"
	mintedAddresses  = "every address in the log belongs to an actor this bus minted"
	correlationRange = "every correlation id is inside the issuer range"
	correlationRoom  = "the correlation issuer still has room to mint"
	frozenAuthority  = "every actor.registered carries the frozen busAuthority"

	threeActors   = "at least three actors"
	twoKinds      = "more than one actor kind"
	threadOfThree = "a correlated thread of three or more messages"
	oneAck        = "at least one acknowledgement"
	oneHandoff    = "at least one handoff"
)

// examine makes the fourteen checks of one log.
func examine(lines [][]byte) []Check {
	first, err := fold(lines)
	if err != nil {
		// Without a state no other question can be asked: none is passed.
		var checks []Check
		for _, name := range []string{replayable, deterministic, noTransfer, noGrant, labelled, mintedAddresses, correlationRange,
			correlationRoom, frozenAuthority, threeActors, twoKinds, threadOfThree, oneAck, oneHandoff} {
			checks = append(checks, Check{name, false, err.Error()})
		}
		return checks
	}
	second, err := fold(lines)
	same := err == nil && bytes.Equal(snapshot(first), snapshot(second))
	f := gather(lines)
	integrity, room := first.Integrity(), first.Correlation()
	frozen := core.BusAuthority()
	slices.Sort(frozen)
	frozenJSON, _ := json.Marshal(frozen) // strings of ours

	detail := text.Count(len(lines), "event")
	if others := len(integrity.Findings); others > 0 {
		detail += ", " + text.Count(others, "integrity finding") + " (gaia doctor lists them)"
	}
	widest, size := f.widestThread()
	return []Check{
		{replayable, true, detail},
		holds(deterministic, same, "replay(events) == replay(events)"),
		fromOffenders(noTransfer, f.transfers, "authorityTransferred is [] on every handoff"),
		fromOffenders(noGrant, f.grants, "grants stay inside the allowlist"),
		fromOffenders(labelled, f.unlabelled, "%s", text.Count(f.messages, "message")),
		fromOffenders(mintedAddresses, subjects(integrity, core.FindingUnmintedAddress), "%s, all minted", text.Count(len(f.actors), "actor")),
		fromOffenders(correlationRange, subjects(integrity, core.FindingCorrelationRange), "%s, all within range", text.Count(len(f.threads), "thread")),
		holds(correlationRoom, room.OK, "the issuer is at %d with %d ids of runway left", room.Issued, room.Runway),
		fromOffenders(frozenAuthority, f.widened, "%s, all %s", text.Count(f.registrations, "registration"), frozenJSON),

		holds(threeActors, len(f.actors) >= 3, "%s", text.Count(len(f.actors), "actor")),
		holds(twoKinds, len(f.kinds) > 1, "kinds: %s", cmp.Or(strings.Join(f.kinds, ", "), "none")),
		holds(threadOfThree, size >= 3, "widest thread %s has %s", widest, text.Count(size, "message")),
		holds(oneAck, f.acks > 0, "%d acked", f.acks),
		holds(oneHandoff, f.handoffs > 0, "%s", text.Count(f.handoffs, "handoff")),
	}
}

func fold(lines [][]byte) (*core.State, error) {
	s := core.NewState()
	for i, line := range lines {
		if err := core.FoldLine(s, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return s, nil
}

func snapshot(s *core.State) []byte {
	b, err := json.Marshal(s.Snapshot(), json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}

func subjects(r core.IntegrityReport, code string) []string {
	var found []string
	for _, f := range r.Findings {
		if f.Code == code && !slices.Contains(found, f.Subject) {
			found = append(found, f.Subject)
		}
	}
	return found
}

// fromOffenders passes when there are none, and else names the first few.
func fromOffenders(name string, offenders []string, format string, args ...any) Check {
	if len(offenders) == 0 {
		return holds(name, true, format, args...)
	}
	shown := strings.Join(offenders[:min(len(offenders), 3)], ", ")
	if more := len(offenders) - 3; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return Check{name, false, shown}
}

// facts are read from the records themselves and not from the state, so that
// the fold can't hide what a record says.
type facts struct {
	actors, kinds, threads                 []string
	threadSize                             map[string]int
	messages, registrations                int
	acks, handoffs                         int
	transfers, grants, unlabelled, widened []string // offenders
}

func gather(lines [][]byte) facts {
	f := facts{threadSize: make(map[string]int)}
	kindOf := make(map[string]string)
	for _, line := range lines {
		e, err := core.ParseEvent(line)
		if err != nil {
			continue // the fold has said so
		}
		switch e := e.(type) {
		case *core.ActorRegistered:
			f.registrations++
			if _, known := kindOf[e.Ref]; !known {
				f.actors = append(f.actors, e.Ref)
			}
			kindOf[e.Ref] = e.Kind
			if !slices.Equal(e.BusAuthority, core.BusAuthority()) {
				f.widened = append(f.widened, fmt.Sprintf("%s carries %q", e.Ref, e.BusAuthority))
			}
		case *core.MessageSent:
			f.message(&e.Message)
		case *core.MessageAcked:
			f.acks++
		case *core.WorkHandedOff:
			f.handoffs++
			if len(e.AuthorityTransferred) > 0 {
				f.transfers = append(f.transfers, fmt.Sprintf("%s transferred %q", e.MessageID, e.AuthorityTransferred))
			}
		}
	}
	for _, ref := range f.actors {
		if kind := kindOf[ref]; !slices.Contains(f.kinds, kind) {
			f.kinds = append(f.kinds, kind)
		}
	}
	return f
}

func (f *facts) message(m *core.Message) {
	f.messages++
	if f.threadSize[m.CorrelationID]++; f.threadSize[m.CorrelationID] == 1 {
		f.threads = append(f.threads, m.CorrelationID)
	}
	if m.Trust != "untrusted-text" {
		f.unlabelled = append(f.unlabelled, fmt.Sprintf("%s is labelled %q", m.MessageID, m.Trust))
	}
	outside := slices.DeleteFunc(slices.Clone(m.Authority.Granted), func(word string) bool { return slices.Contains(core.Grantable(), word) })
	if len(outside) > 0 || m.Authority.Effect != "none" {
		f.grants = append(f.grants, fmt.Sprintf("%s was granted %q with effect %q", m.MessageID, outside, m.Authority.Effect))
	}
}

func (f *facts) widestThread() (name string, size int) {
	name = "none"
	for _, id := range f.threads {
		if f.threadSize[id] > size {
			name, size = id, f.threadSize[id]
		}
	}
	return name, size
}

// controls prove that the checks can fail: each is the built-in exchange with
// one thing changed, and must be rejected by the check that is named for it.
func controls() []Check {
	return []Check{
		control("negative control: a synthetic single-actor log is rejected", threeActors, func(e core.Event) {
			if r, ok := e.(*core.ActorRegistered); ok {
				r.Ref, r.IsNew = "act-0001", r.Ref == "act-0001"
			}
		}),
		control("negative control: a widened busAuthority is rejected", frozenAuthority, func(e core.Event) {
			if r, ok := e.(*core.ActorRegistered); ok {
				r.BusAuthority = append(r.BusAuthority, "merge")
			}
		}),
		control("negative control: a tampered handoff is rejected", noTransfer, func(e core.Event) {
			if h, ok := e.(*core.WorkHandedOff); ok {
				h.AuthorityTransferred = []string{"approve"}
			}
		}),
	}
}

func control(name, by string, tamper func(core.Event)) Check {
	good, err := exchange(nil)
	if err == nil && slices.ContainsFunc(examine(good), func(c Check) bool { return !c.OK }) {
		err = errors.New("the built-in good log doesn't pass, so its rejection would prove nothing")
	}
	var bad [][]byte
	if err == nil {
		bad, err = exchange(tamper)
	}
	if err != nil {
		return Check{name, false, err.Error()}
	}
	var rejectedBy []string
	for _, c := range examine(bad) {
		if !c.OK {
			rejectedBy = append(rejectedBy, c.Name)
		}
	}
	if !slices.Contains(rejectedBy, by) {
		return Check{name, false, fmt.Sprintf("not rejected by %q", by)}
	}
	return Check{name, true, strings.Join(rejectedBy, "; ")}
}

// exchange is the built-in good log: three actors of three kinds, one thread,
// a poll, an acknowledgement and a handoff. tamper changes each event before it is
// written.
func exchange(tamper func(core.Event)) ([][]byte, error) {
	s := core.NewState()
	var lines [][]byte
	for i, call := range []struct{ verb, args string }{
		{"register", `{"actorId":"gaia","kind":"coordinator"}`},
		{"register", `{"actorId":"builder","kind":"claude-code"}`},
		{"register", `{"actorId":"reviewer","kind":"codex"}`},
		{"send", `{"from":"gaia","to":"builder","text":"Add the test.","correlationId":"cor-control"}`},
		{"send", `{"from":"builder","to":"reviewer","text":"Please merge this.","correlationId":"cor-control","requestedAuthority":["merge"]}`},
		{"inbox", `{"actorId":"reviewer"}`},
		{"ack", `{"actorId":"reviewer","messageId":"msg-0002"}`},
		{"handoff", `{"from":"builder","to":"reviewer","summary":"Review only.","correlationId":"cor-control"}`},
	} {
		at := fmt.Sprintf("2026-01-01T00:00:%02d.000Z", i)
		d := core.Commit(s, core.Command{Verb: call.verb, At: at, Args: []byte(call.args)})
		if d.Refused() {
			return nil, fmt.Errorf("the built-in exchange was refused: %s", d.Refusal)
		}
		for _, e := range d.Events {
			if tamper != nil {
				tamper(e)
			}
			lines = append(lines, core.AppendEvent(nil, e))
		}
	}
	return lines, nil
}
