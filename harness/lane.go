package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Lane is the body of the hidden `gaia lab lane`: it reads its order from in,
// starts its server, registers, reports ready, waits for the others, works,
// and reports; or it starts a real client once all are ready. It returns when
// its server has ended: nil after a whole report, an error when in ended early
// or ctx was cancelled (the lab has given up). A server that doesn't start is
// reported to the lab and is no error here.
func Lane(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := bufio.NewReader(in)
	var o order
	if err := hear(r, &o); err != nil {
		return fmt.Errorf("a lane is started by gaia lab run, which tells it what to do: %w", err)
	}
	if len(o.Server) == 0 && len(o.Client) == 0 || o.Work == "" {
		return errors.New("a lane is started by gaia lab run, which tells it what to do: this order names no server or no work folder")
	}
	// The rest of the input is one line to begin, and its end, which may come
	// at any time.
	begins := make(chan begin, 1)
	go func() {
		for {
			var b begin
			if err := hear(r, &b); err != nil {
				cancel(errors.New("the lab has ended"))
				return
			}
			begins <- b
		}
	}()

	wait := func() (b begin, err error) {
		select {
		case b = <-begins:
			return b, nil
		case <-ctx.Done():
			return b, context.Cause(ctx)
		}
	}
	if len(o.Client) > 0 {
		if err := tell(out, report{Ready: &ready{}}); err != nil {
			return err
		}
		b, err := wait()
		if err != nil {
			return err
		}
		rep, err := runClient(ctx, &o, b.At)
		if err != nil {
			return err
		}
		return tell(out, rep)
	}
	l := &lane{order: o}
	defer l.close()
	if err := l.open(ctx); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var s *serverError
		f := failed{Reason: printable(err.Error())}
		if errors.As(err, &s) {
			f = failed{Reason: printable(s.error.Error()), Stderr: s.stderr}
		}
		return tell(out, report{Failed: &f})
	}
	if err := tell(out, report{Ready: &ready{Ref: l.ref, Version: l.server.version}}); err != nil {
		return err
	}
	b, err := wait()
	if err != nil {
		return err
	}
	// What either took to start, and to take in a prefilled log, isn't the
	// work's.
	client, started := ownCPU(), cpuOf(l.server.cmd.Process)
	dropped, err := l.work(ctx, b)
	d := done{Dropped: dropped, ClientCPUNs: int64(ownCPU() - client)}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		d.Trouble = printable(err.Error())
	}
	d.Stderr = l.lastWords(err)
	used := l.close()
	d.ServerCPUNs, d.PeakRSS = int64(l.used.cpu+used.cpu-started), max(l.used.peak, used.peak)
	d.FaultAt, d.FaultOver, d.Adopted, d.Kills = l.faultAt.Load(), l.faultOver.Load(), l.adopted.Load(), l.kills
	return tell(out, report{Done: &d})
}

type lane struct {
	order
	server *server
	rec    *recorder
	ref    string
	shown  []string // messages this lane was shown and hasn't acked, oldest first

	faultAt, faultOver, adopted atomic.Int64

	// Of kill-storm.
	killer *killer
	kills  []int64 // when its servers were killed
	used   usage   // by those
	// unpolled: an inbox call's outcome is unknown, and no marked call was
	// acknowledged since.
	unpolled bool
}

const serverGrace = 5 * time.Second

// close ends the server, once.
func (l *lane) close() usage {
	if l.rec != nil {
		_ = l.rec.file.Close() // every line was written through
		l.rec = nil
	}
	if l.server == nil || l.server.cmd.ProcessState != nil {
		return usage{}
	}
	return l.server.stop(serverGrace)
}

// lastWords is the last line on stderr of the lane's server, or of the one
// that didn't start.
func (l *lane) lastWords(err error) string {
	if s, ok := errors.AsType[*serverError](err); ok {
		return s.stderr
	}
	if l.server == nil {
		return ""
	}
	return l.server.stderr.lastLine()
}

// open starts the server and registers.
func (l *lane) open(ctx context.Context) (err error) {
	if l.rec, err = newRecorder(l.Work, l.Lane); err != nil {
		return err
	}
	if l.server, err = startServer(ctx, l.Server, l.Env, time.Duration(l.StartNs), l.watch); err != nil {
		return err
	}
	c, err := l.do(ctx, 0, step{verb: verbRegister, body: callMark(l.Lane, 0)}, now(), nil)
	switch {
	case err != nil:
		return err
	case c.Outcome != OutcomeOK:
		return fmt.Errorf("register: %s: %s", c.Outcome, c.Detail)
	case c.Ref == "":
		return errors.New("register: the reply has no ref")
	}
	l.ref = c.Ref
	return nil
}

// watch reads the server's stderr: it counts the locks that the server says
// it adopted, and does the lane's fault at the failpoint.
func (l *lane) watch(p *os.Process, line string) {
	if strings.Contains(line, "adopted") {
		l.adopted.Add(1)
	}
	if !l.Fault.inServer() || line != parkedLine+l.Fault.Step || !l.faultAt.CompareAndSwap(0, now()) {
		return
	}
	if l.Fault.Kind == FaultKillHolder {
		_ = p.Kill()
		return
	}
	if err := suspend(p); err != nil {
		return // faultOver stays 0: the trial says that there was no stall
	}
	time.Sleep(time.Duration(l.Fault.StallNs))
	if resume(p) == nil {
		l.faultOver.Store(now())
	}
}

// work makes the lane's calls and tells how many it didn't get to, and why it
// ended early.
func (l *lane) work(ctx context.Context, b begin) (dropped int64, err error) {
	p := newPlan(l.Seed, l.Lane, l.Lanes, l.MessageBytes, time.Duration(l.ThinkNs))
	interval := float64(time.Second) / l.Rate
	life := l.lifetimes()
	defer func() { l.killer.spare() }()
	if err := sleepUntil(ctx, b.At); err != nil {
		return 0, err
	}
	for call := 1; call <= l.Calls; call++ {
		s := p.next()
		intended := now() + int64(s.think)
		if l.Load == LoadOpen {
			intended = b.At + int64(float64(call-1)*interval)
			// A lane that can't keep up stops at twice the planned time:
			// what it didn't get to is dropped, and counted.
			if now() > b.At+int64(2*float64(l.Calls)*interval) {
				return int64(l.Calls - call + 1), nil
			}
		}
		if err := sleepUntil(ctx, intended); err != nil {
			return 0, err
		}
		if l.Load != LoadOpen {
			intended = 0 // it begins when it begins
		}
		if l.Fault.Kind == FaultKillClient && call == l.Fault.Call {
			defer time.AfterFunc(time.Duration(p.rng.Int64N(int64(3*time.Millisecond))), killSelf).Stop()
		}
		if l.Fault.Kind == FaultKillStorm {
			if err := l.weather(ctx, life, call == l.Calls); err != nil {
				return int64(l.Calls - call + 1), fmt.Errorf("before call %d, its server was killed and doesn't start again: %w", call, err)
			}
		}
		c, err := l.do(ctx, call, s, intended, b.Refs)
		if err != nil {
			return 0, err
		}
		if c.Outcome == OutcomeNoReply || c.Outcome == OutcomeTransport || l.Fault.Kind == FaultKillStorm && c.failedClosed() {
			return int64(l.Calls - call), fmt.Errorf("call %d, %s: %s: %s", call, c.Verb, c.Outcome, c.Detail)
		}
	}
	return 0, nil
}

// do makes one call and writes it down. The error is the history's.
func (l *lane) do(ctx context.Context, call int, s step, intended int64, refs []string) (CallRecord, error) {
	c := CallRecord{Lane: l.Lane, Call: call, Verb: s.verb, Actor: l.ref}
	mark := callMark(l.Lane, call)
	if c.Verb == verbAck && len(l.shown) == 0 || c.Verb == verbInbox && l.unpolled {
		c.Verb = verbHeartbeat
	}
	var args callArgs
	switch c.Verb {
	case verbRegister:
		args = callArgs{ActorID: laneName(l.Lane), Kind: "lab", Capabilities: []string{mark}, Ref: l.ref}
	case verbSend:
		c.To, c.Digest = refs[s.peer-1], digest(s.body)
		args = callArgs{From: l.ref, To: c.To, Text: s.body}
	case verbHandoff:
		c.To, c.Digest = refs[s.peer-1], digest(s.body)
		args = callArgs{From: l.ref, To: c.To, Summary: s.body}
	case verbInbox:
		args = callArgs{ActorID: l.ref}
	case verbAck:
		c.Acked = l.shown[0]
		args = callArgs{ActorID: l.ref, MessageID: c.Acked, Note: mark}
	case verbHeartbeat:
		args = callArgs{ActorID: l.ref, Note: mark}
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(l.CallNs))
	defer cancel()
	c.Start = now()
	a, outcome, detail := l.server.call(limited, c.Verb, args)
	c.End = now()
	if c.Intended = intended; intended == 0 {
		c.Intended = c.Start
	}
	if l.killer.struck() && cutOff(outcome, detail) {
		outcome = OutcomeKilled
	}
	c.Outcome, c.Detail, c.Phases = outcome, detail, a.phases
	if outcome == OutcomeOK {
		c.answer(a)
		switch c.Verb {
		case verbInbox:
			l.shown = slices.Clone(c.Shown)
		case verbAck:
			l.shown = l.shown[1:]
		}
		l.unpolled = l.unpolled && c.Verb == verbInbox
	}
	if outcome == OutcomeKilled {
		switch c.Verb {
		case verbInbox:
			l.unpolled = true
		case verbAck: // the next inbox shows it again if it must
			l.shown = l.shown[1:]
		}
	}
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	return c, l.rec.write(c)
}

func laneName(lane int) string { return fmt.Sprintf("lane-%02d", lane) }

// sleepUntil waits for an instant of the shared clock.
func sleepUntil(ctx context.Context, at int64) error {
	d := time.Duration(at - now())
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// killSelf ends this process as an operator's kill would: at once.
func killSelf() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
}
