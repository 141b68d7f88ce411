package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
	"gaia/eventlog"
)

const initializeNote = "initialize only ever creates a directory and appends one actor.registered event. It never deletes, truncates, " +
	"or resets an existing log, and it appends nothing at all when a coordinator of this name already exists."

func newInitializeCommand(a *app) *cobra.Command {
	var apply bool
	var name string
	cmd := &cobra.Command{
		Use:   "initialize",
		Short: "Create the data directory and register the coordinator",
		Long: `Initialize shows what it would do; with --apply it does it: it creates the data
directory and registers one coordinator. It never deletes, truncates or resets
a log, and appends nothing where an actor of that name exists.`,
		Example: "  gaia initialize\n  gaia initialize --apply",
		Args:    cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		again := "gaia initialize --apply"
		for _, flag := range []string{"actor", "data-dir"} {
			if f := cmd.Flags().Lookup(flag); f.Changed {
				again += " --" + flag + " " + shellWord(f.Value.String())
			}
		}
		return a.initialize(cmd.Context(), name, apply, again)
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "do it; without, nothing is written")
	cmd.Flags().StringVar(&name, "actor", "gaia", "the coordinator's `name`")
	return cmd
}

// initialized is the JSON of initialize.
type initialized struct {
	OK                      bool     `json:"ok"`
	Command                 string   `json:"command"`
	Mode                    string   `json:"mode"` // "dry-run" or "apply"
	WillCreateDataDir       *bool    `json:"willCreateDataDir,omitzero"`
	CreatedDataDir          *bool    `json:"createdDataDir,omitzero"`
	ExistingLog             bool     `json:"existingLog"`
	WillRegisterCoordinator *string  `json:"willRegisterCoordinator,omitempty"`
	Destructive             bool     `json:"destructive"`
	Note                    string   `json:"note"`
	Required                string   `json:"required,omitzero"`
	Error                   string   `json:"error,omitzero"`
	EventsAppended          []string `json:"eventsAppended,omitzero"`
	// Result is the coordinator as register answers, the one that exists or
	// the new one; absent in a dry run that would register.
	Result core.Result `json:"result,omitzero"`
}

// A plan is what initialize does on one state of the bus.
type plan struct {
	events  []core.Event
	result  *core.RegisterResult // of the coordinator that there is, or will be
	exists  bool
	refusal string
}

// planCoordinator decides; it is run on what a reader sees and, with --apply,
// once more in the lock.
func (a *app) planCoordinator(s *core.State, args jsontext.Value) plan {
	d := core.Decide(s, core.Command{Verb: string(core.Register), At: core.FormatTime(a.now()), Args: args})
	if d.Refused() {
		return plan{refusal: d.Refusal}
	}
	p := plan{events: d.Events, result: d.Result.(*core.RegisterResult)}
	var same []core.ActorView
	for _, actor := range s.Actors() {
		if actor.Name == p.result.Name {
			same = append(same, actor)
		}
	}
	switch len(same) {
	case 0:
		return p
	case 1:
		r := &core.RegisterResult{Ref: same[0].Ref, Name: same[0].Name, BusAuthority: same[0].BusAuthority, NameSharedWith: []string{},
			Addressing: "addressable as \"" + same[0].Name + "\" or " + same[0].Ref}
		return plan{result: r, exists: true}
	}
	// The bus's own words for a name that several bear.
	d = core.Decide(s, core.Command{Verb: string(core.Heartbeat), At: core.FormatTime(a.now()), Args: actorArgs(p.result.Name)})
	return plan{refusal: d.Refusal}
}

func actorArgs(name string) jsontext.Value {
	args, _ := json.Marshal(struct { // a struct of valid text can't fail
		ActorID string `json:"actorId"`
	}{name})
	return args
}

// initialize plans and, with apply, does it; again is the command that does.
func (a *app) initialize(ctx context.Context, name string, apply bool, again string) error {
	args, err := json.Marshal(struct {
		ActorID      string   `json:"actorId"`
		Kind         string   `json:"kind"`
		Capabilities []string `json:"capabilities"`
	}{name, "coordinator", []string{"observe", "report"}})
	if err != nil {
		return usagef("--actor is not valid UTF-8")
	}
	log, _, err := a.log()
	if err != nil {
		return err
	}
	noDir, noLog := missing(log.Dir()), missing(log.Path())
	var p plan
	if err := log.View(ctx, func(s *core.State) error { p = a.planCoordinator(s, args); return nil }); err != nil {
		return a.failed(err)
	}
	out := initialized{OK: true, Command: "initialize", Mode: "dry-run", ExistingLog: !noLog, Note: initializeNote}
	if apply {
		out.Mode = "apply"
		out.EventsAppended = []string{}
		if p.refusal == "" && !p.exists {
			if p, err = a.applyPlan(ctx, log, args); err != nil {
				return a.failed(err)
			}
			for _, e := range p.events {
				out.EventsAppended = append(out.EventsAppended, e.EventType())
			}
		}
		created := noDir && len(p.events) > 0
		out.CreatedDataDir = &created
	} else {
		out.WillCreateDataDir = &noDir
		out.Required = "--apply"
		if p.refusal == "" && !p.exists {
			out.WillRegisterCoordinator = &p.result.Name
		}
	}
	if p.refusal != "" {
		out.OK, out.Error, p.result = false, p.refusal, nil
	}
	if p.result != nil && (apply || p.exists) {
		out.Result = p.result
	}
	return a.printInitialized(out, p, again)
}

// applyPlan decides in the lock and appends.
func (a *app) applyPlan(ctx context.Context, log *eventlog.Log, args jsontext.Value) (p plan, err error) {
	_, err = log.Update(ctx, func(s *core.State) []core.Event {
		p = a.planCoordinator(s, args)
		return p.events
	})
	return p, err
}

func (a *app) printInitialized(out initialized, p plan, again string) error {
	ans := answer{body: out, text: func(page *text.Page) {
		switch {
		case !out.OK:
			page.Mark(text.Bad, "REFUSED ", "%s", out.Error)
		case p.exists:
			page.Mark(text.Good, "nothing to do ", "%s %q is registered already", p.result.Ref, p.result.Name)
		case out.Mode == "apply":
			page.Mark(text.Good, "registered ", "%s %q", p.result.Ref, p.result.Name)
		default:
			page.Mark(text.Head, "dry run ", "would register %q as coordinator", p.result.Name)
			if *out.WillCreateDataDir {
				page.Line("and create the data directory first")
			}
			page.Blank()
			page.Line("%s", out.Note)
			page.Blank()
			page.Line("To do it: %s", again)
		}
	}}
	if !out.OK {
		ans.code = exitNo
	}
	if out.Result != nil {
		result, err := encode(out.Result)
		if err != nil {
			return err
		}
		ans.result = result
	}
	return a.print(ans)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
