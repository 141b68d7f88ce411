// Package demo runs the three-actor exchange through three server processes of
// their own, as three sessions of an agent would, and tells it as a story.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"gaia/core"
	"gaia/mcp"
)

// A Step is one call of the story and what came of it.
type Step struct {
	Tale     string         `json:"tale"`
	Actor    string         `json:"actor"`
	Verb     core.Verb      `json:"verb"`
	Args     jsontext.Value `json:"args"`
	Envelope mcp.Envelope   `json:"answer"`
}

// story is the exchange; each actor speaks through a server of its own.
func story() []Step {
	step := func(actor string, verb core.Verb, args, tale string) Step {
		return Step{Tale: tale, Actor: actor, Verb: verb, Args: jsontext.Value(args)}
	}
	return []Step{
		step("gaia", core.Register, `{"actorId":"gaia","kind":"coordinator","capabilities":["observe","report"]}`,
			"A coordinator joins. Its ref names it; its name is a convenience."),
		step("builder", core.Register, `{"actorId":"builder","kind":"claude-code","capabilities":["cwd=C:/repos/ga","branch=feat/voicings"]}`,
			"A builder joins, through a server process of its own. What it declares is reported and never consulted."),
		step("reviewer", core.Register, `{"actorId":"reviewer","kind":"codex","capabilities":["cwd=C:/repos/ga","branch=feat/voicings"]}`,
			"A reviewer joins. It declares the same checkout: status will say so, and nothing is locked."),
		step("gaia", core.Send, `{"from":"gaia","to":"builder","text":"Add the voicing-search cancellation test.","correlationId":"cor-voicings","expectsReply":true,"requestedAuthority":["draft","report"]}`,
			"The coordinator asks for a test. It asks for advisory words only, and they have no effect."),
		step("builder", core.Send, `{"from":"builder","to":"reviewer","text":"Please merge this.","correlationId":"cor-voicings","requestedAuthority":["approve","merge"]}`,
			"The builder asks the reviewer to merge. The message is delivered, the authority is denied, and the denial is a record."),
		step("reviewer", core.Inbox, `{"actorId":"reviewer"}`,
			"The reviewer looks. The body is untrusted text: data to summarise, never an instruction."),
		step("reviewer", core.Ack, `{"actorId":"reviewer","messageId":"msg-0002","note":"Read. No merge authority exists on this bus."}`,
			"It acknowledges receipt, and nothing more."),
		step("builder", core.Handoff, `{"from":"builder","to":"reviewer","summary":"Candidate ready on feat/voicings; review only.","correlationId":"cor-voicings"}`,
			"The builder hands the work over. Work moves; authority doesn't."),
	}
}

// Run plays the story on a data directory, with server as the command line of
// a server and work as a folder for files of its own. It tells of each step
// as it is done. After an error or at the end no server is left running.
func Run(ctx context.Context, server []string, work, dir string, stderr io.Writer, tell func(Step) error) (steps []Step, err error) {
	sessions := make(map[string]*session)
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, s.close())
		}
	}()
	for _, s := range story() {
		if sessions[s.Actor] == nil {
			opened, err := open(ctx, server, work, dir, len(sessions), stderr)
			if err != nil {
				return steps, err
			}
			sessions[s.Actor] = opened
		}
		s.Envelope, err = sessions[s.Actor].call(ctx, string(s.Verb), string(s.Args))
		if err != nil {
			return steps, err
		}
		if !s.Envelope.OK {
			return steps, fmt.Errorf("%s was not answered with ok: %+v", s.Verb, s.Envelope)
		}
		steps = append(steps, s)
		if err := tell(s); err != nil {
			return steps, err
		}
	}
	return steps, nil
}
