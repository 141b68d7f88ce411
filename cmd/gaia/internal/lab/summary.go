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
	return bench.DescribeUSL(u)
}
