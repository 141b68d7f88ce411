package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/txtar"

	"gaia/core"
	"gaia/eventlog"
)

var update = flag.Bool("update", false, "rewrite the out and log sections of testdata/*.txtar from what the server does")

// A conversation is a file of testdata:
//
//	-- in --   what the client sends, a line each. A line that begins with !
//	           is a directive: !bytes "go string" sends just these bytes;
//	           !repeat N "go string" sends it N times; !hold makes the log's
//	           lock wait, !release lets it go; !await N waits until the server
//	           has written N lines in all.
//	-- out --  what the server writes. Replies may overtake each other, so they
//	           stand in the order of their requests, those with a null id first.
//	-- log --  the records in the log at the end.
//
// The clock starts at 2026-01-02T03:04:05.000Z and moves a second a reading.
// A line over 20,000 bytes is shown by its length and digest, and the
// instructions, which TestInstructionsSayWhatAgentsMustKnow reads, by a word.
//
// go test ./mcp -run TestConversations -update rewrites them.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(ar.Comment)) == 0 {
				t.Error("no header: say which fault it guards against")
			}
			in := section(ar, "in")
			out, log := converse(t, in, nil)
			if *update {
				ar.Files = []txtar.File{{Name: "in", Data: []byte(in)}, {Name: "out", Data: []byte(joined(out))}, {Name: "log", Data: []byte(joined(log))}}
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(section(ar, "out"), joined(out)); d != "" {
				t.Errorf("out (-want +got):\n%s", d)
			}
			if d := cmp.Diff(section(ar, "log"), joined(log)); d != "" {
				t.Errorf("log (-want +got):\n%s", d)
			}
		})
	}
}

// The runner must be able to fail: the SDK's own transport gets these wrong.
func TestConversationsRejectTheStockTransport(t *testing.T) {
	for _, name := range []string{"bad-json", "bom", "null-line", "batch", "ids-echo", "nesting", "methods-outside"} {
		ar, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		stock := func(s *Server, in io.ReadCloser, out io.WriteCloser) {
			srv := sdk.NewServer(&sdk.Implementation{Name: core.ServerName, Version: s.version}, nil)
			for _, tool := range s.tools {
				srv.AddTool(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{}, nil
				})
			}
			srv.Run(t.Context(), &sdk.IOTransport{Reader: in, Writer: out})
		}
		out, _ := converse(t, section(ar, "in"), stock)
		if section(ar, "out") == joined(out) {
			t.Errorf("%s: the stock transport passed, so this conversation guards nothing", name)
		}
	}
}

func TestConversationsRejectForgedReplies(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/ids-echo.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := converse(t, section(ar, "in"), nil)
	good := joined(out)
	for name, forge := range map[string]func() string{
		"a reply is missing":   func() string { return joined(out[1:]) },
		"a reply comes twice":  func() string { return joined(append(out[:len(out):len(out)], out[0])) },
		"an id is respelled":   func() string { return strings.Replace(good, `"id":1.50`, `"id":1.5`, 1) },
		"a stray line appears": func() string { return good + "starting up\n" },
	} {
		if forge() == section(ar, "out") {
			t.Errorf("%s: not noticed", name)
		}
	}
}

func section(ar *txtar.Archive, name string) string {
	for _, f := range ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func joined(lines []string) string {
	var b strings.Builder
	shown := string(quote(nil, instructions))
	for _, l := range lines {
		l = strings.Replace(l, shown, `"INSTRUCTIONS"`, 1)
		if len(l) > 20_000 {
			l = fmt.Sprintf("<%d bytes, sha256 %x>", len(l), sha256.Sum256([]byte(l)))
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}

// converse plays the client's side on a fresh data directory. serve nil is the
// server under test; out is in the order of the requests.
func converse(t *testing.T, in string, serve func(*Server, io.ReadCloser, io.WriteCloser)) (out, log []string) {
	t.Helper()
	gate := newGate()
	s := newTestServer(t, eventlog.Options{Hook: gate.hook})
	if serve == nil {
		serve = func(s *Server, in io.ReadCloser, out io.WriteCloser) {
			if err := s.Serve(t.Context(), in, out); err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	}
	var sent strings.Builder
	p := play(s, serve)
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n")
		switch directive, arg, _ := strings.Cut(line, " "); directive {
		case "!hold":
			gate.hold()
		case "!release":
			gate.release()
		case "!await":
			n, err := strconv.Atoi(arg)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			p.await(t, n)
		default:
			text := clientText(t, line)
			sent.WriteString(text)
			p.send(t, text)
		}
	}
	var ids []string
	for line := range strings.Lines(sent.String()) {
		if m, bad := parseMessage([]byte(strings.TrimSpace(line))); bad == nil && m.id != nil {
			ids = append(ids, string(m.id))
		}
	}
	gate.release()
	raw := p.finish(t)
	if raw != "" && !strings.HasSuffix(raw, "\n") {
		t.Errorf("the output does not end in a newline: %q", brief(raw))
	}
	for line := range strings.Lines(raw) {
		line = strings.TrimSuffix(line, "\n")
		if err := isReply(line); err != nil {
			t.Errorf("not a JSON-RPC reply: %v: %s", err, brief(line))
		}
		out = append(out, line)
	}
	slices.SortStableFunc(out, func(a, b string) int { return slices.Index(ids, replyID(a)) - slices.Index(ids, replyID(b)) })
	err := s.log.Lines(t.Context(), func(l eventlog.Line) error {
		log = append(log, string(l.Bytes))
		return nil
	})
	if err != nil {
		t.Errorf("the log: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(s.log.Dir(), "*")); len(names) > 1 {
		t.Errorf("left behind: %q", names)
	}
	return out, log
}

// clientText is what a line of an in section sends.
func clientText(t testing.TB, line string) string {
	t.Helper()
	directive, arg, _ := strings.Cut(line, " ")
	n := 1
	switch directive {
	case "!repeat":
		count, text, _ := strings.Cut(arg, " ")
		var err error
		if n, err = strconv.Atoi(count); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		arg = text
	case "!bytes":
	default:
		return line + "\n"
	}
	text, err := strconv.Unquote(arg)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Repeat(text, n)
}

func replyID(line string) string {
	var id string
	eachMember([]byte(line), func(name string, value jsontext.Value) error {
		if name == "id" {
			id = string(value)
		}
		return nil
	})
	return id
}

// isReply checks a line of the output by itself.
func isReply(line string) error {
	members := map[string]jsontext.Value{}
	if !jsontext.Value(line).IsValid() {
		return fmt.Errorf("not JSON in UTF-8 with each name once")
	}
	if err := eachMember([]byte(line), func(name string, value jsontext.Value) error {
		members[name] = value
		return nil
	}); err != nil {
		return err
	}
	switch {
	case string(members["jsonrpc"]) != `"2.0"`:
		return fmt.Errorf("jsonrpc is %s", members["jsonrpc"])
	case members["id"] == nil:
		return fmt.Errorf("no id")
	case (members["result"] == nil) == (members["error"] == nil):
		return fmt.Errorf("want a result or an error")
	case len(members) != 3:
		return fmt.Errorf("%d members", len(members))
	}
	return nil
}

// newTestServer is a server on a fresh directory with a clock that counts.
func newTestServer(t testing.TB, o eventlog.Options) *Server {
	o.Adoption = true
	return NewServer(Config{
		Log:     eventlog.Open(filepath.Join(t.TempDir(), "data"), o),
		Clock:   countingClock(),
		Version: "0.0.0-test",
	})
}

func countingClock() func() time.Time {
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 4, 0, time.UTC)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}
}

// A gate is an eventlog hook that can make commits wait before their lock.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil: open
}

func newGate() *gate { return &gate{} }

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

func (g *gate) hook(s eventlog.Step) error {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if s == eventlog.StepAcquire && closed != nil {
		<-closed
	}
	return nil
}

// A player is the client's end of a session.
type player struct {
	in    *io.PipeWriter
	ended chan struct{} // the server has returned

	mu   sync.Mutex
	cond sync.Cond
	out  []byte
	eof  bool
}

func play(s *Server, serve func(*Server, io.ReadCloser, io.WriteCloser)) *player {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &player{in: inW, ended: make(chan struct{})}
	p.cond.L = &p.mu
	go func() {
		serve(s, inR, outW)
		inR.Close() // a server that ended early reads no more
		outW.Close()
		close(p.ended)
	}()
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := outR.Read(buf)
			p.mu.Lock()
			p.out = append(p.out, buf[:n]...)
			p.eof = err != nil
			p.cond.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

// send may fail only because the server has stopped reading.
func (p *player) send(t testing.TB, text string) {
	t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil && err != io.ErrClosedPipe {
		t.Fatal(err)
	}
}

// await waits until the server has written n lines, or ended.
func (p *player) await(t *testing.T, n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for bytes.Count(p.out, []byte{'\n'}) < n {
		if p.eof {
			t.Errorf("the server ended before it had written %d lines", n)
			return
		}
		p.cond.Wait()
	}
}

// finish ends the input and returns all output.
func (p *player) finish(t testing.TB) string {
	t.Helper()
	p.in.Close()
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.eof {
		p.cond.Wait()
	}
	return string(p.out)
}
