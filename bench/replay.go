package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gaia/core"
	"gaia/eventlog"
	"gaia/results"
)

// The operations whose cost is held against the log's size.
const (
	// OpReference replays the log's bytes by the reference fold, which ages
	// every actor at every event.
	OpReference = "replay, reference fold"
	// OpBus replays them by the bus's own.
	OpBus = "replay, bus's fold"
	// OpValidate only asks of each line whether it is JSON: what no replay can
	// do without.
	OpValidate = "validate JSON"
	// OpTail is the read path of one call of a server that has folded the log
	// already: reading, decoding and folding what is new, spot checks included.
	OpTail = "read path of a call, tail"
	// OpReplay is the same where each call reads everything, the seed's way.
	OpReplay = "read path of a call, replay"
)

// Operations are all of them, in the order in which they are shown.
func Operations() []string { return []string{OpReference, OpBus, OpValidate, OpTail, OpReplay} }

// A ReplayGrid is the cells to measure: every size with every actor count.
type ReplayGrid struct {
	Events, Actors []int
	Trials         int // of each cell and operation
	Seed           uint64
}

// MeasureReplay measures every operation in every cell, interleaved in rounds
// in an order drawn from the seed, and hands each measurement out before the
// next. It works in dir. Identity fields of the records are the caller's.
func MeasureReplay(ctx context.Context, dir string, g ReplayGrid, each func(results.ReplayTrial) error) error {
	type cell struct {
		op             string
		events, actors int
	}
	var cells []cell
	for _, e := range g.Events {
		for _, a := range g.Actors {
			for _, op := range Operations() {
				cells = append(cells, cell{op, e, a})
			}
		}
	}
	r := rand.New(rand.NewPCG(g.Seed, 0x7265706c))
	order := 0
	for n := 1; n <= g.Trials; n++ {
		for _, i := range r.Perm(len(cells)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			c := cells[i]
			from := filepath.Join(dir, fmt.Sprintf("log-%d-%d", c.events, c.actors))
			if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
				if err := Prefill(ctx, from, Filling{Events: c.events, Actors: c.actors, MessageBytes: results.DefaultMessageBytes, Seed: g.Seed}); err != nil {
					return err
				}
			} else if err != nil {
				return err
			}
			order++
			t := results.ReplayTrial{Schema: results.Schema, Order: order, Trial: n, Start: time.Now().UTC(), Operation: c.op, Events: c.events, Actors: c.actors}
			var err error
			if t.Took, t.Bytes, err = measure(ctx, c.op, from, filepath.Join(dir, "copy")); err != nil {
				return fmt.Errorf("%s at %d events and %d actors: %w", c.op, c.events, c.actors, err)
			}
			if err := each(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func measure(ctx context.Context, op, from, scratch string) (took time.Duration, size int64, err error) {
	data, err := os.ReadFile(eventlog.Open(from, eventlog.Options{}).Path())
	if err != nil {
		return 0, 0, err
	}
	size = int64(len(data))
	switch op {
	case OpTail, OpReplay:
		// Calls append, so they get a log of their own.
		if err := os.RemoveAll(scratch); err != nil {
			return 0, 0, err
		}
		if err := CopyLog(from, scratch); err != nil {
			return 0, 0, err
		}
		took, err = readPath(ctx, scratch, op == OpReplay)
		return took, size, errors.Join(err, os.RemoveAll(scratch))
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1] // what follows the last newline is nothing
	// Three times, each after the collector is done with what came before it:
	// a replay of milliseconds would otherwise pay for its neighbour's garbage.
	var tries []float64
	for range 3 {
		runtime.GC()
		start := time.Now()
		if err := replay(op, lines); err != nil {
			return 0, 0, err
		}
		tries = append(tries, float64(time.Since(start)))
	}
	return time.Duration(results.Median(tries)), size, nil
}

// replay does one of the operations that need the log's bytes alone.
func replay(op string, lines [][]byte) error {
	switch op {
	case OpReference:
		ref := core.NewReference()
		for _, l := range lines {
			e, err := core.ParseEvent(l[:len(l)-1])
			if err != nil {
				return err
			}
			ref.Apply(e)
		}
	case OpBus:
		s := core.NewState()
		for _, l := range lines {
			if err := core.FoldLine(s, l[:len(l)-1]); err != nil {
				return err
			}
		}
	case OpValidate:
		for _, l := range lines {
			if !jsontext.Value(l).IsValid() {
				return errors.New("a prefilled line isn't JSON")
			}
		}
	default:
		return fmt.Errorf("no operation %q", op)
	}
	return nil
}

// readPath is the median of what a few calls spend on reading, decoding and
// folding. The first one, which must read everything on either path, isn't
// among them.
func readPath(ctx context.Context, dir string, replay bool) (time.Duration, error) {
	log := eventlog.Open(dir, eventlog.Options{ReplayEachCall: replay, Adoption: true})
	const calls = 5
	var took []float64
	for i := range calls + 1 {
		receipt, err := log.Update(ctx, func(s *core.State) []core.Event {
			d := core.Decide(s, core.Command{Verb: string(core.Heartbeat), At: core.FormatTime(time.Now()), Args: jsontext.Value(`{"actorId":"act-0001"}`)})
			return d.Events
		})
		if err != nil {
			return 0, err
		}
		if i > 0 {
			p := receipt.Phases
			took = append(took, float64(p[eventlog.StepRead]+p[eventlog.StepFold]))
		}
	}
	return time.Duration(max(results.Median(took), 1)), nil
}

// Costs are the records of one operation, as [Explain] takes them.
func Costs(trials []results.ReplayTrial, op string) []Cost {
	var out []Cost
	for _, t := range trials {
		if t.Operation == op {
			out = append(out, Cost{t.Events, t.Actors, t.Took.Seconds()})
		}
	}
	return out
}
