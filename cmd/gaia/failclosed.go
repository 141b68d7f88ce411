package main

import (
	"context"
	"errors"

	"gaia/cmd/gaia/internal/text"
	"gaia/mcp"
)

// failed ends a command that reads the log by itself: it prints the payload
// that a verb would print, and says on standard error what a person should do.
func (a *app) failed(err error) error {
	if _, said := errors.AsType[*exitError](err); said {
		return err
	}
	if errors.Is(err, context.Canceled) { // the log's, of a call ended while it waited
		return errInterrupted
	}
	return a.failClosed(mcp.FailClosed(err))
}

// failClosed prints a fail-closed envelope in either format.
func (a *app) failClosed(e mcp.Envelope) error {
	err := a.print(answer{body: e, text: func(p *text.Page) {
		p.Mark(text.Bad, "FAILED CLOSED ", "%s", e.Code)
	}})
	if err != nil {
		return err
	}
	return &exitError{exitFailClosed, errors.New(deref(e.Error))}
}
