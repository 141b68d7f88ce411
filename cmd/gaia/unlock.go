package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/eventlog"
)

func newUnlockCommand(a *app) *cobra.Command {
	var apply bool
	cmd := &cobra.Command{
		Use:   "unlock",
		Short: "Look at the lock; release it if its owner is dead",
		Long: `Unlock shows the lock. With --apply it releases one whose owner the kernel
proves dead, and no other: breaking a lock that may be held is a race that ends
with two writers. For any other it prints the steps for a person.`,
		Example: "  gaia unlock\n  gaia unlock --apply",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.unlock(cmd.Context(), apply) },
	}
	cmd.Flags().BoolVar(&apply, "apply", false, "release a lock that is proven abandoned")
	return cmd
}

// unlocked is the JSON of unlock.
type unlocked struct {
	OK       bool               `json:"ok"`
	Command  string             `json:"command"`
	Mode     string             `json:"mode"` // "dry-run" or "apply"
	State    eventlog.LockState `json:"state"`
	Path     string             `json:"path"`
	PID      int                `json:"pid,omitzero"`
	At       string             `json:"at,omitzero"`
	AgeMs    int64              `json:"ageMs"`
	Owner    string             `json:"owner,omitzero"` // the start of owner.json's text
	Released bool               `json:"released"`
	Steps    []string           `json:"steps"` // for a person
}

func (a *app) unlock(ctx context.Context, apply bool) error {
	log, options, err := a.log()
	if err != nil {
		return err
	}
	st, released, err := eventlog.Unlock(ctx, log.Dir(), options, apply)
	if err != nil {
		return a.failed(err)
	}
	out := unlocked{OK: true, Command: "unlock", Mode: "dry-run", State: st.State, Path: st.Path, PID: st.PID, At: st.At,
		AgeMs: st.Age.Milliseconds(), Owner: st.Owner, Released: released, Steps: []string{}}
	if apply {
		out.Mode = "apply"
		out.OK = released || st.State == eventlog.LockFree
	}
	if !released {
		out.Steps = unlockSteps(st, what(st.Path))
	}
	ans := answer{body: out, text: func(p *text.Page) { printUnlocked(p, out) }}
	if !out.OK {
		ans.code = exitNo
	}
	return a.print(ans)
}

// what is there, in the words of who removes it: a lock made by hand may be
// anything.
func what(path string) string {
	fi, err := os.Lstat(path)
	switch owner := filepath.Join(path, "owner.json"); {
	case err == nil && !fi.IsDir():
		return "the file " + path
	case err == nil && missing(owner):
		return "the folder " + path
	default:
		return fmt.Sprintf("the folder %s, with %s in it,", path, owner)
	}
}

// unlockSteps tells a person what no program may do.
func unlockSteps(st eventlog.LockStatus, lock string) []string {
	byHand := []string{
		"make sure that no gaia server runs on this directory: end every client session that uses it, on every host that mounts it",
		fmt.Sprintf("then remove %s by hand", lock),
		"then run gaia doctor",
	}
	switch st.State {
	case eventlog.LockFree:
		return []string{}
	case eventlog.LockAbandoned:
		return []string{"its owner is proven dead: the next call adopts it, or run gaia unlock --apply"}
	case eventlog.LockHeld:
		return []string{fmt.Sprintf("process %d holds it and lives: wait, or look at that process", st.PID)}
	case eventlog.LockEarlierBoot:
		return append([]string{"it was left before this machine was started, so its owner is gone unless another host mounts this directory"}, byHand...)
	}
	if st.PID != 0 {
		return append([]string{fmt.Sprintf("find out whether process %d, which it names, still runs: on this host or on the one that made it", st.PID)}, byHand...)
	}
	return byHand
}

func printUnlocked(p *text.Page, out unlocked) {
	switch {
	case out.Released:
		p.Mark(text.Good, "released ", "%s", out.Path)
		return
	case out.State == eventlog.LockFree:
		p.Mark(text.Good, "free ", "there is no lock at %s", out.Path)
		return
	case !out.OK:
		p.Mark(text.Bad, "NOT RELEASED ", "the lock is %s", out.State)
	default:
		p.Mark(text.Warn, "locked ", "the lock is %s", out.State)
	}
	p.Field("path", "%s", out.Path)
	p.Field("age", "%d s", out.AgeMs/1000)
	if out.Owner != "" {
		p.Field("owner", "%s", out.Owner)
	}
	for i, step := range out.Steps {
		p.Mark(text.Plain, fmt.Sprintf("  %d. ", i+1), "%s", step)
	}
}
