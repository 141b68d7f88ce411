package results

import "time"

// Schema is the version of [Trial]'s JSON. A reader takes this version and
// older ones it knows, and refuses any other by its number.
const Schema = 1

// Trial is one trial of one arm, raw: what was run, on what, and what came
// out. A run's folder holds trials.jsonl, one Trial a line, each written and
// synced before the next trial starts. Durations are integer nanoseconds.
// No host name, user or absolute path is in it. Encode and decode it with
// [Marshal] and [Unmarshal].
type Trial struct {
	Schema int       `json:"schema"`
	Run    string    `json:"run"`   // the run's id: its UTC start and seed
	Arm    string    `json:"arm"`   // the arm's name, e.g. "lanes=4"
	Trial  int       `json:"trial"` // from 1, within the arm
	Order  int       `json:"order"` // from 1, within the run, as executed
	Seed   uint64    `json:"seed"`  // of this trial's work
	Start  time.Time `json:"start"`

	Lab         Binary      `json:"lab"`     // what drove the trial and checked it
	Servers     []Binary    `json:"servers"` // what was measured, one a server command
	Environment Environment `json:"environment"`
	Factors     Factors     `json:"factors"`

	Wall      time.Duration `json:"wallNs"`      // barrier to last reply
	ServerCPU time.Duration `json:"serverCPUNs"` // user+system, all servers
	ClientCPU time.Duration `json:"clientCPUNs"`
	// ServerPeakRSS is the largest peak of any server, in bytes; 0: not known
	// here. Each server's own is in its lane's row.
	ServerPeakRSS int64 `json:"serverPeakRSS"`

	Calls   int64            `json:"calls"`   // answered ok or refused
	Refused int64            `json:"refused"` // of Calls: refusals that the work meant to provoke
	Errors  map[string]int64 `json:"errors"`  // by class: failClosed codes, "transport", "refused" when unexpected
	Dropped int64            `json:"dropped"` // intended, never issued
	Events  int64            `json:"events"`  // appended in this trial
	LogSize int64            `json:"logSize"` // bytes at the end

	// Response is from the intended start, Service from the real one; by verb,
	// and "all". HdrHistogram V2, compressed, base64; unit nanoseconds.
	Response map[string]string `json:"response"`
	Service  map[string]string `json:"service"`
	// Phases says where the servers' time went, by step name.
	Phases map[string]Phase `json:"phases"`

	Lanes    []Lane    `json:"lanes"`
	Promises []Promise `json:"promises"`
	// Outage is what the lanes saw of an injected fault; nil where none was.
	Outage *Outage `json:"outage,omitzero"`
	// Floor is the same disk asked for bare mkdir+append+fsync+release, beside
	// this trial; nil where not measured.
	Floor *Floor `json:"floor,omitzero"`
}

// Binary identifies code that ran. What isn't known of a foreign server stays empty.
type Binary struct {
	Argv []string `json:"argv"` // paths reduced to their base names
	// Revision is the commit that the binary was built from, Dirty that its
	// tree had changes. A record without a revision isn't evidence.
	Revision string `json:"revision"`
	Dirty    bool   `json:"dirty"`
	SHA256   string `json:"sha256"`  // of the executable, hexadecimal
	Version  string `json:"version"` // as the server names itself on initialize
	Go       string `json:"go"`      // toolchain it was built with
}

// Environment is the fingerprint of the host, without its identity.
type Environment struct {
	OS           string  `json:"os"`
	Arch         string  `json:"arch"`
	Kernel       string  `json:"kernel"`
	CPU          string  `json:"cpu"`
	Cores        int     `json:"cores"`
	Memory       int64   `json:"memory"` // bytes
	Filesystem   string  `json:"filesystem"`
	MountOptions string  `json:"mountOptions"`
	LoadBefore   float64 `json:"loadBefore"`
	Virtual      string  `json:"virtual"` // "none", or a VM's, container's or Wine's name; "unknown"
}

// Factors are the arm's levels.
type Factors struct {
	Lanes        int           `json:"lanes"`
	CallsPerLane int           `json:"callsPerLane"`
	Prefill      int           `json:"prefill"` // events already in the log
	Actors       int           `json:"actors"`  // actors already in the log
	Path         string        `json:"path"`    // "tail" or "replay"
	Load         string        `json:"load"`    // "closed" or "open"
	Think        time.Duration `json:"thinkNs"`
	Rate         float64       `json:"rate"` // calls a second and lane, open load
	MessageBytes int           `json:"messageBytes"`
	Fault        string        `json:"fault"`             // "none", "kill-holder", …
	Class        string        `json:"class"`             // one of the Class constants
	Servers      []string      `json:"servers,omitempty"` // short names of the server commands, dealt out to the lanes in turn; empty: the lab's own
	Client       string        `json:"client,omitzero"`   // short name of the real client in the worker's place
}

// The classes of evidence, weakest first.
const (
	ClassIdentical     = "identical workers"
	ClassMixed         = "mixed servers"
	ClassScriptedModel = "real clients with a scripted model"
	ClassLiveModel     = "real clients with a live model"
)

// Lane is one lane's row.
type Lane struct {
	Lane    int           `json:"lane"`
	Server  string        `json:"server"` // which server command, base name
	Calls   int64         `json:"calls"`
	Errors  int64         `json:"errors"`
	Min     time.Duration `json:"minNs"`
	Median  time.Duration `json:"medianNs"`
	P99     time.Duration `json:"p99Ns"`
	Max     time.Duration `json:"maxNs"`
	Elapsed time.Duration `json:"elapsedNs"` // from the barrier to its last reply; 0: not known
	MaxWait time.Duration `json:"maxWaitNs"` // longest wait for the lock, where the server tells
	PeakRSS int64         `json:"peakRSS"`   // of its server, bytes; 0: not known here
	CPU     time.Duration `json:"cpuNs"`     // of its server, user+system
}

// Phase sums one step of the commit over a trial.
type Phase struct {
	Count int64         `json:"count"`
	Total time.Duration `json:"totalNs"`
	Max   time.Duration `json:"maxNs"`
}

// Promise is one thing a trial must hold, checked from bytes.
type Promise struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Skipped says that it could not be checked here, and Detail why. It
	// isn't a failure, and evidence doesn't count it as held.
	Skipped bool   `json:"skipped,omitzero"`
	Detail  string `json:"detail"`
}

// Outage is the injected faults of a trial as the other lanes saw them.
type Outage struct {
	Injected   int           `json:"injected"`   // faults that struck
	Longest    time.Duration `json:"longestNs"`  // longest gap in which no lane was answered
	Recovery   time.Duration `json:"recoveryNs"` // longest time from a fault to the next answered call of another lane
	FailClosed int64         `json:"failClosed"` // calls of other lanes that failed closed
	Adopted    int64         `json:"adopted"`    // locks that a survivor adopted, as servers said on stderr
	// Of kill-storm: calls whose server was killed before the reply, and
	// whether a death within an append tore the log's last line, at which the
	// bus stops until a person looks.
	Unknown int64 `json:"unknown,omitzero"`
	Torn    bool  `json:"torn,omitzero"`
}

// Floor is what the disk itself takes.
type Floor struct {
	N      int           `json:"n"`
	Median time.Duration `json:"medianNs"`
	P99    time.Duration `json:"p99Ns"`
}
