package eventlog

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode"

	"gaia/core"
)

const (
	// guardTail and guardBlock are what of the bytes already folded is
	// compared in every call: the last 4 KiB, and 64 KiB more in turn.
	guardTail  = 4 << 10
	guardBlock = 64 << 10
	// readChunk is how much of the log is in memory at once while catching up.
	readChunk = 1 << 20
)

// fold is the state of a log up to an offset, with what it takes to notice
// that the bytes before the offset are no longer those that were folded.
type fold struct {
	path   string
	state  *core.State // nil: nothing is folded
	file   fs.FileInfo // what was folded; nil: there was no log
	offset int64       // of the first byte that isn't folded
	lines  int

	tail    []byte       // the last guardTail bytes before offset
	digests []uint64     // of each whole block
	partial maphash.Hash // of what follows them, up to offset
	turn    int          // the block to check next
	checked bool         // one was since the last call, by readAhead

	// What was folded without the lock may have been an append in flight,
	// which its process can take back. It is compared whole when the lock is
	// had: the bytes from sure on.
	sure  int64
	since maphash.Hash // of them
	buf   []byte       // guardBlock bytes of scratch
}

func (c *fold) reset() {
	*c = fold{path: c.path, buf: c.buf}
	c.state = core.NewState()
}

// catchUp folds what the log has beyond the offset. changed: what was folded
// before is no longer what the log begins with, and all was read anew.
// locked: no append is in flight.
//
// After an error the fold is at the last record that was good.
func (c *fold) catchUp(f logFile, locked bool, m meter) (changed bool, err error) {
	if err := m.announce(StepRead); err != nil {
		return false, err
	}
	if c.state == nil {
		c.reset()
	}
	if f == nil {
		changed = c.offset > 0
		if changed {
			c.reset()
		}
		return changed, nil
	}
	var size int64
	checked := c.checked
	c.checked = false
	err = m.time(StepRead, func() error {
		fi, err := f.Stat()
		if err != nil {
			return c.failed("look at", err)
		}
		if !fi.Mode().IsRegular() {
			return c.failed("read", errNotAFile)
		}
		same := true
		if c.offset > 0 {
			same, err = c.holds(f, fi, checked)
			if err == nil && same && locked {
				same, err = c.stands(f)
			}
			if err != nil {
				return err
			}
		}
		if !same {
			changed = true
			c.reset()
		}
		c.file, size = fi, fi.Size()
		return nil
	})
	if err == nil {
		err = m.announce(StepFold)
	}
	if err == nil {
		err = c.stream(f, size, m)
	}
	if err == nil && locked {
		c.settled()
	}
	return changed, err
}

// errNotAFile is of a pipe or a folder that somebody put in the log's place.
var errNotAFile = errors.New("it is not a regular file; move it away")

func (c *fold) failed(what string, err error) error {
	return &IOError{Op: what + " the log", Path: c.path, Err: err}
}

// holds tells whether the log still begins with what was folded, as far as
// constant work can tell. checked: a block was looked at just now.
func (c *fold) holds(f logFile, fi fs.FileInfo, checked bool) (bool, error) {
	if !os.SameFile(c.file, fi) || fi.Size() < c.offset {
		return false, nil
	}
	if c.buf == nil {
		c.buf = make([]byte, guardBlock)
	}
	tail := c.buf[:len(c.tail)]
	if err := readFull(f, tail, c.offset-int64(len(tail))); err != nil {
		return false, c.failed("read", err)
	}
	if !bytes.Equal(tail, c.tail) {
		return false, nil
	}
	if checked {
		return true, nil
	}
	blocks := len(c.digests)
	start := int64(blocks) * guardBlock
	want, size := c.partial.Sum64(), c.offset-start
	if size > 0 {
		blocks++
	}
	if i := c.turn % blocks; i < len(c.digests) {
		start, size, want = int64(i)*guardBlock, guardBlock, c.digests[i]
	}
	c.turn = (c.turn + 1) % blocks
	block := c.buf[:size]
	if err := readFull(f, block, start); err != nil {
		return false, c.failed("read", err)
	}
	return maphash.Bytes(c.partial.Seed(), block) == want, nil
}

// stands tells whether what was folded without the lock is still there.
func (c *fold) stands(f logFile) (bool, error) {
	if c.sure == c.offset {
		return true, nil
	}
	if c.buf == nil {
		c.buf = make([]byte, guardBlock)
	}
	var now maphash.Hash
	now.SetSeed(c.since.Seed())
	for at := c.sure; at < c.offset; {
		p := c.buf[:min(int64(len(c.buf)), c.offset-at)]
		if err := readFull(f, p, at); err != nil {
			return false, c.failed("read", err)
		}
		now.Write(p)
		at += int64(len(p))
	}
	return now.Sum64() == c.since.Sum64(), nil
}

// settled says that all that is folded is committed.
func (c *fold) settled() {
	c.sure = c.offset
	c.since.Reset()
}

// readFull fails where the file ends too early.
func readFull(f logFile, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// stream folds the log from the offset to size.
func (c *fold) stream(f logFile, size int64, m meter) error {
	buf := make([]byte, min(size-c.offset, readChunk))
	have := 0 // bytes in buf that wait for the end of their line
	for at := c.offset; at < size; {
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		chunk := buf[have:min(int64(len(buf)), int64(have)+size-at)]
		if err := m.time(StepRead, func() error { return readFull(f, chunk, at) }); err != nil {
			return c.failed("read", err)
		}
		at += int64(len(chunk))
		have += len(chunk)
		whole := bytes.LastIndexByte(buf[:have], '\n') + 1
		if err := m.time(StepFold, func() error { return c.take(buf[:whole]) }); err != nil {
			return err
		}
		have = copy(buf, buf[whole:have])
	}
	if have > 0 {
		return c.corrupt("the last line is unfinished")
	}
	return nil
}

func (c *fold) corrupt(reason string) error {
	return &CorruptError{Path: c.path, Line: c.lines + 1, Offset: c.offset, Reason: reason}
}

// take folds whole lines that stand at the offset.
func (c *fold) take(lines []byte) error {
	done, n := 0, 0
	for done < len(lines) {
		end := done + bytes.IndexByte(lines[done:], '\n')
		if err := core.FoldLine(c.state, lines[done:end]); err != nil {
			c.guard(lines[:done], n) // nothing of the line itself was applied
			return c.refusal(lines[done:end], err)
		}
		done, n = end+1, n+1
	}
	c.guard(lines, n)
	return nil
}

// refusal is the typed error for a line that the fold refused.
func (c *fold) refusal(line []byte, err error) error {
	if errors.Is(err, core.ErrUnreplayable) {
		return &UnreplayableError{Path: c.path, Line: c.lines + 1, Offset: c.offset, Err: err}
	}
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return c.corrupt("a blank line")
	case bytes.IndexByte(line, 0) >= 0:
		return c.corrupt("NUL bytes")
	case bytes.HasPrefix(line, []byte("\ufeff")):
		return c.corrupt("a byte order mark")
	}
	return c.corrupt(printable(err.Error()))
}

// guard moves the offset past lines that were folded and remembers them.
func (c *fold) guard(p []byte, lines int) {
	c.lines += lines
	c.offset += int64(len(p))
	c.since.Write(p)
	c.tail = append(c.tail, p[max(0, len(p)-guardTail):]...)
	if over := len(c.tail) - guardTail; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	for len(p) > 0 {
		held := int(c.offset-int64(len(p))) % guardBlock
		n := min(len(p), guardBlock-held)
		c.partial.Write(p[:n])
		if held+n == guardBlock {
			c.digests = append(c.digests, c.partial.Sum64())
			c.partial.Reset()
		}
		p = p[n:]
	}
}

// printable keeps bytes of the log that a message quotes from reaching a
// terminal as they are.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// A Line is one record of the log.
type Line struct {
	Number int    // from 1
	Offset int64  // of its first byte
	Bytes  []byte // without the newline; good until the callback returns
}
