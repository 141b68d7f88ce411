package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"
)

// A laneProcess is a lane as the lab sees it. Only the trial's own goroutine
// uses it, but for cmd.Wait.
type laneProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *tail
	ready  *ready
	done   *done
	gone   int64 // when its output ended; 0: it runs
}

type laneEvent struct {
	lane   int // index
	report report
	err    error // of reading; io.EOF: it has ended
	at     int64
}

// run runs the lanes and returns the barrier's instant.
func (t *trial) run(ctx context.Context) (at int64, err error) {
	if t.tree, err = newTree(); err != nil {
		return 0, err
	}
	defer t.tree.close()
	adoptOrphans()
	n := t.Factors.Lanes
	t.events = make(chan laneEvent, 4*n) // a lane sends at most three
	defer func() {
		if err != nil {
			t.giveUp()
		}
	}()
	for i := range n {
		if err := t.start(i); err != nil {
			return 0, err
		}
	}
	limit := time.NewTimer(t.Limits.Start + 5*time.Second) // the lanes' own limit comes first and says more
	defer limit.Stop()
	for waiting := n; waiting > 0; waiting-- {
		if err := t.hear(ctx, limit.C, "getting ready"); err != nil {
			return 0, err
		}
	}
	for i, l := range t.lanes {
		if l.ready == nil {
			return 0, fmt.Errorf("lane %d reported twice", i+1)
		}
	}
	// All hear of the instant before it comes.
	at = now() + int64(10*time.Millisecond+time.Duration(n)*time.Millisecond)
	for i, l := range t.lanes {
		if err := tell(l.stdin, begin{Refs: t.refs(), At: at}); err != nil {
			return 0, fmt.Errorf("lane %d: %w", i+1, err)
		}
	}
	limit.Reset(t.Limits.Trial)
	for t.running() > 0 {
		if err := t.hear(ctx, limit.C, "working"); err != nil {
			return 0, err
		}
	}
	t.tree.drain(serverGrace) // what is checked must stand still
	return at, nil
}

// start starts a lane and tells it its order.
func (t *trial) start(i int) error {
	l := &laneProcess{stderr: new(tail)}
	l.cmd = exec.Command(t.Self[0], append(slices.Clone(t.Self[1:]), "lab", "lane")...)
	l.cmd.Stderr = l.stderr
	l.cmd.WaitDelay = 2 * time.Second
	t.tree.prepare(l.cmd)
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := l.cmd.Start(); err != nil {
		return t.startError(i, "its lane doesn't: "+printable(err.Error()), "")
	}
	t.lanes = append(t.lanes, l)
	go func() {
		for r := bufio.NewReader(stdout); ; {
			var rep report
			err := hear(r, &rep)
			if err != nil && err != io.EOF {
				_, _ = io.Copy(io.Discard, r) // it must not block on what nobody understands
			}
			t.events <- laneEvent{i, rep, err, now()}
			if err != nil {
				return
			}
		}
	}()
	if err := t.tree.adopt(l.cmd); err != nil {
		return err
	}
	f := t.Factors
	o := order{
		Lane: i + 1, Lanes: f.Lanes, Seed: t.Seed, Calls: f.CallsPerLane, Load: f.Load, ThinkNs: int64(f.Think), Rate: f.Rate,
		MessageBytes: f.MessageBytes, Client: t.client.argv, ClientEnv: t.client.env, Self: t.Self, Work: t.Work, Server: t.servers[i].argv,
		Env:     append(slices.Clone(t.servers[i].env), envDataDir+"="+t.Dir),
		StartNs: int64(t.Limits.Start), CallNs: int64(t.Limits.Call), Fault: t.faultOf(i),
	}
	if t.stormPeer(i) {
		o.Env = append(o.Env, envAdoption+"=off")
	}
	if err := tell(l.stdin, o); err != nil {
		return fmt.Errorf("lane %d: %w", i+1, err)
	}
	return nil
}

// refs are the lanes' refs, by lane, once all are ready.
func (t *trial) refs() (refs []string) {
	for _, l := range t.lanes {
		refs = append(refs, l.ready.Ref)
	}
	return refs
}

func (t *trial) startError(i int, reason, stderr string) error {
	if t.Client != "" {
		return &StartError{i + 1, "client", t.client.String(), reason, stderr}
	}
	return &StartError{i + 1, "server", t.servers[i].String(), reason, stderr}
}

func (t *trial) running() (n int) {
	for _, l := range t.lanes {
		if l.gone == 0 {
			n++
		}
	}
	return n
}

// hear waits for the lanes' next event and takes it in.
func (t *trial) hear(ctx context.Context, limit <-chan time.Time, doing string) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit:
		return fmt.Errorf("the trial's time was up while %d of %d lanes were %s", t.running(), len(t.lanes), doing)
	case e := <-t.events:
		l := t.lanes[e.lane]
		if e.err == nil {
			switch {
			case e.report.Failed != nil:
				return t.startError(e.lane, e.report.Failed.Reason, e.report.Failed.Stderr)
			case e.report.Ready != nil && l.ready == nil:
				l.ready = e.report.Ready
			case e.report.Done != nil && l.ready != nil:
				l.done = e.report.Done
			}
			return nil
		}
		// Its output has ended, so it has or is about to.
		l.gone = e.at
		_ = l.cmd.Wait() // its status is in ProcessState
		victim := e.lane == 0 && t.fault.Kind == FaultKillClient && l.ready != nil
		if victim {
			return nil
		}
		if l.done != nil {
			if t.Client == "" { // a client may have killed its tap, and left a server
				t.tree.left(l.cmd)
			}
			return nil
		}
		why := l.cmd.ProcessState.String()
		if e.err != io.EOF {
			why = e.err.Error()
		}
		if said := l.stderr.lastLine(); said != "" {
			why += "; it said: " + said
		}
		if l.ready == nil {
			return t.startError(e.lane, "its lane ended: "+why, "")
		}
		return fmt.Errorf("lane %d ended without a report: %s", e.lane+1, why)
	}
}

// giveUp ends every lane and waits for it: the end of its input first, which
// lets it end its server in good order, then force.
func (t *trial) giveUp() {
	for _, l := range t.lanes {
		_ = l.stdin.Close()
	}
	force := time.AfterFunc(serverGrace, t.tree.kill)
	defer force.Stop()
	for t.running() > 0 {
		if e := <-t.events; e.err != nil {
			l := t.lanes[e.lane]
			l.gone = e.at
			_ = l.cmd.Wait()
		}
	}
	t.tree.drain(time.Second) // lanes that were forced left their servers to us
}
