package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/doctor"
	"gaia/cmd/gaia/internal/text"
	"gaia/eventlog"
	"gaia/harness"
	"gaia/lanes"
	"gaia/mcp"
)

func newDoctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Examine the data directory, its lock and the evidence",
		Long: `Doctor reads everything and writes nothing. It exits 1 for an address that this
bus never minted and for a correlation issuer that is about to run out, and 3
for a log that can't be read or replayed. A busy lock is no finding.`,
		Example: "  gaia doctor\n  gaia doctor --pretty",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	log, options, err := a.log()
	if err != nil {
		return err
	}
	_, isDefault, _ := eventlog.DataDir(a.flags.dataDir, a.getenv) // a.log had it without error
	evidence, evidenceErr := a.laneEvidence(log.Dir())
	report, logErr := doctor.Examine(ctx, doctor.Subject{
		Log: log, Options: options, IsDefault: isDefault, Version: buildVersion(), Tools: a.tools,
		Evidence: evidence, EvidenceErr: evidenceErr,
	})
	if ctx.Err() != nil {
		return errInterrupted // what it couldn't ask any more isn't missing
	}
	ans := answer{body: report, text: func(p *text.Page) { printDoctor(p, report, logErr) }}
	if logErr != nil {
		ans.body = struct {
			doctor.Report
			FailClosed bool   `json:"failClosed"`
			Code       string `json:"code"`
			Error      string `json:"error"`
		}{report, true, mcp.FailClosed(logErr).Code, logErr.Error()}
	} else if !report.OK {
		ans.code = exitNo
	}
	if err := a.print(ans); err != nil || logErr == nil {
		return err
	}
	return &exitError{exitFailClosed, logErr}
}

// laneEvidence is what recorded trials say for this host. An error comes
// beside an answer.
func (a *app) laneEvidence(dir string) (lanes.LaneEvidence, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		config = "" // no home, so nothing was adopted
	}
	return lanes.Current(config, harness.Fingerprint(dir))
}

func printDoctor(p *text.Page, r doctor.Report, logErr error) {
	switch {
	case logErr != nil:
		p.Mark(text.Bad, "FAILED CLOSED ", "%s", r.Note)
	case !r.OK:
		p.Mark(text.Bad, "UNHEALTHY ", "%s", r.Note)
	default:
		p.Mark(text.Good, "healthy ", "%s", r.Note)
	}
	p.Blank()
	p.Field("gaia", "%s, %s, %s/%s", r.Version, r.Go, r.Platform, r.Arch)
	where := r.DataDir
	if r.DataDirIsDefault {
		where += " (the default)"
	}
	p.Field("data", "%s", where)
	if r.LogExists && logErr == nil {
		p.Field("log", "%s, %d bytes, %s", text.Count(r.Events, "event"), r.LogBytes, text.Count(r.Actors, "actor"))
	} else if r.LogExists {
		p.Field("log", "%d bytes, not replayable", r.LogBytes)
	} else {
		p.Field("log", "none")
	}
	printLock(p, &r)
	p.Field("filesystem", "%s", or(r.Filesystem.Kind, "unknown"))
	if r.Correlation != nil {
		p.Field("correlation", "issuer at %d, %d ids left", r.Correlation.Issued, r.Correlation.Runway)
	}
	p.Field("server", "%s", yes(r.BundledServerPresent, "answers with the six verbs", "does not answer with the six verbs"))
	p.Field("manifests", "%s", yes(r.ManifestPresent && r.MCPManifestPresent, "in order", "not in order"))
	printLanes(p, r.LaneEvidence)
	for _, f := range r.IntegrityFindings {
		p.Blank()
		style := text.Warn
		if f.Gates {
			style = text.Bad
		}
		p.Mark(style, "finding: ", "%s: %s", f.Subject, f.Detail)
		p.Mark(text.Plain, "   to do: ", "%s", f.Advice)
	}
	for _, w := range r.Warnings {
		p.Blank()
		p.Mark(text.Warn, "warning: ", "%s", w)
	}
}

// printLanes shows number and provenance together.
// printLock tells who has the lock: all but the state and the age is what
// anybody may have written there.
func printLock(p *text.Page, r *doctor.Report) {
	lock := string(r.Lock.State)
	if r.Lock.State != eventlog.LockFree {
		who := "an unnamed owner"
		if r.Lock.PID != 0 {
			who = fmt.Sprintf("process %d", r.Lock.PID)
		}
		lock += fmt.Sprintf(", of %s, taken %s ago", who, (time.Duration(r.Lock.AgeMs) * time.Millisecond).Round(time.Second))
	}
	p.Field("lock", "%s, deadline %d ms", lock, r.LockTimeoutMs)
	if r.Lock.Domain != "" {
		p.Field("", "domain %s", r.Lock.Domain)
	}
}

func printLanes(p *text.Page, e lanes.LaneEvidence) {
	line := fmt.Sprintf("%d supported", e.Supported)
	if e.NextValidationTarget != nil {
		line += fmt.Sprintf(", %d next to validate", *e.NextValidationTarget)
	}
	if e.UnprovenWithRealClients != nil {
		line += fmt.Sprintf(", %d unproven with real clients", *e.UnprovenWithRealClients)
	}
	p.Field("lanes", "%s", line)
	p.Field("policy", "%s", e.Policy)
	if v := e.Provenance; v != nil {
		measured := "none held"
		if e.Measured != nil {
			measured = fmt.Sprintf("%d lanes held", *e.Measured)
		}
		p.Field("measured", "%s on %s (%s): %d trials at %d lanes, log of %d events, %.1f calls/s, p50 %.3g ms, p99 %.3g ms",
			measured, v.Platform, v.Class, v.Trials, v.Lanes, v.LogEvents, v.CallsPerSecond, v.P50Ms, v.P99Ms)
		p.Field("", "promises held: %s", yes(v.PromisesHeld, strings.Join(v.Promises, ", "), "not all"))
		p.Field("", "%s, %s, revision %s, digest %s", v.Source, v.Date, v.Revision, v.Digest)
		p.Field("", "%s", v.Host)
	} else {
		p.Field("measured", "not measured here")
	}
}

func yes(ok bool, then, otherwise string) string {
	if ok {
		return then
	}
	return otherwise
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
