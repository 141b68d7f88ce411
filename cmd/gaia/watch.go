package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/follow"
	"gaia/core"
	"gaia/eventlog"
)

func newWatchCommand(a *app) *cobra.Command {
	var w watch
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Follow the log as it grows",
		Long: `Watch prints each record as it is written, with its own bytes or, on a terminal,
as a line of text. It takes no lock. It begins with what comes next; --after N
begins behind record N, and --after 0 with the first.

With --for it waits for the next message to one actor, prints that, and ends
with 0, or with 1 when --timeout passes first: a hook's way to wake an agent
without polling the bus. Pass --after with the number of records that the agent
has seen (events in gaia status), or a message that came in between is missed.`,
		Example: "  gaia watch\n  gaia watch --after 0 --output json\n  gaia watch --for builder --timeout 10m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.fromNow = !cmd.Flags().Changed("after")
			timed := cmd.Flags().Changed("timeout")
			switch {
			case w.after < 0:
				return usagef("--after %d: want 0 or more", w.after)
			case timed && w.actor == "":
				return usagef("--timeout means nothing without --for")
			case timed && w.timeout <= 0:
				return usagef("--timeout %v: want more than 0", w.timeout)
			}
			return a.watch(cmd.Context(), w)
		},
	}
	cmd.Flags().IntVar(&w.after, "after", 0, "begin behind this record; 0 is the beginning (default: what comes next)")
	cmd.Flags().StringVar(&w.actor, "for", "", "end with the next message to this `actor`, a ref or a name")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "with --for: give up after so long, such as 90s or 10m (default: never)")
	return cmd
}

// watch are the flags of watch.
type watch struct {
	after   int
	fromNow bool
	actor   string
	timeout time.Duration
}

var (
	errFound    = errors.New("found")
	errDeadline = errors.New("deadline")
)

func (a *app) watch(ctx context.Context, w watch) error {
	log, _, err := a.log()
	if err != nil {
		return err
	}
	// What is there is read once as every reader reads it, so that damage is
	// told from an append in flight.
	behind := w.after
	if err := log.View(ctx, func(s *core.State) error {
		if w.fromNow {
			behind = s.Events()
		}
		return nil
	}); err != nil {
		return a.failed(err)
	}
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, w.timeout, errDeadline)
		defer cancel()
	}
	f := follow.New(log.Path())
	err = f.Run(ctx, func(l eventlog.Line) error {
		if l.Number <= behind {
			return nil
		}
		if w.actor == "" {
			return a.printLine(l)
		}
		ref, err := f.Resolve(w.actor)
		if err != nil {
			return nil // perhaps it registers yet
		}
		if e, err := core.ParseEvent(l.Bytes); err != nil {
			return err
		} else if m, ok := e.(*core.MessageSent); !ok || m.Message.To != ref {
			return nil
		}
		if err := a.printLine(l); err != nil {
			return err
		}
		return errFound
	}, func() error {
		if readerGone(a.stdout) {
			return io.ErrClosedPipe
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound), gone(err):
		return nil
	case errors.Is(err, errDeadline):
		why := ""
		if _, err := f.Resolve(w.actor); err != nil {
			why = ": " + err.Error()
		}
		return &exitError{exitNo, fmt.Errorf("no message to %q within %v%s", w.actor, w.timeout, why)}
	case ctx.Err() != nil && w.actor == "":
		return nil // told to end
	case ctx.Err() != nil:
		return &exitError{exitNo, fmt.Errorf("ended before a message to %q came", w.actor)}
	}
	return a.failed(err)
}

// printLine prints one record at once.
func (a *app) printLine(l eventlog.Line) error {
	if a.json() {
		return a.emit(append(a.shown(bytes.Clone(l.Bytes)), '\n'))
	}
	page := a.page()
	printEvent(page, l)
	return a.emit(page.Bytes())
}
