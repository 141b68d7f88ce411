// Package verify asks two questions that one exit code can't answer together.
// Is this bus rightly made, and has no authority leaked through its log? Those
// checks gate every run. Is this log a real exchange of several parties, worth
// citing as evidence? An empty bus rightly is not, so those five, named in
// [Richness], gate only a run that claims evidence. What gates is decided by
// exclusion from that list: a check that nobody classified gates.
//
// What passes shows shape and not provenance: that a log is consistent and
// carries no authority, not who wrote it.
package verify

import (
	"context"
	"fmt"
	"slices"

	"gaia/eventlog"
	"gaia/lanes"
)

// Proves stands in every report.
const Proves = "shape, not provenance: that the log is whole, consistent and free of transferred authority; not who wrote it, nor that any statement in it is true"

// Richness names the checks that an empty bus rightly fails.
func Richness() []string {
	return []string{threeActors, twoKinds, threadOfThree, oneAck, oneHandoff}
}

// Check is one question and its answer.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// Section is the checks on one subject.
type Section struct {
	Section string  `json:"section"`
	Checks  []Check `json:"checks"`
}

// Report is the JSON of verify.
type Report struct {
	OK                  bool      `json:"ok"`
	Command             string    `json:"command"`
	EvidenceOK          bool      `json:"evidenceOk"`          // all of the section evidence passed
	EvidenceGatesResult bool      `json:"evidenceGatesResult"` // the run claimed evidence
	Passed              int       `json:"passed"`
	Failed              int       `json:"failed"`
	Sections            []Section `json:"sections"`
	Proves              string    `json:"proves"`
	Log                 string    `json:"log,omitzero"` // the file that section evidence is about
}

// Subject is what is verified.
type Subject struct {
	// Log is the file's name, and Lines its lines, already found to be whole
	// and replayable.
	Log   string
	Lines [][]byte
	// Gates: the run claims that the log is evidence.
	Gates bool
	// Tools asks the running server for its tools.
	Tools    func(context.Context) ([]string, error)
	Evidence lanes.LaneEvidence
	Options  eventlog.Options
}

// Run makes every check.
func Run(ctx context.Context, s Subject) Report {
	r := Report{OK: true, Command: "verify", EvidenceOK: true, EvidenceGatesResult: s.Gates, Proves: Proves, Log: s.Log, Sections: []Section{
		{"manifest", manifest()},
		{"transport", transport()},
		{"templates", templates()},
		{"lanes", ladder(s.Evidence)},
		{"startup-timeout", startupTimeout(s.Options.LockTimeout)},
		{"ecosystem", neighbours()},
		{"tool-surface", toolSurface(ctx, s.Tools)},
		{"evidence", slices.Concat(examine(s.Lines), controls())},
	}}
	for _, section := range r.Sections {
		for _, c := range section.Checks {
			if c.OK {
				r.Passed++
				continue
			}
			r.Failed++
			r.EvidenceOK = r.EvidenceOK && section.Section != "evidence"
			r.OK = r.OK && !s.Gates && slices.Contains(Richness(), c.Name)
		}
	}
	return r
}

// check is passed unless err says why not.
func check(name, detail string, err error) Check {
	if err != nil {
		return Check{name, false, err.Error()}
	}
	return Check{name, true, detail}
}

// holds is passed when ok; the detail says what was seen either way.
func holds(name string, ok bool, format string, args ...any) Check {
	return Check{name, ok, fmt.Sprintf(format, args...)}
}
