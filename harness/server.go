package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// metaPhases asks in a request's _meta for the steps' times, and names
	// them in the result's.
	metaPhases = "gaia/phases"
	// clientProtocol is what today's real clients speak with a server they
	// don't know; asking for a newer one would wait on servers that ignore
	// a request they can't name.
	clientProtocol = "2025-11-25"
	envDataDir     = "GAIA_INTERAGENT_DATA_DIR"
	envPrefix      = "GAIA_INTERAGENT_"
)

// A server is one stdio MCP server that this process started and owns.
// call may be used by one goroutine at a time; stop from any, once.
type server struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	session *sdk.ClientSession
	stderr  *tail
	version string
}

// startServer starts argv and waits, within limit, until it has shown the six
// verbs. onLine, if not nil, is given each line of its stderr as it comes.
// After an error nothing is left running.
func startServer(ctx context.Context, argv, env []string, limit time.Duration, onLine func(*os.Process, string)) (_ *server, err error) {
	s := &server{cmd: exec.Command(argv[0], argv[1:]...), stderr: new(tail)}
	s.cmd.Env = append(inherited(), env...)
	s.cmd.Stderr = s.stderr
	if onLine != nil {
		s.cmd.Stderr = io.MultiWriter(s.stderr, &lineWriter{each: func(line string) { onLine(s.cmd.Process, line) }})
	}
	// A grandchild that holds stderr open must not hold us.
	s.cmd.WaitDelay = 2 * time.Second
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.stdin = stdin
	defer func() {
		if err != nil {
			s.stop(100 * time.Millisecond)
			if st := s.cmd.ProcessState; st != nil && st.Exited() && !st.Success() {
				err = fmt.Errorf("%w (%s)", err, st)
			}
			err = &serverError{err, s.stderr.lastLine()}
		}
	}()

	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready within %v", limit))
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "gaia-lab", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	s.session, err = client.Connect(ctx,
		&sdk.IOTransport{Reader: io.NopCloser(stdout), Writer: stdin},
		&sdk.ClientSessionOptions{ProtocolVersion: clientProtocol})
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	if info := s.session.InitializeResult().ServerInfo; info != nil {
		s.version = printable(info.Name + " " + info.Version)
	}
	list, err := s.session.ListTools(ctx, nil)
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	var lacks []string
	for _, verb := range sixVerbs {
		if !slices.ContainsFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == verb }) {
			lacks = append(lacks, verb)
		}
	}
	if lacks != nil {
		return nil, fmt.Errorf("its tools lack %s", strings.Join(lacks, ", "))
	}
	return s, nil
}

// serverError is why a server didn't start, with what it said.
type serverError struct {
	error
	stderr string
}

// causeOr prefers the context's own reason to what the library made of it.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// inherited is this process's environment without the bus's own variables: a
// trial's record must say everything that shaped it.
func inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, envPrefix) })
}

// usage is what a process took. Zero: not known.
type usage struct {
	cpu  time.Duration
	peak int64 // bytes
}

// stop ends the server: end of input, then a request to terminate, then
// force, grace apart. It returns when the process was waited for.
func (s *server) stop(grace time.Duration) usage {
	peak := peakMemory(s.cmd.Process)
	_ = s.stdin.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = s.cmd.Wait() // its status is in ProcessState
	}()
	within := func(d time.Duration) bool {
		select {
		case <-gone:
			return true
		case <-time.After(d):
			return false
		}
	}
	if !within(grace) && (s.cmd.Process.Signal(syscall.SIGTERM) != nil || !within(grace)) {
		_ = s.cmd.Process.Kill()
		<-gone
	}
	if s.session != nil {
		_ = s.session.Close() // the pipes are gone; this frees its goroutines
	}
	st := s.cmd.ProcessState
	if st == nil {
		return usage{peak: peak}
	}
	if peak == 0 {
		peak = peakOf(st)
	}
	return usage{cpu: st.UserTime() + st.SystemTime(), peak: peak}
}

// A callArgs is a verb's arguments.
type callArgs struct {
	ActorID      string   `json:"actorId,omitempty"`
	Kind         string   `json:"kind,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Ref          string   `json:"ref,omitempty"`
	From         string   `json:"from,omitempty"`
	To           string   `json:"to,omitempty"`
	Text         string   `json:"text,omitempty"`
	Summary      string   `json:"summary,omitempty"`
	MessageID    string   `json:"messageId,omitempty"`
	After        string   `json:"after,omitempty"`
	Note         string   `json:"note,omitempty"`
}

// An answer is what the lab reads out of an envelope.
type answer struct {
	Ref           string `json:"ref"`
	MessageID     string `json:"messageId"`
	CorrelationID string `json:"correlationId"`
	Pending       []struct {
		MessageID     string `json:"messageId"`
		CorrelationID string `json:"correlationId"`
		From          string `json:"from"`
		To            string `json:"to"`
		Text          string `json:"text"`
	} `json:"pending"`
	ActorID string `json:"actorId"` // inbox, heartbeat
	AckedBy string `json:"ackedBy"` // ack
	Next    string `json:"next"`    // inbox: what to pass as after; empty: this was all
	phases  map[string]int64
}

type envelope struct {
	OK             *bool          `json:"ok"`
	FailClosed     bool           `json:"failClosed"`
	Code           string         `json:"code"`
	Error          *string        `json:"error"`
	Result         jsontext.Value `json:"result"`
	EventsAppended jsontext.Value `json:"eventsAppended"`
}

// call makes one call and tells what became of it.
func (s *server) call(ctx context.Context, verb string, args callArgs) (a answer, outcome, detail string) {
	res, err := s.session.CallTool(ctx, &sdk.CallToolParams{
		Meta: sdk.Meta{metaPhases: true}, Name: verb, Arguments: args,
	})
	if err != nil {
		return a, classify(ctx, err), printable(err.Error())
	}
	text, err := envelopeText(res)
	if err != nil {
		return a, OutcomeMalformed, printable(err.Error())
	}
	var e envelope
	a, outcome, detail = e.read(text)
	a.phases = phasesOf(res.Meta)
	return a, outcome, detail
}

// read takes an envelope apart.
func (e *envelope) read(text []byte) (a answer, outcome, detail string) {
	if err := json.Unmarshal(text, e); err != nil {
		return a, OutcomeMalformed, "the reply isn't an envelope: " + printable(err.Error())
	}
	switch {
	case e.OK == nil:
		return a, OutcomeMalformed, "the reply isn't an envelope: it lacks ok"
	case e.FailClosed && string(e.EventsAppended) == "null":
		return a, OutcomeUnknown, errorText(e.Error)
	case e.FailClosed:
		if e.Code == "" || e.Code != printable(e.Code) {
			return a, OutcomeMalformed, "failed closed without a code"
		}
		return a, e.Code, errorText(e.Error)
	case !*e.OK:
		return a, OutcomeRefused, errorText(e.Error)
	}
	if err := json.Unmarshal(e.Result, &a); err != nil {
		return a, OutcomeMalformed, printable(err.Error())
	}
	return a, OutcomeOK, ""
}

func errorText(s *string) string {
	if s == nil {
		return ""
	}
	return printable(*s)
}

func classify(ctx context.Context, err error) string {
	var rpc *jsonrpc.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return OutcomeNoReply
	case errors.As(err, &rpc):
		return OutcomeRPC
	case ctx.Err() != nil, errors.Is(err, sdk.ErrConnectionClosed), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EPIPE):
		return OutcomeTransport
	}
	return OutcomeMalformed
}

// envelopeText takes the text form, which both forms must equal, and the
// structured one where there is no text.
func envelopeText(res *sdk.CallToolResult) ([]byte, error) {
	if len(res.Content) > 0 {
		if text, ok := res.Content[0].(*sdk.TextContent); ok {
			return []byte(text.Text), nil
		}
	}
	return json.Marshal(res.StructuredContent)
}

func phasesOf(meta sdk.Meta) map[string]int64 {
	told, ok := meta[metaPhases].(map[string]any)
	if !ok || len(told) > 32 {
		return nil
	}
	phases := make(map[string]int64, len(told))
	for step, ns := range told {
		if n, ok := ns.(float64); ok && n >= 0 && len(step) <= 32 && step == printable(step) {
			phases[step] = int64(n)
		}
	}
	return phases
}

// lineWriter hands out whole lines. Lines over its buffer are cut.
type lineWriter struct {
	each func(string)
	line []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' {
			w.each(string(w.line))
			w.line = w.line[:0]
		} else if len(w.line) < bufio.MaxScanTokenSize {
			w.line = append(w.line, b)
		}
	}
	return len(p), nil
}
