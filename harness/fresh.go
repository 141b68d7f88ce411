package harness

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A FreshStart is the first moments of one server.
type FreshStart struct {
	Initialize time.Duration // from before its start to its answer
	FirstCall  time.Duration // request to reply: it reads the whole log
	Private    int64         // bytes it has of its own after that call; 0: not known on this system
}

// StartFresh starts gaia's server on a data directory, makes the first call
// that any client makes, a registration, and ends it. Self is as in [TrialSpec].
func StartFresh(ctx context.Context, self []string, dir string) (f FreshStart, err error) {
	argv, err := own(self)
	if err != nil {
		return f, err
	}
	argv = append(slices.Clone(argv), "mcp")
	limits := Limits{}.withDefaults()
	s, err := startServer(ctx, argv, []string{envDataDir + "=" + dir}, limits.Start, nil)
	if err != nil {
		return f, fmt.Errorf("a fresh server: %w", err)
	}
	defer s.stop(serverGrace)
	f.Initialize = time.Duration(s.initialized - s.started)
	limited, cancel := context.WithTimeout(ctx, limits.Call)
	defer cancel()
	start := now()
	_, outcome, detail := s.call(limited, verbRegister, callArgs{ActorID: laneName(1), Kind: "lab"})
	f.FirstCall = time.Duration(now() - start)
	if ctx.Err() != nil {
		return f, context.Cause(ctx)
	}
	if outcome != OutcomeOK {
		return f, fmt.Errorf("a fresh server's first call: %s: %s", outcome, detail)
	}
	f.Private = privateMemory(s.cmd.Process)
	return f, nil
}
