package mcp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gaia/eventlog"
)

// gaiaBinary builds the command once.
var gaiaBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gaia-mcp-test")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "gaia")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", path, "gaia/cmd/gaia").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if builtGaia != "" {
		os.RemoveAll(filepath.Dir(builtGaia))
	}
	os.Exit(code)
}

// builtGaia is for TestMain alone, to remove.
var builtGaia string

func gaia(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no processes")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no binary to start: ", err)
	}
	path, err := gaiaBinary()
	if err != nil {
		t.Fatal(err)
	}
	builtGaia = path
	return path
}

// A child is a real server process.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	outC   io.Closer
	stderr bytes.Buffer
}

// startGaia starts one; stderr nil is kept in the child.
func startGaia(t *testing.T, dir string, stderr *os.File) *child {
	t.Helper()
	c := &child{cmd: exec.Command(gaia(t), "mcp")}
	c.cmd.Env = append(os.Environ(), eventlog.EnvDataDir+"="+dir)
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out, c.outC, c.cmd.Stderr = in, bufio.NewReader(out), out, &c.stderr
	if stderr != nil {
		c.cmd.Stderr = stderr
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
	})
	return c
}

func (c *child) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		t.Fatal(err)
	}
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("reading a reply: %v; stderr: %s", err, c.stderr.String())
	}
	return line
}

// wait reads what is left and returns it with the exit code.
func (c *child) wait(t *testing.T) (string, int) {
	t.Helper()
	rest, _ := io.ReadAll(c.out)
	c.cmd.Wait()
	return string(rest), c.cmd.ProcessState.ExitCode()
}

func TestProcessEndsWithItsInput(t *testing.T) {
	c := startGaia(t, filepath.Join(t.TempDir(), "data"), nil)
	in := handshake
	for i := range 5 {
		in += toolsCall(i, "register", obj{"actorId": fmt.Sprint("lane ", i)})
	}
	c.send(t, in)
	c.in.Close()
	out, code := c.wait(t)
	if len(answers(t, out)) != 6 || code != 0 || c.stderr.Len() > 0 {
		t.Errorf("%d replies, exit %d, stderr %q", len(answers(t, out)), code, c.stderr.String())
	}
}

// A parent that is gone takes all three pipes with it.
func TestProcessEndsWithItsParent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	c := startGaia(t, dir, nil)
	c.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"}))
	c.line(t)
	c.outC.Close()
	c.in.Close()
	if _, code := c.wait(t); code != 0 {
		t.Errorf("exit %d, stderr %q", code, c.stderr.String())
	}
	mustBeFree(t, dir, 1)
}

func TestProcessAnswersThoughTheLogIsDamagedAndTheLockHeld(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startGaia(t, dir, nil)
	c.send(t, handshake)
	c.line(t)
	c.send(t, toolsCall(1, "heartbeat", obj{"actorId": "a"}))
	if line := c.line(t); !strings.Contains(line, CodeLogCorrupt) {
		t.Error(line)
	}
	holdLock(t, dir)
	c.send(t, toolsCall(2, "heartbeat", obj{"actorId": "a"}))
	c.in.Close()
	if line := c.line(t); !strings.Contains(line, CodeLockTimeout) {
		t.Error(line)
	}
	if _, code := c.wait(t); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// mustBeFree checks that the lock is gone and the log valid with n records.
func mustBeFree(t *testing.T, dir string, n int) {
	t.Helper()
	if names := slicesOf(tree(t, dir)); len(names) != 2 {
		t.Errorf("left behind: %q", names)
	}
	if got := lines(t, eventlog.Open(dir, eventlog.Options{})); len(got) != n {
		t.Errorf("%d records, want %d", len(got), n)
	}
}
