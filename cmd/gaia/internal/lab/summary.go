package lab

import (
	"errors"
	"fmt"
	"math"
	"time"

	"gaia/bench"
	"gaia/results"
)

// FloorLine says what the disk itself takes, over all trials.
func FloorLine(trials []results.Trial) string {
	var medians []float64
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	n := 0
	for i := range trials {
		if f := trials[i].Floor; f != nil {
			medians = append(medians, float64(f.Median))
			least, most = min(least, f.Median), max(most, f.Median)
			n += f.N
		}
	}
	if len(medians) == 0 {
		return "the disk's floor was not measured"
	}
	return fmt.Sprintf("floor (bare mkdir + append + fsync + release, %d samples beside the trials): median %s, from %s to %s",
		n, results.FormatDuration(time.Duration(results.Median(medians))), results.FormatDuration(least), results.FormatDuration(most))
}

// FitLines is the scalability law over the run's lanes, or why there is none.
func FitLines(trials []results.Trial) []string {
	points := bench.Points(trials)
	u, err := bench.FitUSL(points)
	if errors.Is(err, bench.ErrTooFewLevels) {
		return []string{"scalability law: no fit: " + err.Error()}
	}
	if err != nil {
		return []string{"scalability law: " + err.Error()}
	}
	peak := "no peak"
	if !math.IsInf(u.Peak.Value, 0) {
		peak = fmt.Sprintf("peak at %s lanes", results.FormatNumber(u.Peak.Value))
		if top := u.Levels[len(u.Levels)-1].Lanes; u.Peak.Value > float64(top) {
			peak += fmt.Sprintf(" (a guess: %d is the highest measured)", top)
		}
	}
	lines := []string{
		fmt.Sprintf("scalability law: %s, %s", u.Bound, peak),
		fmt.Sprintf("  λ %s, σ %s, κ %s (95%% intervals)", interval(u.Lambda, 1), interval(u.Sigma, 4), interval(u.Kappa, 6)),
	}
	residuals := "  residuals:"
	for _, l := range u.Levels {
		residuals += fmt.Sprintf(" %d: %+.1f%%", l.Lanes, 100*l.Residual())
	}
	lines = append(lines, residuals)
	if u.Worst > .15 {
		lines = append(lines, fmt.Sprintf("  the law doesn't describe this run: a level lies %.0f%% off the curve", 100*u.Worst))
	}
	return lines
}

func interval(e bench.Estimate, digits int) string {
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, e.Value, digits, e.Lo, digits, e.Hi)
}
