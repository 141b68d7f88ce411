package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"gaia/core"
	"gaia/eventlog"
)

// A Filling says what a prefilled log holds.
type Filling struct {
	Events       int // exactly so many records
	Actors       int // registered first; at least 1
	MessageBytes int // of each body
	Seed         uint64
	// Unacked leaves every message waiting: what a fold must keep in memory is
	// then at its largest.
	Unacked bool
}

// Prefill writes a data directory whose log holds f's records, decided one by
// one by the reducer, as if its actors had lived there: the same filling gives
// the same bytes. Dir must hold no log.
func Prefill(ctx context.Context, dir string, f Filling) error {
	if f.Events < 1 || f.Actors < 1 || f.Actors > f.Events {
		return fmt.Errorf("a log of %d events can't have %d actors", f.Events, f.Actors)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(eventlog.Open(dir, eventlog.Options{}).Path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	var line []byte
	err = Generate(f, func(e core.Event) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		line = append(core.AppendEvent(line[:0], e), '\n')
		_, err := w.Write(line)
		return err
	})
	// Synced here, so that no trial pays for it.
	return errors.Join(err, w.Flush(), file.Sync(), file.Close())
}

// Generate hands f's events to each, in order.
func Generate(f Filling, each func(core.Event) error) error {
	g := &generator{
		state: core.NewState(), rng: rand.New(rand.NewPCG(f.Seed, 0x70726566)), each: each, left: f.Events,
		clock:   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		waiting: make([][]string, f.Actors),
	}
	for i := range f.Actors {
		if err := g.do(core.Register, map[string]any{"actorId": fmt.Sprintf("prefill-%04d", i+1), "kind": "prefill"}); err != nil {
			return err
		}
	}
	for g.left > 0 {
		if err := g.step(f); err != nil {
			return err
		}
	}
	return nil
}

type generator struct {
	state   *core.State
	rng     *rand.Rand
	clock   time.Time
	each    func(core.Event) error
	left    int
	waiting [][]string // by actor, what it hasn't acked
}

// step makes one call of the mix. As many messages are acked as sent in the
// long run, so that inboxes stay as short as those of agents that read them.
func (g *generator) step(f Filling) error {
	from, to := g.rng.IntN(f.Actors), g.rng.IntN(f.Actors)
	roll := g.rng.IntN(100)
	switch ref := ref(from); {
	case roll < 35:
		return g.send(core.Send, from, to, "text", f)
	case roll < 40 && g.left >= 2:
		return g.send(core.Handoff, from, to, "summary", f)
	case roll < 80 && len(g.waiting[from]) > 0 && !f.Unacked:
		id := g.waiting[from][0]
		g.waiting[from] = g.waiting[from][1:]
		return g.do(core.Ack, map[string]any{"actorId": ref, "messageId": id})
	case roll < 90 && !f.Unacked:
		return g.do(core.Inbox, map[string]any{"actorId": ref})
	case f.Unacked:
		return g.send(core.Send, from, to, "text", f)
	default:
		return g.do(core.Heartbeat, map[string]any{"actorId": ref})
	}
}

func ref(actor int) string { return fmt.Sprintf("act-%04d", actor+1) }

func (g *generator) send(verb core.Verb, from, to int, body string, f Filling) error {
	n := max(f.MessageBytes, 1)
	text := fmt.Sprintf("%016x ", g.rng.Uint64())
	text = strings.Repeat(text, n/len(text)+1)[:n]
	return g.do(verb, map[string]any{"from": ref(from), "to": ref(to), body: text})
}

// do decides one command, hands out its events and notes what it sent.
func (g *generator) do(verb core.Verb, args map[string]any) error {
	raw, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		return err
	}
	g.clock = g.clock.Add(time.Duration(20+g.rng.IntN(60)) * time.Millisecond)
	d := core.Commit(g.state, core.Command{Verb: string(verb), At: core.FormatTime(g.clock), Args: jsontext.Value(raw)})
	if d.Refused() {
		return fmt.Errorf("prefill: the bus refused %s %s: %s", verb, raw, d.Refusal)
	}
	for _, e := range d.Events {
		if m, ok := e.(*core.MessageSent); ok {
			var to int
			if _, err := fmt.Sscanf(m.Message.To, "act-%d", &to); err != nil {
				return fmt.Errorf("prefill: the bus minted the ref %q", m.Message.To)
			}
			g.waiting[to-1] = append(g.waiting[to-1], m.Message.MessageID)
		}
		if err := g.each(e); err != nil {
			return err
		}
		g.left--
	}
	return nil
}

// CopyLog copies the log of the data directory from into to, which it makes:
// trials of one arm start from the same bytes.
func CopyLog(from, to string) error {
	data, err := os.ReadFile(eventlog.Open(from, eventlog.Options{}).Path())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(eventlog.Open(to, eventlog.Options{}).Path(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
