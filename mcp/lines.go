package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
)

// maxLine bounds one message. A body of 15 MiB fits, and a stream without
// newlines costs no more than this.
const maxLine = 16 << 20

// errLineTooLong is returned when a line passed the bound; the rest of it is
// skipped by the next call.
var errLineTooLong = errors.New("line too long")

// A lineReader hands out lines in memory bounded by max. It keeps no large
// buffer between lines: a server idles for hours.
type lineReader struct {
	r        *bufio.Reader
	max      int
	skipping bool
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(yielding{r}, 8<<10), max: max}
}

// yielding lets the goroutine that handles the last line run before the next
// read, which blocks this thread: with one processor it would wait until the
// runtime notices, 50 microseconds a call.
type yielding struct{ io.Reader }

func (y yielding) Read(p []byte) (int, error) {
	runtime.Gosched()
	return y.Reader.Read(p)
}

// next returns the next line without its newline, in memory of its own. What
// stands after the last newline counts as a line.
func (l *lineReader) next() ([]byte, error) {
	for l.skipping {
		_, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		l.skipping = err != nil
	}
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(part, []byte{'\n'})) > l.max {
			l.skipping = err != nil
			return nil, errLineTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return line, nil // the error comes again with the next call
		default:
			return nil, err
		}
	}
}
