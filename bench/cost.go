package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"gaia/results"
)

// A Cost is what one operation took on a log of a size.
type Cost struct {
	Events, Actors int
	Seconds        float64
}

// A term is what a cost may grow with.
type term struct {
	name string
	of   func(events, actors float64) float64
}

// terms are the candidates: nothing, the log, the log times its actors (the
// documented claim), the log squared (what the seed's implementation did).
var terms = []term{
	{"1", func(e, a float64) float64 { return 1 }},
	{"E", func(e, a float64) float64 { return e }},
	{"E·A", func(e, a float64) float64 { return e * a }},
	{"E²", func(e, a float64) float64 { return e * e }},
}

// A Part is one term of a fitted cost.
type Part struct {
	Term   string
	Second float64 // seconds a unit of the term
	Share  float64 // of the fitted cost in the largest cell, 0 to 1
}

// A CostPoint is one cell: the median measured, and what the fit says.
type CostPoint struct {
	Events, Actors   int
	Observed, Fitted float64 // seconds
}

// An Explanation is a cost as a sum of terms: those that earn their place by
// the Bayesian information criterion, with coefficients at or above zero,
// fitted by least squares on relative errors.
type Explanation struct {
	Parts []Part // largest share first
	// RMS is the root mean square of the relative errors, Worst the largest.
	RMS, Worst float64
	// Without is the RMS of the best fit that lacks the first part's term.
	Without float64
	Points  []CostPoint
	// Verdict names the term that explains the cost where it is largest.
	Verdict string
}

// tolerance is how far cells may lie from one value and the cost still be said
// not to grow: the allowance of the bounded read path.
const tolerance = 0.2

// Explain fits the medians of the cells. It refuses grids that can't tell the
// terms apart.
func Explain(costs []Cost) (*Explanation, error) {
	points, err := cells(costs)
	if err != nil {
		return nil, err
	}
	if x := constant(points); x.Worst <= tolerance {
		x.Verdict = fmt.Sprintf("it does not grow: one value fits all cells within %.0f%%", 100*x.Worst)
		return x, nil
	}
	all := 1<<len(terms) - 1
	x := best(points, func(set int) bool { return set&^all == 0 })
	if x == nil {
		return nil, fmt.Errorf("%w: no sum of terms fits", ErrTooFewLevels)
	}
	first := slices.IndexFunc(terms, func(t term) bool { return t.name == x.Parts[0].Term })
	x.Without = math.Inf(1)
	if y := best(points, func(set int) bool { return set&(1<<first) == 0 }); y != nil {
		x.Without = y.RMS
	}
	largest := x.Points[len(x.Points)-1]
	where := fmt.Sprintf("%.0f%% of the cost at %d events and %d actors", 100*x.Parts[0].Share, largest.Events, largest.Actors)
	switch {
	case x.Worst > .5:
		x.Verdict = fmt.Sprintf("no sum of the terms explains it: a cell lies %.0f%% off", 100*x.Worst)
	case x.Parts[0].Term == "1" && len(x.Parts) == 1:
		x.Verdict = fmt.Sprintf("it does not grow: the best fit is one value, but cells lie up to %.0f%% off it", 100*x.Worst)
	case x.Without < 1.5*x.RMS+.005:
		x.Verdict = fmt.Sprintf("%s fits best, but these cells don't tell it apart (errors of %.1f%%, without it %.1f%%)", x.Parts[0].Term, 100*x.RMS, 100*x.Without)
	default:
		x.Verdict = fmt.Sprintf("%s explains it: %s (errors of %.1f%%, without it %.1f%%)", x.Parts[0].Term, where, 100*x.RMS, 100*x.Without)
	}
	return x, nil
}

// cells are the medians, smallest cell first.
func cells(costs []Cost) ([]CostPoint, error) {
	type cell struct{ events, actors int }
	by := make(map[cell][]float64)
	events, actors := make(map[int]bool), make(map[int]bool)
	for _, c := range costs {
		if c.Seconds <= 0 {
			return nil, fmt.Errorf("a cost of %v seconds at %d events", c.Seconds, c.Events)
		}
		k := cell{c.Events, c.Actors}
		by[k] = append(by[k], c.Seconds)
		events[c.Events], actors[c.Actors] = true, true
	}
	if len(events) < 3 || len(actors) < 2 || len(by) < 6 {
		return nil, fmt.Errorf("%w: %d cells of %d log sizes and %d actor counts, and it takes 6 of 3 and 2", ErrTooFewLevels, len(by), len(events), len(actors))
	}
	var points []CostPoint
	for k, seconds := range by {
		points = append(points, CostPoint{Events: k.events, Actors: k.actors, Observed: results.Median(seconds)})
	}
	slices.SortFunc(points, func(a, b CostPoint) int {
		if a.Events != b.Events {
			return a.Events - b.Events
		}
		return a.Actors - b.Actors
	})
	return points, nil
}

// constant is the one value whose largest relative error is the least.
func constant(points []CostPoint) *Explanation {
	low, high := math.Inf(1), 0.0
	for _, p := range points {
		low, high = min(low, p.Observed), max(high, p.Observed)
	}
	return explanation(points, []int{0}, []float64{2 * low * high / (low + high)})
}

// best is the fit of the allowed sets of terms with the least criterion; nil
// where none has coefficients at or above zero.
func best(points []CostPoint, allowed func(set int) bool) *Explanation {
	var found *Explanation
	least := math.Inf(1)
	for set := 1; set < 1<<len(terms); set++ {
		if !allowed(set) {
			continue
		}
		var which []int
		for i := range terms {
			if set&(1<<i) != 0 {
				which = append(which, i)
			}
		}
		coefficients := solve(points, which)
		if coefficients == nil {
			continue
		}
		x := explanation(points, which, coefficients)
		n := float64(len(points))
		// Below a tenth of a percent an error is the clock's, not the model's.
		bic := n*math.Log(x.RMS*x.RMS+1e-6) + float64(len(which))*math.Log(n)
		if bic < least {
			found, least = x, bic
		}
	}
	return found
}

// solve is least squares on relative errors; nil where it has no solution or a
// coefficient below zero.
func solve(points []CostPoint, which []int) []float64 {
	a := mat.NewDense(len(points), len(which), nil)
	ones := mat.NewVecDense(len(points), nil)
	scale := make([]float64, len(which))
	for j, w := range which {
		last := points[len(points)-1]
		scale[j] = terms[w].of(float64(last.Events), float64(last.Actors))
	}
	for i, p := range points {
		ones.SetVec(i, 1)
		for j, w := range which {
			a.Set(i, j, terms[w].of(float64(p.Events), float64(p.Actors))/scale[j]/p.Observed)
		}
	}
	var c mat.VecDense
	if err := c.SolveVec(a, ones); err != nil {
		return nil
	}
	out := make([]float64, len(which))
	for j := range which {
		if out[j] = c.AtVec(j) / scale[j]; out[j] < 0 {
			return nil
		}
	}
	return out
}

func explanation(points []CostPoint, which []int, coefficients []float64) *Explanation {
	x := new(Explanation)
	for _, p := range points {
		p.Fitted = 0
		for j, w := range which {
			p.Fitted += coefficients[j] * terms[w].of(float64(p.Events), float64(p.Actors))
		}
		e := math.Abs(p.Fitted/p.Observed - 1)
		x.RMS += e * e / float64(len(points))
		x.Worst = max(x.Worst, e)
		x.Points = append(x.Points, p)
	}
	x.RMS = math.Sqrt(x.RMS)
	last := x.Points[len(x.Points)-1]
	for j, w := range which {
		share := coefficients[j] * terms[w].of(float64(last.Events), float64(last.Actors)) / last.Fitted
		x.Parts = append(x.Parts, Part{terms[w].name, coefficients[j], share})
	}
	slices.SortStableFunc(x.Parts, func(a, b Part) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
	return x
}

// Formula is the fit as a sum, in microseconds.
func (x *Explanation) Formula() string {
	var parts []string
	for _, p := range x.Parts {
		s := fmt.Sprintf("%.3g µs", 1e6*p.Second)
		if p.Term != "1" {
			s += " × " + p.Term
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " + ")
}
