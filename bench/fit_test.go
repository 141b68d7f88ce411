package bench_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaia/bench"
)

// law makes trials of a bus that follows the law, each off by up to noise.
func law(lambda, sigma, kappa, noise float64, levels ...int) []bench.Point {
	r := rand.New(rand.NewPCG(3, 4))
	var out []bench.Point
	for _, n := range levels {
		for range 10 {
			x := float64(n)
			out = append(out, bench.Point{Lanes: n, CallsPerSecond: lambda * x / (1 + sigma*(x-1) + kappa*x*(x-1)) * (1 + noise*(2*r.Float64()-1))})
		}
	}
	return out
}

func TestFitRecoversTheParametersOfSyntheticTrials(t *testing.T) {
	for name, c := range map[string]struct {
		lambda, sigma, kappa, noise float64
		bound                       string
	}{
		"exact, contention":     {1000, .5, .001, 0, "contention-bound"},
		"noisy, contention":     {1000, .5, .001, .05, "contention-bound"},
		"one lock for all":      {1500, 1, .0001, .02, "contention-bound"},
		"exact, coherency":      {200, .02, .05, 0, "coherency-bound"},
		"noisy, coherency":      {200, .02, .05, .05, "coherency-bound"},
		"nearly linear":         {50, .001, 0, .01, "scales"},
		"linear but for a part": {50, .1, 0, .01, "contention-bound"},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := bench.FitUSL(law(c.lambda, c.sigma, c.kappa, c.noise, 1, 2, 3, 4, 6, 8, 12, 16))
			if err != nil {
				t.Fatal(err)
			}
			// Relative for λ, and for the shares absolute: they are shares.
			if math.Abs(u.Lambda.Value/c.lambda-1) > .05+2*c.noise || math.Abs(u.Sigma.Value-c.sigma) > .01+c.noise || math.Abs(u.Kappa.Value-c.kappa) > .001+c.noise/20 {
				t.Errorf("got λ %+v σ %+v κ %+v", u.Lambda, u.Sigma, u.Kappa)
			}
			for i, e := range []bench.Estimate{u.Lambda, u.Sigma, u.Kappa} {
				truth := []float64{c.lambda, c.sigma, c.kappa}[i]
				if slack := 1e-3*truth + 1e-4; e.Lo > truth+slack+c.noise*truth || e.Hi < truth-slack-c.noise*truth || e.Lo > e.Value+1e-9 && c.noise > 0 {
					t.Errorf("parameter %d: interval %+v misses %v", i, e, truth)
				}
			}
			if u.Bound != c.bound {
				t.Errorf("verdict %q, want %q", u.Bound, c.bound)
			}
			if truth := math.Sqrt((1 - c.sigma) / c.kappa); c.kappa >= .001 && (u.Peak.Lo > 1.001*truth || u.Peak.Hi < .999*truth) {
				t.Errorf("peak at %+v lanes, want %.1f", u.Peak, truth)
			}
			if u.Worst > .02+c.noise || len(u.Levels) != 8 {
				t.Errorf("worst residual %.3f of %d levels", u.Worst, len(u.Levels))
			}
		})
	}
}

func TestTheSameTrialsGiveTheSameFit(t *testing.T) {
	points := law(1000, .5, .001, .05, 1, 2, 3, 4, 6, 8)
	a, err := bench.FitUSL(points)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := bench.FitUSL(points)
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

func TestOneTrialALevelHasWideIntervalsAndNotNone(t *testing.T) {
	var one []bench.Point
	for i, p := range law(1000, .5, .001, .1, 1, 2, 3, 4, 6, 8) {
		if i%10 == 0 {
			one = append(one, p)
		}
	}
	u, err := bench.FitUSL(one)
	if err != nil {
		t.Fatal(err)
	}
	if u.Lambda.Hi-u.Lambda.Lo < .02*u.Lambda.Value || u.Sigma.Hi-u.Sigma.Lo < .02 {
		t.Errorf("λ %+v σ %+v", u.Lambda, u.Sigma)
	}
}

func TestFitShowsInItsResidualsThatTheLawIsWrong(t *testing.T) {
	points := law(1000, .5, .001, .01, 1, 2, 3, 4, 6, 8)
	for i := range points {
		if points[i].Lanes == 4 {
			points[i].CallsPerSecond /= 2 // a step that no such curve has
		}
	}
	u, err := bench.FitUSL(points)
	if err != nil {
		t.Fatal(err)
	}
	if u.Worst < .2 {
		t.Errorf("worst residual %.3f", u.Worst)
	}
}

func TestNoFitOfFewerThanSixLevels(t *testing.T) {
	_, err := bench.FitUSL(law(1000, .5, .001, 0, 1, 2, 4, 6, 8))
	if !errors.Is(err, bench.ErrTooFewLevels) || !strings.Contains(err.Error(), "5 lane counts, and it takes 6") {
		t.Error(err)
	}
}

func TestTheTermBehindASyntheticCostIsNamed(t *testing.T) {
	grid := func(cost func(e, a float64) float64) []bench.Cost {
		r := rand.New(rand.NewPCG(5, 6))
		var out []bench.Cost
		for _, e := range []int{1000, 2000, 5000, 10000} {
			for _, a := range []int{2, 20, 200} {
				for range 5 {
					out = append(out, bench.Cost{Events: e, Actors: a, Seconds: cost(float64(e), float64(a)) * (1 + .04*(r.Float64()-.5))})
				}
			}
		}
		return out
	}
	for want, cost := range map[string]func(e, a float64) float64{
		"it does not grow":        func(e, a float64) float64 { return .002 },
		"E explains":              func(e, a float64) float64 { return .001 + 1e-6*e },
		"E·A explains":            func(e, a float64) float64 { return .001 + 1e-7*e*a },
		"E·A explains it: 9":      func(e, a float64) float64 { return .001 + 2e-6*e + 2e-7*e*a },
		"E² explains":             func(e, a float64) float64 { return .001 + 5e-8*e*e },
		"E² explains it: ":        func(e, a float64) float64 { return 5e-8*e*e + 1e-7*e*a },
		"no sum of the terms exp": func(e, a float64) float64 { return 1e-9 * a * a * a },
	} {
		x, err := bench.Explain(grid(cost))
		if err != nil || !strings.HasPrefix(x.Verdict, want) {
			t.Errorf("want %q: %+v %v", want, x, err)
		}
	}
	x, err := bench.Explain(grid(func(e, a float64) float64 { return .001 + 2e-6*e + 2e-7*e*a }))
	if err != nil || len(x.Parts) < 2 || x.Parts[0].Term != "E·A" || math.Abs(x.Parts[0].Second/2e-7-1) > .05 || math.Abs(x.Parts[1].Second/2e-6-1) > .2 {
		t.Errorf("the parameters aren't recovered: %+v", x)
	}
	// Where E and E·A are the same up to a factor no fit can tell them apart.
	costs := grid(func(e, a float64) float64 { return .001 + 1e-6*e })
	for i := range costs {
		costs[i].Actors = 10
	}
	if _, err := bench.Explain(costs); !errors.Is(err, bench.ErrTooFewLevels) {
		t.Errorf("one actor count: %v", err)
	}
}
