package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Client is an MCP client that configuration can be written for.
type Client string

// The clients.
const (
	Codex  Client = "codex"
	Claude Client = "claude"
)

// StartupTimeout is how long Codex may wait for a server to start: twice the
// lock's deadline and 5 s more, in whole seconds. Were it equal to the
// deadline, a server that was right to wait would look like one that hangs.
func StartupTimeout(lockDeadline time.Duration) time.Duration {
	d := 2*lockDeadline + 5*time.Second
	return (d + time.Second - 1).Truncate(time.Second)
}

// Template is a client's configuration: the file's name in the folder that
// the client reads, and what it holds.
func Template(c Client, lockDeadline time.Duration) (Manifest, error) {
	switch c {
	case Claude:
		return Manifest{".mcp.json", mcpManifest}, nil
	case Codex:
		// Codex hands a server no variable that it isn't told to, and
		// servers of one directory must agree on how they lock it.
		return Manifest{"config.toml", fmt.Appendf(nil, `[mcp_servers.gaia-interagent]
command = "gaia"
args = ["mcp"]
env_vars = [
    "GAIA_INTERAGENT_DATA_DIR",
    "GAIA_INTERAGENT_LOCK_ADOPTION",
    "GAIA_INTERAGENT_LOCK_TIMEOUT_MS",
    "GAIA_INTERAGENT_LOCK_STALE_MS",
    "GAIA_INTERAGENT_LOCK_RELEASE_RETRIES",
    "GAIA_INTERAGENT_LOCK_RELEASE_RETRY_DELAY_MS",
    "XDG_DATA_HOME",
]
startup_timeout_sec = %d
`, int(StartupTimeout(lockDeadline).Seconds()))}, nil
	}
	return Manifest{}, fmt.Errorf("unknown client %q: want codex or claude", c)
}

// Templates are all of them, with the default deadline.
func Templates() []Manifest {
	var all []Manifest
	for _, c := range []Client{Codex, Claude} {
		m, err := Template(c, 10*time.Second)
		if err != nil {
			panic(err) // the clients above are known
		}
		all = append(all, m)
	}
	return all
}

// ErrRefused is returned when a file may not be written where it was asked
// for; the error that wraps it says why.
var ErrRefused = errors.New("refused")

// Target is where a configuration would go.
type Target struct {
	Path   string
	Exists bool
	Same   bool // and holds exactly what would be written
}

// Plan decides whether m may be written into dir, and looks what is there. It
// writes nothing.
func Plan(dir string, m Manifest, p Places) (Target, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Target{}, err
	}
	t := Target{Path: filepath.Join(dir, m.Path)}
	if err := p.refuse(dir); err != nil {
		return t, err
	}
	fi, err := os.Lstat(t.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return t, err
	case !fi.Mode().IsRegular():
		return t, fmt.Errorf("%w: %s exists and is no regular file", ErrRefused, t.Path)
	}
	data, err := os.ReadFile(t.Path)
	if err != nil {
		return t, err
	}
	t.Exists, t.Same = true, bytes.Equal(data, m.Data)
	return t, nil
}

// Write carries a plan out. Without force it never replaces a file.
func Write(t Target, m Manifest, force bool) error {
	if t.Same {
		return nil
	}
	if t.Exists && !force {
		return fmt.Errorf("%w: %s exists and holds something else; --force replaces the whole file", ErrRefused, t.Path)
	}
	dir := filepath.Dir(t.Path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if !t.Exists {
		f, err := os.OpenFile(t.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(m.Data)
		return errors.Join(err, f.Close())
	}
	// By rename, so that a link to a file elsewhere is replaced and not followed.
	f, err := os.CreateTemp(dir, m.Path+".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(m.Data)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), t.Path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
