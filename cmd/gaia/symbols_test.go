package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// listener matches the functions through which a Go program comes to listen.
// The linker keeps a function only where it can be reached. (Dialling shares
// its innards with listening, so those say nothing.)
var listener = regexp.MustCompile(`^(net\.(Listen\w*|File(Listener|PacketConn)|\(\*ListenConfig\)\.Listen\w*|\(\*sysListener\)\..*)|net/http\.(ListenAndServe\w*|Serve(TLS)?|\(\*Server\)\.(Serve|ServeTLS|ListenAndServe\w*))|crypto/tls\.Listen|golang\.org/x/sys/\w+\.Listen|plugin\.Open)$`)

// listeners builds a program and lists those of its functions.
func listeners(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "binary.exe")
	build := exec.Command("go", append([]string{"build", "-o", binary}, args...)...)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	table, err := exec.Command("go", "tool", "nm", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	main := false
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		name := strings.Join(fields[2:], " ")
		main = main || name == "main.main"
		if listener.MatchString(name) {
			found = append(found, name)
		}
	}
	if !main {
		t.Fatal("the symbol table lacks main.main, so what else it lacks says nothing")
	}
	return found
}

func TestNoListenerCanBeReachedInTheLinkedBinary(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command to link the binary: ", err)
	}
	if found := listeners(t, ".", "."); len(found) > 0 {
		t.Errorf("the binary can listen through %q", found)
	}
	for name, body := range map[string]string{
		"net":  "import \"net\"\nfunc main() { _, _ = net.Listen(\"tcp\", \"127.0.0.1:0\") }",
		"http": "import \"net/http\"\nfunc main() { _ = http.ListenAndServe(\"127.0.0.1:0\", nil) }",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte("package main\n"+body+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if found := listeners(t, dir, file); len(found) == 0 {
			t.Errorf("%s: a program that listens was not seen to", name)
		}
	}
}
