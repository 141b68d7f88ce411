// Package ecosystem holds what was decided about the neighbours of the bus's
// author, as data. Code asks it before it integrates with any of them.
package ecosystem

import (
	"fmt"
	"strings"
)

// A Decision is how far an integration may go.
type Decision string

// The decisions.
const (
	AdapterOnly Decision = "adapter-only" // beside the neighbour, through what it offers
	Rejected    Decision = "rejected"
	Deferred    Decision = "deferred"
)

// An Action is what code is about to do with a neighbour.
type Action string

// The actions.
const (
	ReadFiles   Action = "read-files"   // read files that it produced
	WriteFiles  Action = "write-files"  // write files of its own
	MountServer Action = "mount-server" // have it start this bus's MCP server
)

// A Verdict is what was decided about one neighbour.
type Verdict struct {
	Name     string   `json:"name"`
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason"`
	Allowed  []Action `json:"allowed"`
}

// Verdicts are all of them. The caller may keep the slice.
func Verdicts() []Verdict {
	return []Verdict{
		{"GA", AdapterOnly, "a producer without an MCP client: its files may be read, never written", []Action{ReadFiles}},
		{"TARS", AdapterOnly, "it mounts MCP servers at run time: it may start this one, and nothing is written for it", []Action{MountServer}},
		{"Hari", Rejected, "it removed its own MCP crate, so there is nothing to integrate with", []Action{}},
		{"IX", Deferred, "until the bus has actor identity and IX's owner decides", []Action{}},
	}
}

// Find returns a neighbour's verdict by name, in any case.
func Find(name string) (Verdict, bool) {
	for _, v := range Verdicts() {
		if strings.EqualFold(v.Name, name) {
			return v, true
		}
	}
	return Verdict{}, false
}

// May answers whether code may do something with a neighbour: nil, or an
// error that says what was decided. What was never decided isn't allowed.
func May(name string, do Action) error {
	v, known := Find(name)
	if !known {
		return fmt.Errorf("no verdict on %q: nothing was decided, so nothing is allowed", name)
	}
	for _, a := range v.Allowed {
		if a == do {
			return nil
		}
	}
	return fmt.Errorf("%s is %s: %s", v.Name, v.Decision, v.Reason)
}
