package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaia/results"
)

// Its own count is the file's: every commit told was made, and one at a time.
func TestABareProcessTellsEveryCommitItMade(t *testing.T) {
	for _, lock := range BareLocks() {
		file := filepath.Join(t.TempDir(), "log")
		in, begins := io.Pipe()
		go func() {
			_ = tell(begins, begin{At: now()})
		}()
		var out bytes.Buffer
		if err := Bare(t.Context(), in, &out, lock, file, 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		said := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(said) != 2 || !strings.Contains(said[1], `"calls":`) {
			t.Errorf("%s: %q", lock, said)
		}
		_ = begins.Close()
	}
	if err := Bare(t.Context(), strings.NewReader(""), io.Discard, "none", filepath.Join(t.TempDir(), "log"), time.Second); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
}

func TestABareProcessEndsWithItsInput(t *testing.T) {
	in, begins := io.Pipe()
	go func() {
		_ = tell(begins, begin{At: now()})
		_ = begins.Close()
	}()
	start := time.Now()
	if err := Bare(t.Context(), in, io.Discard, BareLocks()[0], filepath.Join(t.TempDir(), "log"), time.Hour); err == nil || time.Since(start) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

// Every transaction that a process was told of is in the database.
func TestSQLiteContendersCommitWhatTheyReport(t *testing.T) {
	sqlite3, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip(ErrNoSQLite)
	}
	dir := t.TempDir()
	m, err := ContendSQLite(t.Context(), Contest{Processes: 3, Window: 100 * time.Millisecond, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h, err := results.ParseHistogram(m.Response)
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(sqlite3, filepath.Join(dir, "events.sqlite"), "SELECT count(*) FROM events;").Output()
	if err != nil || strings.TrimSpace(string(text)) != fmt.Sprint(h.Count()) {
		t.Errorf("%d commits reported, %s made, %v", h.Count(), text, err)
	}
	if len(m.Lanes) != 3 || m.Trial().Calls > h.Count() || m.Trial().Calls < h.Count()-3 {
		t.Errorf("%d calls of %d commits: %+v", m.Trial().Calls, h.Count(), m.Lanes)
	}
	if _, err := ContendSQLite(t.Context(), Contest{Processes: 1, Window: time.Second, Dir: dir}); err == nil {
		t.Error("a database that was there was taken")
	}
}

func TestACancelledContentionLeavesNobody(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip(ErrNoSQLite)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
	start := time.Now()
	if _, err := ContendSQLite(ctx, Contest{Processes: 3, Window: time.Hour, Dir: t.TempDir()}); !errors.Is(err, context.Canceled) || time.Since(start) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	if _, err := ContendBare(t.Context(), Contest{Processes: 0, Window: time.Second}, BareLocks()[0]); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
	_, err := ContendBare(t.Context(), Contest{Processes: 2, Window: time.Second, Dir: t.TempDir(), Self: []string{filepath.Join(t.TempDir(), "no-such-program")}}, BareLocks()[0])
	if err == nil {
		t.Error("a program that isn't there contended")
	}
}
