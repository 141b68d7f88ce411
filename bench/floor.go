package bench

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"gaia/results"
)

// floorLine is about as long as a record of the bus.
const floorLine = 360

// Floor times n commits as bare as the disk allows, one after the other, on
// the filesystem of dir: make a lock directory, append a line to a file, fsync
// it, remove the directory. Nothing that commits to a log under the seed's
// lock can be faster there, so every figure is shown as a multiple of it.
// It works in a folder of its own in dir and removes it.
func Floor(ctx context.Context, dir string, n int) (results.Floor, error) {
	work, err := os.MkdirTemp(dir, "floor-")
	if err != nil {
		return results.Floor{}, err
	}
	defer os.RemoveAll(work)
	f, err := os.OpenFile(filepath.Join(work, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return results.Floor{}, err
	}
	defer f.Close()
	line := make([]byte, floorLine)
	for i := range line {
		line[i] = 'x'
	}
	line[floorLine-1] = '\n'
	lock := filepath.Join(work, "lock")
	h := results.NewHistogram()
	const warmUp = 3 // the first appends also allocate the file
	for i := range n + warmUp {
		if err := ctx.Err(); err != nil {
			return results.Floor{}, err
		}
		start := time.Now()
		if err := bareCommit(f, lock, line); err != nil {
			return results.Floor{}, err
		}
		if i >= warmUp {
			h.Record(time.Since(start))
		}
	}
	return results.Floor{N: n, Median: h.Quantile(.5), P99: h.Quantile(.99)}, nil
}

func bareCommit(f *os.File, lock string, line []byte) error {
	if err := os.Mkdir(lock, 0o700); err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Remove(lock)
}
