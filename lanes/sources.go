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

// Shipped are the shipped runs' evidence, as the binary carries it. A test
// holds it equal to what the records in results/recorded show.
func Shipped() ([]RunEvidence, error) {
	text, err := fs.ReadFile(results.Recorded(), results.EvidenceFile)
	if err != nil {
		return nil, err
	}
	var runs []RunEvidence
	if err := results.Unmarshal(text, &runs); err != nil {
		return nil, fmt.Errorf("%s: %w", results.EvidenceFile, err)
	}
	return runs, nil
}

// AdoptDir is where `gaia lab evidence --adopt` puts a user's own runs, below
// the user's configuration directory.
func AdoptDir(userConfigDir string) string {
	return filepath.Join(userConfigDir, "gaia-interagent", "evidence")
}

// Adopted reads the runs in [AdoptDir]; none where the folder doesn't exist.
// The error tells of those that can't be read; the others are returned beside it.
func Adopted(userConfigDir string) ([]RunEvidence, error) {
	dir := AdoptDir(userConfigDir)
	runs, err := Read(os.DirFS(dir))
	if err != nil {
		err = fmt.Errorf("%s: %w", dir, err)
	}
	for i := range runs {
		runs[i].own = true
	}
	return runs, err
}

// Read summarizes the runs in the folders of fsys, by name. The error tells of
// those that can't be read; the others are returned beside it.
func Read(fsys fs.FS) ([]RunEvidence, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []RunEvidence
	var bad []error
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		run, err := results.ReadRun(fsys, e.Name())
		if err != nil {
			bad = append(bad, err)
			continue
		}
		out = append(out, Summarize(run))
	}
	return out, errors.Join(bad...)
}

// Current is the evidence for a host from all runs known to it: shipped ones,
// and the user's own. An adopted run that can't be read is an error beside an
// answer from all others.
func Current(userConfigDir string, host results.Environment) (LaneEvidence, error) {
	runs, err := Shipped()
	if err != nil {
		return Evidence(nil, host), fmt.Errorf("shipped evidence: %w", err)
	}
	if userConfigDir != "" {
		own, oerr := Adopted(userConfigDir)
		if oerr != nil {
			err = fmt.Errorf("an adopted run is ignored: %w", oerr)
		}
		runs = append(runs, own...)
	}
	return Evidence(runs, host), err
}

// Adopt copies a run's records into the user's configuration directory and
// returns the folder made. It refuses a run that can't be evidence, and one
// that is there already.
func Adopt(userConfigDir string, run results.Run, from string) (string, error) {
	if !Summarize(run).Speaks {
		return "", errors.New("nothing to adopt: no trial of this run is evidence (it takes a lab and servers built from clean checkouts with -buildvcs=true, one server being the lab's own build, " +
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
