package harness

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gaia/results"
)

// CheckReplay runs argv, which prints the state it replays from a log, in two
// processes of their own and compares what they print, byte for byte.
func CheckReplay(ctx context.Context, argv, env []string, limit time.Duration) results.Promise {
	var f findings
	var sums [2][sha256.Size]byte
	var sizes [2]int64
	var errs [2]error
	var both sync.WaitGroup
	for n := range sums {
		both.Go(func() { sums[n], sizes[n], errs[n] = printedBy(ctx, argv, env, limit) })
	}
	both.Wait()
	for n, err := range errs {
		if err != nil {
			f.add("process %d: %v", n+1, err)
		}
	}
	switch {
	case f.total > 0:
	case sums[0] != sums[1]:
		f.add("two processes replay the log to different bytes")
	case sizes[0] == 0:
		f.add("nothing was printed")
	}
	return f.promise(PromiseReplay, "two processes print the same %d bytes", sizes[0])
}

func printedBy(ctx context.Context, argv, env []string, limit time.Duration) (sum [sha256.Size]byte, size int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	h := sha256.New()
	stderr := new(tail)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(inherited(), env...)
	counted := &counter{w: h}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = counted, stderr, 2*time.Second
	if err := cmd.Run(); err != nil {
		return sum, 0, fmt.Errorf("%w %s", causeOr(ctx, err), stderr.lastLine())
	}
	h.Sum(sum[:0])
	return sum, counted.n, nil
}

// compareReplay is the check for servers whose state no command prints: two
// server processes, the second of another kind where there are several, each
// on a copy of the log of its own, are asked for every lane's inbox and then
// to mint an actor and a message. The answers must agree.
func compareReplay(ctx context.Context, kinds []command, dir, work string, refs []string, limits Limits) results.Promise {
	var f findings
	var told [2][]string
	for n := range told {
		copied := filepath.Join(work, fmt.Sprintf("replay-%d", n+1))
		if err := copyLog(dir, copied); err != nil {
			f.add("copying the log: %v", err)
			break
		}
		var err error
		if told[n], err = questioned(ctx, kinds[n%len(kinds)], copied, refs, limits); err != nil {
			f.add("process %d: %v", n+1, err)
		}
		_ = os.RemoveAll(copied) // it lies in the trial's own work folder
	}
	for i := 0; f.total == 0 && i < len(told[0]); i++ {
		if told[0][i] != told[1][i] {
			f.add("two processes that replayed the log answer %q and %q", told[0][i], told[1][i])
		}
	}
	return f.promise(PromiseReplay, "two processes on copies of the log give the same %d answers", len(told[0]))
}

func copyLog(dir, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(to, logName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// questioned asks one server process what it makes of a log, a line an answer.
func questioned(ctx context.Context, c command, dir string, refs []string, limits Limits) (told []string, err error) {
	s, err := startServer(ctx, c.argv, append(append([]string{}, c.env...), envDataDir+"="+dir), limits.Start, nil)
	if err != nil {
		return nil, err
	}
	defer s.stop(serverGrace)
	ask := func(verb string, args callArgs) (a answer, err error) {
		limited, cancel := context.WithTimeout(ctx, limits.Call)
		defer cancel()
		a, outcome, detail := s.call(limited, verb, args)
		if outcome != OutcomeOK {
			return a, fmt.Errorf("%s: %s: %s", verb, outcome, detail)
		}
		return a, nil
	}
	for _, ref := range refs {
		// All pages of the inbox: implementations differ in their length.
		var line strings.Builder
		line.WriteString(ref + " has")
		for after, page := "", 0; page == 0 || after != ""; page++ {
			a, err := ask(verbInbox, callArgs{ActorID: ref, After: after})
			if err != nil {
				return nil, err
			}
			for _, m := range a.Pending {
				fmt.Fprintf(&line, " %s(%s %s→%s %s)", m.MessageID, m.CorrelationID, m.From, m.To, digest(m.Text))
			}
			if after = a.Next; page > 10_000 {
				return nil, errors.New("inbox: its pages don't end")
			}
		}
		told = append(told, line.String())
	}
	a, err := ask(verbRegister, callArgs{ActorID: "lab-witness", Kind: "lab"})
	if err != nil {
		return nil, err
	}
	told = append(told, "mints "+a.Ref)
	if a, err = ask(verbSend, callArgs{From: a.Ref, To: a.Ref, Text: "witness"}); err != nil {
		return nil, err
	}
	return append(told, "mints "+a.MessageID+" "+a.CorrelationID), nil
}
