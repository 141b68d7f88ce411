package verify

import "testing"

func TestSourceScanSeesListenersAndShells(t *testing.T) {
	for name, c := range map[string]struct {
		path, src string
		bad       bool
	}{
		"a listener":                    {"mcp/x.go", "package x\nimport \"net\"\nfunc f() { net.Listen(\"tcp\", \":0\") }", true},
		"a server":                      {"mcp/x.go", "package x\nimport h \"net/http\"\nvar _ = h.Server{}", true},
		"a listener through x/sys":      {"core/x.go", "package x\nimport \"golang.org/x/sys/unix\"\nfunc f() { unix.Bind(0, nil) }", true},
		"a process outside the lab":     {"mcp/x.go", "package x\nimport \"os/exec\"\nvar _ exec.Cmd", true},
		"a process by the back door":    {"mcp/x.go", "package x\nimport \"os\"\nfunc f() { os.StartProcess(\"\", nil, nil) }", true},
		"a shell in the lab":            {"harness/x.go", "package x\nimport \"os/exec\"\nfunc f() { exec.Command(\"/bin/sh\", \"-c\", \"x\") }", true},
		"a shell with a context":        {"harness/x.go", "package x\nimport \"os/exec\"\nfunc f() { exec.CommandContext(nil, \"cmd.exe\", \"/c\") }", true},
		"C":                             {"core/x.go", "package x\nimport \"C\"", true},
		"not Go":                        {"core/x.go", "pakage x", true},
		"the lab starts a server":       {"harness/x.go", "package x\nimport \"os/exec\"\nfunc f(a []string) { exec.Command(a[0], a[1:]...) }", false},
		"an address is parsed":          {"mcp/x.go", "package x\nimport \"net/url\"\nvar _ url.URL", false},
		"a word in a comment or string": {"mcp/x.go", "package x\n// net.Listen, sh -c\nvar s = \"net.Listen\"", false},
	} {
		if found := scanSource(c.path, []byte(c.src)); (len(found) > 0) != c.bad {
			t.Errorf("%s: %q", name, found)
		}
	}
}

func TestAControlThatChangesNothingFails(t *testing.T) {
	// Were the tampering lost, the control must say so and not pass.
	if c := control("x", noTransfer, nil); c.OK {
		t.Error("an untampered log was counted as rejected")
	}
}
