package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"gaia/bench"
	"gaia/results"
)

// The Okabe-Ito colours, told apart by readers who don't see all colours.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{204, 121, 167, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{120, 120, 120, 255}, color.RGBA{0, 0, 0, 255},
}

const (
	plotWidth  = 640
	plotHeight = 340
)

func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, f := range []*font.Font{&p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font} {
		*f = font.From(sans, 12)
	}
	for _, f := range []*font.Font{&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		*f = font.From(sans, 11)
	}
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(3)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{235}, color.Gray{225}
	p.Add(grid)
	return p
}

// svg draws p as an element that can stand in HTML.
func svg(p *plot.Plot) (template.HTML, error) {
	c := vgsvg.New(plotWidth, plotHeight)
	// The library sets the rotated label a little outside.
	p.Draw(draw.Crop(draw.New(c), 6, -6, 2, -2))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return "", err
	}
	text := b.String()
	// The XML prologue has no place in HTML. Labels are escaped by the library.
	return template.HTML(text[strings.Index(text, "<svg"):]), nil
}

// line adds a series with its dots.
func line(p *plot.Plot, name string, xys plotter.XYs, i int) error {
	l, s, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	l.Color, s.Color = palette[i], palette[i]
	l.Width, s.Shape, s.Radius = vg.Points(2), draw.CircleGlyph{}, vg.Points(3)
	p.Add(l, s)
	p.Legend.Add(name, l, s)
	return nil
}

// counts are ticks at the values given, and nowhere else.
func counts(values []int) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: float64(v), Label: fmt.Sprint(v)})
	}
	return ticks
}

// durationTicks labels an axis of nanoseconds, logarithmic or not.
type durationTicks struct{ plot.Ticker }

func (d durationTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := d.Ticker.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = zeros.Replace(results.FormatDuration(time.Duration(ticks[i].Value)))
		}
	}
	return ticks
}

// zeros leaves off what a round number doesn't need.
var zeros = strings.NewReplacer(".00 ", " ", ".0 ", " ")

func (r *Report) throughput(trials []results.Trial) error {
	levels, by := lanesOf(trials)
	u, words := fit(trials)
	s := Section{Heading: "Throughput", Text: words}
	if len(levels) > 1 {
		p := newPlot("lanes", "calls/s")
		p.X.Tick.Marker = counts(levels)
		var each, medians plotter.XYs
		for _, n := range levels {
			var xs []float64
			for i := range by[n] {
				x := by[n][i].CallsPerSecond()
				xs = append(xs, x)
				each = append(each, plotter.XY{X: float64(n), Y: x})
			}
			medians = append(medians, plotter.XY{X: float64(n), Y: results.Median(xs)})
		}
		dots, err := plotter.NewScatter(each)
		if err != nil {
			return err
		}
		dots.Color, dots.Shape, dots.Radius = color.Gray{150}, draw.RingGlyph{}, vg.Points(2.5)
		p.Add(dots)
		p.Legend.Add("each trial", dots)
		if err := line(p, "median", medians, 0); err != nil {
			return err
		}
		if u != nil {
			curve := plotter.NewFunction(u.At)
			curve.XMin, curve.XMax = float64(levels[0]), float64(levels[len(levels)-1])
			curve.Color, curve.Width, curve.Dashes = palette[1], vg.Points(1.5), []vg.Length{vg.Points(5), vg.Points(3)}
			p.Add(curve)
			p.Legend.Add("fitted law", curve)
		}
		p.Y.Min, p.Y.Max = 0, p.Y.Max*1.25
		if s.SVG, err = svg(p); err != nil {
			return err
		}
		s.Caption = fmt.Sprintf("Calls a second of all lanes together, from %d to %d lanes.", levels[0], levels[len(levels)-1])
	}
	if u != nil {
		s.Rows = [][]string{{"lanes", "trials", "observed", "fitted", "residual"}}
		for _, l := range u.Levels {
			s.Rows = append(s.Rows, []string{fmt.Sprint(l.Lanes), fmt.Sprint(l.Trials), results.FormatNumber(l.Observed), results.FormatNumber(l.Fitted), fmt.Sprintf("%+.1f%%", 100*l.Residual())})
		}
	}
	r.add(s)
	return nil
}

func (r *Report) latency(trials []results.Trial) error {
	levels, by := lanesOf(trials)
	if len(levels) < 2 {
		return nil
	}
	p := newPlot("lanes", "response")
	p.X.Tick.Marker = counts(levels)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, durationTicks{plot.LogTicks{Prec: 3}}
	s := Section{Heading: "Latency", Caption: "Response time percentiles from the intended start, medians over the trials; the scale is logarithmic.",
		Rows: [][]string{{"percentile"}}}
	for _, n := range levels {
		s.Rows[0] = append(s.Rows[0], fmt.Sprintf("%d lanes", n))
	}
	for i, q := range []struct {
		name string
		of   float64
	}{{"p50", .5}, {"p90", .9}, {"p99", .99}, {"p99.9", .999}, {"max", 1}} {
		var xys plotter.XYs
		row := []string{q.name}
		for _, n := range levels {
			y := results.Median(results.Of(by[n], func(t *results.Trial) float64 { return float64(t.ResponseQuantile(q.of)) }))
			if y <= 0 {
				return nil // nothing that a logarithmic axis can show
			}
			xys = append(xys, plotter.XY{X: float64(n), Y: y})
			row = append(row, results.FormatDuration(time.Duration(y)))
		}
		s.Rows = append(s.Rows, row)
		if err := line(p, q.name, xys, i); err != nil {
			return err
		}
	}
	decades(&p.Y)
	p.Legend.Left = true
	p.X.Max += float64(levels[len(levels)-1]) / 50
	var err error
	s.SVG, err = svg(p)
	r.add(s)
	return err
}

// steps are the phases in the commit's order.
var steps = []string{"acquire", "read", "fold", "decide", "append", "sync", "release"}

func (r *Report) phases(trials []results.Trial, order []string) error {
	names, byArm := results.Arms(trials, order)
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return byArm[n][0].Factors.Fault != results.NoFault || len(byArm[n][0].Phases) == 0
	})
	if len(names) == 0 {
		return nil
	}
	p := newPlot("", "mean a call")
	p.Y.Tick.Marker = durationTicks{plot.DefaultTicks{}}
	var below *plotter.BarChart
	var top float64
	sums := make(plotter.Values, len(names))
	for i, step := range steps {
		values := make(plotter.Values, len(names))
		for j, n := range names {
			values[j] = results.Median(results.Of(byArm[n], func(t *results.Trial) float64 {
				if ph := t.Phases[step]; ph.Count > 0 {
					return float64(ph.Total) / float64(ph.Count)
				}
				return 0
			}))
			sums[j] += values[j]
			top = max(top, sums[j])
		}
		bar, err := plotter.NewBarChart(values, vg.Points(min(40, 400/float64(len(names)))))
		if err != nil {
			return err
		}
		bar.Color, bar.LineStyle.Width = palette[i], 0
		if below != nil {
			bar.StackOn(below)
		}
		below = bar
		p.Add(bar)
		p.Legend.Add(step, bar)
	}
	p.NominalX(results.ShortNames(names)...)
	if len(names) > 6 {
		p.X.Tick.Label.Rotation = math.Pi / 5
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
	p.Y.Min, p.Y.Max = 0, top*1.08
	p.X.Max += float64(len(names)) * .3 // the legend's room
	image, err := svg(p)
	r.add(Section{Heading: "Where the time goes", SVG: image,
		Caption: "Mean time of a call in each step of the commit, as the servers tell it; acquire is the wait for the lock. The rows are in the next table."})
	return err
}

// logSize is the cost of a call against the log, where a run has at least two
// sizes at one number of lanes.
func (r *Report) logSize(trials []results.Trial) error {
	type key struct {
		lanes int
		path  string
	}
	costs := make(map[key]map[int][]float64)
	for i := range trials {
		f := trials[i].Factors
		if f.Fault != results.NoFault || f.Prefill == 0 || f.MessageBytes != trials[0].Factors.MessageBytes || f.Actors != trials[0].Factors.Actors || f.Load != results.LoadClosed {
			continue
		}
		k := key{f.Lanes, f.Path}
		if costs[k] == nil {
			costs[k] = make(map[int][]float64)
		}
		costs[k][f.Prefill] = append(costs[k][f.Prefill], float64(trials[i].ServiceQuantile(.5)))
	}
	var keys []key
	for k, by := range costs {
		if len(by) > 1 {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Or(cmp.Compare(a.lanes, b.lanes), cmp.Compare(a.path, b.path)) })
	p := newPlot("events in the log", "median service")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Tick.Marker = durationTicks{plot.DefaultTicks{}}
	s := Section{Heading: "Cost against the log's size", Rows: [][]string{{"lanes, path", "events", "median service", "against the smallest"}},
		Caption: "Median service time of a call against the events in the log when the trial began."}
	for i, k := range keys {
		sizes := make([]int, 0, len(costs[k]))
		for n := range costs[k] {
			sizes = append(sizes, n)
		}
		slices.Sort(sizes)
		var xys plotter.XYs
		for _, n := range sizes {
			y := results.Median(costs[k][n])
			xys = append(xys, plotter.XY{X: float64(n), Y: y})
			s.Rows = append(s.Rows, []string{fmt.Sprintf("%d, %s", k.lanes, k.path), fmt.Sprint(n), results.FormatDuration(time.Duration(y)), fmt.Sprintf("%.2f×", y/xys[0].Y)})
		}
		if err := line(p, fmt.Sprintf("%d lanes, %s", k.lanes, k.path), xys, i%len(palette)); err != nil {
			return err
		}
	}
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.3
	var err error
	s.SVG, err = svg(p)
	r.add(s)
	return err
}

// replayPlot shows every operation against the log's size, for the largest
// number of actors.
func (r *Report) replayPlot(trials []results.ReplayTrial) error {
	most := 0
	for _, t := range trials {
		most = max(most, t.Actors)
	}
	p := newPlot("events in the log", "median")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, durationTicks{plot.LogTicks{Prec: 3}}
	for i, op := range bench.Operations() {
		by := make(map[int][]float64)
		for _, t := range trials {
			if t.Operation == op && t.Actors == most {
				by[t.Events] = append(by[t.Events], float64(t.Took))
			}
		}
		var xys plotter.XYs
		for e, took := range by {
			xys = append(xys, plotter.XY{X: float64(e), Y: results.Median(took)})
		}
		if len(xys) < 2 {
			return nil
		}
		slices.SortFunc(xys, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		if err := line(p, op, xys, i); err != nil {
			return err
		}
	}
	decades(&p.Y)
	p.Y.Max *= 30 // the legend's room
	p.Legend.Left = true
	image, err := svg(p)
	r.Sections = append([]Section{{Heading: "Cost against the log's size", SVG: image,
		Caption: fmt.Sprintf("Medians with %d actors; both scales are logarithmic, so a straight line's slope is the power of the log's size.", most)}}, r.Sections...)
	return err
}

// decades widens an axis to whole powers of ten, or a logarithmic one may have
// no labelled tick at all.
func decades(a *plot.Axis) {
	a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(a.Min))), math.Pow(10, math.Ceil(math.Log10(a.Max)))
}
