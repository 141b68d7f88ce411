package results

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatDuration prints three significant digits and a unit: "650 µs", "1.23 s".
func FormatDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < 0:
		return "-" + FormatDuration(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 999_500*time.Nanosecond:
		return digits(float64(d)/1e3) + " µs"
	case d < 999_500*time.Microsecond:
		return digits(float64(d)/1e6) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

// FormatBytes prints binary multiples: "12.3 MiB".
func FormatBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, units := float64(n), "KMGT"
	for {
		x /= 1024
		if x < 999.5 || len(units) == 1 {
			return digits(x) + " " + units[:1] + "iB"
		}
		units = units[1:]
	}
}

// FormatNumber prints three significant digits, and whole numbers whole.
func FormatNumber(x float64) string { return digits(x) }

func digits(x float64) string {
	switch a := math.Abs(x); {
	case math.IsInf(x, 0) || math.IsNaN(x):
		return "?"
	case a >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// spread prints how far a summary's interval reaches, relative to its median:
// "±3%"; "" where there is no interval, as with fewer than six trials.
func (s Summary) spread() string {
	if s.Median == 0 || math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) || math.IsNaN(s.Median) {
		return ""
	}
	return fmt.Sprintf("±%.0f%%", 100*max(s.Hi-s.Median, s.Median-s.Lo)/math.Abs(s.Median))
}

// Grid lines up rows in columns: the first column to the left, the others to
// the right. It is the tables' text form.
func Grid(rows [][]string) string {
	var width []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], runes(c))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		var line strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-runes(c))
			if i == 0 {
				line.WriteString(c + pad)
			} else {
				line.WriteString("  " + pad + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func runes(s string) int { return len([]rune(s)) }
