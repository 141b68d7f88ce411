// Package results is the lab's record: the trial, its file, the statistics made
// from it and their rendering. It runs nothing and measures nothing.
//
// # A run's folder
//
//	plan.json     what was to be run: seed, arms, the order of trials (see [Plan])
//	trials.jsonl  one [Trial] a line, in the order executed, each written and
//	              synced before the next trial starts
//	bench.txt     the same in Go benchmark format, one line a trial, for benchstat
//	report.html   the same for a person; report.txt its twin
//	figures.jsonl what gaia lab figures measured beside the trials, one
//	              [Measurement] a line
//	failed/       kept data directories of trials that broke a promise
//
// plan.json, trials.jsonl and figures.jsonl are records; the others are made from
// them, and can be made again.
//
// # Schema
//
// A line of trials.jsonl is one JSON object. Its members are the fields of
// [Trial] under the names in their tags; the docs there give shapes and units.
// Durations are integer nanoseconds under names that end in "Ns", sizes are
// bytes, times RFC 3339. Latency histograms are HdrHistogram V2, compressed,
// base64, in nanoseconds ([ParseHistogram] reads them, and so do HdrHistogram's
// tools in other languages). A map's members are sorted.
//
// Member "schema" is the number of the version. What holds between versions:
//
//  1. Within a number members may be added, never renamed, removed or given
//     another unit. A reader ignores what it doesn't know.
//  2. Anything else raises the number. The reader takes every number up to its
//     own [Schema] and refuses a newer one, naming file, line and number.
//  3. Records are never edited. A mistake found later is told beside them.
//
// # What it claims
//
// METHOD.md beside this file says how each number is obtained, and what may be
// concluded from it and what not.
package results
