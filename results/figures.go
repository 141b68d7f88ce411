package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// FiguresFile is what the run of gaia lab figures measured beside its trials:
// one [Measurement] a line.
const FiguresFile = "figures.jsonl"

// What a [Measurement] can be of. The names are part of the record.
const (
	CommitOfLog     = "commit, log"        // Update on a log of Events, in process
	CommitBare      = "commit, bare"       // mkdir + append + fsync + rmdir, in turn with it
	InitializeEmpty = "initialize, no log" // a server's start to its answer
	InitializeLog   = "initialize, log"    // the same on a log of Events
	FirstCall       = "first call"         // of that server, request to reply
	ValidateLog     = "validate JSON"      // of each line of that log, in the lab's process
	PrivateMemory   = "private memory"     // of that server, after that call
	Contention      = "contention"         // commits of Processes under the lock By
)

// RecordBytes is about as long as a record of the bus: what stands in for one
// where there is no bus.
const RecordBytes = 360

// BySQLite is a contention of SQLite's own.
const BySQLite = "SQLite"

// A Measurement is one measurement that isn't a trial of a bus, raw. Those of
// one round were taken in turn, between the trials of that number and the next.
type Measurement struct {
	Schema int       `json:"schema"`
	Run    string    `json:"run"`
	What   string    `json:"what"`
	Round  int       `json:"round"` // from 1
	Start  time.Time `json:"start"`

	Events  int             `json:"events,omitzero"`    // in the log it is of
	LogSize int64           `json:"logSize,omitzero"`   // bytes of it
	Samples []time.Duration `json:"samplesNs,omitzero"` // in the order taken
	Bytes   []int64         `json:"bytes,omitzero"`     // of memory, in the order taken

	// Of processes that contend for one file: a row each, the window in which
	// they commit without a pause, and how long each commit took from asking
	// for the lock to the end. A commit that ends after the window is in the
	// latencies and not in the calls.
	Processes int           `json:"processes,omitzero"`
	By        string        `json:"by,omitzero"`      // a bare lock's name, or BySQLite
	Version   string        `json:"version,omitzero"` // SQLite's
	Wall      time.Duration `json:"wallNs,omitzero"`
	Lanes     []Lane        `json:"lanes,omitzero"`
	Response  string        `json:"response,omitzero"`

	Missing string `json:"missing,omitzero"` // why it could not be measured here

	Lab         Binary      `json:"lab"`
	Environment Environment `json:"environment"`
}

// Trial is a contention in a trial's form, so that the same statistics hold
// for both.
func (m *Measurement) Trial() *Trial {
	t := &Trial{Wall: m.Wall, Lanes: m.Lanes, Response: map[string]string{"all": m.Response}}
	for _, l := range m.Lanes {
		t.Calls += l.Calls
	}
	return t
}

// AppendMeasurement adds one record to dir's file, synced.
func AppendMeasurement(dir string, m *Measurement) error {
	line, err := Marshal(m)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, FiguresFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// ReadMeasurements reads dir's file; none where there is no file, as when a
// run was interrupted in its first round.
func ReadMeasurements(dir string) ([]Measurement, error) {
	file := filepath.Join(dir, FiguresFile)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRecords(f, file, "a measurement's", func(m *Measurement) error {
		if m.Response == "" {
			return nil
		}
		if _, err := ParseHistogram(m.Response); err != nil {
			return fmt.Errorf("%s: %w", m.What, err)
		}
		return nil
	})
}
