package core

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// benchLog is a log of about n events: a dozen actors, mostly messages, none
// acknowledged.
func benchLog(n int) []byte {
	s := NewState()
	now := time.Date(2026, 9, 15, 23, 41, 9, 0, time.UTC)
	var log []byte
	commit := func(verb, args string) {
		now = now.Add(137 * time.Millisecond)
		for _, e := range Commit(s, Command{verb, FormatTime(now), jsontext.Value(args)}).Events {
			log = append(AppendEvent(log, e), '\n')
			n--
		}
	}
	for i := range 12 {
		commit("register", fmt.Sprintf(`{"actorId":"lane %d","kind":"codex","capabilities":["cwd=/srv/%d","branch=main"]}`, i, i))
	}
	for i := 0; n > 0; i++ {
		from, to := mint("act-", int64(i%12+1)), mint("act-", int64(i*7%12+1))
		switch i % 10 {
		case 8:
			commit("heartbeat", `{"actorId":"`+from+`"}`)
		case 9:
			commit("handoff", `{"from":"`+from+`","to":"`+to+`","summary":"Candidate ready on feat/voicings; review only."}`)
		default:
			commit("send", `{"from":"`+from+`","to":"`+to+`","text":"Add the voicing-search cancellation test, then say what it found.","requestedAuthority":["draft"]}`)
		}
	}
	return log
}

func foldAll(tb testing.TB, log []byte) *State {
	s := NewState()
	for len(log) > 0 {
		line, rest, _ := bytes.Cut(log, []byte("\n"))
		if err := FoldLine(s, line); err != nil {
			tb.Fatal(err)
		}
		log = rest
	}
	return s
}

// BenchmarkFold100k is a fresh server's first look at a log, beside the
// cheapest thing that reads JSON at all over the same bytes.
func BenchmarkFold100k(b *testing.B) {
	log := benchLog(100_000)
	b.Run("valid", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			for rest := log; len(rest) > 0; {
				line, after, _ := bytes.Cut(rest, []byte("\n"))
				if !jsontext.Value(line).IsValid() {
					b.Fatal("not valid")
				}
				rest = after
			}
		}
	})
	b.Run("fold", func(b *testing.B) {
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			foldAll(b, log)
		}
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s := foldAll(b, log)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-live")
			runtime.KeepAlive(s)
		}
	})
	b.Run("reference-1k", func(b *testing.B) {
		short := benchLog(1000)
		for b.Loop() {
			r := NewReference()
			for rest := short; len(rest) > 0; {
				line, after, _ := bytes.Cut(rest, []byte("\n"))
				e, err := ParseEvent(line)
				if err != nil {
					b.Fatal(err)
				}
				r.Apply(e)
				rest = after
			}
		}
	})
}

// BenchmarkDecide is one send on a long log.
func BenchmarkDecide(b *testing.B) {
	s := foldAll(b, benchLog(100_000))
	c := Command{"send", "2026-09-16T23:00:00.000Z", jsontext.Value(`{"from":"act-0001","to":"act-0002","text":"Please merge this."}`)}
	for b.Loop() {
		Decide(s, c)
	}
}
