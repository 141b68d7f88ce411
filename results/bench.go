package results

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// A metric is one number of a trial as bench.txt, comparisons and thresholds
// name it.
type metric struct {
	unit   string // in bench.txt
	better string // "higher" or "lower"
	of     func(*Trial) float64
	known  func(*Trial) bool // nil: always
}

// metrics are in the order of bench.txt's columns. "ns/op" is the wall time of
// the whole bus for one call, the inverse of calls/s; latencies are responses.
var metrics = []metric{
	{"ns/op", "lower", func(t *Trial) float64 { return float64(t.Wall) / float64(max(t.Calls, 1)) }, nil},
	{"calls/s", "higher", (*Trial).CallsPerSecond, nil},
	{"p50-ns", "lower", func(t *Trial) float64 { return float64(t.ResponseQuantile(.5)) }, nil},
	{"p99-ns", "lower", func(t *Trial) float64 { return float64(t.ResponseQuantile(.99)) }, nil},
	{"max-ns", "lower", func(t *Trial) float64 { return float64(t.WorstWait()) }, nil},
	{"jain", "higher", (*Trial).Fairness, nil},
	{"cpu-ns/op", "lower", func(t *Trial) float64 { return float64(t.CPUPerCall()) }, func(t *Trial) bool { return t.ServerCPU > 0 }},
	{"peak-B", "lower", func(t *Trial) float64 { return float64(t.ServerPeakRSS) }, func(t *Trial) bool { return t.ServerPeakRSS > 0 }},
	{"x-floor", "lower", (*Trial).FloorRatio, func(t *Trial) bool { return t.FloorRatio() > 0 }},
	{"errors", "lower", func(t *Trial) float64 { return float64(t.Failures()) }, nil},
	{"broken", "lower", func(t *Trial) float64 { return float64(len(t.Broken())) }, nil},
}

// benchPrefix begins every name in bench.txt: BenchmarkLab/<arm>.
const benchPrefix = "Lab/"

// WriteBench writes trials in the Go benchmark format: a result a trial, its
// environment as configuration lines, so that the stock benchstat compares
// runs. Run and revision are comments: as configuration they would part the
// two sides of every comparison.
func WriteBench(w io.Writer, trials []Trial) error {
	if len(trials) > 0 {
		t := &trials[0]
		if _, err := fmt.Fprintf(w, "# gaia lab, run %s, revision %s\n", oneLine(t.Run), oneLine(Revision(t.Lab))); err != nil {
			return err
		}
	}
	out := benchfmt.NewWriter(w)
	for _, m := range metrics {
		if m.unit == "ns/op" { // the format knows it
			continue
		}
		md := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: m.unit, Key: "better"}, OrigUnit: m.unit, Value: m.better}
		if err := out.Write(md); err != nil {
			return err
		}
	}
	for i := range trials {
		t := &trials[i]
		r := &benchfmt.Result{Config: benchConfig(t), Name: benchfmt.Name(benchPrefix + t.Arm), Iters: int(t.Calls)}
		for _, m := range metrics {
			if m.known == nil || m.known(t) {
				r.Values = append(r.Values, benchfmt.Value{Value: m.of(t), Unit: m.unit})
			}
		}
		if err := out.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// WriteBenchFile makes name anew from trials.
func WriteBenchFile(name string, trials []Trial) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = WriteBench(f, trials)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func benchConfig(t *Trial) []benchfmt.Config {
	var cfg []benchfmt.Config
	add := func(key, value string) {
		if value = oneLine(value); value != "" {
			cfg = append(cfg, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	e := t.Environment
	add("goos", e.OS)
	add("goarch", e.Arch)
	add("pkg", "gaia/lab")
	add("cpu", e.CPU)
	add("cores", strconv.Itoa(e.Cores))
	add("kernel", e.Kernel)
	add("filesystem", e.Filesystem)
	add("virtual", e.Virtual)
	add("class", t.Factors.Class)
	return cfg
}

// oneLine keeps a value from ending its line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Revision is the binary's revision in words.
func Revision(b Binary) string {
	switch {
	case b.Revision == "":
		return "unknown"
	case b.Dirty:
		return b.Revision + " with changes"
	}
	return b.Revision
}

// A BenchResult is one line of a bench.txt.
type BenchResult struct {
	Arm    string
	Calls  int
	Values map[string]float64 // by unit, in the library's tidy units: seconds and bytes
	Config map[string]string
}

// ReadBench reads the Go benchmark format back, ours or another's. A line that
// can't be read is an error that names file and line.
func ReadBench(r io.Reader, file string) ([]BenchResult, error) {
	in := benchfmt.NewReader(r, file)
	var out []BenchResult
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, rec
		case *benchfmt.Result:
			b := BenchResult{Arm: strings.TrimPrefix(string(rec.Name), benchPrefix), Calls: rec.Iters, Values: make(map[string]float64), Config: make(map[string]string)}
			for _, v := range rec.Values {
				b.Values[v.Unit] = v.Value
			}
			for _, c := range rec.Config {
				b.Config[c.Key] = string(c.Value)
			}
			out = append(out, b)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}
