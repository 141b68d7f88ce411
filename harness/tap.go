package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A tapOrder tells a tap which server to start and where to write.
type tapOrder struct {
	Lane   int      `json:"lane"`
	Work   string   `json:"work"`
	Server []string `json:"server"`
	Env    []string `json:"env"`
}

// Tap is the body of the hidden `gaia lab tap FILE`: the server that a real
// client starts. It starts the lane's server, hands every byte on as it is,
// both ways, and writes each tools/call to the lane's history: when it begins,
// so that a tap that its client kills leaves what was in flight, and again
// when it is answered. Signals go on to the server. It returns the server's
// exit code.
//
// What it can't show: a client that kills its server kills the tap, and the
// server then sees the end of its input in place of a SIGKILL.
func Tap(ctx context.Context, file string, in io.Reader, out io.Writer, stderr io.Writer) (code int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("a tap is started by a client that gaia lab run started: %w", err)
	}
	var o tapOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return 0, fmt.Errorf("%s isn't a tap's order: %w", file, err)
	}
	if len(o.Server) == 0 || o.Work == "" {
		return 0, fmt.Errorf("%s isn't a tap's order: it names no server or no work folder", file)
	}
	// More than one tap may write for one lane, one after the other.
	history, err := os.OpenFile(historyFile(o.Work, o.Lane), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	t := &tap{order: o, session: now(), rec: &recorder{file: history}, flying: map[string]*CallRecord{}}
	defer func() { err = errors.Join(err, history.Close()) }()

	var adopted, peak atomic.Int64
	cmd := exec.Command(o.Server[0], o.Server[1:]...)
	cmd.Env = append(inherited(), o.Env...)
	cmd.Stderr = io.MultiWriter(stderr, &lineWriter{each: func(line string) {
		if strings.Contains(line, "adopted") {
			adopted.Add(1)
		}
	}})
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stop := context.AfterFunc(ctx, func() { _ = stdin.Close() })
	defer stop()
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		// A blocked read of the client's outlives the server; the process's
		// end takes it along.
		_ = eachLine(in, func(line []byte) error {
			t.asked(line)
			_, err := stdin.Write(line)
			return err
		})
		peak.Store(peakMemory(cmd.Process)) // while it still runs
		_ = stdin.Close()
	}()
	clientGone := false
	failure := eachLine(stdout, func(line []byte) error {
		t.answered(line)
		if !clientGone {
			_, err := out.Write(line)
			clientGone = err != nil // what it did is still written down
		}
		return nil
	})
	_ = cmd.Wait() // its status is in ProcessState
	signal.Stop(signals)
	close(signals)
	st := cmd.ProcessState
	u := usage{cpu: st.UserTime() + st.SystemTime(), peak: peak.Load()}
	if u.peak == 0 {
		u.peak = peakOf(st)
	}
	line, err := json.Marshal(u.tapped(t.version, adopted.Load()))
	if err != nil {
		return 0, err
	}
	or := order{Lane: o.Lane, Work: o.Work}
	if err := appendLine(or.file("servers.jsonl"), line); err != nil {
		return 0, err
	}
	return max(st.ExitCode(), 0), errors.Join(failure, t.failure())
}

func appendLine(name string, line []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// eachLine hands out lines with their newline, and what comes after the last.
func eachLine(r io.Reader, each func([]byte) error) error {
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			if err := each(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A tap's calls, by their request's id.
type tap struct {
	order   tapOrder
	session int64

	mu      sync.Mutex
	rec     *recorder
	calls   int
	flying  map[string]*CallRecord
	version string
	err     error
}

// asked takes a line from the client.
func (t *tap) asked(line []byte) {
	var m rpcMessage
	if json.Unmarshal(line, &m, lenient) != nil || m.Method != "tools/call" || m.ID == nil {
		return
	}
	var params struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &params, lenient) // the server's to refuse
	var args struct {
		ActorID, From, To, Text, Summary, MessageID string
		CorrelationID                               *string
	}
	// Wrongly typed arguments are the bus's to refuse.
	_ = json.Unmarshal(params.Arguments, &args, lenient, json.MatchCaseInsensitiveNames(true))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	c := &CallRecord{
		Lane: t.order.Lane, Session: t.session, Call: t.calls, Verb: printable(params.Name), Outcome: OutcomeAbandoned,
		To: printable(args.To), Named: args.CorrelationID != nil, Digest: digest(args.Text + args.Summary),
	}
	if c.Verb == verbAck {
		c.Acked = printable(args.MessageID)
	}
	c.Start = now()
	c.Intended, c.End = c.Start, c.Start
	t.flying[string(m.ID)] = c
	t.write(*c)
}

// answered takes a line from the server.
func (t *tap) answered(line []byte) {
	end := now()
	var m rpcMessage
	if json.Unmarshal(line, &m, lenient) != nil || m.Method != "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.flying[string(m.ID)]
	if c == nil {
		t.named(m.Result)
		return
	}
	delete(t.flying, string(m.ID))
	c.End = end
	switch {
	case m.Error != nil:
		c.Outcome, c.Detail = OutcomeRPC, printable(string(m.Error))
	default:
		c.reply(m.Result)
	}
	t.write(*c)
}

// named looks for the server's name in the answer to a handshake.
func (t *tap) named(result jsontext.Value) {
	var r struct {
		ServerInfo struct{ Name, Version string } `json:"serverInfo"`
		Meta       struct {
			Info struct{ Name, Version string } `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if t.version != "" || len(result) == 0 || json.Unmarshal(result, &r, lenient, json.MatchCaseInsensitiveNames(true)) != nil {
		return
	}
	info := r.ServerInfo
	if info.Name == "" {
		info = r.Meta.Info
	}
	if info.Name != "" {
		t.version = printable(info.Name + " " + info.Version)
	}
}

// reply takes in what the bus answered to a tapped call.
func (c *CallRecord) reply(result jsontext.Value) {
	a, e, outcome, detail := readResult(result)
	c.Outcome, c.Detail = outcome, detail
	if json.Unmarshal(e.EventsAppended, &c.Appended, lenient) != nil {
		c.Appended = nil
	}
	if outcome == OutcomeOK {
		c.answer(a)
	}
}

func (t *tap) write(c CallRecord) {
	if err := t.rec.write(c); err != nil && t.err == nil {
		t.err = err
	}
}

func (t *tap) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
