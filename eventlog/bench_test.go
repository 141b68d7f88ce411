package eventlog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"gaia/core"
)

// prefilled makes a log of n records, a message's size each.
func prefilled(tb testing.TB, n int) string {
	tb.Helper()
	dir := tb.TempDir()
	var data []byte
	pad := fmt.Sprintf("%260s", "")
	for i := range n {
		data = append(core.AppendEvent(data, note(fmt.Sprintf("n=%d by=%s", i, pad))), '\n')
	}
	if err := os.WriteFile(filepath.Join(dir, logName), data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// BenchmarkFloor is the physical floor: mkdir, append, fsync, rmdir.
func BenchmarkFloor(b *testing.B) {
	dir := prefilled(b, 10_000)
	line := append(core.AppendEvent(nil, note("n=0 by=x")), '\n')
	lock := filepath.Join(dir, lockName)
	for b.Loop() {
		if err := os.Mkdir(lock, 0o700); err != nil {
			b.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, logName), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			b.Fatal(err)
		}
		f.Write(line)
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		f.Close()
		if err := os.Remove(lock); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdate is one commit by a Log that is up to date.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			if n > 100_000 && testing.Short() {
				b.Skip("360 MB of log")
			}
			l := Open(prefilled(b, n), Options{Adoption: true})
			update := func() {
				if _, err := l.Update(context.Background(), func(*core.State) []core.Event { return []core.Event{note("n=0 by=x")} }); err != nil {
					b.Fatal(err)
				}
			}
			update()
			for b.Loop() {
				update()
			}
		})
	}
}

// BenchmarkFirstCall is what a fresh process pays for a log of 100,000
// events, beside the time it takes to see that the same bytes are JSON.
func BenchmarkFirstCall(b *testing.B) {
	dir := prefilled(b, 100_000)
	data, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fold", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := Open(dir, Options{Adoption: true}).View(context.Background(), func(*core.State) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("valid", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for rest := data; len(rest) > 0; {
				line := rest
				for i, c := range rest {
					if c == '\n' {
						line, rest = rest[:i], rest[i+1:]
						break
					}
				}
				if !jsontext.Value(line).IsValid() {
					b.Fatal("invalid")
				}
			}
		}
	})
}
