package eventlog

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// What Update, View and Lines fail with, beside the error of a context that
// ended. After any of them, unless OutcomeUnknown says otherwise, nothing was
// written and the directory is as it was found.

// LockTimeoutError is returned when the deadline passed before the lock could
// be had, or, by a reader, while an unfinished last line stood beside a lock.
type LockTimeoutError struct {
	Path   string        // of events.lock
	Waited time.Duration // from when the call was its process's next
	// Age is since the lock was taken; 0 where there is none, or where the
	// clock was set back behind it.
	Age time.Duration
	// Owner is the start of owner.json's text, at most 200 bytes, or "".
	// Anybody may have written it: escape it before printing.
	Owner string
	// Abandoned: older than Options.LockStale. It is said, never acted on.
	Abandoned bool
}

// CorruptError is returned when the log holds something that isn't a record.
// The bytes are left as they are: they are the only evidence.
type CorruptError struct {
	Path   string
	Line   int   // from 1
	Offset int64 // of the line's first byte
	Reason string
}

// UnreplayableError is returned when a record of a known type lacks what its
// type promises.
type UnreplayableError struct {
	Path   string
	Line   int   // from 1
	Offset int64 // of the line's first byte
	Err    error
}

// IOError is returned when the system refused an operation.
type IOError struct {
	Op   string // in words: "open the log"
	Path string
	Err  error
	// OutcomeUnknown: an append failed and could not be undone, so the
	// events may be in the log, whole or in part.
	OutcomeUnknown bool
}

func (e *LockTimeoutError) Error() string {
	if e.Age == 0 && e.Owner == "" {
		return fmt.Sprintf("the log's lock %q could not be had in %s: other processes kept it busy; nothing was written, try again later",
			e.Path, e.Waited.Round(time.Millisecond))
	}
	owner := "without an owner.json"
	if e.Owner != "" {
		owner = fmt.Sprintf("owner %q", e.Owner)
	}
	verdict := "find out whether its owner still runs"
	if e.Abandoned {
		verdict = "probably abandoned: find out whether its owner still runs"
	}
	return fmt.Sprintf("the log's lock %q was still held after %s (age %s, %s); %s, then see `gaia unlock`; nothing was written",
		e.Path, e.Waited.Round(time.Millisecond), e.Age.Round(time.Second), owner, verdict)
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("the log %q is damaged at line %d, byte %d: %s; its bytes are left as they are: keep a copy, "+
		"find out what wrote there, and repair it by hand or move to a new data directory", e.Path, e.Line, e.Offset,
		strings.Replace(e.Reason, "jsontext: ", "", 1)) // the library that found it is nobody's business
}

func (e *UnreplayableError) Error() string {
	return fmt.Sprintf("the log %q can't be replayed past line %d, byte %d: %v; its bytes are left as they are: "+
		"keep a copy and find out what wrote that record", e.Path, e.Line, e.Offset, e.Err)
}

func (e *UnreplayableError) Unwrap() error { return e.Err }

func (e *IOError) Error() string {
	cause := e.Err
	if inner, ok := cause.(*fs.PathError); ok && inner.Path == e.Path {
		cause = inner.Err // the path is said once
	}
	if e.OutcomeUnknown {
		return fmt.Sprintf("%s %q: %v; the outcome is unknown: the call's events may be in the log, whole or in part; "+
			"run `gaia doctor` before anything else is written", e.Op, e.Path, cause)
	}
	return fmt.Sprintf("%s %q: %v; nothing was written", e.Op, e.Path, cause)
}

func (e *IOError) Unwrap() error { return e.Err }
