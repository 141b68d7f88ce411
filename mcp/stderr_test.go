package mcp

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"gaia/core"
	"gaia/eventlog"
)

func TestAStderrThatNobodyReadsNeverBlocks(t *testing.T) {
	r, w := io.Pipe()
	stderr := NewStderr(w)
	s := newTestServer(t, eventlog.Options{Stderr: stderr})
	s.stderr = stderr
	s.decide = func(*core.State, core.Command) core.Decision { panic(strings.Repeat("a long story ", 1000)) }
	for i := range 5000 {
		fmt.Fprintln(stderr, "gaia: error: number", i)
	}
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake)
	const n = 100
	for i := range n {
		p.send(t, toolsCall(i, "heartbeat", obj{}))
	}
	if out := answers(t, p.finish(t)); len(out) != n+1 {
		t.Errorf("%d replies", len(out))
	}
	// Read at last, it tells what it lost.
	got := make(chan string)
	go func() {
		all, _ := io.ReadAll(r)
		got <- string(all)
	}()
	stderr.Close()
	<-stderr.done
	w.Close()
	text := <-got
	if !strings.Contains(text, "number 0\n") || !strings.Contains(text, "diagnostics were dropped") || len(text) > 200<<10 {
		t.Errorf("%d bytes: %s", len(text), brief(text))
	}
}

func TestAStderrThatIsGoneIsSilence(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	stderr := NewStderr(w)
	for range 100 {
		if n, err := fmt.Fprintln(stderr, "hello"); n != 6 || err != nil {
			t.Fatal(n, err)
		}
	}
	stderr.Close()
	if _, err := fmt.Fprintln(stderr, "after the end"); err != nil {
		t.Error(err)
	}
}
