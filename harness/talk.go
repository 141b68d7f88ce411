package harness

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// The talk between the lab and a lane, a JSON line each, over the lane's
// standard input and output:
//
//	lab → lane   order
//	lane → lab   report{Ready} or report{Failed}
//	lab → lane   begin
//	lane → lab   report{Done}
//
// The end of the lane's input means: end your server and exit.

// An order tells a lane what to do. Durations are nanoseconds.
type order struct {
	Lane         int      `json:"lane"`
	Lanes        int      `json:"lanes"`
	Seed         uint64   `json:"seed"`
	Calls        int      `json:"calls"`
	Load         string   `json:"load"`
	ThinkNs      int64    `json:"thinkNs"`
	Rate         float64  `json:"rate"`
	MessageBytes int      `json:"messageBytes"`
	Work         string   `json:"work"` // folder for the history
	Server       []string `json:"server"`
	Env          []string `json:"env"`                // the server's, besides the inherited one
	Client       []string `json:"client,omitzero"`    // in the worker's place
	ClientEnv    []string `json:"clientEnv,omitzero"` // the client's, besides the inherited one
	Self         []string `json:"self"`               // the gaia binary, for a client's tap
	StartNs      int64    `json:"startNs"`
	CallNs       int64    `json:"callNs"`
	Fault        fault    `json:"fault"` // only the victim's has one, but for kill-storm
}

type begin struct {
	Refs []string `json:"refs"` // by lane
	At   int64    `json:"atNs"` // shared clock
}

// A report holds exactly one of its members.
type report struct {
	Ready  *ready  `json:"ready,omitzero"`
	Failed *failed `json:"failed,omitzero"`
	Done   *done   `json:"done,omitzero"`
}

type ready struct {
	Ref     string `json:"ref"`
	Version string `json:"version"` // the server's name and version, as it told them
}

type failed struct {
	Reason string `json:"reason"`
	Stderr string `json:"stderr"`
}

// done is what a lane knows besides its history.
type done struct {
	Dropped     int64  `json:"dropped"`
	ServerCPUNs int64  `json:"serverCPUNs"`
	ClientCPUNs int64  `json:"clientCPUNs"`
	PeakRSS     int64  `json:"peakRSS"`
	Trouble     string `json:"trouble,omitzero"` // why the lane ended before its work did
	Stderr      string `json:"stderr,omitzero"`
	Version     string `json:"version,omitzero"`     // of a real client's server
	Adopted     int64  `json:"adopted,omitzero"`     // locks its server says it adopted
	FaultAt     int64  `json:"faultAtNs,omitzero"`   // when the lane did its fault
	FaultOver   int64  `json:"faultOverNs,omitzero"` // when a stalled server was let go on

	Kills []int64 `json:"killsNs,omitzero"` // when kill-storm killed its servers
}

// tell writes v as one line.
func tell(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// hear reads one line into v. io.EOF means that the other side has ended.
func hear(r *bufio.Reader, v any) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return io.EOF // half a line is no line
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("the lab and its lane don't understand each other: %w", err)
	}
	return nil
}
