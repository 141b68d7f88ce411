package mcp

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaia/core"
	"gaia/eventlog"
)

// Config is what a Server works with.
type Config struct {
	Log *eventlog.Log
	// Clock is read once a call, in the log's lock; nil: time.Now.
	Clock   func() time.Time
	Version string // of the product, for serverInfo
	// Stderr gets diagnostics, a line each; nil: none. It may block or be
	// gone, see [Stderr], which it is wrapped in unless it is one.
	Stderr io.Writer
}

// A Server is the bus behind MCP. It may serve several sessions at once; the
// calls of one session commit in the order they arrived.
type Server struct {
	log     *eventlog.Log
	clock   func() time.Time
	version string
	stderr  io.Writer
	tools   []*sdk.Tool

	// Tests set these to others.
	decide   func(*core.State, core.Command) core.Decision
	update   func(context.Context, func(*core.State) []core.Event) (eventlog.Receipt, error)
	patience time.Duration
	maxLoad  int
}

// NewServer touches nothing: not the log, not its lock.
func NewServer(c Config) *Server {
	s := &Server{
		log: c.Log, clock: c.Clock, version: c.Version, stderr: io.Discard, tools: tools(),
		decide: core.Decide, update: c.Log.Update, patience: patience, maxLoad: maxLoad,
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	switch w := c.Stderr.(type) {
	case nil:
	case *Stderr:
		s.stderr = w
	default:
		s.stderr = NewStderr(w)
	}
	return s
}

const (
	// patience is how long, once the input has ended, a call may go on
	// waiting for a lock that another process holds: whoever closed our
	// input will soon kill us, and an answer is worth more than the wait.
	patience = 500 * time.Millisecond
	// lookAgain is how often that is looked at.
	lookAgain = 25 * time.Millisecond
	// lastWords is how long a server that was told to end waits for a
	// client to read the replies.
	lastWords = 500 * time.Millisecond
)

// Serve speaks MCP on in and out until in ends (nil), out breaks (nil) or ctx
// is done (its cause). Every request that was read is answered first: after
// the end of in all are carried out; once ctx is done a commit in flight
// finishes and no other starts. It closes both. A read of in that can't be
// interrupted is left behind.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	c := newConn(in, out, s.maxLoad, ctx.Done())
	defer c.Close()
	if _, err := s.session(c).Connect(context.WithoutCancel(ctx), c, nil); err != nil {
		return fmt.Errorf("starting the session: %w", err)
	}
	select {
	case <-c.over:
	case <-ctx.Done():
	}
	s.settle(ctx, c)
	s.log.Close() // it rests now
	select {
	case <-c.idle:
	case <-ctx.Done():
		select {
		case <-c.idle:
		case <-time.After(lastWords):
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return c.readErr
}

// settle returns when no call touches the log any more.
func (s *Server) settle(ctx context.Context, c *conn) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	stop := ctx.Done()
	var waiting *request
	var since time.Time
	for {
		select {
		case <-c.settled:
			return
		case <-stop:
			stop = nil
			c.end(io.EOF)
			c.giveUp(errShutdown)
		case now := <-tick.C:
			if r := c.head(); r != waiting {
				waiting, since = r, now
			} else if r != nil && now.Sub(since) >= s.patience && !r.locked.Load() && s.lockIsForeign() {
				c.giveUp(errGaveUp)
			}
		}
	}
}

// lockIsForeign tells waiting for another process from being slow ourselves.
func (s *Server) lockIsForeign() bool {
	st, err := eventlog.InspectLock(s.log.Dir())
	return err == nil && st.State != eventlog.LockFree && st.PID != os.Getpid()
}
