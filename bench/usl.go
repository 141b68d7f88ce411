package bench

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"gaia/results"
)

// MinLevels is how many lane counts a fit of the scalability law needs: it has
// three parameters, and its residuals must be able to say that it is wrong.
const MinLevels = 6

// ErrTooFewLevels is returned when a fit would be an interpolation; the text
// says how many levels there are and how many it takes.
var ErrTooFewLevels = errors.New("too few levels for a fit")

// A Point is one trial's throughput at its number of lanes.
type Point struct {
	Lanes          int
	CallsPerSecond float64
}

// An Estimate is a fitted value with its 95% interval.
type Estimate struct{ Value, Lo, Hi float64 }

// USL is the Universal Scalability Law fitted to trials:
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// λ is one lane's throughput, σ the share of a call that lanes do one after the
// other (contention), κ the price that each pair of lanes pays for agreeing
// (coherency). Residuals are relative, so that small and large counts weigh
// the same; intervals come from 400 resamplings of the residuals, so that a law
// that fits badly has wide ones.
type USL struct {
	Lambda, Sigma, Kappa Estimate
	// Peak is the number of lanes with the highest throughput; infinite where
	// the curve has none. Beyond the highest count measured it is a guess.
	Peak  Estimate
	Bound string // "contention-bound", "coherency-bound" or "scales"
	// Levels compares the median at each count with the curve.
	Levels []Level
	// Worst is the largest relative deviation of a level's median from the
	// curve: above a tenth or so the law doesn't describe this bus.
	Worst float64
}

// A Level is one lane count of a fit.
type Level struct {
	Lanes            int
	Trials           int
	Observed, Fitted float64 // calls/s
}

// Residual is the level's deviation from the curve, relative to the curve.
func (l Level) Residual() float64 { return l.Observed/l.Fitted - 1 }

// At is the fitted throughput at n lanes.
func (u *USL) At(n float64) float64 {
	return uslAt([3]float64{u.Lambda.Value, u.Sigma.Value, u.Kappa.Value}, n)
}

func uslAt(p [3]float64, n float64) float64 { return p[0] * n / (1 + p[1]*(n-1) + p[2]*n*(n-1)) }

// FitUSL fits the law to trials. The same points give the same fit.
func FitUSL(points []Point) (*USL, error) {
	byLevel := make(map[int][]float64)
	for _, p := range points {
		if p.Lanes > 0 && p.CallsPerSecond > 0 {
			byLevel[p.Lanes] = append(byLevel[p.Lanes], p.CallsPerSecond)
		}
	}
	levels := make([]int, 0, len(byLevel))
	for n := range byLevel {
		levels = append(levels, n)
	}
	slices.Sort(levels)
	if len(levels) < MinLevels {
		return nil, fmt.Errorf("%w: %d lane counts, and it takes %d", ErrTooFewLevels, len(levels), MinLevels)
	}
	best, err := solveUSL(levels, byLevel, nil)
	if err != nil {
		return nil, err
	}
	const resamplings = 400
	var spread [4][]float64
	r := rand.New(rand.NewPCG(1, 2)) // fixed: a fit is a function of its points
	// Residuals of all trials, as factors; three parameters have been spent.
	var factors []float64
	for _, n := range levels {
		for _, x := range byLevel[n] {
			factors = append(factors, math.Log(x/uslAt(best, float64(n))))
		}
	}
	widen := math.Sqrt(float64(len(factors)) / float64(max(len(factors)-3, 1)))
	again := make(map[int][]float64, len(byLevel))
	for range resamplings {
		for _, n := range levels { // not the map's order: the draws must be the same
			again[n] = slices.Grow(again[n][:0], len(byLevel[n]))
			for range byLevel[n] {
				f := widen * factors[r.IntN(len(factors))]
				again[n] = append(again[n], uslAt(best, float64(n))*math.Exp(f))
			}
		}
		p, err := solveUSL(levels, again, &best)
		if err != nil {
			return nil, err
		}
		for i := range p {
			spread[i] = append(spread[i], p[i])
		}
		spread[3] = append(spread[3], peak(p))
	}
	estimate := func(i int, value float64) Estimate {
		slices.Sort(spread[i])
		return Estimate{value, stat.Quantile(.025, stat.Empirical, spread[i], nil), stat.Quantile(.975, stat.Empirical, spread[i], nil)}
	}
	u := &USL{Lambda: estimate(0, best[0]), Sigma: estimate(1, best[1]), Kappa: estimate(2, best[2]), Peak: estimate(3, peak(best))}
	sigma, kappa := best[1], best[2]
	top := float64(levels[len(levels)-1])
	switch waiting, agreeing := sigma*(top-1), kappa*top*(top-1); {
	case waiting+agreeing < 0.05*top:
		// Nine tenths of linear or more, up to the highest count measured.
		u.Bound = "scales"
	case agreeing > waiting:
		u.Bound = "coherency-bound"
	default:
		u.Bound = "contention-bound"
	}
	for _, n := range levels {
		l := Level{Lanes: n, Trials: len(byLevel[n]), Observed: results.Median(byLevel[n]), Fitted: u.At(float64(n))}
		u.Levels = append(u.Levels, l)
		u.Worst = max(u.Worst, math.Abs(l.Residual()))
	}
	return u, nil
}

func peak(p [3]float64) float64 {
	switch {
	case p[1] >= 1:
		return 1
	case p[2] < 1e-7: // above a thousand lanes: no peak anyone will see
		return math.Inf(1)
	}
	return max(1, math.Sqrt((1-p[1])/p[2])) // there is no fraction of a lane
}

// solveUSL minimizes the squared relative residuals. The parameters are kept
// at or above zero by searching over their square roots.
func solveUSL(levels []int, byLevel map[int][]float64, start *[3]float64) ([3]float64, error) {
	scale := stat.Mean(byLevel[levels[0]], nil) / float64(levels[0])
	unpack := func(x []float64) [3]float64 { return [3]float64{scale * x[0] * x[0], x[1] * x[1], x[2] * x[2]} }
	problem := optimize.Problem{Func: func(x []float64) float64 {
		p, sum := unpack(x), 0.0
		for _, n := range levels {
			fit := uslAt(p, float64(n))
			if fit <= 0 {
				return math.Inf(1)
			}
			for _, observed := range byLevel[n] {
				r := math.Log(observed / fit)
				sum += r * r
			}
		}
		return sum
	}}
	starts := [][3]float64{{scale, .01, .0001}, {scale, .5, .001}, {scale, .9, .0001}, {scale, .1, .01}}
	if start != nil {
		starts = [][3]float64{*start}
	}
	best, least := [3]float64{}, math.Inf(1)
	for _, s := range starts {
		x := []float64{math.Sqrt(s[0] / scale), math.Sqrt(s[1] + 1e-6), math.Sqrt(s[2] + 1e-8)}
		settings := &optimize.Settings{MajorIterations: 2000, Converger: &optimize.FunctionConverge{Absolute: 1e-12, Relative: 1e-10, Iterations: 60}}
		res, err := optimize.Minimize(problem, x, settings, &optimize.NelderMead{})
		if err != nil && res == nil {
			return best, fmt.Errorf("fitting the scalability law: %w", err)
		}
		if res.F < least {
			best, least = unpack(res.X), res.F
		}
	}
	return best, nil
}

// Points takes from trials what a fit may use: undisturbed ones of one arm
// shape, that is all but for the number of lanes like the first.
func Points(trials []results.Trial) []Point {
	var out []Point
	var shape *results.Factors
	for i := range trials {
		f := trials[i].Factors
		if f.Fault != results.NoFault || f.Load != results.LoadClosed {
			continue
		}
		f.Lanes = 0
		if shape == nil {
			shape = &f
		}
		if sameShape(f, *shape) {
			out = append(out, Point{trials[i].Factors.Lanes, trials[i].CallsPerSecond()})
		}
	}
	return out
}

func sameShape(a, b results.Factors) bool {
	return a.Prefill == b.Prefill && a.Actors == b.Actors && a.Path == b.Path && a.Think == b.Think && a.MessageBytes == b.MessageBytes &&
		a.Class == b.Class && slices.Equal(a.Servers, b.Servers)
}

// DescribeUSL says in lines what the fit found, with its residuals.
func DescribeUSL(u *USL) []string {
	top := u.Levels[len(u.Levels)-1].Lanes
	peak := "the curve has no peak"
	if !math.IsInf(u.Peak.Value, 0) {
		peak = fmt.Sprintf("peak at %s lanes [%s, %s]", results.FormatNumber(u.Peak.Value), lanes(u.Peak.Lo), lanes(u.Peak.Hi))
		if u.Peak.Value > float64(top) {
			peak += fmt.Sprintf(" (a guess: %d is the highest measured)", top)
		}
	}
	between := func(e Estimate, digits int) string {
		return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, e.Value, digits, e.Lo, digits, e.Hi)
	}
	residuals := "residuals:"
	for _, l := range u.Levels {
		residuals += fmt.Sprintf(" %d: %+.1f%%", l.Lanes, 100*l.Residual())
	}
	lines := []string{
		fmt.Sprintf("scalability law: %s, %s", u.Bound, peak),
		fmt.Sprintf("λ %s calls/s, σ %s, κ %s, with 95%% intervals", between(u.Lambda, 1), between(u.Sigma, 4), between(u.Kappa, 6)),
		residuals,
	}
	if u.Worst > describes {
		lines = append(lines, fmt.Sprintf("the law does not describe this run: a level lies %.0f%% off the curve", 100*u.Worst))
	}
	return lines
}

func lanes(n float64) string {
	if math.IsInf(n, 0) {
		return "none"
	}
	return results.FormatNumber(n)
}

// describes is how far a level may lie off the curve before the fit says that
// the law is not this run's.
const describes = 0.15
