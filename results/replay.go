package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// ReplayFile is the file of a replay run's folder: one [ReplayTrial] a line.
const ReplayFile = "replay.jsonl"

// A ReplayTrial is one measurement of what the log's size costs.
type ReplayTrial struct {
	Schema int       `json:"schema"`
	Run    string    `json:"run"`
	Order  int       `json:"order"` // from 1, as executed
	Trial  int       `json:"trial"` // from 1, within the cell
	Start  time.Time `json:"start"`

	Operation string        `json:"operation"` // one of package bench's names
	Events    int           `json:"events"`
	Actors    int           `json:"actors"`
	Bytes     int64         `json:"bytes"` // of the log
	Took      time.Duration `json:"tookNs"`

	Lab         Binary      `json:"lab"`
	Environment Environment `json:"environment"`
}

// ReplayWriter appends replay records, each synced before the next.
type ReplayWriter struct{ f *os.File }

// CreateReplay makes dir's replay.jsonl; it must not be there yet.
func CreateReplay(dir string) (*ReplayWriter, error) {
	f, err := os.OpenFile(filepath.Join(dir, ReplayFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return &ReplayWriter{f}, nil
}

// Write appends one record.
func (w *ReplayWriter) Write(t *ReplayTrial) error {
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
func (w *ReplayWriter) Close() error { return w.f.Close() }

// ReadReplay reads replay records; errors name the file and the line. A last
// line that doesn't end is left out: its measurement was interrupted.
func ReadReplay(r io.Reader, file string) ([]ReplayTrial, error) {
	return readRecords[ReplayTrial](r, file, "a replay", nil)
}

// readRecords reads lines of what, each with the number of its schema; check
// may be nil.
func readRecords[T any](r io.Reader, file, what string, check func(*T) error) ([]T, error) {
	in := bufio.NewReader(r)
	var out []T
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		var head struct {
			Schema int `json:"schema"`
		}
		var t T
		err = errors.Join(Unmarshal(text, &head), Unmarshal(text, &t))
		if err == nil && check != nil {
			err = check(&t)
		}
		switch {
		case head.Schema > Schema:
			return nil, fmt.Errorf("%s:%d: %w %d; this gaia reads 1 to %d", file, line, ErrSchema, head.Schema, Schema)
		case err != nil:
			return nil, fmt.Errorf("%s:%d: not %s record: %w", file, line, what, err)
		case head.Schema < 1:
			return nil, fmt.Errorf("%s:%d: %w %d; this gaia reads 1 to %d", file, line, ErrSchema, head.Schema, Schema)
		}
		out = append(out, t)
	}
}
