//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaia/results"
)

// labProcess starts this test's own binary as gaia.
func labProcess(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	bin, err := exec.LookPath("gaia") // put on the PATH by testscript
	if err != nil {
		t.Skip("run with the package's TestMain")
	}
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "GAIA_INTERAGENT_DATA_DIR="+filepath.Join(t.TempDir(), "bus"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

// using lists the processes whose environment or command line names dir.
func using(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/proc/[0-9]*/environ", "/proc/[0-9]*/cmdline"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && bytes.Contains(data, []byte(dir)) {
				found = append(found, f)
			}
		}
	}
	return found
}

func TestAnInterruptedRunKeepsWholeRecordsLeavesNoChildAndGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run é 1")
	cmd, out := labProcess(t, "lab", "run", "--lanes", "1,2", "--trials", "3", "--calls", "60", "--prefill", "50", "--out", dir)
	for recorded := 0; recorded < 2; {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended early: %v", err)
		}
		if strings.Contains(line, "/6  ") {
			recorded++
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out)
	err := cmd.Wait()
	var exit *exec.ExitError
	run, rerr := results.ReadRunDir(dir)
	if rerr != nil || run.Torn {
		t.Fatalf("torn %v, %v", run.Torn, rerr)
	}
	// It may have been quick enough to finish.
	if len(run.Trials) < 6 && (!errors.As(err, &exit) || exit.ExitCode() != exitNo) {
		t.Errorf("%v, want exit 1; it said %s", err, rest)
	}
	if again := "gaia lab run --resume '" + dir + "'\n"; len(run.Trials) < 6 && !strings.Contains(string(rest), again) {
		t.Errorf("it said %s, and not %s", rest, again)
	}
	if left := using(t, dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, "work")); err == nil {
		t.Error("its work folder is left")
	}

	before := run.Trials
	cmd, out = labProcess(t, "lab", "run", "--resume", dir)
	rest, _ = io.ReadAll(out)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, rest)
	}
	if run, err = results.ReadRunDir(dir); err != nil || len(run.Trials) != 6 {
		t.Fatalf("%d of 6 trials, %v", len(run.Trials), err)
	}
	if d := cmp.Diff(before, run.Trials[:len(before)]); d != "" {
		t.Errorf("records changed: %s", d)
	}
	if left := run.Plan.Left(run.Trials); len(left) > 0 {
		t.Errorf("left of the plan: %v", left)
	}
}

// A lab that is killed can't tidy up; its lanes must all the same.
func TestAKilledLabLeavesNoChild(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("no /proc to look for children in")
	}
	dir := filepath.Join(t.TempDir(), "run")
	cmd, out := labProcess(t, "lab", "run", "--lanes", "3", "--trials", "50", "--calls", "200", "--prefill", "50", "--out", dir)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended early: %v", err)
		}
		if strings.Contains(line, " 1/50  ") {
			break
		}
	}
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, out) // until every holder of its output is gone
	_ = cmd.Wait()
	deadline := time.Now().Add(time.Minute)
	for len(using(t, dir)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", using(t, dir))
		}
		time.Sleep(20 * time.Millisecond) // there is no event to await: they are nobody's children now
	}
	if run, err := results.ReadRunDir(dir); err != nil || len(run.Trials) < 1 {
		t.Errorf("%d trials, %v", len(run.Trials), err)
	}
}

func TestTheSameSeedGivesTheSameWork(t *testing.T) {
	work := func() []map[string]int64 {
		dir := filepath.Join(t.TempDir(), "run")
		cmd, out := labProcess(t, "lab", "run", "--lanes", "1,2", "--trials", "2", "--calls", "60", "--prefill", "50", "--seed", "7", "--out", dir)
		said, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		run, err := results.ReadRunDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var verbs []map[string]int64
		for _, tr := range run.Trials {
			n := map[string]int64{"order": int64(tr.Order), "seed": int64(tr.Seed), "lanes": int64(tr.Factors.Lanes)}
			for verb, text := range tr.Response {
				h, err := results.ParseHistogram(text)
				if err != nil {
					t.Fatal(err)
				}
				// What can't be acked becomes a heartbeat: that depends on timing.
				if verb == "ack" || verb == "heartbeat" {
					verb = "ack or heartbeat"
				}
				n[verb] += h.Count()
			}
			verbs = append(verbs, n)
		}
		return verbs
	}
	if d := cmp.Diff(work(), work()); d != "" {
		t.Error(d)
	}
}
