// Package eventlog is the only I/O of the bus.
package eventlog

import (
	"context"
	"io"
	"time"

	"gaia/core"
)

// Stub signatures, to be replaced by the real implementation.

type Log struct{}

type Options struct {
	LockTimeout       time.Duration    // 0: 10 s
	LockStale         time.Duration    // 0: 60 s; only said, never acted on
	ReleaseRetries    int              // 0: 12
	ReleaseRetryDelay time.Duration    // 0: 25 ms
	ReplayEachCall    bool             // the seed's way: fold everything each call
	Adoption          bool             // kernel lock and adoption (see lock.md)
	Hook              func(Step) error // before each step; an error stops the commit there (tests, the lab)
	Stderr            io.Writer        // warnings, one line each; nil: none
}

type Step string

const (
	StepAcquire Step = "acquire"
	StepRead    Step = "read"
	StepDecode  Step = "decode"
	StepFold    Step = "fold"
	StepDecide  Step = "decide"
	StepAppend  Step = "append"
	StepSync    Step = "sync"
	StepRelease Step = "release"
)

// Phases is how long each step of one call took.
type Phases map[Step]time.Duration

type Receipt struct {
	Phases Phases
}

type Line struct {
	Number int    // from 1
	Offset int64  // of its first byte
	Bytes  []byte // without the newline
}

// OptionsFromEnv reads GAIA_INTERAGENT_LOCK_*; a bad value is an error that names the variable.
func OptionsFromEnv(getenv func(string) string) (Options, error) { panic("stub") }

// DataDir resolves --data-dir, environment, platform default.
func DataDir(flag string, getenv func(string) string) (dir string, isDefault bool, err error) {
	panic("stub")
}

// Open touches nothing on disk.
func Open(dir string, o Options) *Log { panic("stub") }
func (l *Log) Dir() string            { panic("stub") }
func (l *Log) Path() string           { panic("stub") }

// Update is the one way to write. decide runs in the lock on the newest state and
// returns what to append (nothing: no append, no error). The state it is given must
// not be kept or changed.
func (l *Log) Update(ctx context.Context, decide func(*core.State) []core.Event) (Receipt, error) {
	panic("stub")
}

// View catches up and reads; it creates nothing.
func (l *Log) View(ctx context.Context, read func(*core.State) error) error { panic("stub") }

// Lines reads the whole log and hands out each complete line, validated as View validates.
func (l *Log) Lines(ctx context.Context, each func(Line) error) error { panic("stub") }

// LockTimeoutError, CorruptError, UnreplayableError, IOError: what Update, View and Lines fail with.
type LockTimeoutError struct {
	Path      string
	Waited    time.Duration
	Age       time.Duration
	Owner     string // owner.json's text, or "" (untrusted: escape before printing)
	Abandoned bool   // older than LockStale: "probably abandoned"
}
type CorruptError struct {
	Path   string
	Line   int
	Offset int64
	Reason string
}
type UnreplayableError struct {
	Path   string
	Line   int
	Offset int64
	Err    error
}
type IOError struct {
	Op   string
	Path string
	Err  error
	// OutcomeUnknown: an append failed and could not be undone.
	OutcomeUnknown bool
}

func (e *LockTimeoutError) Error() string  { panic("stub") }
func (e *CorruptError) Error() string      { panic("stub") }
func (e *UnreplayableError) Error() string { panic("stub") }
func (e *IOError) Error() string           { panic("stub") }

// LockState is what doctor and unlock see.
type LockState string

const (
	LockFree        LockState = "free"
	LockHeld        LockState = "held"
	LockAbandoned   LockState = "abandoned"
	LockEarlierBoot LockState = "earlier-boot"
	LockForeign     LockState = "foreign"
)

type LockStatus struct {
	State LockState
	Path  string
	PID   int
	At    string
	Age   time.Duration
	// Domain as recorded, "" where the marker has none
	Domain string
}

// InspectLock looks and touches nothing.
func InspectLock(dir string) (LockStatus, error) { panic("stub") }
