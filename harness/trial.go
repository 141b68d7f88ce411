package harness

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaia/results"
)

// The loads a trial may have, as results.Factors spells them.
const (
	LoadClosed = "closed" // the next call begins a think time after the last
	LoadOpen   = "open"   // calls are due at a rate, whatever became of the last
)

// A TrialSpec says what one trial is. Dir and Work are made where they don't
// exist; nothing else is written.
type TrialSpec struct {
	// Identity, copied into the record.
	Run, Arm     string
	Trial, Order int
	Seed         uint64

	// Factors.Lanes and CallsPerLane are at least 1. Prefill and Actors only
	// describe what is in Dir. Class is found out where it is empty.
	Factors results.Factors

	// Servers are command lines, dealt out to the lanes in turn and split
	// into words as a shell would, but never given to one; the data directory
	// reaches them in GAIA_INTERAGENT_DATA_DIR. Empty: Self's own `mcp`.
	Servers []string

	// Client is the command line of a real client that takes the worker's
	// place in every lane, with placeholders (see client.go). How many calls
	// it makes is its own affair; Factors.Class says of which kind it is.
	Client string

	// Self is the gaia binary with the words that come before its commands;
	// empty: the running executable. Lanes are its `lab lane`, holders that
	// are to be killed or stopped its `lab server --fault STEP:N` (see
	// [Failpoint]), and replay is checked with its `state`.
	Self []string

	Dir  string // the data directory, prefilled or empty
	Work string // histories go there; must hold none yet, nor lie in Dir

	Limits Limits
}

// Limits bound every wait of a trial. Zero fields take the defaults.
type Limits struct {
	Start  time.Duration // a server's start to its registration done; 60 s
	Call   time.Duration // one call; 60 s
	Trial  time.Duration // barrier to the last lane's report; 15 min
	Replay time.Duration // one process that replays the log; 5 min
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&l.Start, time.Minute}, {&l.Call, time.Minute}, {&l.Trial, 15 * time.Minute}, {&l.Replay, 5 * time.Minute}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return l
}

// A trial is a spec made ready to run.
type trial struct {
	TrialSpec
	client  command
	servers []command // by lane
	kinds   []command // the distinct ones, in order
	own     bool      // Self's own server in every lane
	fault   fault
	tree    *tree
	events  chan laneEvent
	lanes   []*laneProcess

	registered []string // refs that the lanes were given
}

// RunTrial runs one trial and returns its record, promises checked. A promise
// that broke is in the record and is no error. The errors:
//
//   - [ErrUsage]: the spec can't be meant so; nothing was started.
//   - [StartError]: a lane or its server didn't start.
//   - the context's cause, when it was cancelled: the trial is to be discarded.
//   - anything else: the machinery failed, by a deadline of [Limits] too.
//
// Whatever it returns, every process it started has ended and was waited for.
func RunTrial(ctx context.Context, spec TrialSpec) (results.Trial, error) {
	t, err := newTrial(spec)
	if err != nil {
		return results.Trial{}, err
	}
	for _, dir := range []string{t.Dir, t.Work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return results.Trial{}, err
		}
	}
	record := results.Trial{
		Schema: results.Schema, Run: t.Run, Arm: t.Arm, Trial: t.Trial, Order: t.Order, Seed: t.Seed,
		Factors: t.Factors, Lab: identify(command{argv: t.Self}), Environment: Fingerprint(t.Dir),
	}
	for _, c := range t.kinds {
		record.Servers = append(record.Servers, identify(c))
	}
	before, err := MarkLog(t.Dir)
	if err != nil {
		return results.Trial{}, err
	}
	record.Start = time.Now().UTC()
	at, err := t.run(ctx)
	if err != nil {
		return results.Trial{}, err
	}
	if err := t.collect(&record, before, at); err != nil {
		return results.Trial{}, err
	}
	record.Promises = append(record.Promises, t.replay(ctx))
	if ctx.Err() != nil {
		return results.Trial{}, context.Cause(ctx)
	}
	private := t.private()
	for i := range record.Promises {
		record.Promises[i].Detail = private.Replace(record.Promises[i].Detail)
	}
	return record, nil
}

// private puts words in the place of this machine's folders: what processes
// said is quoted in records, which are given to others.
func (t *trial) private() *strings.Replacer {
	words := map[string]string{t.Dir: "DATA", t.Work: "WORK", filepath.Dir(t.Self[0]): "BIN"}
	if home, err := os.UserHomeDir(); err == nil {
		words[home] = "HOME"
	}
	if here, err := os.Getwd(); err == nil {
		words[here] = "HERE"
	}
	var pairs []string
	for _, dir := range slices.SortedFunc(maps.Keys(words), func(a, b string) int { return len(b) - len(a) }) {
		if len(dir) > 1 && filepath.IsAbs(dir) { // not the root
			pairs = append(pairs, dir, words[dir], strings.ReplaceAll(dir, `\`, `\\`), words[dir])
		}
	}
	return strings.NewReplacer(pairs...)
}

func newTrial(spec TrialSpec) (*trial, error) {
	t := &trial{TrialSpec: spec}
	f := &t.Factors
	t.Limits = t.Limits.withDefaults()
	switch {
	case f.Lanes < 1:
		return nil, usagef("%d lanes; at least 1", f.Lanes)
	case f.CallsPerLane < 1:
		return nil, usagef("%d calls a lane; at least 1", f.CallsPerLane)
	case f.MessageBytes < 0 || f.MessageBytes > 15<<20:
		return nil, usagef("messages of %d bytes; 0 to 15 MiB", f.MessageBytes)
	case f.Think < 0:
		return nil, usagef("a think time of %v", f.Think)
	case t.Dir == "" || t.Work == "":
		return nil, usagef("a trial needs a data directory and a work folder")
	}
	switch f.Load {
	case "", LoadClosed:
		f.Load, f.Rate = LoadClosed, 0
	case LoadOpen:
		if !(f.Rate > 0) || f.Rate > 1e6 {
			return nil, usagef("open load at %v calls a second and lane; more than 0", f.Rate)
		}
		f.Think = 0
	default:
		return nil, usagef("load %q; there are %s and %s", f.Load, LoadClosed, LoadOpen)
	}
	switch f.Path {
	case "":
		f.Path = "tail"
	case "tail", "replay":
	default:
		return nil, usagef("read path %q; there are tail and replay", f.Path)
	}
	if f.Fault == "" {
		f.Fault = FaultNone
	}
	var err error
	if t.fault, err = parseFault(f.Fault, f.CallsPerLane); err != nil {
		return nil, err
	}
	switch {
	case t.fault.Kind != "" && f.Lanes < 2:
		return nil, usagef("fault %q needs a second lane to see it", f.Fault)
	case t.fault.Kind == FaultKillStorm && f.Load == LoadOpen:
		return nil, usagef("fault %q with open load: a server's start is no call's wait", f.Fault)
	case t.fault.mkdirPeer && len(t.Servers) > 0:
		return nil, usagef("fault %q needs gaia's own server, which can be told to know mkdir alone; leave the other servers out", f.Fault)
	}
	if t.Self, err = own(t.Self); err != nil {
		return nil, err
	}
	for _, dir := range []*string{&t.Dir, &t.Work} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, err
		}
	}
	if err := t.deal(); err != nil {
		return nil, err
	}
	if t.Client == "" && (f.Class == results.ClassScriptedModel || f.Class == results.ClassLiveModel) {
		return nil, usagef("class %q without a client: the lab's own workers are none", f.Class)
	}
	if t.Client != "" {
		if t.fault.Kind != "" {
			return nil, usagef("fault %q with a real client: faults are done to the lab's own worker", f.Fault)
		}
		if t.client, err = parseCommand(t.Client); err != nil {
			return nil, err
		}
		if f.Class == "" {
			f.Class = results.ClassScriptedModel // the weaker of the two
		}
	}
	if f.Class == "" {
		f.Class = results.ClassIdentical
		if len(t.kinds) > 1 {
			f.Class = results.ClassMixed
		}
	}
	return t, nil
}

// deal gives each lane its server.
func (t *trial) deal() error {
	own := func(words ...string) command {
		argv := append(slices.Clone(t.Self), words...)
		if t.Factors.Path == "replay" {
			argv = append(argv, "--path", "replay")
		}
		return command{argv: argv}
	}
	t.own = len(t.Servers) == 0
	if t.own {
		t.kinds = []command{own("mcp")}
	}
	for _, line := range t.Servers {
		c, err := parseCommand(line)
		if err != nil {
			return err
		}
		t.kinds = append(t.kinds, c)
	}
	for lane := range t.Factors.Lanes {
		t.servers = append(t.servers, t.kinds[lane%len(t.kinds)])
	}
	if t.fault.inServer() {
		if !t.own {
			return usagef("fault %q is injected into gaia's own server; leave the other servers out", t.Factors.Fault)
		}
		t.servers[0] = own("lab", "server", "--fault", t.fault.spec())
	}
	return nil
}

// collect fills the record from what the lanes left.
func (t *trial) collect(record *results.Trial, before LogMark, at int64) error {
	var histories []History
	var struck []strike
	var adopted, troubles int64
	for i, l := range t.lanes {
		row := results.Lane{Lane: i + 1, Server: filepath.Base(t.servers[i].argv[0])}
		h, err := ReadHistory(t.Work, i+1, t.victim(i))
		if err != nil {
			return err
		}
		if t.fault.Kind == FaultKillStorm {
			h.Storm = &Storm{Calls: t.Factors.CallsPerLane, Kills: l.done.Kills, MkdirPeer: t.stormPeer(i)}
		}
		histories = append(histories, h)
		if d := l.done; d != nil {
			row.CPU, row.PeakRSS = time.Duration(d.ServerCPUNs), d.PeakRSS
			record.ServerCPU += row.CPU
			record.ClientCPU += time.Duration(d.ClientCPUNs)
			record.ServerPeakRSS = max(record.ServerPeakRSS, d.PeakRSS)
			record.Dropped += d.Dropped
			adopted += d.Adopted
			if d.Trouble != "" && t.Client != "" {
				troubles++
			}
			if d.FaultAt > 0 && (t.fault.Kind != FaultStallHolder || d.FaultOver > 0) {
				struck = append(struck, strike{i, d.FaultAt})
			}
			for _, at := range d.Kills {
				struck = append(struck, strike{i, at})
			}
		} else { // killed
			struck = append(struck, strike{i, l.gone})
			record.Dropped += int64(t.Factors.CallsPerLane - len(h.Calls) + 1)
		}
		record.Lanes = append(record.Lanes, row)
		if l.ready != nil {
			b := &record.Servers[i%len(t.kinds)]
			if b.Version == "" {
				b.Version = l.ready.Version
			}
			if b.Version == "" && l.done != nil {
				b.Version = l.done.Version
			}
		}
	}
	measure(record, histories, at)
	if troubles > 0 {
		record.Errors["client"] = troubles
	}
	if t.fault.Kind != "" {
		record.Outage = outage(histories, struck)
		record.Outage.Adopted = adopted
	}
	if t.fault.Kind == FaultKillStorm {
		_, torn, err := wholeLines(t.Dir)
		if err != nil {
			return err
		}
		record.Outage.Torn = torn
	}
	after, err := MarkLog(t.Dir)
	if err != nil {
		return err
	}
	record.LogSize, record.Events = after.Size, after.Lines-before.Lines
	if record.Promises, err = Check(t.Dir, before, histories); err != nil {
		return err
	}
	for i := range record.Promises {
		if p := &record.Promises[i]; p.Name == PromiseAnswered && !p.OK {
			t.blame(p)
		}
	}
	for _, h := range histories {
		for _, c := range h.Calls {
			if c.Verb == verbRegister && c.Ref != "" && !slices.Contains(t.registered, c.Ref) {
				t.registered = append(t.registered, c.Ref)
			}
		}
	}
	return nil
}

// blame adds to a broken promise what the lanes' servers said last.
func (t *trial) blame(p *results.Promise) {
	for i, l := range t.lanes {
		if l.done != nil && l.done.Trouble != "" && l.done.Stderr != "" {
			p.Detail += fmt.Sprintf("; lane %d's server said: %s", i+1, l.done.Stderr)
		}
	}
}

// replay checks that two processes replay the log to the same: gaia's own to
// the same bytes of their state, others to the same answers.
func (t *trial) replay(ctx context.Context) results.Promise {
	dir, err := t.wholeLog()
	if err != nil {
		var f findings
		f.add("copying the log: %v", err)
		return f.promise(PromiseReplay, "")
	}
	if !t.own {
		return compareReplay(ctx, t.kinds, dir, t.Work, t.registered, t.Limits)
	}
	argv := append(slices.Clone(t.Self), "state", "--output", "json")
	return CheckReplay(ctx, argv, []string{envDataDir + "=" + dir}, t.Limits.Replay)
}
