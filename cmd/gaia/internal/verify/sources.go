package verify

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"gaia"
)

// spawner is the one folder that may start processes, for what it is: the lab
// drives real servers. Even there no shell is given a command line.
const spawner = "harness/"

func transport() []Check {
	const name = "no network listener, no shell-command transport in shipped sources"
	count, bad := 0, []string(nil)
	err := fs.WalkDir(gaia.Sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(gaia.Sources, path)
		if err != nil {
			return err
		}
		count++
		bad = append(bad, scanSource(path, src)...)
		return nil
	})
	switch {
	case err != nil:
		return []Check{{name, false, err.Error()}}
	case len(bad) > 0:
		return []Check{{name, false, strings.Join(bad, "; ")}}
	}
	return []Check{holds(name, count > 0, "%d source files scanned; only the lab, in %s, starts processes", count, strings.TrimSuffix(spawner, "/"))}
}

// harmless are the packages below net that open nothing.
var harmless = []string{"net/url", "net/netip", "net/mail", "net/textproto"}

// calls that open a socket or start a process, whatever package they are of.
var (
	listeners = []string{"Listen", "ListenAndServe", "ListenAndServeTLS", "ListenPacket", "ListenTCP", "ListenUDP", "ListenUnix", "Socket", "Bind"}
	spawners  = []string{"StartProcess", "ForkExec", "CreateProcess"}
	shells    = []string{"sh", "bash", "zsh", "dash", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "/bin/sh", "/bin/bash"}
)

// scanSource says what in one file listens, starts a process where none may
// be started, or hands a command line to a shell.
func scanSource(path string, src []byte) []string {
	file, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
	if err != nil {
		return []string{err.Error()}
	}
	var bad []string
	found := func(format string, args ...any) { bad = append(bad, path+": "+fmt.Sprintf(format, args...)) }
	for _, spec := range file.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		switch {
		case imp == "C", imp == "plugin":
			found("imports %s", imp)
		case (imp == "net" || strings.HasPrefix(imp, "net/")) && !slices.Contains(harmless, imp):
			found("imports %s", imp)
		case imp == "os/exec" && !strings.HasPrefix(path, spawner):
			found("imports os/exec")
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name := sel.Sel.Name
		switch {
		case slices.Contains(listeners, name):
			found("calls %s", name)
		case slices.Contains(spawners, name) && !strings.HasPrefix(path, spawner):
			found("calls %s", name)
		case name == "Command" || name == "CommandContext":
			for _, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				if word, _ := strconv.Unquote(lit.Value); slices.Contains(shells, strings.ToLower(word)) {
					found("starts the shell %s", word)
				}
			}
		}
		return true
	})
	return bad
}
