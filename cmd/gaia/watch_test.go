package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// lineWriter tells of each line written to it.
type lineWriter struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	lines chan string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(p)
	for {
		line, err := w.buf.ReadString('\n')
		if err != nil {
			w.buf.WriteString(line)
			return len(p), nil
		}
		w.lines <- line
	}
}

// startWatch runs watch in the background; the channel gets its exit code.
func startWatch(t *testing.T, ctx context.Context, dir string, args ...string) (*lineWriter, <-chan int) {
	t.Helper()
	a, out, code := testApp(t, dir, 0), &lineWriter{lines: make(chan string, 100)}, make(chan int, 1)
	a.stdout = out
	go func() { code <- a.run(ctx, append([]string{"watch"}, args...)) }()
	return out, code
}

func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came")
	}
	return v
}

func must(t *testing.T, dir string, args ...string) {
	t.Helper()
	if r := runIn(t, dir, 0, args...); r.code != exitOK {
		t.Fatalf("%q: %+v", args, r)
	}
}

func TestWatchFollowsALogThatDoesNotExistYetAndEndsWhenTold(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out, code := startWatch(t, ctx, dir, "--after", "0")
	must(t, dir, "register", "--actorId", "a")
	if line := await(t, out.lines); !strings.HasPrefix(line, `{"type":"actor.registered"`) {
		t.Errorf("got %q", line)
	}
	must(t, dir, "heartbeat", "--actorId", "a")
	if line := await(t, out.lines); !strings.HasPrefix(line, `{"type":"actor.heartbeat"`) {
		t.Errorf("got %q", line)
	}
	cancel()
	if c := await(t, code); c != exitOK {
		t.Errorf("exit %d", c)
	}
}

func TestWatchForAnActorEndsWithItsNextMessageAndNoOther(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		must(t, dir, "register", "--actorId", name)
	}
	must(t, dir, "send", "--from", "a", "--to", "b", "--text", "before")
	// Behind record 4: what was sent before doesn't count, and no message
	// between then and the watch's start is missed.
	must(t, dir, "send", "--from", "a", "--to", "c", "--text", "for another")
	must(t, dir, "send", "--from", "a", "--to", "b", "--text", "after")
	r := runIn(t, dir, 0, "watch", "--for", "b", "--after", "4", "--timeout", "1m")
	if r.code != exitOK || strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stdout, `"text":"after"`) {
		t.Errorf("got %+v", r)
	}
	out, code := startWatch(t, t.Context(), dir, "--for", "act-0003", "--after", "6")
	must(t, dir, "handoff", "--from", "a", "--to", "c", "--summary", "work")
	if line := await(t, out.lines); !strings.Contains(line, `"text":"work"`) || await(t, code) != exitOK {
		t.Errorf("got %q", line)
	}
}

func TestWatchEndsWhenItsReaderIsGoneThoughNothingIsWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pipe can't be asked for its reader there")
	}
	dir := t.TempDir()
	must(t, dir, "register", "--actorId", "a")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	a, code := testApp(t, dir, 0), make(chan int, 1)
	a.stdout = w
	go func() { code <- a.run(t.Context(), []string{"watch"}) }()
	if c := await(t, code); c != exitOK {
		t.Errorf("exit %d", c)
	}
}

func TestWatchSaysThatNothingCameInTime(t *testing.T) {
	dir := t.TempDir()
	must(t, dir, "register", "--actorId", "a")
	r := runIn(t, dir, 0, "watch", "--for", "a", "--timeout", "60ms")
	if r.code != exitNo || r.stdout != "" || !strings.Contains(r.stderr, "no message to") {
		t.Errorf("got %+v", r)
	}
	if r := runIn(t, dir, 0, "watch", "--for", "nobody", "--timeout", "60ms"); r.code != exitNo || !strings.Contains(r.stderr, `no actor \"nobody\"`) && !strings.Contains(r.stderr, `no actor "nobody"`) {
		t.Errorf("got %+v", r)
	}
}
