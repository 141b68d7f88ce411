package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaia/core"
	"gaia/eventlog"
)

// metaPhases, true in a request's _meta, asks for the durations of the
// commit's steps; the result's _meta then has under the same name an object
// {step: nanoseconds}, steps named as eventlog.Step names them.
const metaPhases = "gaia/phases"

// Why a call's context may end before its commit.
var (
	errCancelled = errors.New("cancelled by the client before its commit; nothing was written")
	errShutdown  = errors.New("the server is shutting down; nothing was written; call again through a new session")
	errGaveUp    = errors.New("the session's input ended while another process held the log's lock; nothing was written; `gaia doctor` tells who holds it")
)

// callTool answers one tools/call. The SDK hands over the request's number;
// the envelope goes back beside the result.
func (s *Server) callTool(c *conn, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	n, _ := strconv.ParseInt(string(req.Params.Arguments), 10, 64)
	r := c.request(n)
	if r == nil {
		return nil, fmt.Errorf("no call has the number %d", n)
	}
	defer c.through(r)
	select {
	case <-r.ready:
	case <-r.ctx.Done():
	}
	var phases eventlog.Phases
	env, err := s.commit(r, &phases)
	if err != nil {
		return nil, err
	}
	if r.answer, err = env.encode(); err != nil {
		return nil, err
	}
	res := &sdk.CallToolResult{IsError: !env.OK}
	if req.Params.Meta[metaPhases] == true {
		ns := make(map[string]int64, len(phases))
		for step, d := range phases {
			ns[string(step)] = d.Nanoseconds()
		}
		res.Meta = sdk.Meta{metaPhases: ns}
	}
	return res, nil
}

// commit takes a call to the log. Its error is a JSON-RPC error.
func (s *Server) commit(r *request, phases *eventlog.Phases) (Envelope, error) {
	if r.ctx.Err() != nil {
		return failClosed(context.Cause(r.ctx))
	}
	cmd := core.Command{Verb: r.verb, Args: r.args}
	if cmd.Verb == "" {
		cmd.Verb = core.UnknownVerb
	}
	var d core.Decision
	panicked := false
	receipt, err := s.update(r.ctx, func(state *core.State) (events []core.Event) {
		r.locked.Store(true)
		// Caught here, so that the log and its lock never see it.
		defer func() {
			if p := recover(); p != nil {
				panicked, events = true, nil
				fmt.Fprintf(s.stderr, "gaia: error: deciding %q panicked: %v\n%s", brief(cmd.Verb), p, debug.Stack())
			}
		}()
		cmd.At = core.FormatTime(s.clock())
		d = s.decide(state, cmd)
		switch res := d.Result.(type) {
		case *core.RegisterResult:
			res.Peers = state.PeersFor(res.Ref, cmd.At)
		case *core.InboxResult:
			res.Peers = state.PeersFor(res.ActorID, cmd.At)
		case *core.HeartbeatResult:
			res.Peers = state.PeersFor(res.ActorID, cmd.At)
		}
		return d.Events
	})
	*phases = receipt.Phases
	switch {
	case err != nil:
		return failClosed(err)
	case panicked:
		return Envelope{}, errPanic
	}
	env := Envelope{OK: !d.Refused(), EventsAppended: make(EventTypes, len(d.Events))}
	for i, e := range d.Events {
		env.EventsAppended[i] = e.EventType()
	}
	if d.Refused() {
		env.Error = &d.Refusal
	} else {
		env.Result = core.AppendResult(nil, d.Result)
	}
	return env, nil
}

// failClosed turns what kept a call from its commit into its answer.
func failClosed(err error) (Envelope, error) {
	switch {
	case !errors.Is(err, errCancelled) && !errors.Is(err, errShutdown) && !errors.Is(err, errGaveUp):
		return FailClosed(err), nil
	case errors.Is(err, errGaveUp):
		env := FailClosed(errGaveUp)
		env.Code = CodeLockTimeout
		return env, nil
	case errors.Is(err, errShutdown):
		return Envelope{}, &jsonrpc.Error{Code: codeShuttingDown, Message: errShutdown.Error()}
	}
	return Envelope{}, &jsonrpc.Error{Code: codeCancelled, Message: errCancelled.Error()}
}
