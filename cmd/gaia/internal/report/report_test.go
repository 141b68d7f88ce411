package report_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"gaia/bench"
	"gaia/cmd/gaia/internal/report"
	"gaia/results"
)

// a run with every kind of section: six lane counts, two log sizes, a fault.
func made() results.Run {
	run := results.Run{Name: "run", Digest: strings.Repeat("ab", 32), Plan: &results.Plan{Run: "20260102-030405-1", Seed: 1, Args: []string{"gaia", "lab", "run", "--require", "p99<1s"}}}
	add := func(lanes, prefill, n int, fault string) {
		h := results.NewHistogram()
		for i := range 200 {
			h.Record(time.Duration(lanes*(600+10*i)) * time.Microsecond)
		}
		f := results.Factors{Lanes: lanes, Prefill: prefill, Actors: results.DefaultActors, Path: "tail", Load: "closed", MessageBytes: results.DefaultMessageBytes,
			Fault: fault, Class: results.ClassIdentical}
		t := results.Trial{Schema: results.Schema, Run: run.Plan.Run, Arm: results.ArmName(f), Trial: n, Factors: f, Calls: int64(200 * lanes),
			Wall: time.Duration(lanes*(100+60*(lanes-1)+3*n)) * time.Millisecond, Response: map[string]string{"all": h.String()}, Service: map[string]string{"all": h.String()},
			Environment: results.Environment{OS: "linux", Arch: "amd64", CPU: "<script>alert(1)</script>", Cores: 2},
			Promises:    []results.Promise{{Name: "whole JSON lines", OK: true}}, Floor: &results.Floor{N: 20, Median: 400 * time.Microsecond},
			Phases: map[string]results.Phase{}}
		for i, step := range []string{"acquire", "read", "fold", "decide", "append", "sync", "release"} {
			t.Phases[step] = results.Phase{Count: t.Calls, Total: time.Duration(t.Calls) * time.Duration(lanes*(i+1)*40) * time.Microsecond}
		}
		for i := range lanes {
			t.Lanes = append(t.Lanes, results.Lane{Lane: i + 1, Calls: 200, Max: 9 * time.Millisecond})
		}
		if fault != results.NoFault {
			t.Outage = &results.Outage{Injected: 1, Longest: 30 * time.Millisecond, Recovery: 12 * time.Millisecond, Adopted: 1}
		}
		run.Trials = append(run.Trials, t)
	}
	for n := 1; n <= 6; n++ {
		for _, lanes := range []int{1, 2, 3, 4, 6, 8} {
			add(lanes, 10_000, n, results.NoFault)
		}
		add(1, 100, n, results.NoFault)
		add(4, 10_000, n, "kill-holder:sync")
	}
	return run
}

func html(t *testing.T, run results.Run, ok bool) string {
	t.Helper()
	r, err := report.Run(run, ok, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportNeedsNothingButItself(t *testing.T) {
	page := html(t, made(), true)
	for _, outside := range []string{`src=`, `href=`, `@import`, `url(`, `<script`, `<link`} {
		// Fragments of the page itself are not outside.
		for _, at := range regexp.MustCompile(regexp.QuoteMeta(outside)+`.{0,20}`).FindAllString(page, -1) {
			t.Errorf("the page asks for something: %s", at)
		}
	}
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("a record's text isn't escaped")
	}
}

func TestTextTwinSaysWhatTheHTMLSays(t *testing.T) {
	run := made()
	r, err := report.Run(run, true, []string{"✓ p99<1s  lanes=1: 5.00 ms"})
	if err != nil {
		t.Fatal(err)
	}
	var page, text bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Sections {
		if !strings.Contains(text.String(), s.Heading) || !strings.Contains(page.String(), "<h2>"+strings.ReplaceAll(s.Heading, "'", "&#39;")) {
			t.Errorf("%s is missing", s.Heading)
		}
		for _, row := range s.Rows {
			if !strings.Contains(text.String(), row[0]) {
				t.Errorf("%s: the row %q is missing in the text", s.Heading, row[0])
			}
		}
	}
	for _, want := range []string{"thresholds: 0 of 1 missed", "p99<1s  lanes=1", "scalability law: ", "residual", "longest outage", "10000", "gaia lab run --require 'p99<1s'", "SHA-256 abab"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text doesn't say %q", want)
		}
	}
}

func TestAVerdictOfNoShows(t *testing.T) {
	if page := html(t, made(), false); !strings.Contains(page, `class="verdict no"`) {
		t.Error("missed thresholds don't show")
	}
	run := made()
	run.Trials[3].Promises[0] = results.Promise{Name: "whole JSON lines", Detail: "line 7 isn't JSON"}
	if page := html(t, run, true); !strings.Contains(page, `class="verdict no"`) || !strings.Contains(page, "line 7 isn&#39;t JSON") {
		t.Error("a broken promise doesn't show")
	}
}

func TestARunOfOneArmHasAReport(t *testing.T) {
	run := made()
	run.Trials, run.Plan = run.Trials[:1], nil
	if page := html(t, run, true); !strings.Contains(page, "No scalability law is fitted") {
		t.Error("it doesn't say why there is no fit")
	}
	run.Trials[0].Response, run.Trials[0].Service, run.Trials[0].Phases, run.Trials[0].Lanes = nil, nil, nil, nil
	html(t, run, true)
	if _, err := report.Run(results.Run{}, true, nil); err == nil {
		t.Error("a report on nothing")
	}
}

// probe is what a browser sees of the page's figures.
type probe struct {
	Figures []struct {
		Width, Height float64  // on the page, in pixels
		Shapes        int      // lines, dots and bars that cover a part of the plot
		Labels        int      // texts that are visible
		Outside       []string // texts that reach out of the figure
	}
	Errors []string
	Wide   bool // the page is wider than its window
}

const script = `<script>
var found = {Figures: [], Errors: window.seen || [], Wide: document.documentElement.scrollWidth > window.innerWidth + 1};
for (const s of document.querySelectorAll("figure svg")) {
  const r = s.getBoundingClientRect(), f = {Width: r.width, Height: r.height, Shapes: 0, Labels: 0, Outside: []};
  for (const p of s.querySelectorAll("path, circle, ellipse, rect")) {
    const b = p.getBoundingClientRect();
    if (b.width + b.height > 4 && b.width < r.width * .98) f.Shapes++;
  }
  for (const x of s.querySelectorAll("text")) {
    const b = x.getBoundingClientRect();
    if (b.width > 1 && b.height > 1) f.Labels++;
    if (b.left < r.left - 1 || b.right > r.right + 1 || b.top < r.top - 1 || b.bottom > r.bottom + 1) f.Outside.push(x.textContent);
  }
  found.Figures.push(f);
}
const pre = document.createElement("pre"); pre.id = "probe"; pre.textContent = JSON.stringify(found); document.body.appendChild(pre);
</script>`

// browse opens a page in a real browser and returns what it saw.
func browse(t *testing.T, page string) probe {
	t.Helper()
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no chromium or chrome on the PATH")
	}
	dir := t.TempDir()
	page = strings.Replace(page, "<head>", `<head><script>window.seen = []; addEventListener("error", e => seen.push(String(e.message || e.target)), true);</script>`, 1)
	page = strings.Replace(page, "</body>", script+"</body>", 1)
	name := filepath.Join(dir, "page.html")
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{"--headless", "--disable-gpu", "--no-sandbox", "--user-data-dir=" + filepath.Join(dir, "profile"), "--window-size=1100,900", "--dump-dom", "file://" + filepath.ToSlash(name)}
	out, err := exec.CommandContext(ctx, browser, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	m := regexp.MustCompile(`(?s)<pre id="probe">(.*?)</pre>`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("the page didn't load: %.300s", out)
	}
	text := strings.NewReplacer("&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(string(m[1]))
	var p probe
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return p
}

// faults lists what is wrong with a page as it is shown.
func (p probe) faults() []string {
	bad := p.Errors
	if p.Wide {
		bad = append(bad, "the page is wider than its window")
	}
	if len(p.Figures) == 0 {
		bad = append(bad, "no figure")
	}
	for i, f := range p.Figures {
		if f.Width < 300 || f.Height < 150 || f.Shapes < 8 || f.Labels < 6 || len(f.Outside) > 0 {
			bad = append(bad, fmt.Sprintf("figure %d: %+v", i+1, f))
		}
	}
	return bad
}

// replayed is a replay run whose reference fold costs E·A.
func replayed() []results.ReplayTrial {
	var out []results.ReplayTrial
	for _, e := range []int{1000, 2000, 5000, 10_000} {
		for _, a := range []int{2, 20, 200} {
			for i, op := range bench.Operations() {
				took := time.Duration(e*(i+1)) * time.Microsecond
				switch op {
				case bench.OpReference:
					took += time.Duration(e*a) * time.Microsecond
				case bench.OpTail:
					took = 30 * time.Microsecond
				}
				out = append(out, results.ReplayTrial{Schema: 1, Run: "r", Operation: op, Events: e, Actors: a, Trial: 1, Took: took})
			}
		}
	}
	return out
}

func TestReplayReportNamesTheTermBehindEachCost(t *testing.T) {
	r, err := report.Replay(replayed(), "gaia lab replay")
	if err != nil {
		t.Fatal(err)
	}
	verdict := strings.Join(r.Verdict, "\n")
	for _, want := range []string{bench.OpReference + ": E·A explains it", bench.OpBus + ": E explains it", bench.OpTail + ": it does not grow", bench.OpReplay + ": E explains it"} {
		if !strings.Contains(verdict, want) {
			t.Errorf("it doesn't say %q:\n%s", want, verdict)
		}
	}
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		return
	}
	for _, f := range browse(t, b.String()).faults() {
		t.Error(f)
	}
}

func TestABrowserShowsTheReportWithoutErrorsOrEmptyPlots(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	page := html(t, made(), true)
	p := browse(t, page)
	if len(p.Figures) != 4 {
		t.Errorf("%d figures, want throughput, latency, phases and log size", len(p.Figures))
	}
	for _, f := range p.faults() {
		t.Error(f)
	}
	// The check must see what it is there for.
	emptied := regexp.MustCompile(`(?s)<(path|circle)\b.*?/>`).ReplaceAllString(page, "")
	if browse(t, emptied).faults() == nil {
		t.Error("a page with emptied plots passes")
	}
	broken := strings.Replace(page, "</body>", `<script>missing()</script></body>`, 1)
	if browse(t, broken).faults() == nil {
		t.Error("a page with an error passes")
	}
}
