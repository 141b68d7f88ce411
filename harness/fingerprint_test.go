package harness

import (
	"path/filepath"
	"testing"
)

func TestFingerprintKnowsThisHost(t *testing.T) {
	e := Fingerprint(filepath.Join(t.TempDir(), "not", "there", "yet"))
	if e.OS == "" || e.Arch == "" || e.Cores < 1 || e.Memory <= 0 || e.Kernel == "unknown" || e.Filesystem == "unknown" {
		t.Errorf("%+v", e)
	}
	t.Logf("%+v", e)
}

func TestPrintableEscapesWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		" a\nb\t":             "a b",
		"\x1b[31mred":         `\u001b[31mred`,
		"\u202egnp.exe":       `\u202egnp.exe`,
		"\u009b31m":           `\u009b31m`,
		"café 東京":             "café 東京",
		"zero\u200bwidth\x00": `zero\u200bwidth\u0000`,
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q; want %q", in, got, want)
		}
	}
}
