// Package doctor examines one data directory and what gaia would do with it.
// It writes nothing. Its verdict is no for two findings only, both of a log
// that replays and yet can't be trusted to go on: an address that the bus
// never minted, and a correlation issuer with less than a claim window left.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"gaia/cmd/gaia/internal/clients"
	"gaia/core"
	"gaia/eventlog"
	"gaia/lanes"
)

// Subject is what is examined.
type Subject struct {
	Log       *eventlog.Log
	Options   eventlog.Options // that the log was opened with
	IsDefault bool             // the data directory is the platform's default
	Version   string
	// Tools asks the server that this binary carries for its tools.
	Tools func(context.Context) ([]string, error)
	// Evidence is what is known of lanes, and EvidenceErr why not more.
	Evidence    lanes.LaneEvidence
	EvidenceErr error
}

// Report is the JSON of doctor. Its members up to Note are those that scripts
// have always read, in their order.
type Report struct {
	OK       bool   `json:"ok"`
	Command  string `json:"command"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// BundledServerPresent: the MCP server in this binary answers tools/list
	// with the six verbs. ManifestPresent: both plugin manifests that the
	// binary carries are right; MCPManifestPresent: so is its .mcp.json.
	BundledServerPresent  bool               `json:"bundledServerPresent"`
	ManifestPresent       bool               `json:"manifestPresent"`
	MCPManifestPresent    bool               `json:"mcpManifestPresent"`
	DataDir               string             `json:"dataDir"`
	DataDirIsDefault      bool               `json:"dataDirIsDefault"`
	DataDirExists         bool               `json:"dataDirExists"`
	LogExists             bool               `json:"logExists"`
	LockBusyOnEntry       bool               `json:"lockBusyOnEntry"` // events.lock existed at the first look
	LockTimeoutMs         int64              `json:"lockTimeoutMs"`
	SupportedMaxLiveLanes int                `json:"supportedMaxLiveLanes"`
	LaneEvidence          lanes.LaneEvidence `json:"laneEvidence"`
	Events                int                `json:"events"`
	Replayable            bool               `json:"replayable"`
	Actors                int                `json:"actors"`
	IntegrityOK           bool               `json:"integrityOk"`
	IntegrityFindings     []Finding          `json:"integrityFindings"`
	Note                  string             `json:"note"`

	Version     string                  `json:"version"`
	Arch        string                  `json:"arch"`
	LogBytes    int64                   `json:"logBytes"`
	Correlation *core.CorrelationReport `json:"correlation"` // null where the log can't be read
	Lock        Lock                    `json:"lock"`
	Filesystem  Filesystem              `json:"filesystem"`
	Warnings    []string                `json:"warnings"`
}

// A Finding is one of the log's, with what to do about it.
type Finding struct {
	Code    string `json:"code"`
	Subject string `json:"subject"`
	Detail  string `json:"detail"`
	Gates   bool   `json:"gates"` // it alone makes the verdict no
	Advice  string `json:"advice"`
}

// Lock is events.lock as it was found, after the log was read.
type Lock struct {
	State  eventlog.LockState `json:"state"`
	Path   string             `json:"path"`
	PID    int                `json:"pid,omitzero"` // as its owner.json says
	At     string             `json:"at,omitzero"`
	Domain string             `json:"domain,omitzero"` // which processes can prove it abandoned: boot, device and inode
	AgeMs  int64              `json:"ageMs"`
	Advice string             `json:"advice,omitzero"`
}

// Filesystem is the kind that the data directory is on, or will be.
type Filesystem struct {
	Kind    string `json:"kind"` // "" where the system doesn't say
	Network bool   `json:"network"`
}

// Examine reports on the subject. Its error is the log's, which then couldn't
// be read or replayed; the report is of use all the same.
func Examine(ctx context.Context, s Subject) (Report, error) {
	dir := s.Log.Dir()
	r := Report{
		Command: "doctor", Go: runtime.Version(), Platform: runtime.GOOS, Arch: runtime.GOARCH, Version: s.Version,
		DataDir: dir, DataDirIsDefault: s.IsDefault, DataDirExists: isDir(dir), LogExists: exists(s.Log.Path()),
		LockTimeoutMs:         s.Options.LockTimeout.Milliseconds(),
		SupportedMaxLiveLanes: s.Evidence.Supported, LaneEvidence: s.Evidence,
		IntegrityFindings: []Finding{}, Warnings: []string{},
	}
	onEntry, err := eventlog.InspectLock(dir)
	r.LockBusyOnEntry = err == nil && onEntry.State != eventlog.LockFree
	r.checkBinary(ctx, s)
	if s.EvidenceErr != nil {
		r.warn("lane evidence: %v", s.EvidenceErr)
	}

	logErr := s.Log.View(ctx, func(state *core.State) error {
		r.readState(state)
		return nil
	})
	if logErr != nil {
		r.Note = "the log could not be read or replayed; its bytes are left as they are"
		if _, busy := errors.AsType[*eventlog.LockTimeoutError](logErr); busy {
			r.Note = "the log's last line stayed unfinished while its lock was held, so the log could not be judged"
		}
	}
	if fi, err := os.Stat(s.Log.Path()); err == nil {
		r.LogBytes = fi.Size()
	}
	r.checkPlace(s.Log)
	r.checkLock(dir, s.Options)
	r.checkFilesystem(dir)
	return r, logErr
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// checkBinary asks what the binary carries rather than what lies near it.
func (r *Report) checkBinary(ctx context.Context, s Subject) {
	names, err := s.Tools(ctx)
	r.BundledServerPresent = err == nil && slices.EqualFunc(names, core.Verbs(), func(n string, v core.Verb) bool { return n == string(v) })
	if !r.BundledServerPresent {
		r.warn("the server in this binary doesn't offer the six verbs (%v): %v", names, err)
	}
	m := clients.Manifests()
	mcpErr, pluginErr := clients.CheckMCP(m[0]), errors.Join(clients.CheckPlugin(m[1]), clients.CheckPlugin(m[2]))
	r.MCPManifestPresent, r.ManifestPresent = mcpErr == nil, pluginErr == nil
	if err := errors.Join(mcpErr, pluginErr); err != nil {
		r.warn("manifests: %v", err)
	}
}

func (r *Report) readState(s *core.State) {
	r.Events, r.Actors, r.Replayable = s.Events(), s.ActorCount(), true
	c := s.Correlation()
	r.Correlation = &c
	integrity := s.Integrity()
	r.IntegrityOK, r.OK = integrity.OK, true
	for _, f := range integrity.Findings {
		gates := f.Code == core.FindingUnmintedAddress
		r.IntegrityFindings = append(r.IntegrityFindings, Finding{f.Code, f.Subject, f.Detail, gates, advice(f.Code)})
		r.OK = r.OK && !gates
	}
	if !c.OK {
		r.OK, r.IntegrityOK = false, false
		r.IntegrityFindings = append(r.IntegrityFindings, Finding{
			Code: "correlation-runway", Subject: "correlation issuer", Gates: true,
			Detail: fmt.Sprintf("the issuer is at %d with %d ids left, less than one claim window of %d", c.Issued, c.Runway, c.Window),
			Advice: "move to a new data directory: the log is append-only, and nothing gives the ids back",
		})
	}
	switch {
	case !r.LogExists && r.Events == 0:
		r.Note = "no log yet — run `initialize --apply` to create the data directory"
	case !r.OK:
		r.Note = "the log replays and is not healthy: see integrityFindings"
	case !r.IntegrityOK:
		r.Note = "the log replays; see integrityFindings for what does not fit together"
	default:
		r.Note = "the log replays and is consistent"
	}
}

func advice(code string) string {
	switch code {
	case core.FindingUnmintedAddress:
		return "something wrote to the log beside the bus: keep a copy, find out what, and go on in a new data directory"
	case core.FindingUnknownMessage:
		return "a record speaks of a message that the log doesn't hold: find out whether the log was cut or merged"
	case core.FindingActorOrder, core.FindingMessageOrder:
		return "refs were not minted in order: find out whether two logs were merged or a line was moved"
	case core.FindingCorrelationRange:
		return "a correlation id lies outside the issuer's range: find out what wrote it; the bus refuses such ids"
	}
	return "keep a copy of the log and find out what wrote that record"
}

// checkLock looks last, when a busy writer of the moment before is gone.
func (r *Report) checkLock(dir string, o eventlog.Options) {
	st, err := eventlog.InspectLock(dir)
	if err != nil {
		r.warn("%v", err)
	}
	r.Lock = Lock{State: st.State, Path: st.Path, PID: st.PID, At: st.At, Domain: st.Domain, AgeMs: st.Age.Milliseconds()}
	old := st.Age > o.LockStale
	switch st.State {
	case eventlog.LockHeld:
		if old {
			r.Lock.Advice = "its owner lives and has held it long: look at that process"
		}
	case eventlog.LockAbandoned:
		r.Lock.Advice = "its owner is dead: the next call adopts it, or run `gaia unlock --apply`"
		if !o.Adoption {
			r.Lock.Advice = "its owner is dead, and adoption is off: run `gaia unlock --apply`"
		}
	case eventlog.LockEarlierBoot:
		r.Lock.Advice = "left from before this machine was started: see `gaia unlock` for the steps"
	case eventlog.LockForeign:
		if old {
			r.Lock.Advice = "probably abandoned: find out whether its owner still runs, then see `gaia unlock`"
		}
	}
	if r.Lock.Advice != "" {
		r.warn("the lock is %s: %s", st.State, r.Lock.Advice)
	}
}

func (r *Report) checkFilesystem(dir string) {
	kind, network, err := eventlog.Filesystem(dir)
	if err != nil {
		r.warn("the filesystem could not be told: %v", err)
	}
	r.Filesystem = Filesystem{kind, network}
	if network {
		r.warn("%s is a network filesystem: locks may not hold between hosts, and a dead owner's lock needs a person; use a local disk", kind)
	}
}

// checkPlace warns of what makes every call that writes fail, though what is
// there can be read. It tries nothing out: doctor writes nothing.
func (r *Report) checkPlace(log *eventlog.Log) {
	before := len(r.Warnings)
	if r.LogExists {
		if err := mayWrite(log.Path()); err != nil {
			r.warn("%s can't be written by this user, so every call will fail: %v", log.Path(), err)
		}
	}
	// The first call makes what is missing, inside what is nearest to it.
	for path := log.Dir(); ; path = filepath.Dir(path) {
		_, err := os.Lstat(path)
		if err != nil && path != filepath.Dir(path) {
			continue
		}
		switch fi, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			r.warn("%s is a link that leads nowhere, so every call will fail: make what it leads to, or name another data directory", path)
		case err != nil:
			r.warn("%s can't be looked at, so every call will fail: %v", path, err)
		case !fi.IsDir():
			r.warn("%s is no directory, so every call will fail: name another data directory", path)
		default:
			if err := mayWrite(path); err != nil {
				r.warn("%s can't be written by this user, so every call will fail: %v", path, err)
			}
		}
		break
	}
	if len(r.Warnings) > before && !r.LogExists && r.Replayable {
		r.Note = "no log yet, and none can be made: see the warnings"
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return exists(path)
	}
	return fi.IsDir()
}
