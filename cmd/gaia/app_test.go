package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// result is what one run of the command gave.
type result struct {
	code           int
	stdout, stderr string
}

// testApp runs a command line in process, with a clock and a data directory.
func testApp(t *testing.T, dir string, width int) *app {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"GAIA_INTERAGENT_DATA_DIR": dir, "HOME": home}
	return &app{
		stdin: io.NopCloser(strings.NewReader("")), stdout: new(bytes.Buffer), stderr: new(bytes.Buffer),
		getenv: func(k string) string { return env[k] }, now: time.Now, width: width,
	}
}

func runIn(t *testing.T, dir string, width int, args ...string) result {
	t.Helper()
	a := testApp(t, dir, width)
	code := a.run(t.Context(), args)
	return result{code, a.stdout.(*bytes.Buffer).String(), a.stderr.(*bytes.Buffer).String()}
}

func TestReadersBesideABusyWriterNeverRaiseAFalseAlarm(t *testing.T) {
	dir := t.TempDir()
	if r := runIn(t, dir, 0, "register", "--actorId", "a"); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	done := make(chan struct{})
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range 60 {
				if r := runIn(t, dir, 0, "heartbeat", "--actorId", "a"); r.code != exitOK {
					t.Errorf("the writer: %+v", r)
				}
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	for reads := 0; ; reads++ {
		for _, command := range []string{"doctor", "status", "state", "events"} {
			if r := runIn(t, dir, 0, command); r.code != exitOK || strings.Contains(r.stdout, "probably abandoned") {
				t.Fatalf("%s beside a writer: %+v", command, r)
			}
		}
		select {
		case <-done:
			if reads == 0 {
				t.Error("nothing was read while the writers wrote")
			}
			return
		default:
		}
	}
}

// brokenPipe is a standard output whose reader is gone, or whose disk is full.
type brokenPipe struct{ err error }

func (w brokenPipe) Write([]byte) (int, error) { return 0, w.err }

func TestAReaderThatWentAwayIsNoErrorAndAFullDiskIs(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{{io.ErrClosedPipe, exitOK}, {errors.New("no space left"), exitFailClosed}} {
		a := testApp(t, t.TempDir(), 0)
		a.stdout = brokenPipe{c.err}
		if code := a.run(t.Context(), []string{"tools"}); code != c.code {
			t.Errorf("%v: exit %d, want %d", c.err, code, c.code)
		}
	}
}

func TestACallEndedWhileItWaitsWritesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := testApp(t, dir, 0)
	if code := a.run(ctx, []string{"register", "--actorId", "a"}); code != exitNo {
		t.Errorf("exit %d", code)
	}
	if r := runIn(t, dir, 0, "events"); !strings.HasSuffix(r.stdout, "\"count\":0}\n") {
		t.Errorf("events: %s", r.stdout)
	}
}

func TestACommandThatIsInterruptedGivesNoVerdict(t *testing.T) {
	never, open := io.Pipe() // an input that never ends
	defer open.Close()
	for _, args := range [][]string{
		{"register", "--actorId", "a"}, {"tools"}, {"verify"}, {"doctor"},
		{"send", "--from", "a", "--to", "a", "--text", "-"},
		{"handoff", "--from", "a", "--to", "a", "--summary", "-"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a := testApp(t, t.TempDir(), 0)
		a.stdin = never
		code := a.run(ctx, args)
		if out, said := a.stdout.(*bytes.Buffer).String(), a.stderr.(*bytes.Buffer).String(); code != exitNo || out != "" ||
			said != "gaia: error: interrupted; nothing was written\n" {
			t.Errorf("%q: exit %d, %q, %q", args, code, out, said)
		}
	}
}

func TestACallThatIsInterruptedAtTheLockIsNoAlarm(t *testing.T) {
	for _, args := range [][]string{{"heartbeat", "--actorId", "a"}, {"initialize", "--apply"}} {
		dir := t.TempDir()
		must(t, dir, "register", "--actorId", "a")
		if err := os.Mkdir(filepath.Join(dir, "events.lock"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		ended, end := context.WithCancel(context.Background()) // as a signal ends it, not a deadline
		context.AfterFunc(ctx, end)
		a := testApp(t, dir, 0)
		if code := a.run(ended, args); code != exitNo || a.stdout.(*bytes.Buffer).Len() != 0 {
			t.Errorf("%q: exit %d: %s%s", args, code, a.stdout, a.stderr)
		}
		cancel()
	}
}

// commands walks the tree as a user can see it.
func commands(root *cobra.Command, visit func(*cobra.Command)) {
	visit(root)
	for _, sub := range root.Commands() {
		if !sub.Hidden {
			commands(sub, visit)
		}
	}
}

func TestEveryHelpHasAnExampleAndTheReadingRuleAndFitsATerminal(t *testing.T) {
	var began bool
	commands(newRootCommand(testApp(t, t.TempDir(), 0), &began), func(cmd *cobra.Command) {
		if cmd.Example == "" && !strings.HasPrefix(cmd.CommandPath(), "gaia completion ") {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		var out bytes.Buffer
		cmd.SetOut(&out)
		if err := cmd.Help(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(out.String()) {
			if w := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); w > 80 && !strings.HasPrefix(cmd.CommandPath(), "gaia completion") {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), w, line)
			}
		}
		help := strings.Join(strings.Fields(out.String()), " ")
		if !strings.Contains(help, readingRule) {
			t.Errorf("%s: help without the reading rule", cmd.CommandPath())
		}
	})
}

// The script readonly.txtar walks the directory around every reader. A command
// that is in neither list was forgotten.
func TestEveryCommandIsKnownToWriteOrProvenToOnlyRead(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "readonly.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	writes := []string{"register", "send", "inbox", "ack", "heartbeat", "handoff"}
	elsewhere := []string{"lab", "demo", "help", "completion"} // never the user's bus: their own scripts say so
	var began bool
	for _, cmd := range newRootCommand(testApp(t, t.TempDir(), 0), &began).Commands() {
		name := cmd.Name()
		if slices.Contains(writes, name) || slices.Contains(elsewhere, name) {
			continue
		}
		if !strings.Contains(string(script), "gaia "+name) {
			t.Errorf("%s is neither known to write nor run by readonly.txtar", name)
		}
	}
}

func TestManyInitializersRegisterOneCoordinator(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bus")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if r := runIn(t, dir, 0, "initialize", "--apply"); r.code != exitOK || !strings.Contains(r.stdout, `"ref":"act-0001"`) {
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	if r := runIn(t, dir, 0, "events"); !strings.HasSuffix(r.stdout, "\"count\":1}\n") {
		t.Errorf("events: %s", r.stdout)
	}
}

func TestEveryFlagHasHelp(t *testing.T) {
	var began bool
	commands(newRootCommand(testApp(t, t.TempDir(), 0), &began), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.LocalFlags().FlagUsages()) {
			fields := strings.Split(strings.TrimSpace(line), "   ")
			if len(fields) < 2 || strings.TrimSpace(fields[len(fields)-1]) == "" {
				t.Errorf("%s: %q has no help", cmd.CommandPath(), strings.TrimSpace(line))
			}
		}
	})
}
