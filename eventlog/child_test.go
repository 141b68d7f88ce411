package eventlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"gaia/core"
)

// The test binary is also the processes that the tests kill. The role and its
// arguments come in the environment, so that no flag can be mistaken.
const (
	childRole = "EVENTLOG_TEST_ROLE"
	childDir  = "EVENTLOG_TEST_DIR"
	childN    = "EVENTLOG_TEST_N"
	childName = "EVENTLOG_TEST_NAME"
	// childNothing makes a dying process's last call one that writes nothing.
	childNothing = "EVENTLOG_TEST_NOTHING"

	// childReady is a process's first line, where its life is timed: one that
	// the race detector slows needs longer to start than it is to live.
	childReady = "ready"
)

func TestMain(m *testing.M) {
	role, dir := os.Getenv(childRole), os.Getenv(childDir)
	n, _ := strconv.Atoi(os.Getenv(childN))
	switch role {
	case "":
		os.Exit(m.Run())
	case "die-at-operation":
		before, _ := strconv.Atoi(os.Getenv(childName))
		dieAt(dir, before, n, false)
	case "die-in-append":
		dieAt(dir, 0, n, true)
	case "die-at-step":
		dieAtStep(dir, Step(os.Getenv(childName)))
	case "worker":
		work(dir, os.Getenv(childName))
	case "small-disk":
		smallDisk(dir, os.Getenv(childName))
	case "mkdir-peer":
		mkdirPeer(dir, os.Getenv(childName))
	}
	fmt.Fprintln(os.Stderr, "unknown role", role)
	os.Exit(9)
}

func child(role, dir, name string, n int) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childRole+"="+role, childDir+"="+dir, childName+"="+name, childN+"="+strconv.Itoa(n))
	return c
}

// dieAt makes one call, after some others, closes the log, and dies at the nth
// file operation of both; exit 0 says that there is none.
func dieAt(dir string, before, n int, halfway bool) {
	l, d := openFaulty(dir, Options{Adoption: true}, nil)
	for range before {
		if err := numbered(l, "before"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
	n += len(d.ops)
	d.plan = func(i int, op string) fault {
		switch {
		case halfway && op == "Append":
			return fault{err: io.ErrShortWrite, short: true, after: die}
		case !halfway && i == n:
			return fault{do: die}
		}
		return fault{}
	}
	call := numbered
	if os.Getenv(childNothing) != "" {
		call = nothing
	}
	if err := call(l, "dying"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	l.Close()
	os.Exit(0)
}

func dieAtStep(dir string, step Step) {
	l := Open(dir, Options{Adoption: true, Hook: func(s Step) error {
		if s == step {
			die()
		}
		return nil
	}})
	numbered(l, "dying")
	os.Exit(0)
}

// work says that it is ready, commits until its input ends, and says on its
// output what it committed.
func work(dir, name string) {
	stop := make(chan bool)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	l := Open(dir, Options{Adoption: true, Stderr: os.Stderr, LockTimeout: 30 * time.Second})
	fmt.Println(childReady)
	for i := 0; ; i++ {
		who := fmt.Sprintf("%s.%d", name, i)
		if err := numbered(l, who); err != nil {
			fmt.Fprintln(os.Stderr, "worker:", err)
			os.Exit(3)
		}
		fmt.Println(who)
		select {
		case <-stop:
			os.Exit(0)
		default:
		}
	}
}

// mkdirPeer speaks the protocol as one who never heard of kernel locks and
// shares no code with the package.
func mkdirPeer(dir, name string) {
	stop := make(chan bool)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	lock, log := filepath.Join(dir, lockName), filepath.Join(dir, logName)
	fmt.Println(childReady)
	ended := func() {
		select {
		case <-stop:
			os.Exit(0)
		default:
		}
	}
	for i := 0; ; i++ {
		ended()
		for start := time.Now(); os.Mkdir(lock, 0o700) != nil; time.Sleep(time.Millisecond) {
			ended()
			if time.Since(start) > 30*time.Second {
				fmt.Fprintln(os.Stderr, "peer: the lock is stuck")
				os.Exit(3)
			}
		}
		data, _ := os.ReadFile(log)
		if len(data) > 0 && data[len(data)-1] != '\n' {
			os.Remove(lock)
			fmt.Fprintln(os.Stderr, "peer: the last line is unfinished, and whoever appends makes it damage")
			os.Exit(3)
		}
		who := fmt.Sprintf("%s.%d", name, i)
		line := core.AppendEvent(nil, note(fmt.Sprintf("n=%d by=%s", bytes.Count(data, []byte("\n")), who)))
		f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err == nil {
			_, err = f.Write(append(line, '\n'))
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(3)
		}
		if err := os.Remove(lock); err != nil {
			fmt.Fprintln(os.Stderr, "peer: release:", err)
			os.Exit(3)
		}
		fmt.Println(who)
		time.Sleep(5 * time.Millisecond) // leave the others a turn: mkdir has no queue
	}
}

// afterDeath is what must hold of a directory after a process died in a call
// on it: the log is whole, with the dead one's record or without, and the
// next process works and leaves only the log.
func afterDeath(t *testing.T, what, dir string, records int) {
	t.Helper()
	by, err := checkNumbered(dir)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil || len(by) != records && len(by) != records+1 {
		t.Fatalf("%s: %d records of %d, %v", what, len(by), records, err)
	}
	had := len(by)
	if err := numbered(Open(dir, Options{Adoption: true}), "next"); err != nil {
		t.Fatalf("%s: the next call: %v", what, err)
	}
	if by, err := checkNumbered(dir); err != nil || len(by) != had+1 {
		t.Fatalf("%s: then %d records of %d, %v", what, len(by), had+1, err)
	}
	if left := listing(t, dir); len(left) != 1 {
		t.Fatalf("%s: left %v", what, left)
	}
}

func TestADeathAtAnyFileOperationStopsNobody(t *testing.T) {
	for where, p := range prepared {
		for _, writes := range []string{"", "nothing"} {
			t.Run(where+"/"+writes, func(t *testing.T) {
				t.Parallel()
				for n := 1; ; n++ {
					dir := filepath.Join(t.TempDir(), "data")
					p.make(t, dir)
					c := child("die-at-operation", dir, strconv.Itoa(p.calls), n)
					c.Env = append(c.Env, childNothing+"="+writes)
					out, err := c.CombinedOutput()
					if err == nil {
						if n < 10 {
							t.Fatalf("it made only %d operations", n-1)
						}
						break
					}
					if len(out) > 0 && !bytes.Contains(out, []byte("adopted")) {
						t.Fatalf("operation %d: %s", n, out)
					}
					afterDeath(t, fmt.Sprintf("death at operation %d", n), dir, p.records)
				}
			})
		}
	}
}

func TestADeathAtAnyStepStopsNobody(t *testing.T) {
	for _, step := range []Step{StepAcquire, StepRead, StepFold, StepDecide, StepAppend, StepSync, StepRelease} {
		dir := t.TempDir()
		fill(t, dir, 3)
		if err := child("die-at-step", dir, string(step), 0).Run(); err == nil {
			t.Fatalf("%s: it lives", step)
		}
		held := step != StepAcquire
		st, err := InspectLock(dir)
		must(t, err)
		if (st.State == LockAbandoned) != held {
			t.Errorf("%s: the lock is %s", step, st.State)
		}
		afterDeath(t, "death at "+string(step), dir, 3)
	}
}

// A death in the middle of an append tears the last line. Nothing repairs
// that: it is told, its bytes are kept, and the lock is no further obstacle.
func TestADeathWithinTheAppendIsToldAndItsBytesAreKept(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 3)
	if err := child("die-in-append", dir, "", 0).Run(); err == nil {
		t.Fatal("it lives")
	}
	torn, err := os.ReadFile(filepath.Join(dir, logName))
	must(t, err)
	if torn[len(torn)-1] == '\n' {
		t.Fatal("not torn")
	}
	for what, err := range map[string]error{
		"View":   Open(dir, Options{Adoption: true}).View(context.Background(), func(*core.State) error { return nil }),
		"Update": numbered(Open(dir, Options{Adoption: true}), "next"),
	} {
		bad, ok := errors.AsType[*CorruptError](err)
		if !ok || bad.Line != 4 || bad.Offset != int64(bytes.LastIndexByte(torn, '\n')+1) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, _ := os.ReadFile(filepath.Join(dir, logName)); !bytes.Equal(now, torn) {
		t.Error("the bytes changed")
	}
	if left := listing(t, dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestOfADeadOwnersLockEveryStateIsTold(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, 1)
	expect := func(want LockState) LockStatus {
		t.Helper()
		before := listing(t, dir)
		st, err := InspectLock(dir)
		must(t, err)
		if st.State != want {
			t.Errorf("the lock is %s, want %s", st.State, want)
		}
		if after := listing(t, dir); fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("looking changed %v to %v", before, after)
		}
		return st
	}
	expect(LockFree)

	h, err := Open(dir, Options{Adoption: true}).acquire(context.Background())
	must(t, err)
	if st := expect(LockHeld); st.PID != os.Getpid() || st.Domain == "" || st.At == "" {
		t.Errorf("%+v", st)
	}
	if _, released, err := Unlock(context.Background(), dir, Options{Adoption: true}, true); released || err != nil {
		t.Errorf("unlocked a held lock: %v", err)
	}
	h.log.Close()
	expect(LockAbandoned)
	if _, released, err := Unlock(context.Background(), dir, Options{Adoption: true}, false); released || err != nil {
		t.Errorf("a look released: %v", err)
	}
	expect(LockAbandoned)
	if st, released, err := Unlock(context.Background(), dir, Options{Adoption: true}, true); !released || err != nil || st.State != LockAbandoned {
		t.Errorf("%+v %v %v", st, released, err)
	}
	expect(LockFree)

	// The same marker, but of another boot; and of another file.
	abandon(t, dir)
	owner := filepath.Join(dir, lockName, ownerName)
	text, err := os.ReadFile(owner)
	must(t, err)
	o := parseOwner(text)
	boot, file, _ := bytes.Cut([]byte(o.Domain), []byte(" "))
	for domain, want := range map[string]LockState{
		"0000-of-another-boot " + string(file): LockEarlierBoot,
		string(boot) + " 1.2":                  LockForeign,
		"0000-of-another-boot 1.2":             LockForeign,
	} {
		must(t, os.WriteFile(owner, bytes.Replace(text, []byte(o.Domain), []byte(domain), 1), 0o600))
		expect(want)
		if _, released, _ := Unlock(context.Background(), dir, Options{Adoption: true}, true); released {
			t.Errorf("%s: released", want)
		}
		if _, ok := errors.AsType[*LockTimeoutError](numbered(Open(dir, short(Options{Adoption: true})), "x")); !ok {
			t.Errorf("%s: not waited for", want)
		}
	}
	// Adoption turned off: the dead owner's lock is waited for like any other.
	must(t, os.WriteFile(owner, text, 0o600))
	expect(LockAbandoned)
	if _, ok := errors.AsType[*LockTimeoutError](numbered(Open(dir, short(Options{})), "x")); !ok {
		t.Error("adopted with adoption off")
	}
	expect(LockAbandoned)
}

// sink counts what a child says it committed, once it is ready.
type sink struct {
	acks        []string
	ready, done chan bool
}

func listen(r io.Reader) *sink {
	s := &sink{ready: make(chan bool), done: make(chan bool)}
	go func() {
		defer close(s.done)
		lines := bufio.NewScanner(r)
		lines.Scan() // childReady, or its end
		close(s.ready)
		for lines.Scan() {
			s.acks = append(s.acks, lines.Text())
		}
	}()
	return s
}
