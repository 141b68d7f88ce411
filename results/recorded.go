package results

import (
	"embed"
	"io/fs"
)

//go:embed recorded
var recorded embed.FS

// Recorded is results/recorded as it was when the binary was built: one folder
// a run.
func Recorded() fs.FS {
	sub, err := fs.Sub(recorded, "recorded")
	if err != nil {
		panic("results: " + err.Error()) // the name above is a constant
	}
	return sub
}
