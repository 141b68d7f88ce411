// Package report makes a run's records into one page: as HTML that needs no
// network and no other file, and as the same in text. Both are made from one
// [Report], so that they can't part.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	_ "embed"

	"gaia/bench"
	"gaia/cmd/gaia/internal/text"
	"gaia/results"
)

// A Report is what a reader is shown, in this order.
type Report struct {
	Title    string
	OK       bool
	Verdict  []string // the first line is the verdict itself
	Sections []Section
}

// A Section is a heading with what stands under it; each part may be missing.
type Section struct {
	Heading string
	Text    []string   // paragraphs
	Rows    [][]string // a table, the first row its head
	SVG     template.HTML
	Caption string // of the figure, and what stands for it in the text
	Code    string // a command line
}

// Run makes the report of a run. Thresholds are the lines of those given
// before the run, and met says whether all were.
func Run(run results.Run, met bool, thresholds []string) (*Report, error) {
	if len(run.Trials) == 0 {
		return nil, errors.New("no trials to report on")
	}
	var order []string
	if run.Plan != nil {
		order = run.Plan.ArmNames()
	}
	trials := run.Trials
	verdict := results.Judge(trials)
	r := &Report{Title: "gaia lab " + trials[0].Run, OK: verdict.OK && met, Verdict: verdict.Lines}
	if len(thresholds) > 0 {
		missed := len(slices.DeleteFunc(slices.Clone(thresholds), func(l string) bool { return !strings.HasPrefix(l, "✗") }))
		r.Verdict = append(r.Verdict, fmt.Sprintf("thresholds: %d of %d missed", missed, len(thresholds)))
		r.add(Section{Heading: "Thresholds", Text: []string{"Given before the run; every trial must meet them. The value shown is the trial's that comes closest to missing."}, Rows: thresholdRows(thresholds)})
	}
	rows, common := results.TableRows(trials, order)
	r.add(Section{Heading: "Arms", Text: slices.DeleteFunc([]string{
		strings.TrimSpace(common),
		"Medians over the trials of an arm, with 95% intervals where there are six or more. Latencies are responses, from the intended start. " +
			"×floor is a call's median service time over the bare commit's on this disk.",
	}, func(s string) bool { return s == "" }), Rows: rows})

	main := mainArms(trials)
	if err := r.throughput(main); err != nil {
		return nil, err
	}
	if err := r.latency(main); err != nil {
		return nil, err
	}
	if err := r.phases(trials, order); err != nil {
		return nil, err
	}
	r.add(Section{Heading: "What a call costs", Text: []string{"Servers' CPU time a call, the largest peak memory of a server, and the mean time in each step of the commit."},
		Rows: results.CostRows(trials, order)})
	if err := r.logSize(trials); err != nil {
		return nil, err
	}
	if rows := results.OutageRows(trials, order); rows != nil {
		r.add(Section{Heading: "Faults", Text: []string{"What the other lanes saw, worst of the trials: the longest gap in which no lane was answered, the time to the next answer, calls that failed closed, locks adopted, calls whose server was killed before the reply, and trials in which a death tore the log's last line."}, Rows: rows})
	}
	r.promises(trials)
	r.environment(&trials[0])
	r.again(run)
	return r, nil
}

func thresholdRows(lines []string) [][]string {
	rows := [][]string{{"threshold, arm", "met", "value"}}
	for _, l := range lines {
		mark, rest, _ := strings.Cut(l, " ")
		what, value, _ := strings.Cut(rest, ": ")
		rows = append(rows, []string{what, mark, value})
	}
	return rows
}

func (r *Report) add(s Section) { r.Sections = append(r.Sections, s) }

// mainArms are the undisturbed trials that differ in their lanes alone: the
// shape with most lane counts.
func mainArms(trials []results.Trial) []results.Trial {
	type group struct {
		trials []results.Trial
		lanes  map[int]bool
	}
	var groups []group
	for _, t := range trials {
		if t.Factors.Fault != results.NoFault {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool {
			a, b := g.trials[0].Factors, t.Factors
			a.Lanes, b.Lanes = 0, 0
			return results.ArmName(a) == results.ArmName(b)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{lanes: make(map[int]bool)})
		}
		groups[i].trials = append(groups[i].trials, t)
		groups[i].lanes[t.Factors.Lanes] = true
	}
	if len(groups) == 0 {
		return nil
	}
	return slices.MaxFunc(groups, func(a, b group) int { return cmp.Compare(len(a.lanes), len(b.lanes)) }).trials
}

func lanesOf(trials []results.Trial) (counts []int, by map[int][]results.Trial) {
	by = make(map[int][]results.Trial)
	for _, t := range trials {
		by[t.Factors.Lanes] = append(by[t.Factors.Lanes], t)
	}
	for n := range by {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	return counts, by
}

func (r *Report) promises(trials []results.Trial) {
	type tally struct{ held, broken, skipped int }
	var names []string
	sum := make(map[string]*tally)
	for i := range trials {
		for _, p := range trials[i].Promises {
			if sum[p.Name] == nil {
				sum[p.Name] = new(tally)
				names = append(names, p.Name)
			}
			switch {
			case p.OK:
				sum[p.Name].held++
			case p.Skipped:
				sum[p.Name].skipped++
			default:
				sum[p.Name].broken++
			}
		}
	}
	rows := [][]string{{"promise", "held", "broken", "not checked"}}
	for _, n := range names {
		rows = append(rows, []string{n, fmt.Sprint(sum[n].held), fmt.Sprint(sum[n].broken), fmt.Sprint(sum[n].skipped)})
	}
	r.add(Section{Heading: "Promises", Text: []string{"Checked after each trial from the log's bytes and the lanes' histories, by code that shares nothing with the bus; numbers of trials."}, Rows: rows})
}

func (r *Report) environment(t *results.Trial) {
	e := t.Environment
	rows := [][]string{{"what", "value"}}
	add := func(what, value string) {
		if value != "" {
			rows = append(rows, []string{what, value})
		}
	}
	add("system", fmt.Sprintf("%s/%s, kernel %s", e.OS, e.Arch, e.Kernel))
	add("CPU", fmt.Sprintf("%s, %d cores", e.CPU, e.Cores))
	add("memory", results.FormatBytes(e.Memory))
	add("filesystem", strings.TrimSpace(e.Filesystem+" "+e.MountOptions))
	add("virtual", e.Virtual)
	add("load before", results.FormatNumber(e.LoadBefore))
	add("class", t.Factors.Class)
	add("lab", fmt.Sprintf("revision %s, %s", results.Revision(t.Lab), t.Lab.Go))
	for _, s := range t.Servers {
		add("server", strings.TrimSpace(strings.Join(s.Argv, " ")+" "+s.Version)+", SHA-256 "+short(s.SHA256))
	}
	r.add(Section{Heading: "Environment", Rows: rows})
}

func short(sum string) string {
	if sum == "" {
		return "unknown"
	}
	return sum[:min(12, len(sum))]
}

func (r *Report) again(run results.Run) {
	s := Section{Heading: "Run it again", Text: []string{
		"trials.jsonl beside this page holds every trial raw, bench.txt the same for benchstat; this page is made from them by gaia lab report.",
		"Records: SHA-256 " + run.Digest + ".",
	}}
	if p := run.Plan; p != nil {
		s.Text = append(s.Text, fmt.Sprintf("Planned %d trials with seed %d, started %s; %d are recorded.", len(p.Order), p.Seed, p.Start.Format(time.RFC3339), len(run.Trials)))
		words := make([]string, len(p.Args))
		for i, a := range p.Args {
			if words[i] = a; strings.ContainsAny(a, " <>|&;*?'\"") {
				words[i] = "'" + a + "'"
			}
		}
		for _, server := range p.Servers {
			words = append(words, "--server", "'"+server+"'")
		}
		s.Code = strings.Join(words, " ")
	}
	r.add(s)
}

// Replay makes the report of a replay run.
func Replay(trials []results.ReplayTrial, command string) (*Report, error) {
	if len(trials) == 0 {
		return nil, errors.New("no measurements to report on")
	}
	first := &trials[0]
	r := &Report{Title: "gaia lab replay " + first.Run, OK: true}
	for _, op := range bench.Operations() {
		costs := bench.Costs(trials, op)
		if len(costs) == 0 {
			continue
		}
		s := Section{Heading: strings.ToUpper(op[:1]) + op[1:], Rows: replayRows(trials, op)}
		x, err := bench.Explain(costs)
		if err != nil {
			s.Text = []string{"No term is named: " + err.Error() + "."}
			r.Verdict = append(r.Verdict, op+": "+err.Error())
		} else {
			s.Text = []string{x.Verdict, "Fitted: " + x.Formula() + "; a cell lies at most " + fmt.Sprintf("%.0f%%", 100*x.Worst) + " off."}
			r.Verdict = append(r.Verdict, op+": "+x.Verdict)
		}
		r.add(s)
	}
	if err := r.replayPlot(trials); err != nil {
		return nil, err
	}
	r.environment(&results.Trial{Environment: first.Environment, Lab: first.Lab})
	r.add(Section{Heading: "Run it again", Text: []string{results.ReplayFile + " beside this page holds every measurement raw."}, Code: command})
	return r, nil
}

// replayRows are the medians of one operation, a log size a row, an actor
// count a column.
func replayRows(trials []results.ReplayTrial, op string) [][]string {
	by := make(map[[2]int][]float64)
	var events, actors []int
	for _, t := range trials {
		if t.Operation == op {
			by[[2]int{t.Events, t.Actors}] = append(by[[2]int{t.Events, t.Actors}], float64(t.Took))
			events, actors = append(events, t.Events), append(actors, t.Actors)
		}
	}
	slices.Sort(events)
	slices.Sort(actors)
	events, actors = slices.Compact(events), slices.Compact(actors)
	head := []string{"events"}
	for _, a := range actors {
		head = append(head, fmt.Sprintf("%d actors", a))
	}
	rows := [][]string{head}
	for _, e := range events {
		row := []string{fmt.Sprint(e)}
		for _, a := range actors {
			cell := "–"
			if took := by[[2]int{e, a}]; len(took) > 0 {
				cell = results.FormatDuration(time.Duration(results.Median(took)))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// fit is the scalability law in words.
func fit(trials []results.Trial) (*bench.USL, []string) {
	u, err := bench.FitUSL(bench.Points(trials))
	if err != nil {
		return nil, []string{"No scalability law is fitted: " + err.Error() + "."}
	}
	return u, bench.DescribeUSL(u)
}

//go:embed page.html
var page string

// WriteHTML writes the report as one HTML file.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// WriteText writes the same as text: figures become their captions.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(s string) { b.WriteString(text.Escape(s) + "\n") }
	line(r.Title)
	for _, v := range r.Verdict {
		line(v)
	}
	for _, s := range r.Sections {
		line("")
		line(s.Heading)
		line(strings.Repeat("-", len(s.Heading)))
		for _, p := range s.Text {
			line(p)
		}
		for l := range strings.Lines(results.Grid(s.Rows)) {
			line(strings.TrimSuffix(l, "\n"))
		}
		if s.Caption != "" {
			line(s.Caption)
		}
		if s.Code != "" {
			line("  " + s.Code)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
