package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gaia/results"
)

// ErrNoSQLite is returned when no sqlite3 program is found, or the one that is
// fails. What wraps it names no path.
var ErrNoSQLite = errors.New("SQLite could not be measured")

// ContendSQLite runs a contention of sqlite3 processes on one database in WAL
// mode with synchronous=FULL: one transaction a commit, awaited by its reply.
// They are driven from this process, which costs them less than a client
// process each would.
func ContendSQLite(ctx context.Context, c Contest) (results.Measurement, error) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return results.Measurement{}, fmt.Errorf("%w: no sqlite3 program was found", ErrNoSQLite)
	}
	// A user's settings must not shape what is measured.
	settings := filepath.Join(c.Dir, "settings")
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		return results.Measurement{}, err
	}
	argv := []string{program, "-batch", "-bail", "-init", settings, filepath.Join(c.Dir, "events.sqlite")}
	database := exec.CommandContext(ctx, argv[0], argv[1:]...)
	database.Env, database.WaitDelay = inherited(), 2*time.Second
	database.Stdin = strings.NewReader("PRAGMA journal_mode=WAL; CREATE TABLE events(id INTEGER PRIMARY KEY, record TEXT NOT NULL);\n")
	switch mode, err := database.CombinedOutput(); {
	case ctx.Err() != nil:
		return results.Measurement{}, context.Cause(ctx)
	case err != nil || strings.TrimSpace(string(mode)) != "wal":
		return results.Measurement{}, fmt.Errorf("%w: sqlite3 made no database in WAL mode: %s", ErrNoSQLite, withoutPaths(fmt.Sprint(string(mode), " ", err)))
	}

	all := results.NewHistogram()
	lanes := make([]results.Lane, c.Processes)
	commit := "BEGIN IMMEDIATE; INSERT INTO events(record) VALUES('" + strings.Repeat("x", results.RecordBytes-1) + "'); COMMIT; SELECT last_insert_rowid();\n"
	var mu sync.Mutex
	var version string
	// Its shell flushes what it printed before it reads on.
	// fullfsync is macOS's alone, where Go's fsync means it too.
	hello := ".timeout 60000\nPRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA checkpoint_fullfsync=1;\nSELECT 'ready ' || sqlite_version();\n"
	err = c.run(ctx, argv, hello, func(i int, p *contender, at int64) error {
		calls, h, err := commits(ctx, at, c.Window, func() error {
			_, werr := p.stdin.Write([]byte(commit))
			if _, err := p.stdout.ReadString('\n'); werr != nil || err != nil {
				return errors.New("it ended in the middle of its commits")
			}
			return nil
		})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all.Merge(h)
		lanes[i] = laneOf(i, results.BySQLite, calls, c.Window, h)
		version = printable(strings.TrimPrefix(p.hello, "ready "))
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return results.Measurement{}, fmt.Errorf("%w: %s", ErrNoSQLite, withoutPaths(err.Error()))
	}
	m := c.recorded(lanes, all)
	m.By, m.Version = results.BySQLite, version
	return m, err
}
