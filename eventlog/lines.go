package eventlog

import (
	"bufio"
	"context"
	"errors"
	"io"

	"gaia/core"
)

// Lines hands out each record of the log, in order. The whole log is first
// read and validated as View does it, so that nothing of a damaged log is
// handed out; what is appended meanwhile isn't.
func (l *Log) Lines(ctx context.Context, each func(Line) error) error {
	var end int64
	if err := l.View(ctx, func(*core.State) error {
		end = l.fold.offset
		return nil
	}); err != nil || end == 0 {
		return err
	}
	f, err := l.disk.OpenLog(l.Path(), false, false)
	if err != nil {
		return &IOError{Op: "open the log", Path: l.Path(), Err: err}
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, end), guardBlock)
	var long []byte // a line that the reader's buffer can't hold
	for line := (Line{Number: 1}); line.Offset < end; line.Number++ {
		part, err := r.ReadSlice('\n')
		long = long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			part, err = r.ReadSlice('\n')
		}
		if len(long) > 0 {
			long = append(long, part...)
			part = long
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("it became shorter while it was read")
		}
		if err != nil {
			return &IOError{Op: "read the log", Path: l.Path(), Err: err}
		}
		line.Bytes = part[:len(part)-1]
		if err := each(line); err != nil {
			return err
		}
		line.Offset += int64(len(part))
	}
	return nil
}
