package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gaia/cmd/gaia/internal/lab"
	"gaia/cmd/gaia/internal/text"
	"gaia/results"
)

type labRunOptions struct {
	preset   string
	lanes    intList
	events   intList
	actors   int
	paths    []string
	load     string
	rate     float64
	think    time.Duration
	bytes    intList
	faults   []string
	trials   int
	calls    int
	seed     uint64
	servers  []string
	client   string
	class    string
	out      string
	resume   string
	requires string
}

func newLabRunCommand(a *app) *cobra.Command {
	var o labRunOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run trials, check every promise, record what was measured",
		Long: `Runs every combination of the given levels, several trials each, interleaved in
an order drawn from the seed. Each trial is written before the next starts;
Ctrl-C keeps what is done, and --resume goes on from there.

Presets: quick (the default) takes under a minute; ladder is the evidence run;
full adds large logs, the seed's read path, open load and every fault. Flags
override a preset's levels.

Exit codes: 0 every promise held, 1 one broke (its data directory is kept), a
call failed, a threshold was missed or the run was interrupted, 2 the experiment
can't be meant as given, 3 a server can't start or the machinery failed.`,
		Example: `  gaia lab run
  gaia lab run --lanes 1,4,8 --trials 10 --require 'p99<1s,errors=0'
  gaia lab run --server 'gaia mcp' --server 'node mcp-server.mjs' --out mixed
  gaia lab run --resume lab-runs/20260102-030405-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runLab(cmd, a, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.preset, "preset", "quick", "levels to start from: "+strings.Join(lab.Presets(), ", "))
	f.Var(&o.lanes, "lanes", "lanes, each a client and a server process, e.g. 1,2,4")
	f.Var(&o.events, "prefill", "events in the log before a trial, e.g. 1000,10000")
	f.IntVar(&o.actors, "actors", results.DefaultActors, "actors in the log before a trial")
	f.StringSliceVar(&o.paths, "path", nil, "how servers read the log: tail, replay")
	f.StringVar(&o.load, "load", results.LoadClosed, "closed: the next call follows the last; open: calls are due at --rate")
	f.Float64Var(&o.rate, "rate", 0, "calls a second and lane, for --load open")
	f.DurationVar(&o.think, "think", 0, "mean time between a lane's calls, for --load closed")
	f.Var(&o.bytes, "message-bytes", "length of a message's body")
	f.StringSliceVar(&o.faults, "fault", nil, "none, kill-holder[:STEP], stall-holder[:STEP], kill-client, kill-storm[:mkdir-peer]")
	f.IntVar(&o.trials, "trials", 0, "trials of each arm")
	f.IntVar(&o.calls, "calls", 0, "calls of each lane in a trial")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed gives the same work in the same order")
	f.StringArrayVar(&o.servers, "server", nil, "command of a stdio MCP server with the six verbs, repeatable: lanes are dealt out (default: this gaia)")
	f.StringVar(&o.client, "client", "", "command of a real client that takes our worker's place (needs --class)")
	f.StringVar(&o.class, "class", "", "what the client is: scripted (a scripted model) or live (a live model)")
	f.StringVar(&o.out, "out", "", "the run's folder, new or empty (default lab-runs/<run>)")
	f.StringVar(&o.resume, "resume", "", "go on with the interrupted run in this folder")
	f.StringVar(&o.requires, "require", "", "thresholds for every trial, e.g. 'p99<1s,errors=0'; exit 1 if one is missed")
	cmd.MarkFlagsMutuallyExclusive("out", "resume")
	cmd.MarkFlagsRequiredTogether("client", "class")
	return cmd
}

// config is the preset with the flags that were given in its place.
func (o *labRunOptions) config(changed func(string) bool) (lab.Config, error) {
	c, err := lab.Preset(o.preset)
	if err != nil {
		return c, err
	}
	levels := false
	set := func(flag string, apply func()) {
		if changed(flag) {
			levels = true
			apply()
		}
	}
	set("lanes", func() { c.Lanes = o.lanes })
	set("prefill", func() { c.Events = o.events })
	set("actors", func() { c.Actors = o.actors })
	set("path", func() { c.Paths = o.paths })
	set("load", func() { c.Load = o.load })
	set("rate", func() { c.Rate = o.rate })
	set("think", func() { c.Think = o.think })
	set("message-bytes", func() { c.Bytes = o.bytes })
	set("fault", func() { c.Faults = o.faults })
	if levels {
		c.WithoutExtras()
		c.Preset = "custom"
	}
	if changed("trials") {
		c.Trials = o.trials
	}
	if changed("calls") {
		c.Calls = o.calls
	}
	c.Seed, c.Require, c.Client = o.seed, o.requires, o.client
	switch o.class {
	case "":
	case "scripted":
		c.Class = results.ClassScriptedModel
	case "live":
		c.Class = results.ClassLiveModel
	default:
		return c, usagef("--class %q: want scripted or live", o.class)
	}
	return c, nil
}

// intList is a flag of whole numbers separated by commas.
type intList []int

func (l *intList) Type() string { return "N,N" }

func (l *intList) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func (l *intList) Set(s string) error {
	*l = nil
	for _, w := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil {
			return errors.New("want whole numbers separated by commas, for example 1,2,4")
		}
		*l = append(*l, n)
	}
	return nil
}

func runLab(cmd *cobra.Command, a *app, o *labRunOptions) error {
	ctx := cmd.Context()
	names := serverNames(o.servers)
	var plan *results.Plan
	var done []results.Trial
	undo := func() {}
	dir := o.out
	if o.resume != "" {
		var given []string
		for _, flag := range []string{"preset", "lanes", "prefill", "actors", "path", "load", "rate", "think", "message-bytes", "fault", "trials", "calls", "seed", "require"} {
			if cmd.Flags().Changed(flag) {
				given = append(given, "--"+flag)
			}
		}
		if len(given) > 0 {
			return usagef("--resume goes on with the plan that the run has; leave out %s", strings.Join(given, ", "))
		}
		var err error
		dir = o.resume
		if plan, done, err = lab.Resume(dir, names); err != nil {
			return labError(err)
		}
		if (plan.Client != "") != (o.client != "") {
			return usagef("the run in %s has the client %q; give the same --client and --class again", dir, plan.Client)
		}
	} else {
		c, err := o.config(cmd.Flags().Changed)
		if err != nil {
			return labError(err)
		}
		c.Servers = o.servers
		start := time.Now()
		client := ""
		if o.client != "" {
			client = clientName(o.client)
		}
		if plan, err = c.Plan(lab.RunID(start, c.Seed), start, names, client); err != nil {
			return labError(err)
		}
		plan.Args = labArgs(cmd)
		if dir == "" {
			dir = filepath.Join("lab-runs", plan.Run)
		}
		if undo, err = lab.Prepare(dir, plan); err != nil {
			return labError(err)
		}
	}

	show := newLabScreen(a, len(plan.Order), len(done))
	show.begin(plan, dir, len(done))
	out, err := lab.Run(ctx, plan, done, lab.Options{Out: dir, Servers: o.servers, Client: o.client, Each: show.trial, Preparing: show.preparing})
	show.end()
	if err != nil && len(out.Trials) == 0 {
		undo() // it couldn't start: nothing is left of it
		return labError(err)
	}
	if len(out.Trials) > 0 {
		if werr := writeLabFiles(dir); werr != nil && err == nil {
			err = werr
		}
	}
	held := show.summary(a, dir, out)
	switch {
	case err != nil:
		return labError(fmt.Errorf("stopped after %d of %d trials: %w; they are recorded, go on with: gaia lab run --resume %s", len(out.Trials), len(plan.Order), err, shellWord(dir)))
	case out.Interrupted:
		return &exitError{exitNo, fmt.Errorf("interrupted: %d of %d trials are recorded, go on with: gaia lab run --resume %s", len(out.Trials), len(plan.Order), shellWord(dir))}
	case !held:
		return errNo
	}
	return nil
}

// labArgs are the flags as given, with the servers' commands under their short
// names: what a reader needs to run it again, and no path.
func labArgs(cmd *cobra.Command) []string {
	args := []string{"gaia", "lab", "run"}
	for _, name := range []string{"preset", "lanes", "prefill", "actors", "path", "load", "rate", "think", "message-bytes", "fault", "trials", "calls", "seed", "require"} {
		if f := cmd.Flags().Lookup(name); f.Changed {
			args = append(args, "--"+name, strings.Trim(f.Value.String(), "[]"))
		}
	}
	return args
}

// labScreen shows a run: on a terminal a bar with the time left below the
// lines, elsewhere the lines alone.
type labScreen struct {
	out io.Writer
	bar *progressbar.ProgressBar
}

func newLabScreen(a *app, of, done int) *labScreen {
	s := &labScreen{out: a.stdout}
	if a.labJSON() {
		s.out = a.stderr // standard output is for the summary alone
	}
	if labTerminal(a.stderr) {
		s.bar = progressbar.NewOptions(of, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription("measured"),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionSetRenderBlankState(true))
		_ = s.bar.Set(done)
	}
	return s
}

// labTerminal tells whether a person sees what is written to w as it comes.
func labTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// line prints above the bar.
func (s *labScreen) line(format string, args ...any) {
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	fmt.Fprintln(s.out, text.Escape(fmt.Sprintf(format, args...)))
	if s.bar != nil {
		_ = s.bar.RenderBlank()
	}
}

func (s *labScreen) begin(p *results.Plan, dir string, done int) {
	s.line("run %s: %d arms, %d trials of each, %d calls a lane, in %s", p.Run, len(p.Arms), p.Trials, p.Arms[0].Factors.CallsPerLane, dir)
	if done > 0 {
		s.line("going on after %d of %d trials", done, len(p.Order))
	}
}

func (s *labScreen) preparing(what string) { s.line("making %s", what) }

func (s *labScreen) trial(t *results.Trial, done, of int) {
	s.line("%s", results.TrialLine(t, done, of))
	if s.bar != nil {
		_ = s.bar.Set(done)
	}
}

// step is a measurement of many: a line each would say less than the table.
func (s *labScreen) step(_ *results.ReplayTrial, done, of int) {
	if s.bar != nil {
		_ = s.bar.Set(done)
	} else if done%max(of/10, 1) == 0 {
		s.line("%d of %d measured", done, of)
	}
}

func (s *labScreen) end() {
	if s.bar != nil {
		_ = s.bar.Clear()
		_ = s.bar.Exit()
		s.bar = nil
	}
}

// A labSummary is the run in one JSON object, for --output json.
type labSummary struct {
	OK         bool     `json:"ok"`
	Command    string   `json:"command"`
	Run        string   `json:"run"`
	Dir        string   `json:"dir"`
	Trials     int      `json:"trials"`
	Planned    int      `json:"planned"`
	Verdict    []string `json:"verdict"`
	Thresholds []string `json:"thresholds"`
	Kept       []string `json:"kept"`
	Arms       []labArm `json:"arms"`
}

type labArm struct {
	Arm            string  `json:"arm"`
	Trials         int     `json:"trials"`
	CallsPerSecond float64 `json:"callsPerSecond"` // medians
	P50Ms          float64 `json:"p50Ms"`
	P99Ms          float64 `json:"p99Ms"`
	Jain           float64 `json:"jain"`
	FloorRatio     float64 `json:"floorRatio"`
}

// summary prints what the run came to and tells whether all held.
func (s *labScreen) summary(a *app, dir string, out lab.Outcome) bool {
	if len(out.Trials) == 0 {
		return false
	}
	names := out.Plan.ArmNames()
	verdict := results.Judge(out.Trials)
	held := verdict.OK
	ok, thresholds, err := judgeThresholds(results.Run{Plan: out.Plan, Trials: out.Trials})
	held = held && ok && err == nil // the plan was made with a good expression
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n%s\n", results.Table(out.Trials, names), results.Costs(out.Trials, names), lab.FloorLine(out.Trials))
	if rows := results.OutageRows(out.Trials, names); rows != nil {
		fmt.Fprintf(&b, "\nfaults, as the other lanes saw them (worst of the trials):\n%s\n", results.Grid(rows))
	}
	for _, line := range lab.FitLines(out.Trials) {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "\n%s\n", verdict)
	for _, line := range thresholds {
		fmt.Fprintln(&b, line)
	}
	for _, kept := range out.Kept {
		fmt.Fprintf(&b, "kept for a look: %s\n", kept)
	}
	if t := out.Trials[0]; out.Plan.Preset == "ladder" || out.Plan.Preset == "full" {
		if t.Lab.Revision == "" || t.Lab.Dirty {
			b.WriteString("no evidence: this gaia doesn't know the clean revision it was built from; build it with go build -buildvcs=true ./cmd/gaia in a clean checkout\n")
		} else {
			fmt.Fprintf(&b, "what these trials support: gaia lab evidence %s\n", shellWord(dir))
		}
	}
	fmt.Fprintf(&b, "report: %s\nrecords: %s\n", filepath.Join(dir, reportHTML), filepath.Join(dir, results.TrialsFile))
	fmt.Fprint(s.out, escaped(b.String()))
	if a.labJSON() {
		sum := labSummary{OK: held && len(out.Trials) == len(out.Plan.Order), Command: "lab run", Run: out.Plan.Run, Dir: dir, Trials: len(out.Trials),
			Planned: len(out.Plan.Order), Verdict: verdict.Lines, Thresholds: thresholds, Kept: out.Kept}
		order, byArm := results.Arms(out.Trials, names)
		for _, name := range order {
			ts := byArm[name]
			ms := func(q float64) float64 {
				return results.Median(results.Of(ts, func(t *results.Trial) float64 { return float64(t.ResponseQuantile(q)) / 1e6 }))
			}
			sum.Arms = append(sum.Arms, labArm{name, len(ts), results.Median(results.Of(ts, (*results.Trial).CallsPerSecond)), ms(.5), ms(.99),
				results.Median(results.Of(ts, (*results.Trial).Fairness)), results.Median(results.Of(ts, (*results.Trial).FloorRatio))})
		}
		if err := a.print(answer{body: sum}); err != nil {
			fmt.Fprintf(a.stderr, "gaia: error: %v\n", err)
			return false
		}
	}
	return held
}
