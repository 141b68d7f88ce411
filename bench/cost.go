package bench

import (
	"fmt"
	"math"
	"slices"

	"gaia/results"
)

// A Cost is what one operation took on a log of a size.
type Cost struct {
	Events, Actors int
	Seconds        float64
}

// A Term is what a cost may grow with.
type Term struct {
	Name string
	of   func(events, actors float64) float64
}

// Terms are the candidates: nothing, the log, the log times its actors (the
// documented claim), the log squared (what the reference was seen to do).
func Terms() []Term {
	return []Term{
		{"1", func(e, a float64) float64 { return 0 }},
		{"E", func(e, a float64) float64 { return e }},
		{"E·A", func(e, a float64) float64 { return e * a }},
		{"E²", func(e, a float64) float64 { return e * e }},
	}
}

// A CostFit is cost = Fixed + PerUnit × term, least squares over relative errors.
type CostFit struct {
	Term           string
	Fixed, PerUnit float64 // seconds
	// RMS is the root mean square of the relative errors, and Worst the largest.
	RMS, Worst float64
	Points     []CostPoint
}

// A CostPoint is one cell: what was measured and what the fit says.
type CostPoint struct {
	Events, Actors   int
	Observed, Fitted float64 // seconds
}

// An Explanation is the terms' fits, best first, and what they come to.
type Explanation struct {
	Fits    []CostFit
	Verdict string
}

// distinguishes is how many times larger the second-best term's error must be
// for the best one to be named alone.
const distinguishes = 1.5

// tolerance is how far cells may lie from one value and still not grow: the
// allowance of the bounded read path.
const tolerance = 0.2

// Explain fits every term to the costs' medians a cell and names the one that
// explains them. A grid whose cells don't separate the terms is told so.
func Explain(costs []Cost) (Explanation, error) {
	type cell struct{ events, actors int }
	byCell := make(map[cell][]float64)
	var cells []cell
	for _, c := range costs {
		k := cell{c.Events, c.Actors}
		if byCell[k] == nil {
			cells = append(cells, k)
		}
		byCell[k] = append(byCell[k], c.Seconds)
	}
	events := make(map[int]bool)
	for _, c := range cells {
		events[c.events] = true
	}
	if len(cells) < 4 || len(events) < 3 {
		return Explanation{}, fmt.Errorf("%w: %d cells of %d log sizes, and it takes 4 of 3", ErrTooFewLevels, len(cells), len(events))
	}
	slices.SortFunc(cells, func(a, b cell) int {
		if a.events != b.events {
			return a.events - b.events
		}
		return a.actors - b.actors
	})
	var x Explanation
	for _, term := range Terms() {
		points := make([]CostPoint, len(cells))
		for i, c := range cells {
			points[i] = CostPoint{Events: c.events, Actors: c.actors, Observed: results.Median(byCell[c])}
		}
		x.Fits = append(x.Fits, fitTerm(term, points))
	}
	slices.SortStableFunc(x.Fits, func(a, b CostFit) int {
		switch {
		case a.RMS < b.RMS:
			return -1
		case a.RMS > b.RMS:
			return 1
		}
		return 0
	})
	best, second := x.Fits[0], x.Fits[1]
	constant := x.Fits[slices.IndexFunc(x.Fits, func(f CostFit) bool { return f.Term == "1" })]
	switch {
	case constant.Worst <= tolerance:
		x.Verdict = fmt.Sprintf("it does not grow: one value fits all cells within %.0f%%", 100*constant.Worst)
	case best.Worst > .5:
		x.Verdict = fmt.Sprintf("no term explains it; %s comes closest and is off by up to %.0f%%", best.Term, 100*best.Worst)
	case second.RMS < distinguishes*best.RMS:
		x.Verdict = fmt.Sprintf("%s and %s explain it about as well (errors of %.1f%% and %.1f%%): these cells don't tell them apart", best.Term, second.Term, 100*best.RMS, 100*second.RMS)
	default:
		x.Verdict = fmt.Sprintf("%s explains it (errors of %.1f%%; the next, %s, %.1f%%)", best.Term, 100*best.RMS, second.Term, 100*second.RMS)
	}
	return x, nil
}

// fitTerm solves min Σ((y − a − b·x)/y)² with a, b ≥ 0 in closed form.
func fitTerm(term Term, points []CostPoint) CostFit {
	var w, wx, wxx, wy, wxy float64
	for _, p := range points {
		x, y := term.of(float64(p.Events), float64(p.Actors)), p.Observed
		g := 1 / (y * y)
		w, wx, wxx, wy, wxy = w+g, wx+g*x, wxx+g*x*x, wy+g*y, wxy+g*x*y
	}
	f := CostFit{Term: term.Name}
	if det := w*wxx - wx*wx; det > 1e-12*w*wxx {
		f.Fixed, f.PerUnit = (wxx*wy-wx*wxy)/det, (w*wxy-wx*wy)/det
	} else {
		f.Fixed = wy / w
	}
	if f.PerUnit < 0 {
		f.Fixed, f.PerUnit = wy/w, 0
	}
	if f.Fixed < 0 {
		f.Fixed, f.PerUnit = 0, wxy/wxx
	}
	for _, p := range points {
		p.Fitted = f.Fixed + f.PerUnit*term.of(float64(p.Events), float64(p.Actors))
		e := math.Abs(p.Fitted/p.Observed - 1)
		f.RMS += e * e / float64(len(points))
		f.Worst = max(f.Worst, e)
		f.Points = append(f.Points, p)
	}
	f.RMS = math.Sqrt(f.RMS)
	return f
}
