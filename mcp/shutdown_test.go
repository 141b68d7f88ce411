package mcp

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"gaia/eventlog"
)

// hooked is a server whose commits announce a step and stop there until let go.
type hooked struct {
	*Server
	reached chan struct{}
	letGo   chan struct{}
}

func newHooked(t *testing.T, at eventlog.Step) *hooked {
	h := &hooked{reached: make(chan struct{}, 16), letGo: make(chan struct{})}
	h.Server = newTestServer(t, eventlog.Options{Hook: func(s eventlog.Step) error {
		if s == at {
			h.reached <- struct{}{}
			<-h.letGo
		}
		return nil
	}})
	return h
}

func TestEndOfInputWhileAnotherHoldsTheLock(t *testing.T) {
	s := newTestServer(t, eventlog.Options{LockTimeout: time.Hour})
	holdLock(t, s.log.Dir())
	errs := make(chan error, 1)
	p := play(s, serveTo(t.Context(), errs))
	p.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"})+toolsCall(2, "register", obj{"actorId": "b"}))
	p.await(t, 1)
	out := answers(t, p.finish(t)) // an hour, if the lock's own deadline decided
	for _, id := range []string{"1", "2"} {
		if !strings.Contains(out[id], CodeLockTimeout) || !strings.Contains(out[id], "nothing was written") {
			t.Errorf("%s: %q", id, out[id])
		}
	}
	if err := <-errs; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// A slow disk is no foreign lock.
func TestEndOfInputDuringASlowCommit(t *testing.T) {
	for _, step := range []eventlog.Step{eventlog.StepRead, eventlog.StepSync} {
		h := newHooked(t, step)
		h.patience = time.Millisecond
		p := play(h.Server, serveTo(t.Context(), make(chan error, 1)))
		p.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"})+toolsCall(2, "register", obj{"actorId": "b"}))
		<-h.reached
		p.in.Close()
		time.Sleep(4 * lookAgain) // let its patience end, several times over
		close(h.letGo)
		out := answers(t, p.finish(t))
		if !strings.Contains(out["1"], "act-0001") || !strings.Contains(out["2"], "act-0002") {
			t.Errorf("slow at %s: %q", step, out)
		}
	}
}

func TestToldToEndACommitInFlightFinishesAndNoOtherStarts(t *testing.T) {
	h := newHooked(t, eventlog.StepSync)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	p := play(h.Server, serveTo(ctx, errs))
	p.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"})+toolsCall(2, "register", obj{"actorId": "b"}))
	<-h.reached
	cancel()
	p.await(t, 2) // the handshake's, and the refusal of the second, while the first commits
	close(h.letGo)
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	out := answers(t, p.finish(t))
	if !strings.Contains(out["1"], "act-0001") || !strings.Contains(out["2"], "-32801") {
		t.Errorf("replies: %q", out)
	}
	if got := lines(t, h.log); len(got) != 1 {
		t.Errorf("the log: %q", got)
	}
}

func TestToldToEndWhileWaitingForTheLock(t *testing.T) {
	s := newTestServer(t, eventlog.Options{LockTimeout: time.Hour})
	holdLock(t, s.log.Dir())
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	p := play(s, serveTo(ctx, errs))
	p.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"}))
	p.await(t, 1)
	cancel()
	<-errs
	if out := answers(t, p.finish(t)); !strings.Contains(out["1"], "-32801") {
		t.Errorf("replies: %q", out)
	}
}

// A client that doesn't close its end, and one that doesn't read.
func TestToldToEndWhateverTheClientDoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errs := make(chan error, 1)
	s := newTestServer(t, eventlog.Options{})
	go func() { errs <- s.Serve(ctx, inR, outW) }()
	io.WriteString(inW, handshake)
	io.ReadFull(outR, make([]byte, 1)) // it replies, and nobody reads the rest
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
}

func TestABrokenOutputIsTheEndOfInput(t *testing.T) {
	h := newHooked(t, eventlog.StepSync)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errs := make(chan error, 1)
	go func() { errs <- h.Serve(t.Context(), inR, outW) }()
	io.WriteString(inW, handshake+toolsCall(1, "register", obj{"actorId": "a"})+toolsCall(2, "register", obj{"actorId": "b"}))
	<-h.reached
	outR.Close()
	close(h.letGo)
	if err := <-errs; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := lines(t, h.log); len(got) != 2 {
		t.Errorf("what was read before is not all in the log: %q", got)
	}
}

func TestCancelledWhileWaitingForTheLock(t *testing.T) {
	s := newTestServer(t, eventlog.Options{LockTimeout: time.Hour})
	holdLock(t, s.log.Dir())
	before := tree(t, s.log.Dir())
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake+toolsCall(1.5, "register", obj{"actorId": "a"})+
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`+"\n")
	p.await(t, 2)
	if out := answers(t, p.finish(t)); !strings.Contains(out["1.5"], "-32800") {
		t.Errorf("replies: %q", out)
	}
	if len(before) != len(tree(t, s.log.Dir())) {
		t.Errorf("left behind: %q", tree(t, s.log.Dir()))
	}
}

func TestCancelledAfterItsAppendIsAnsweredAsDone(t *testing.T) {
	h := newHooked(t, eventlog.StepSync)
	p := play(h.Server, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"}))
	<-h.reached
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	p.await(t, 2) // the ping's reply: the cancellation has been read
	close(h.letGo)
	if out := answers(t, p.finish(t)); !strings.Contains(out["1"], "act-0001") {
		t.Errorf("replies: %q", out)
	}
}

func TestTheClientInProcessGetsTheTrueAnswerThoughItsContextEnded(t *testing.T) {
	h := newHooked(t, eventlog.StepSync)
	c, err := h.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-h.reached
		cancel()
		close(h.letGo)
	}()
	e, err := c.Call(ctx, "register", []byte(`{"actorId":"a"}`))
	if err != nil || !e.OK {
		t.Errorf("got %+v, %v", e, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
