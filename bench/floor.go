package bench

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"gaia/results"
)

// Floor times n commits as bare as the disk allows, one after the other, on
// the filesystem of dir: make a lock directory, append a line to a file, fsync
// it, remove the directory. Nothing that commits to a log under the seed's
// lock can be faster there, so every figure is shown as a multiple of it.
// It works in a folder of its own in dir and removes it.
func Floor(ctx context.Context, dir string, n int) (results.Floor, error) {
	b, err := openBare(dir)
	if err != nil {
		return results.Floor{}, err
	}
	defer b.close()
	h := results.NewHistogram()
	for i := range n + warmUp {
		if err := ctx.Err(); err != nil {
			return results.Floor{}, err
		}
		start := time.Now()
		if err := b.commit(); err != nil {
			return results.Floor{}, err
		}
		if i >= warmUp {
			h.Record(time.Since(start))
		}
	}
	return results.Floor{N: n, Median: h.Quantile(.5), P99: h.Quantile(.99)}, nil
}

const warmUp = 3 // the first appends also allocate the file

// A bareLog is a file and a lock directory in a folder of their own.
type bareLog struct {
	folder, lock string
	file         *os.File
	line         []byte
}

func openBare(dir string) (*bareLog, error) {
	work, err := os.MkdirTemp(dir, "floor-")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(work, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(work))
	}
	line := bytes.Repeat([]byte("x"), results.RecordBytes)
	line[len(line)-1] = '\n'
	return &bareLog{work, filepath.Join(work, "lock"), f, line}, nil
}

func (b *bareLog) close() {
	_ = b.file.Close()
	_ = os.RemoveAll(b.folder)
}

func (b *bareLog) commit() error {
	if err := os.Mkdir(b.lock, 0o700); err != nil {
		return err
	}
	if _, err := b.file.Write(b.line); err != nil {
		return err
	}
	if err := b.file.Sync(); err != nil {
		return err
	}
	return os.Remove(b.lock)
}
