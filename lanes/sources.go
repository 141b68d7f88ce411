package lanes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gaia/results"
)

// Shipped reads the runs that the binary carries.
func Shipped() ([]Source, error) {
	return read(results.Recorded(), false)
}

// AdoptDir is where `gaia lab evidence --adopt` puts a user's own runs, below
// the user's configuration directory.
func AdoptDir(userConfigDir string) string {
	return filepath.Join(userConfigDir, "gaia-interagent", "evidence")
}

// Adopted reads the runs in [AdoptDir]; none where the folder doesn't exist.
func Adopted(userConfigDir string) ([]Source, error) {
	dir := AdoptDir(userConfigDir)
	runs, err := read(os.DirFS(dir), true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return runs, nil
}

func read(fsys fs.FS, own bool) ([]Source, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Source
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		run, err := results.ReadRun(fsys, e.Name())
		if err != nil {
			return nil, err
		}
		out = append(out, Source{Run: run, Own: own})
	}
	return out, nil
}

// Current is the evidence for a host from all records known to it: shipped
// ones, and the user's own. An adopted folder that can't be read is an error
// beside an answer from the shipped records alone.
func Current(userConfigDir string, host results.Environment) (LaneEvidence, error) {
	runs, err := Shipped()
	if err != nil {
		return Evidence(nil, host), fmt.Errorf("shipped records: %w", err)
	}
	if userConfigDir != "" {
		own, oerr := Adopted(userConfigDir)
		if oerr != nil {
			err = fmt.Errorf("adopted records are ignored: %w", oerr)
		}
		runs = append(runs, own...)
	}
	return Evidence(runs, host), err
}

// Adopt copies a run's records into the user's configuration directory and
// returns the folder made. It refuses a run that can't be evidence, and one
// that is there already.
func Adopt(userConfigDir string, run results.Run, from string) (string, error) {
	evidence := false
	for i := range run.Trials {
		evidence = evidence || eligible(&run.Trials[i])
	}
	if !evidence {
		return "", errors.New("nothing to adopt: no trial of this run is evidence (it takes a lab built from a clean checkout with -buildvcs=true, " +
			fmt.Sprintf("and a log of %d events or more)", MinLog))
	}
	dest := filepath.Join(AdoptDir(userConfigDir), run.Trials[0].Run)
	if err := os.MkdirAll(filepath.Dir(dest), 0o700); err != nil {
		return "", err
	}
	if err := os.Mkdir(dest, 0o700); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is adopted already", dest)
	} else if err != nil {
		return "", err
	}
	for _, name := range []string{results.PlanFile, results.TrialsFile} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) && name == results.PlanFile {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dest, name), data, 0o600)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dest))
		}
	}
	return dest, nil
}
