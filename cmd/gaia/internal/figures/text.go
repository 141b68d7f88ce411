package figures

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaia/results"
)

// String is the table for a person.
func (t *Table) String() string {
	var b strings.Builder
	rows := [][]string{{"  figure", "here", "target", "n", "spread"}}
	for _, r := range t.Rows {
		mark := map[State]string{Reached: "✓ ", Missed: "✗ ", NotMeasured: "– ", Beside: "    "}[r.State]
		target := ""
		if r.Bound != "" {
			target = r.Bound + " " + r.show(r.Target)
		}
		if r.Value == nil {
			rows = append(rows, []string{mark + r.Figure, "–", target})
			continue
		}
		rows = append(rows, []string{mark + r.Figure, r.here(), target, fmt.Sprint(len(r.Samples)), r.spread()})
	}
	b.WriteString(results.Grid(rows))
	b.WriteString("Medians, with the least and the most; of worst waits and memory the largest, of\nkills the sum. Ratios are made round by round, of what was measured in turn.\n")
	if len(t.Contenders) > 0 {
		rows = [][]string{{"who commits", "processes", "n", "calls/s", "Jain", "median", "worst", "in medians"}}
		for _, c := range t.Contenders {
			rows = append(rows, []string{c.Name, fmt.Sprint(c.Processes), fmt.Sprint(c.N), results.FormatNumber(c.CallsPerSecond), fmt.Sprintf("%.3f", c.Jain),
				milliseconds(c.MedianMs), milliseconds(c.WorstMs), results.FormatNumber(c.WorstInMedians)})
		}
		b.WriteString("\n" + results.Grid(rows))
	}
	b.WriteString("\n" + strings.Join(t.Verdict(), "\n"))
	return b.String()
}

// spread is the samples from the least to the most, the unit named once where
// it is the same.
func (r *Row) spread() string {
	if len(r.Samples) < 2 {
		return ""
	}
	least, most := r.show(slices.Min(r.Samples)), r.show(slices.Max(r.Samples))
	number, unit, _ := strings.Cut(least, " ")
	if unit != "" && strings.HasSuffix(most, " "+unit) {
		least = number
	}
	return least + "–" + most
}

func milliseconds(x float64) string { return results.FormatDuration(time.Duration(x * 1e6)) }

// here is the row's value, with all its digits where a miss would look like
// its target.
func (r *Row) here() string {
	s := r.show(*r.Value)
	if r.State != Missed || s != r.show(r.Target) {
		return s
	}
	switch r.Unit {
	case "ns":
		return time.Duration(*r.Value).String()
	case "bytes":
		return thousands(int(*r.Value)) + " B"
	case "×":
		return fmt.Sprint(*r.Value) + " ×"
	}
	return fmt.Sprint(*r.Value)
}

// show prints a number of the row's unit.
func (r *Row) show(x float64) string {
	switch r.Unit {
	case "ns":
		return results.FormatDuration(time.Duration(x))
	case "bytes":
		return results.FormatBytes(int64(x))
	case "kills", "locks":
		return thousands(int(x))
	case "index":
		return fmt.Sprintf("%.3f", x)
	case "×":
		if x < 1 { // two decimals would show a miss of a small target as the target
			return fmt.Sprintf("%.3f ×", x)
		}
		return results.FormatNumber(x) + " ×"
	}
	return results.FormatNumber(x)
}

// Line is a measurement in a line, as the lab prints it while it runs.
func Line(m *results.Measurement) string {
	what := m.What
	if m.By != "" {
		what += fmt.Sprintf(" of %d, %s", m.Processes, m.By)
	}
	if m.Events > 0 {
		what += fmt.Sprintf(", %s events", thousands(m.Events))
	}
	var found string
	switch {
	case m.Missing != "":
		found = "not measured: " + m.Missing
	case len(m.Lanes) > 0:
		t := m.Trial()
		found = fmt.Sprintf("%s commits/s  worst %s", results.FormatNumber(t.CallsPerSecond()), results.FormatDuration(t.WorstWait()))
	case len(m.Bytes) > 0:
		found = results.FormatBytes(slices.Max(m.Bytes))
	default:
		found = results.FormatDuration(time.Duration(median(m.Samples)))
	}
	return fmt.Sprintf("round %d  %s  %s", m.Round, what, found)
}
