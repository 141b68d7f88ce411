package results

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// Defaults of the factors; an arm's name shows only what differs from them.
const (
	DefaultMessageBytes = 200
	DefaultActors       = 8
	PathTail            = "tail"
	PathReplay          = "replay"
	LoadClosed          = "closed"
	LoadOpen            = "open"
	NoFault             = "none"
)

// ArmName names an arm by its levels, in the manner of a Go sub-benchmark:
// "lanes=4/events=10000/path=replay". Lanes and events always show.
func ArmName(f Factors) string {
	parts := []string{fmt.Sprintf("lanes=%d", f.Lanes), fmt.Sprintf("events=%d", f.Prefill)}
	add := func(key, value string, shown bool) {
		if shown {
			parts = append(parts, key+"="+word(value))
		}
	}
	add("actors", fmt.Sprint(f.Actors), f.Prefill > 0 && f.Actors != DefaultActors)
	add("path", f.Path, f.Path != PathTail)
	add("load", f.Load, f.Load != LoadClosed)
	add("rate", fmt.Sprint(f.Rate), f.Load == LoadOpen)
	add("think", f.Think.String(), f.Think > 0)
	add("bytes", fmt.Sprint(f.MessageBytes), f.MessageBytes != DefaultMessageBytes)
	add("fault", f.Fault, f.Fault != NoFault)
	add("servers", strings.Join(f.Servers, "+"), len(f.Servers) > 0)
	add("client", f.Client, f.Client != "")
	switch f.Class {
	case ClassScriptedModel:
		add("class", "scripted", true)
	case ClassLiveModel:
		add("class", "live", true)
	}
	return strings.Join(parts, "/")
}

// word makes a value fit for a benchmark's name: no space, no slash, nothing
// that isn't printable.
func word(s string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if r == '/' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s), "_")
}
