package results

import (
	"embed"
	"io/fs"
)

// EvidenceFile is what the recorded runs show, as package lanes computed it.
const EvidenceFile = "evidence.json"

//go:embed recorded/README.md recorded/evidence.json
var recorded embed.FS

// Recorded is results/recorded as the binary carries it: what was computed from
// the records, and not the records themselves, which are large and would have
// to be read at every start of a command that quotes them.
func Recorded() fs.FS {
	sub, err := fs.Sub(recorded, "recorded")
	if err != nil {
		panic("results: " + err.Error()) // the name above is a constant
	}
	return sub
}
