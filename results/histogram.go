package results

import (
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Histogram counts latencies from 1 µs to 10 minutes with three significant
// digits; what lies outside is counted at the nearer end, never lost. One
// goroutine at a time.
type Histogram struct{ h *hdrhistogram.Histogram }

const (
	histogramLow  = int64(time.Microsecond)
	histogramHigh = int64(10 * time.Minute)
)

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{hdrhistogram.New(histogramLow, histogramHigh, 3)}
}

// Record counts one latency.
func (h *Histogram) Record(d time.Duration) {
	// The clamped value is inside the range, so this can't fail.
	_ = h.h.RecordValue(min(max(int64(d), histogramLow), histogramHigh))
}

// Merge adds o's counts to h's.
func (h *Histogram) Merge(o *Histogram) { h.h.Merge(o.h) }

// Count is how many latencies were recorded.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// Quantile is the latency that the share q (0 to 1) of them did not exceed;
// 0 where none was recorded.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.ValueAtQuantile(q * 100))
}

// Min, Max and Mean are 0 where none was recorded.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Min())
}

// Max is the longest.
func (h *Histogram) Max() time.Duration { return time.Duration(h.h.Max()) }

// Mean is the arithmetic mean.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.h.Mean())
}

// String encodes h as records carry it: HdrHistogram's V2 format, compressed,
// base64, so that the histogram tools of any language read it.
func (h *Histogram) String() string {
	b, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		// It encodes into memory; only a broken library fails.
		panic("results: encoding a histogram: " + err.Error())
	}
	return string(b)
}

// ParseHistogram reads what [Histogram.String] wrote, or another tool's
// HdrHistogram V2 in compressed base64.
func ParseHistogram(s string) (*Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	return &Histogram{h}, nil
}
