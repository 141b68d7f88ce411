package core

import (
	"errors"
	"time"
)

// Stub signatures, to be replaced by the real implementation.

var ErrNotEvent = errors.New("not an event")
var ErrUnreplayable = errors.New("unreplayable")

type State struct{}

func NewState() *State                              { panic("stub") }
func Decide(s *State, c Command) Decision           { panic("stub") }
func Apply(s *State, e Event)                       { panic("stub") }
func Commit(s *State, c Command) Decision           { panic("stub") }
func ParseEvent(line []byte) (Event, error)         { panic("stub") }
func FoldLine(s *State, line []byte) error          { panic("stub") }
func AppendEvent(dst []byte, e Event) []byte        { panic("stub") }
func AppendResult(dst []byte, r Result) []byte      { panic("stub") }
func FormatTime(t time.Time) string                 { panic("stub") }
func BusAuthority() []string                        { panic("stub") }
func Grantable() []string                           { panic("stub") }
func NeverGrantable() []string                      { panic("stub") }
func VerbSpecs() []VerbSpec                         { panic("stub") }
func (s *State) Snapshot() Snapshot                 { panic("stub") }
func (s *State) Integrity() IntegrityReport         { panic("stub") }
func (s *State) Correlation() CorrelationReport     { panic("stub") }
func (s *State) Collisions() []Collision            { panic("stub") }
func (s *State) Events() int                        { panic("stub") }
func (s *State) Actors() []ActorView                { panic("stub") }
func (s *State) PeersFor(address, at string) *Peers { panic("stub") }

type Snapshot struct{}
type IntegrityReport struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}
type Finding struct {
	Code    string `json:"code"`
	Subject string `json:"subject"`
	Detail  string `json:"detail"`
}
type CorrelationReport struct {
	OK      bool  `json:"ok"`
	Issued  int64 `json:"issued"`
	Runway  int64 `json:"runway"`
	Ceiling int64 `json:"ceiling"`
	Window  int64 `json:"window"`
}
type Collision struct {
	CWD       string     `json:"cwd"`
	Refs      []string   `json:"refs"`
	Occupants []Occupant `json:"occupants"`
	Branches  []string   `json:"branches"`
}
type Occupant struct {
	Ref        string  `json:"ref"`
	Status     string  `json:"status"`
	LastSeenAt string  `json:"lastSeenAt"`
	Branch     *string `json:"branch"`
}
type ActorView struct {
	Ref                  string   `json:"ref"`
	Name                 string   `json:"name"`
	Kind                 string   `json:"kind"`
	DeclaredCapabilities []string `json:"declaredCapabilities"`
	BusAuthority         []string `json:"busAuthority"`
	RegisteredAt         string   `json:"registeredAt"`
	LastSeenAt           string   `json:"lastSeenAt"`
	Status               string   `json:"status"`
	Heartbeats           int      `json:"heartbeats"`
	NameSharedWith       []string `json:"nameSharedWith"`
	Pending              []string `json:"pending"`
}

// VerbSpec describes a verb's arguments, from which the edge makes its schema
// and the command line its flags, so that the three cannot part.
type VerbSpec struct {
	Verb Verb
	Args []ArgSpec
}
type ArgSpec struct {
	Name     string
	Type     ArgType
	Required bool
	Doc      string
}
type ArgType int

const (
	StringArg ArgType = iota
	BoolArg
	StringsArg
)
