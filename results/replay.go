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
	in := bufio.NewReader(r)
	var out []ReplayTrial
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		var t ReplayTrial
		if err := Unmarshal(text, &t); err != nil {
			return nil, fmt.Errorf("%s:%d: not a replay record: %w", file, line, err)
		}
		if t.Schema < 1 || t.Schema > Schema {
			return nil, fmt.Errorf("%s:%d: %w %d; this gaia reads 1 to %d", file, line, ErrSchema, t.Schema, Schema)
		}
		out = append(out, t)
	}
}
