package harness

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	logName  = "events.jsonl"
	lockName = "events.lock"
)

// A LogMark is how a data directory's log was at an instant.
type LogMark struct {
	Size   int64
	Lines  int64
	SHA256 [sha256.Size]byte
}

// MarkLog marks the log of dir; one that doesn't exist is empty.
func MarkLog(dir string) (LogMark, error) {
	f, err := os.Open(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return LogMark{SHA256: sha256.Sum256(nil)}, nil
	}
	if err != nil {
		return LogMark{}, err
	}
	defer f.Close()
	return markOf(f)
}

func markOf(r io.Reader) (m LogMark, err error) {
	h, lines := sha256.New(), lineCounter(0)
	if m.Size, err = io.Copy(io.MultiWriter(h, &lines), r); err != nil {
		return m, err
	}
	m.Lines = int64(lines)
	h.Sum(m.SHA256[:0])
	return m, nil
}

type lineCounter int64

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// A logRecord is one line of the log, as far as a promise depends on it.
type logRecord struct {
	line int64 // from 1

	Type    string `json:"type"`
	Ref     string `json:"ref"`
	IsNew   bool   `json:"isNew"`
	Message struct {
		MessageID     string `json:"messageId"`
		CorrelationID string `json:"correlationId"`
		From          string `json:"from"`
		To            string `json:"to"`
		Text          string `json:"text"`
	} `json:"message"`
	ActorID      string   `json:"actorId"`
	MessageID    string   `json:"messageId"`
	MessageIDs   []string `json:"messageIds"`
	Note         *string  `json:"note"`
	From         string   `json:"from"`
	To           string   `json:"to"`
	Summary      string   `json:"summary"`
	Capabilities []string `json:"declaredCapabilities"`
}

const (
	typeRegistered = "actor.registered"
	typeSent       = "message.sent"
	typeDenied     = "authority.denied"
	typePolled     = "inbox.polled"
	typeAcked      = "message.acked"
	typeHeartbeat  = "actor.heartbeat"
	typeHandedOff  = "work.handed-off"
	typeRejected   = "command.rejected"
)

func knownType(t string) bool {
	switch t {
	case typeRegistered, typeSent, typeDenied, typePolled, typeAcked, typeHeartbeat, typeHandedOff, typeRejected:
		return true
	}
	return false
}

// parseLine reads one line without its newline. Duplicate members, invalid
// UTF-8 and anything but one object with a string type are errors; a record
// of a type nobody knows is read for its type alone.
func parseLine(line []byte) (r logRecord, err error) {
	if jsontext.Value(line).Kind() != '{' {
		return r, errors.New("not a JSON object")
	}
	if len(bytes.TrimSpace(line)) != len(line) {
		return r, errors.New("white space around the object")
	}
	err = json.Unmarshal(line, &r)
	if err == nil && r.Type != "" {
		return r, nil
	}
	var head struct {
		Type *string `json:"type"`
	}
	if e := json.Unmarshal(line, &head); e != nil {
		return r, e
	}
	switch {
	case head.Type == nil:
		return r, errors.New("no string type")
	case knownType(*head.Type):
		return r, err
	}
	return logRecord{Type: *head.Type}, nil
}

// scanLog hands out each line of the log of dir with its offset; whole is
// false for a last line without a newline.
func scanLog(dir string, each func(line []byte, number, offset int64, whole bool)) error {
	f, err := os.Open(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for number, offset := int64(1), int64(0); ; number++ {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			whole := line[len(line)-1] == '\n'
			each(bytes.TrimSuffix(line, []byte("\n")), number, offset, whole)
			offset += int64(len(line))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
	}
}

// counter counts what goes through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}
