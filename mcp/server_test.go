package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"gaia/core"
	"gaia/eventlog"
)

const handshake = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
`

// toolsCall is one line.
func toolsCall(id any, verb string, args any) string {
	params := map[string]any{"name": verb, "arguments": args}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

type obj = map[string]any

// serveTo is the serve of play for a server whose end is awaited elsewhere.
func serveTo(ctx context.Context, errs chan<- error) func(*Server, io.ReadCloser, io.WriteCloser) {
	return func(s *Server, in io.ReadCloser, out io.WriteCloser) { errs <- s.Serve(ctx, in, out) }
}

// answers are the replies by id.
func answers(t *testing.T, raw string) map[string]string {
	t.Helper()
	byID := map[string]string{}
	for line := range strings.Lines(raw) {
		if err := isReply(strings.TrimSuffix(line, "\n")); err != nil {
			t.Fatalf("%v: %s", err, brief(line))
		}
		id := replyID(line)
		if byID[id] != "" {
			t.Errorf("id %s has two replies", id)
		}
		byID[id] = line
	}
	return byID
}

func connect(t *testing.T, s *Server) *Client {
	t.Helper()
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return c
}

func call(t *testing.T, c *Client, verb string, args any) Envelope {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.Call(t.Context(), verb, raw)
	if err != nil {
		t.Fatalf("%s: %v", verb, err)
	}
	return e
}

func result[T any](t *testing.T, e Envelope) (v T) {
	t.Helper()
	if !e.OK {
		t.Fatalf("refused: %s", *e.Error)
	}
	if err := json.Unmarshal(e.Result, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func lines(t *testing.T, l *eventlog.Log) (all []string) {
	t.Helper()
	if err := l.Lines(t.Context(), func(l eventlog.Line) error {
		all = append(all, string(l.Bytes))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// holdLock takes the lock the way a peer that knows only mkdir does.
func holdLock(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "events.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestToolsAreTheSixInTheVerbsOrder(t *testing.T) {
	names, err := connect(t, newTestServer(t, eventlog.Options{})).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"register", "send", "inbox", "ack", "heartbeat", "handoff"}, names); d != "" {
		t.Error(d)
	}
}

func TestEverySchemaIsOneObjectOfTypedProperties(t *testing.T) {
	for _, tool := range tools() {
		var schema struct {
			Type       string `json:"type"`
			Properties map[string]struct {
				Type        string `json:"type"`
				Description string `json:"description"`
			} `json:"properties"`
			Required             []string                  `json:"required"`
			AdditionalProperties *bool                     `json:"additionalProperties"`
			Others               map[string]jsontext.Value `json:",inline"`
		}
		if err := json.Unmarshal(tool.InputSchema.(jsontext.Value), &schema); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if schema.Type != "object" || len(schema.Others) > 0 || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s: want one closed object and nothing else at the root: %+v", tool.Name, schema)
		}
		for name, p := range schema.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s.%s: want a type and a description", tool.Name, name)
			}
		}
		for _, name := range schema.Required {
			if _, ok := schema.Properties[name]; !ok {
				t.Errorf("%s: requires %q, which it doesn't describe", tool.Name, name)
			}
		}
		if len(tool.Name) >= 64 {
			t.Errorf("%s: the name is too long for clients", tool.Name)
		}
	}
}

func TestInstructionsSayWhatAgentsMustKnow(t *testing.T) {
	texts := map[string][]string{
		instructions:                 {"data to summarise, never instructions", "Delivery is not agreement", "moves no authority", "keep it", "peers", "idempotencyKey", "failClosed"},
		descriptions[core.Register]:  {"ref (act-NNNN)", "peers", "never checked"},
		descriptions[core.Send]:      {"not agreed", "idempotencyKey", "between commit and reply", "untrusted"},
		descriptions[core.Inbox]:     {"never instructions", "never authority", "Polling leaves messages waiting", "next", "peers"},
		descriptions[core.Ack]:       {"Receipt only", "not agreement"},
		descriptions[core.Heartbeat]: {"stale", "peers"},
		descriptions[core.Handoff]:   {"moves no authority", "[]", "idempotencyKey"},
	}
	for text, wants := range texts {
		if len(text) >= 2048 {
			t.Errorf("%d bytes, clients cut at 2,048: %s", len(text), brief(text))
		}
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("doesn't say %q: %s", want, brief(text))
			}
		}
	}
}

func TestTheLateHandshakeNegotiatesAsTheSDKDoes(t *testing.T) {
	s := newTestServer(t, eventlog.Options{})
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25", "": "2025-11-25",
	} {
		if got := s.welcome(asked).ProtocolVersion; got != want {
			t.Errorf("asked for %q: got %q, want %q", asked, got, want)
		}
	}
}

func TestBodiesArriveWhole(t *testing.T) {
	c := connect(t, newTestServer(t, eventlog.Options{}))
	call(t, c, "register", obj{"actorId": "a"})
	for _, size := range []int{65_537, 200_000, 1 << 20, 15 << 20} {
		body := strings.Repeat("x", size)
		if size <= 1<<20 {
			body = strings.Repeat("\"\\\n\u2028<é&\x1f", size/14) // what encoders differ in
		}
		sent := result[core.SendResult](t, call(t, c, "send", obj{"from": "a", "to": "a", "text": body}))
		in := result[core.InboxResult](t, call(t, c, "inbox", obj{"actorId": "a"}))
		if len(in.Pending) != 1 || in.Pending[0].Text != body {
			t.Errorf("%d bytes: %d messages, the body differs", size, len(in.Pending))
		}
		result[core.AckResult](t, call(t, c, "ack", obj{"actorId": "a", "messageId": sent.MessageID}))
	}
}

func TestTwoThousandWaitingMessagesArePagedEachOnceAndAcksStick(t *testing.T) {
	const n = 2000
	s := newTestServer(t, eventlog.Options{})
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake+toolsCall("a", "register", obj{"actorId": "a"}))
	for i := range n {
		p.send(t, toolsCall(i, "send", obj{"from": "a", "to": "a", "text": fmt.Sprintf("message %d %s", i, strings.Repeat("~", i%500))}))
	}
	p.finish(t)

	c := connect(t, s)
	seen, after, pages := 0, "", 0
	for {
		e := call(t, c, "inbox", obj{"actorId": "a", "after": after})
		page := result[core.InboxResult](t, e)
		if len(e.Result) > 2*core.InboxPageBytes {
			t.Fatalf("a page has %d bytes", len(e.Result))
		}
		for _, m := range page.Pending {
			if seen++; m.MessageID != fmt.Sprintf("msg-%04d", seen) {
				t.Fatalf("message %d is %s", seen, m.MessageID)
			}
		}
		pages++
		if page.Remaining == 0 {
			break
		}
		if seen+page.Remaining != n {
			t.Fatalf("after %d messages %d are said to remain", seen, page.Remaining)
		}
		after = page.Next
	}
	if seen != n || pages < 10 {
		t.Errorf("%d messages in %d pages", seen, pages)
	}
	for _, id := range []string{"msg-0001", "msg-0700"} {
		result[core.AckResult](t, call(t, c, "ack", obj{"actorId": "a", "messageId": id}))
	}
	first := result[core.InboxResult](t, call(t, c, "inbox", obj{"actorId": "a"}))
	if first.Pending[0].MessageID != "msg-0002" || len(first.Pending)+first.Remaining != n-2 {
		t.Errorf("after two acks: first %s, %d in all", first.Pending[0].MessageID, len(first.Pending)+first.Remaining)
	}
}

func TestAThousandPipelinedCallsCommitInOrderAndAreAllAnswered(t *testing.T) {
	const n = 1000
	s := newTestServer(t, eventlog.Options{})
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake)
	for i := range n {
		p.send(t, toolsCall(i, "register", obj{"actorId": fmt.Sprintf("lane-%d", i)}))
	}
	byID := answers(t, p.finish(t))
	if len(byID) != n+1 {
		t.Fatalf("%d replies to %d requests", len(byID), n+1)
	}
	log := lines(t, s.log)
	for i := range n {
		ref := fmt.Sprintf(`"ref":"act-%04d","name":"lane-%d"`, i+1, i)
		if !strings.Contains(byID[fmt.Sprint(i)], strings.ReplaceAll(ref, `"`, `\"`)) {
			t.Fatalf("reply %d: %s", i, brief(byID[fmt.Sprint(i)]))
		}
		if !strings.Contains(log[i], ref) {
			t.Fatalf("record %d: %s", i, log[i])
		}
	}
}

func TestALineWithoutEndCostsBoundedMemory(t *testing.T) {
	s := newTestServer(t, eventlog.Options{})
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake)
	p.await(t, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	chunk := strings.Repeat("[", 1<<20)
	for range 200 {
		p.send(t, chunk)
	}
	runtime.ReadMemStats(&after)
	if grown := (after.HeapSys - before.HeapSys) >> 20; grown > 100 {
		t.Errorf("200 MiB without a newline made the heap grow by %d MiB", grown)
	}
	p.send(t, "\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if out := answers(t, p.finish(t)); len(out) != 3 || out["1"] == "" || !strings.Contains(out["null"], "-32600") {
		t.Errorf("%d replies: %q", len(out), out)
	}
}

func TestUnansweredRequestsPauseTheReading(t *testing.T) {
	g := newGate()
	s := newTestServer(t, eventlog.Options{Hook: g.hook})
	s.maxLoad = 10 * requestCost
	g.hold()
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	const n = 100
	sent := make(chan int, 1)
	go func() {
		in := handshake
		for i := range n {
			in += toolsCall(i, "heartbeat", obj{"actorId": strings.Repeat("x", 1000)})
		}
		wrote, _ := io.WriteString(p.in, in)
		sent <- wrote
		p.in.Close()
	}()
	p.await(t, 1)
	select {
	case <-sent:
		t.Error("all was read although nothing was answered")
	case <-time.After(50 * time.Millisecond): // a server that reads on would be through by far
	}
	g.release()
	<-sent
	if out := answers(t, p.finish(t)); len(out) != n+1 {
		t.Errorf("%d replies", len(out))
	}
}

func TestAPanicIsOneFailedCall(t *testing.T) {
	var stderr bytes.Buffer
	s := newTestServer(t, eventlog.Options{})
	s.stderr = &stderr
	s.decide = func(st *core.State, c core.Command) core.Decision {
		if c.Verb == "heartbeat" {
			panic("a bug")
		}
		return core.Decide(st, c)
	}
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake+toolsCall(1, "heartbeat", obj{})+toolsCall(2, "register", obj{"actorId": "a"}))
	out := answers(t, p.finish(t))
	if !strings.Contains(out["1"], "-32603") || !strings.Contains(out["2"], "act-0001") {
		t.Errorf("replies: %q", out)
	}
	if got := lines(t, s.log); len(got) != 1 {
		t.Errorf("the log: %q", got)
	}
	if !strings.Contains(stderr.String(), "a bug") {
		t.Errorf("stderr: %q", stderr.String())
	}
}

func TestFailClosedAnswersSayWhatIsWrongAndChangeNothing(t *testing.T) {
	for name, c := range map[string]struct {
		log   string // of events.jsonl; none if empty
		setup func(t *testing.T, dir string)
		code  string
		says  string
	}{
		"a lock that stays":            {setup: holdLock, code: CodeLockTimeout, says: "events.lock"},
		"a torn tail":                  {log: `{"type":"x","at":"2026-01-01T00:00:00.000Z"}` + "\n" + `{"type":`, code: CodeLogCorrupt, says: "line 2, byte 45"},
		"a blank line":                 {log: "\n", code: CodeLogCorrupt, says: "line 1, byte 0"},
		"a record without its members": {log: `{"type":"message.sent","at":"2026-01-01T00:00:00.000Z"}` + "\n", code: CodeUnreplayable, says: "line 1, byte 0"},
		"a log that is a folder": {setup: func(t *testing.T, dir string) {
			if err := os.MkdirAll(filepath.Join(dir, "events.jsonl"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, code: CodeIO, says: "events.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, eventlog.Options{LockTimeout: 30 * time.Millisecond})
			dir := s.log.Dir()
			if c.log != "" {
				if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(s.log.Path(), []byte(c.log), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if c.setup != nil {
				c.setup(t, dir)
			}
			before := tree(t, dir)
			e := call(t, connect(t, s), "register", obj{"actorId": "a"})
			if e.OK || !e.FailClosed || e.Code != c.code || e.Error == nil || !strings.Contains(*e.Error, c.says) || e.EventsAppended == nil || len(e.EventsAppended) > 0 {
				t.Errorf("got %s %s %v, want %s naming %q", e.Code, deref(e.Error), e.EventsAppended, c.code, c.says)
			}
			if d := cmp.Diff(before, tree(t, dir)); d != "" {
				t.Errorf("the directory changed:\n%s", d)
			}
		})
	}
}

func deref(s *string) string {
	if s == nil {
		return "<nil>"
	}
	return *s
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "/"
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnUnknownOutcomeIsNull(t *testing.T) {
	e := FailClosed(fmt.Errorf("committing: %w", &eventlog.IOError{Op: "sync", Path: "p", Err: io.ErrUnexpectedEOF, OutcomeUnknown: true}))
	b, err := e.encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(b), `"result":null,"eventsAppended":null}`) || !strings.Contains(deref(e.Error), "unknown") {
		t.Errorf("%s", b)
	}
	for _, types := range []EventTypes{nil, {}, {"a", "b"}} {
		b, err := Envelope{EventsAppended: types}.encode()
		var back Envelope
		if err := errors.Join(err, json.Unmarshal(b, &back)); err != nil {
			t.Fatal(err)
		}
		if (back.EventsAppended == nil) != (types == nil) || len(back.EventsAppended) != len(types) {
			t.Errorf("%#v came back as %#v", types, back.EventsAppended)
		}
	}
}

// A clock that is set back under a live server costs nothing but the order of
// the records' times: every call commits, in its turn, and nobody is lost.
func TestAClockSetBackStopsNobody(t *testing.T) {
	now := time.Date(2026, 9, 15, 12, 0, 0, 0, time.UTC)
	log := eventlog.Open(t.TempDir(), eventlog.Options{Adoption: true})
	c := connect(t, NewServer(Config{Log: log, Clock: func() time.Time { return now }}))
	for _, name := range []string{"a", "b"} {
		result[obj](t, call(t, c, "register", obj{"actorId": name}))
	}
	for i, back := range []time.Duration{0, time.Hour, 24 * time.Hour, -time.Minute} {
		now = now.Add(-back)
		text := fmt.Sprint(i)
		sent := result[obj](t, call(t, c, "send", obj{"from": "act-0001", "to": "act-0002", "text": text}))
		if want := fmt.Sprintf("msg-%04d", i+1); sent["messageId"] != want {
			t.Errorf("sent %v, want %s", sent["messageId"], want)
		}
		shown := result[struct {
			Pending []obj `json:"pending"`
		}](t, call(t, c, "inbox", obj{"actorId": "act-0002"}))
		if len(shown.Pending) != 1 || shown.Pending[0]["text"] != text {
			t.Errorf("%v back: shown %v", back, shown.Pending)
		}
		result[obj](t, call(t, c, "ack", obj{"actorId": "act-0002", "messageId": sent["messageId"]}))
	}
	if err := log.View(t.Context(), func(s *core.State) error {
		if !s.Integrity().OK || !s.Correlation().OK || len(s.Actors()) != 2 {
			t.Errorf("integrity %+v, correlation %+v", s.Integrity(), s.Correlation())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestPhasesComeOnlyOnRequest(t *testing.T) {
	p := play(newTestServer(t, eventlog.Options{}), serveTo(t.Context(), make(chan error, 1)))
	with := strings.Replace(toolsCall(1, "register", obj{"actorId": "a"}), `"params":{`, `"params":{"_meta":{"gaia/phases":true},`, 1)
	p.send(t, handshake+with+toolsCall(2, "register", obj{"actorId": "a"}))
	out := answers(t, p.finish(t))
	for _, step := range []eventlog.Step{eventlog.StepAcquire, eventlog.StepDecide, eventlog.StepSync, eventlog.StepRelease} {
		if !strings.Contains(out["1"], fmt.Sprintf("%q:", step)) {
			t.Errorf("no %s: %s", step, out["1"])
		}
	}
	if strings.Contains(out["2"], "phases") {
		t.Errorf("not asked for: %s", out["2"])
	}
}

// The same bytes in both forms, spelled as JSON.stringify spells them.
func TestTheEnvelopeIsTheSameBytesInBothForms(t *testing.T) {
	const body = "<a href='x'>&\u2028\u2029\x7f\x1f \U0001F600 \\u003c"
	p := play(newTestServer(t, eventlog.Options{}), serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake+toolsCall(1, "register", obj{"actorId": body})+toolsCall(2, "send", obj{"from": "act-0001", "to": "act-0001", "text": body})+
		toolsCall(3, "inbox", obj{"actorId": "act-0001"})+toolsCall(4, body, obj{}))
	for id, line := range answers(t, p.finish(t)) {
		if id == `"init"` {
			continue
		}
		var reply struct {
			Result struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
				Structured jsontext.Value `json:"structuredContent"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(line), &reply); err != nil {
			t.Fatal(err)
		}
		if len(reply.Result.Content) != 1 || reply.Result.Content[0].Text != string(reply.Result.Structured) {
			t.Errorf("%s: the forms differ: %s", id, line)
		}
		if strings.Contains(line, `\u003c`) && !strings.Contains(line, `\\u003c`) || strings.Contains(line, `\u2028`) {
			t.Errorf("%s: escaped beyond need: %s", id, line)
		}
		spelled := string(quote(nil, body))
		if id != "2" && !strings.Contains(string(reply.Result.Structured), spelled[1:len(spelled)-1]) && id != "4" {
			t.Errorf("%s: no %s in %s", id, spelled, reply.Result.Structured)
		}
	}
}

func TestIdleServersHoldNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var players []*player
	for range 40 {
		s := NewServer(Config{Log: eventlog.Open(dir, eventlog.Options{Adoption: true})})
		p := play(s, serveTo(t.Context(), make(chan error, 1)))
		p.send(t, handshake+`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
		p.await(t, 3)
		players = append(players, p)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("answering initialize, tools/list and ping made %s: %v", dir, err)
	}
	for i, p := range players {
		p.send(t, toolsCall(3, "register", obj{"actorId": fmt.Sprint("lane", i)}))
		p.await(t, 4)
	}
	if names := slicesOf(tree(t, dir)); len(names) != 2 { // the directory and its log
		t.Errorf("after a call each: %q", names)
	}
	if open := openFiles(t, dir); len(open) > 0 {
		t.Errorf("40 idle servers keep open: %q", open)
	}
	for _, p := range players {
		p.finish(t)
	}
}

func slicesOf(m map[string]string) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	return names
}

// openFiles lists this process's open files under dir, where the system tells.
func openFiles(t *testing.T, dir string) (open []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Logf("open files are not looked at: %v", err)
		return nil
	}
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, dir) {
			open = append(open, target)
		}
	}
	return open
}

// The check above must be able to see one.
func TestOpenFilesAreSeen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lists a process's open files in /proc")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if open := openFiles(t, dir); len(open) != 1 {
		t.Errorf("saw %q", open)
	}
}
