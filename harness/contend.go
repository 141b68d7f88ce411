package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gaia/results"
)

// A contention is processes that commit to one file without a pause, for a
// window of time, with nothing of the bus in them: what its figures are held
// against. Each process is fed and awaited over its standard streams.

// A Contest says what contends.
type Contest struct {
	Processes int
	Window    time.Duration
	Dir       string   // an empty folder on the disk that is measured
	Self      []string // as in [TrialSpec]; for bare locks
}

// contestGrace is how long a commit may take that is under way when the window
// ends, and a process to start: SQLite's busy timeout, and some more.
const contestGrace = 90 * time.Second

// recorded is the record of what came out.
func (c Contest) recorded(lanes []results.Lane, all *results.Histogram) results.Measurement {
	return results.Measurement{What: results.Contention, Processes: c.Processes, Wall: c.Window, Lanes: lanes, Response: all.String()}
}

// ContendBare runs a contention under one of [BareLocks]: each process takes
// the lock, appends a line of a record's length, syncs and gives the lock back.
func ContendBare(ctx context.Context, c Contest, lock string) (results.Measurement, error) {
	self, err := own(c.Self)
	if err != nil {
		return results.Measurement{}, err
	}
	argv := append(slices.Clone(self), "lab", "bare", "--lock", lock, "--for", c.Window.String(), filepath.Join(c.Dir, "log"))
	all := results.NewHistogram()
	lanes := make([]results.Lane, c.Processes)
	var mu sync.Mutex
	err = c.run(ctx, argv, "", func(i int, p *contender, at int64) error {
		if err := tell(p.stdin, begin{At: at}); err != nil {
			return err
		}
		var said bareReport
		if err := hear(p.stdout, &said); err != nil {
			return err
		}
		h, err := results.ParseHistogram(said.Response)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all.Merge(h)
		lanes[i] = laneOf(i, lock, said.Calls, c.Window, h)
		return nil
	})
	m := c.recorded(lanes, all)
	m.By = lock
	return m, err
}

func laneOf(i int, server string, calls int64, window time.Duration, h *results.Histogram) results.Lane {
	return results.Lane{Lane: i + 1, Server: server, Calls: calls, Elapsed: window,
		Min: h.Min(), Median: h.Quantile(.5), P99: h.Quantile(.99), Max: h.Max()}
}

// A contender is one process of a contention.
type contender struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *tail
	hello  string // its first line
}

// run starts the processes, says hello to each and waits until each has said a
// line, and lets each be driven from an instant that all share. All have ended when it returns.
func (c Contest) run(ctx context.Context, argv []string, hello string, drive func(i int, p *contender, at int64) error) (err error) {
	if c.Processes < 1 || c.Window <= 0 {
		return usagef("a contention of %d processes for %v; at least one, for some time", c.Processes, c.Window)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Window+2*contestGrace, errors.New("the contention's time was up"))
	defer cancel()
	tree, err := newTree()
	if err != nil {
		return err
	}
	defer tree.close()
	var all []*contender
	defer func() {
		for _, p := range all {
			_ = p.stdin.Close() // to each the end of its work
		}
		force := time.AfterFunc(serverGrace, tree.kill)
		defer force.Stop()
		for _, p := range all {
			werr := p.cmd.Wait()
			tree.left(p.cmd)
			if err == nil && werr != nil {
				err = p.failed(werr)
			}
		}
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx)
		}
	}()
	for range c.Processes {
		p, err := startContender(tree, argv)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	defer context.AfterFunc(ctx, tree.kill)() // what is read below then ends
	for _, p := range all {
		_, werr := io.WriteString(p.stdin, hello)
		line, err := p.stdout.ReadString('\n')
		if werr != nil || err != nil {
			return p.failed(errors.New("it ended before it began"))
		}
		p.hello = strings.TrimSpace(line)
	}
	at := now() + int64(10*time.Millisecond+time.Duration(c.Processes)*time.Millisecond)
	errs := make([]error, len(all))
	var driven sync.WaitGroup
	for i, p := range all {
		driven.Go(func() {
			if err := drive(i, p, at); err != nil {
				errs[i] = p.failed(err)
			}
		})
	}
	driven.Wait()
	return errors.Join(errs...)
}

func startContender(tree *tree, argv []string) (*contender, error) {
	p := &contender{cmd: exec.Command(argv[0], argv[1:]...), stderr: new(tail)}
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = inherited(), p.stderr, 2*time.Second
	tree.prepare(p.cmd)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(stdout)
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if err := tree.adopt(p.cmd); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		return nil, err
	}
	return p, nil
}

// failed is an error of one process with what it said last. Its words may name
// the folder, which is the reader's own; no record holds them.
func (p *contender) failed(err error) error {
	name := filepath.Base(p.cmd.Path)
	if said := p.stderr.lastLine(); said != "" {
		return fmt.Errorf("%s: %w; it said: %s", name, err, said)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// A bareReport is what a bare process tells at its end.
type bareReport struct {
	Calls    int64  `json:"calls"`
	Response string `json:"response"`
}

// Bare is the body of the hidden `gaia lab bare`: one process of
// [ContendBare]. It returns early when in ends or ctx is done.
func Bare(ctx context.Context, in io.Reader, out io.Writer, lock, file string, window time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	take, drop, err := bareLock(lock, f)
	if err != nil {
		return err
	}
	if err := tell(out, report{Ready: &ready{}}); err != nil {
		return err
	}
	r := bufio.NewReader(in)
	var b begin
	if err := hear(r, &b); err != nil {
		return fmt.Errorf("a bare process is started by gaia lab figures, which tells it when to begin: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, r)
		cancel(errors.New("the lab has ended"))
	}()
	line := []byte(strings.Repeat("x", results.RecordBytes-1) + "\n")
	calls, h, err := commits(ctx, b.At, window, func() error {
		if err := take(); err != nil {
			return err
		}
		_, err := f.Write(line)
		return errors.Join(err, f.Sync(), drop())
	})
	if err != nil {
		return err
	}
	return tell(out, bareReport{calls, h.String()})
}

// commits does one commit after the other in the window that begins at an
// instant. One that ends after the window is in the latencies and not in the
// calls.
func commits(ctx context.Context, at int64, window time.Duration, commit func() error) (calls int64, h *results.Histogram, err error) {
	if err := sleepUntil(ctx, at); err != nil {
		return 0, nil, err
	}
	h = results.NewHistogram()
	for end := at + int64(window); ctx.Err() == nil; {
		start := now()
		if start >= end {
			return calls, h, nil
		}
		if err := commit(); err != nil {
			return 0, nil, err
		}
		done := now()
		h.Record(time.Duration(done - start))
		if done <= end {
			calls++
		}
	}
	return 0, nil, context.Cause(ctx)
}
