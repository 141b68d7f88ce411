package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Places are the folders that gaia never writes configuration into: a user's
// home itself, and the clients' own global folders with all below them.
type Places struct {
	Home   string
	Global []string
}

// PlacesOf finds them in the environment.
func PlacesOf(getenv func(string) string) Places {
	home := getenv("HOME")
	if runtime.GOOS == "windows" || home == "" {
		if profile := getenv("USERPROFILE"); profile != "" {
			home = profile
		}
	}
	p := Places{Home: home}
	add := func(dir string) {
		if dir != "" {
			p.Global = append(p.Global, dir)
		}
	}
	add(getenv("CODEX_HOME"))
	add(getenv("CLAUDE_CONFIG_DIR"))
	if home != "" {
		add(filepath.Join(home, ".codex"))
		add(filepath.Join(home, ".claude"))
		add(filepath.Join(home, ".config", "claude"))
		add(filepath.Join(home, "Library", "Application Support", "Claude"))
	}
	if appData := getenv("APPDATA"); appData != "" {
		add(filepath.Join(appData, "Claude"))
	}
	return p
}

// refuse decides by the files' identity and not by their spelling: links,
// case, short names and prefixes all lead to the same folder.
func (p Places) refuse(dir string) error {
	at, err := locate(dir)
	if err != nil {
		return err
	}
	if p.Home != "" {
		if home, err := locate(p.Home); err == nil && at.same(home) {
			return fmt.Errorf("%w: %s is the home directory itself; name a folder of a project", ErrRefused, dir)
		}
	}
	for _, global := range p.Global {
		if g, err := locate(global); err == nil && at.within(g) {
			return fmt.Errorf("%w: %s lies in %s, a client's own global folder, which only the client and its user write", ErrRefused, dir, global)
		}
	}
	return nil
}

// A location is a folder that may not exist yet: the nearest ancestor that
// does, all links resolved, and the names below it.
type location struct {
	base string
	rest []string
}

func locate(dir string) (location, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return location{}, err
	}
	var rest []string
	for {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			fi, err := os.Stat(real)
			if err == nil && !fi.IsDir() {
				return location{}, fmt.Errorf("%w: %s is a file", ErrRefused, dir)
			}
			return location{real, rest}, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return location{}, err
		}
		if _, err := os.Lstat(dir); err == nil {
			return location{}, fmt.Errorf("%w: %s is a link that leads nowhere", ErrRefused, dir)
		}
		parent, name := filepath.Dir(dir), filepath.Base(dir)
		if parent == dir {
			return location{}, err
		}
		if runtime.GOOS == "windows" && strings.ContainsAny(name, `:?*`) {
			return location{}, fmt.Errorf("%w: %q can't be a folder's name", ErrRefused, name)
		}
		rest = append([]string{name}, rest...)
		dir = parent
	}
}

// alike compares names of folders that don't exist yet, and so have no
// identity, as the most forgiving filesystem would: no case, and no dots or
// spaces at the end.
func alike(a, b string) bool {
	return strings.EqualFold(strings.TrimRight(a, ". "), strings.TrimRight(b, ". "))
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// same tells whether two locations are, or would be, one folder.
func (l location) same(o location) bool {
	if len(l.rest) != len(o.rest) {
		return false
	}
	if len(l.rest) == 0 {
		return sameDir(l.base, o.base)
	}
	return l.within(o)
}

// within tells whether l is, or would be, o or a folder below it.
func (l location) within(o location) bool {
	if len(o.rest) > 0 {
		// o doesn't exist, so l can be in it only by names below the same base.
		if len(l.rest) < len(o.rest) || !sameDir(l.base, o.base) {
			return false
		}
		for i, name := range o.rest {
			if !alike(l.rest[i], name) {
				return false
			}
		}
		return true
	}
	for dir := l.base; ; dir = filepath.Dir(dir) {
		if sameDir(dir, o.base) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
