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

// ErrNoSQLite is returned when there is no sqlite3 program to measure.
var ErrNoSQLite = errors.New("no sqlite3 program was found")

// ContendSQLite runs a contention of sqlite3 processes on one database in WAL
// mode with synchronous=FULL: one transaction a commit, awaited by its reply.
// They are driven from this process, which costs them less than a client
// process each would.
func ContendSQLite(ctx context.Context, c Contest) (results.Measurement, error) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return results.Measurement{}, ErrNoSQLite
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
		return results.Measurement{}, fmt.Errorf("sqlite3 made no database in WAL mode: %v %s", err, printable(string(mode)))
	}

	all := results.NewHistogram()
	lanes := make([]results.Lane, c.Processes)
	commit := "BEGIN IMMEDIATE; INSERT INTO events(record) VALUES('" + strings.Repeat("x", recordLine-1) + "'); COMMIT; SELECT last_insert_rowid();\n"
	var mu sync.Mutex
	// Its shell flushes what it printed before it reads on.
	hello := ".timeout 60000\nPRAGMA synchronous=FULL;\nSELECT 'ready';\n"
	err = c.run(ctx, argv, hello, func(i int, p *contender, at int64) error {
		if err := sleepUntil(ctx, at); err != nil {
			return err
		}
		h := results.NewHistogram()
		var calls int64
		for end := at + int64(c.Window); ; {
			start := now()
			if start >= end {
				break
			}
			if _, err := p.stdin.Write([]byte(commit)); err != nil {
				return err
			}
			if _, err := p.stdout.ReadString('\n'); err != nil {
				return errors.New("it ended in the middle of its commits")
			}
			done := now()
			h.Record(time.Duration(done - start))
			if done <= end {
				calls++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.Merge(h)
		lanes[i] = laneOf(i, results.BySQLite, calls, c.Window, h)
		return nil
	})
	m := c.recorded(lanes, all)
	m.By = results.BySQLite
	return m, err
}
