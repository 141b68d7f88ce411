//go:build !linux

package eventlog

// spares is for what only Linux has: files without a name.
type spares struct{}

func (*spares) prepare(string) {}

func (*spares) become(string, []byte) bool { return false }
