package bench

import (
	"bytes"
	"context"
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gaia/core"
	"gaia/eventlog"
)

// Commits times n commits to the log in dir, in process and without anything
// of MCP, each followed by a commit as bare as [Floor]'s on the same disk.
func Commits(ctx context.Context, dir string, n int) (log, bare []time.Duration, err error) {
	o, err := eventlog.OptionsFromEnv(func(string) string { return "" }) // as it ships
	if err != nil {
		return nil, nil, err
	}
	l := eventlog.Open(dir, o)
	defer l.Close()
	b, err := openBare(dir)
	if err != nil {
		return nil, nil, err
	}
	defer b.close()
	for i := range n + warmUp {
		// The command is made outside of what is timed: it is the server's to make.
		c := core.Command{Verb: string(core.Heartbeat), At: core.FormatTime(time.Now()), Args: jsontext.Value(`{"actorId":"act-0001"}`)}
		start := time.Now()
		if _, err := l.Update(ctx, func(s *core.State) []core.Event { return core.Decide(s, c).Events }); err != nil {
			return nil, nil, err
		}
		committed := time.Now()
		if err := b.commit(); err != nil {
			return nil, nil, err
		}
		if i >= warmUp {
			log, bare = append(log, committed.Sub(start)), append(bare, time.Since(committed))
		}
	}
	return log, bare, nil
}

// Validate times asking of each of a log's lines whether it is JSON, which no
// replay can do without.
func Validate(log []byte) (time.Duration, error) {
	lines := bytes.SplitAfter(log, []byte("\n"))
	lines = lines[:len(lines)-1] // what follows the last newline is nothing
	runtime.GC()
	start := time.Now()
	err := replay(OpValidate, lines)
	return time.Since(start), err
}
