package results

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Names of the files in a run's folder.
const (
	PlanFile   = "plan.json"
	TrialsFile = "trials.jsonl"
	BenchFile  = "bench.txt"
)

// ErrSchema is returned when a record is of a schema that this version can't
// read; the error's text names file, line and number.
var ErrSchema = errors.New("unknown schema")

// A Run is the records of one folder.
type Run struct {
	Name   string // the folder's name
	Plan   *Plan  // nil where the folder has none
	Trials []Trial
	// Digest is the SHA-256 of trials.jsonl, hexadecimal: what a number quoted
	// from the run was computed from.
	Digest string
	// Torn says that the last line doesn't end: the lab was killed while it
	// wrote. That line isn't in Trials.
	Torn bool
}

// ReadRun reads a run's folder. Every error names the file, and the line where
// there is one.
func ReadRun(fsys fs.FS, dir string) (Run, error) {
	file := path.Join(dir, TrialsFile)
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return Run{}, err
	}
	run := Run{Name: dir, Digest: digest(data)}
	if run.Trials, run.Torn, err = ReadTrials(bytes.NewReader(data), file); err != nil {
		return Run{}, err
	}
	run.Plan, err = readPlan(fsys, path.Join(dir, PlanFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return Run{}, err
	}
	return run, nil
}

// ReadRunDir is [ReadRun] of a folder on disk.
func ReadRunDir(dir string) (Run, error) {
	run, err := ReadRun(os.DirFS(dir), ".")
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w", dir, err)
	}
	run.Name = filepath.Base(dir)
	return run, nil
}

// ReadTrials reads records until r ends. A last line without its newline is
// left out and reported as torn; anything else that isn't a record is an error
// that names the file and the line.
func ReadTrials(r io.Reader, file string) (trials []Trial, torn bool, err error) {
	in := bufio.NewReader(r)
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return trials, len(text) > 0, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		t, err := parseTrial(text)
		if err != nil {
			return nil, false, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		trials = append(trials, t)
	}
}

func parseTrial(line []byte) (Trial, error) {
	// The number first: the rest of a newer record may not even parse.
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := Unmarshal(line, &head); err != nil {
		return Trial{}, fmt.Errorf("not a trial's record: %w", err)
	}
	switch {
	case head.Schema == nil:
		return Trial{}, errors.New("not a trial's record: it has no schema")
	case *head.Schema < 1 || *head.Schema > Schema:
		return Trial{}, fmt.Errorf("%w %d; this gaia reads 1 to %d: read it with a newer one", ErrSchema, *head.Schema, Schema)
	}
	var t Trial
	if err := Unmarshal(line, &t); err != nil {
		return Trial{}, fmt.Errorf("not a trial's record: %w", err)
	}
	for _, m := range []map[string]string{t.Response, t.Service} {
		for verb, text := range m {
			if _, err := ParseHistogram(text); err != nil {
				return Trial{}, fmt.Errorf("%s: %w", verb, err)
			}
		}
	}
	return t, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A Writer appends records to a run's trials.jsonl. One goroutine at a time.
type Writer struct{ f *os.File }

// AppendTrials opens dir's trials.jsonl for appending. What an interrupted run
// left of an unfinished line is cut off first: its trial was never counted.
func AppendTrials(dir string) (*Writer, error) {
	name := filepath.Join(dir, TrialsFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err == nil {
		whole := int64(bytes.LastIndexByte(data, '\n') + 1)
		if err = f.Truncate(whole); err == nil {
			_, err = f.Seek(whole, io.SeekStart)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Writer{f}, nil
}

// Write appends one record and syncs it, so that a crash of the next trial, or
// of the machine, leaves it.
func (w *Writer) Write(t *Trial) error {
	line, err := Marshal(t)
	if err != nil {
		return err
	}
	if _, err := w.f.Write(append(line, '\n')); err != nil {
		return err
	}
	return w.f.Sync()
}

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

// Arms groups trials by their arm, in the order in which arms first appear in
// names; arms that aren't named follow in the order of their first trial.
func Arms(trials []Trial, names []string) (order []string, byArm map[string][]Trial) {
	byArm = make(map[string][]Trial)
	for _, t := range trials {
		byArm[t.Arm] = append(byArm[t.Arm], t)
	}
	for _, n := range names {
		if len(byArm[n]) > 0 && !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	for _, t := range trials {
		if !slices.Contains(order, t.Arm) {
			order = append(order, t.Arm)
		}
	}
	return order, byArm
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
