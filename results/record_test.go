package results_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaia/results"
)

func TestDurationsAreIntegerNanoseconds(t *testing.T) {
	b, err := results.Marshal(results.Floor{N: 3, Median: 650 * time.Microsecond, P99: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(b), `{"n":3,"medianNs":650000,"p99Ns":1000000000}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []string{`"1s"`, `1.5`, `null`, `1e3`} {
		var f results.Floor
		if err := results.Unmarshal([]byte(`{"n":3,"medianNs":`+bad+`}`), &f); err == nil {
			t.Errorf("%s was read as the duration %v", bad, f.Median)
		}
	}
}

func TestHistogramsSurviveTheirText(t *testing.T) {
	h := results.NewHistogram()
	for i := 1; i <= 1000; i++ {
		h.Record(time.Duration(i) * time.Millisecond)
	}
	back, err := results.ParseHistogram(h.String())
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		N                  int64
		Min, P50, P99, Max time.Duration
	}
	look := func(h *results.Histogram) view {
		return view{h.Count(), h.Min(), h.Quantile(.5), h.Quantile(.99), h.Max()}
	}
	if d := cmp.Diff(look(h), look(back)); d != "" {
		t.Error(d)
	}
	for q, want := range map[float64]time.Duration{.5: 500 * time.Millisecond, .99: 990 * time.Millisecond, 1: time.Second} {
		if got := h.Quantile(q); got < want || got > want+want/500 {
			t.Errorf("quantile %v: got %v, want %v within 0.2%%", q, got, want)
		}
	}
}

func TestHistogramsLoseNothingBeyondTheirRange(t *testing.T) {
	h := results.NewHistogram()
	h.Record(-time.Second)
	h.Record(0)
	h.Record(time.Hour)
	if h.Count() != 3 {
		t.Errorf("%d of 3 recorded", h.Count())
	}
}

func TestHistogramsRefuseOtherText(t *testing.T) {
	for _, bad := range []string{"", "HISTF", strings.Repeat("A", 80)} {
		if _, err := results.ParseHistogram(bad); err == nil {
			t.Errorf("%q was read as a histogram", bad)
		}
	}
}
