package results

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// PresetFigures is the preset of a run of gaia lab figures.
const PresetFigures = "figures"

// A Plan is what a run sets out to do, written before its first trial: with the
// records it says how far the run came and what is still to do.
type Plan struct {
	Schema int       `json:"schema"`
	Run    string    `json:"run"`
	Preset string    `json:"preset"` // "quick", "ladder", "full", "custom", or PresetFigures
	Seed   uint64    `json:"seed"`
	Start  time.Time `json:"start"`
	// Args is the command line, to run it again; Servers and Client are the
	// commands measured (none: the lab's own binary). Paths in all of them are
	// reduced to their base names, so resuming a run of other servers needs
	// their commands once more.
	Args    []string `json:"args"`
	Servers []string `json:"servers"`
	Client  string   `json:"client,omitzero"`
	Require string   `json:"require,omitzero"` // thresholds, decided before
	Trials  int      `json:"trials"`           // of each arm
	Arms    []Arm    `json:"arms"`
	Order   []Slot   `json:"order"` // as drawn from the seed
}

// An Arm is one combination of the factors' levels.
type Arm struct {
	Name    string  `json:"name"`
	Factors Factors `json:"factors"`
}

// A Slot is one trial to run.
type Slot struct {
	Arm   int    `json:"arm"`   // index into Plan.Arms
	Trial int    `json:"trial"` // from 1, within the arm
	Seed  uint64 `json:"seed"`
}

// Draw fills p.Order: every arm's trials interleaved in an order drawn from
// the seed, round by round. A round runs each arm once, so that a machine that
// slows down on the way slows all arms alike; the order within a round is
// random, so that no arm always follows the same neighbour. Trial n of each
// arm has the same seed: arms differ by their factors and not by their work.
func (p *Plan) Draw() {
	r := rand.New(rand.NewPCG(p.Seed, 0x67616961))
	p.Order = p.Order[:0]
	for n := 1; n <= p.Trials; n++ {
		seed := r.Uint64()
		for _, arm := range r.Perm(len(p.Arms)) {
			p.Order = append(p.Order, Slot{Arm: arm, Trial: n, Seed: seed})
		}
	}
}

// Left lists the positions in p.Order whose trial isn't in done.
func (p *Plan) Left(done []Trial) []int {
	type key struct {
		arm   string
		trial int
	}
	have := make(map[key]bool, len(done))
	for _, t := range done {
		have[key{t.Arm, t.Trial}] = true
	}
	var left []int
	for i, s := range p.Order {
		if !have[key{p.Arms[s.Arm].Name, s.Trial}] {
			left = append(left, i)
		}
	}
	return left
}

// ArmNames are the arms' names in the plan's order.
func (p *Plan) ArmNames() []string {
	names := make([]string, len(p.Arms))
	for i, a := range p.Arms {
		names[i] = a.Name
	}
	return names
}

// WritePlan writes p into dir, synced, refusing to replace one that is there.
func WritePlan(dir string, p *Plan) error {
	text, err := Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, PlanFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("the run's plan: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// ReadPlan reads dir's plan.
func ReadPlan(dir string) (*Plan, error) {
	p, err := readPlan(os.DirFS(dir), PlanFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return p, nil
}

func readPlan(fsys fs.FS, file string) (*Plan, error) {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	p := new(Plan)
	if err := Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if p.Schema < 1 || p.Schema > Schema {
		return nil, fmt.Errorf("%s: %w %d; this gaia reads 1 to %d: read it with a newer one", file, ErrSchema, p.Schema, Schema)
	}
	for _, s := range p.Order {
		if s.Arm < 0 || s.Arm >= len(p.Arms) {
			return nil, fmt.Errorf("%s: the order names arm %d of %d", file, s.Arm, len(p.Arms))
		}
	}
	return p, nil
}
