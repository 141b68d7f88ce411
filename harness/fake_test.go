package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaia/results"
)

// The test binary runs itself again as a lane and as a server: the program
// that a trial needs, with a bus of its own small enough to be seen through.
//
//	lab lane                    Lane
//	mcp                         an honest server
//	lab server --fault STEP:N   the same, parked there
//	state …                     what the log says, for the replay check
//	bad KIND [N]                a server that breaks one promise in its N-th call
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(m.Run())
	}
	if err := fake(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func fake(args []string) error {
	switch line := strings.Join(args, " "); {
	case line == "lab lane":
		return Lane(context.Background(), os.Stdin, os.Stdout)
	case strings.HasPrefix(line, "mcp"):
		return serveFake(&fakeServer{hook: func(string) {}})
	case strings.HasPrefix(line, "lab server --fault "):
		hook, err := Failpoint(args[3], os.Stderr)
		if err != nil {
			return err
		}
		return serveFake(&fakeServer{hook: hook})
	case strings.HasPrefix(line, "state"):
		log, err := os.ReadFile(fakeLog())
		fmt.Printf("{%q:%d}\n", "bytes", len(log))
		return err
	case strings.HasPrefix(line, "lab tap "):
		code, err := Tap(context.Background(), args[2], os.Stdin, os.Stdout, os.Stderr)
		if err == nil && code != 0 {
			err = fmt.Errorf("the server ended with %d", code)
		}
		return err
	case args[0] == "client":
		return fakeClient(args[1], args[2], args[3])
	case args[0] == "run-trial":
		_, err := RunTrial(context.Background(), TrialSpec{
			Factors: results.Factors{Lanes: 2, CallsPerLane: 1_000_000}, Dir: args[1], Work: args[2],
		})
		return err
	case line == "print-pid":
		_, err := fmt.Println(os.Getpid())
		return err
	case line == "print-nothing":
		return nil
	case args[0] == "bad":
		return serveFake(&fakeServer{hook: func(string) {}, bad: args[1]})
	}
	return fmt.Errorf("the fake has no command %q", args)
}

func fakeLog() string { return filepath.Join(os.Getenv(envDataDir), logName) }

// A fakeServer re-reads the log in each call: simple and slow.
type fakeServer struct {
	hook  func(step string)
	bad   string
	calls int
}

type object = map[string]any

func serveFake(f *fakeServer) error {
	switch f.bad {
	case "silent": // never answers anything
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "stubborn": // heeds neither the end of its input nor a signal
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		select {}
	case "chatters":
		fmt.Println("Listening…")
	case "exits":
		return errors.New("no such luck \x1b[31m\u202e")
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "7"}, nil)
	for _, verb := range sixVerbs {
		if f.bad == "lacks-ack" && verb == verbAck {
			continue
		}
		s.AddTool(&sdk.Tool{Name: verb, InputSchema: json.RawMessage(`{"type":"object"}`)}, f.call)
	}
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

func (f *fakeServer) call(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	f.calls++
	start := time.Now()
	f.hook("acquire")
	unlock, err := fakeLock()
	if err != nil {
		return answerFake(object{"ok": false, "failClosed": true, "code": "GAIA_LOCK_TIMEOUT", "error": "locked", "result": nil, "eventsAppended": []string{}}, nil), nil
	}
	waited := time.Since(start)
	defer unlock()
	var args struct {
		ActorID, Ref, From, To, Text, Summary, MessageID, Note, Kind string
		Capabilities                                                 []string
	}
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	bus, err := readFake()
	if err != nil {
		return nil, err
	}
	bad := ""
	if f.calls == 12 {
		bad = f.bad
	}
	f.hook("decide")
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	var events []object
	result := object{}
	switch verb := req.Params.Name; verb {
	case verbRegister:
		ref, isNew := args.Ref, args.Ref == ""
		if isNew {
			ref = fmt.Sprintf("act-%04d", bus.actors+1)
		}
		events = []object{{"type": typeRegistered, "at": at, "ref": ref, "name": args.ActorID, "isNew": isNew, "kind": args.Kind, "declaredCapabilities": args.Capabilities}}
		result["ref"] = ref
	case verbSend, verbHandoff:
		n := bus.messages + 1
		if f.bad == "repeats-id" && f.calls >= 12 { // its 12th call may be of another verb
			n = max(bus.messages, 1)
		}
		id, cor := fmt.Sprintf("msg-%04d", n), fmt.Sprintf("cor-%04d", bus.messages+1)
		events = []object{{"type": typeSent, "at": at, "message": object{"messageId": id, "correlationId": cor, "from": args.From, "to": args.To, "text": args.Text + args.Summary}}}
		if verb == verbHandoff {
			events = append(events, object{"type": typeHandedOff, "at": at, "from": args.From, "to": args.To, "messageId": id, "summary": args.Summary})
		}
		result["messageId"], result["correlationId"] = id, cor
	case verbInbox:
		if f.bad == "forgets" && f.calls < 3 { // it reads less than was written
			bus.order = nil
		}
		pending := []object{}
		ids := []string{}
		for _, id := range bus.order {
			if bus.pending[id] == args.ActorID {
				pending, ids = append(pending, object{"messageId": id}), append(ids, id)
			}
		}
		events = []object{{"type": typePolled, "at": at, "actorId": args.ActorID, "messageIds": ids}}
		result["actorId"], result["pending"] = args.ActorID, pending
	case verbAck:
		events = []object{{"type": typeAcked, "at": at, "actorId": args.ActorID, "messageId": args.MessageID, "note": args.Note}}
		result["messageId"], result["ackedBy"] = args.MessageID, args.ActorID
	case verbHeartbeat:
		events = []object{{"type": typeHeartbeat, "at": at, "actorId": args.ActorID, "note": args.Note}}
		result["actorId"] = args.ActorID
	}
	if f.bad == "slow" {
		time.Sleep(100 * time.Millisecond)
	}
	f.hook("append")
	if bad != "drops-record" {
		if err := appendFake(events); err != nil {
			return nil, err
		}
	}
	f.hook("release")
	if bad == "loses-reply" {
		unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	appended := []string{}
	for _, e := range events {
		appended = append(appended, e["type"].(string))
	}
	return answerFake(object{"ok": true, "error": nil, "result": result, "eventsAppended": appended},
		sdk.Meta{metaPhases: object{"acquire": int64(waited), "decide": 1000}}), nil
}

func answerFake(envelope object, meta sdk.Meta) *sdk.CallToolResult {
	text, err := json.Marshal(envelope)
	if err != nil {
		panic(err)
	}
	return &sdk.CallToolResult{Meta: meta, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
}

// fakeLock is a directory whose maker owns it, as in the seed. One as old as no
// living maker's gets here is moved away: good enough for a test with one
// murder, and for nothing else.
func fakeLock() (unlock func(), err error) {
	dir := filepath.Join(os.Getenv(envDataDir), lockName)
	for ; os.Mkdir(dir, 0o700) != nil; time.Sleep(200 * time.Microsecond) {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < 5*time.Second {
			continue
		}
		if stale := fmt.Sprintf("%s-stale-%d", filepath.Dir(dir), os.Getpid()); os.Rename(dir, stale) == nil {
			fmt.Fprintln(os.Stderr, "fake: adopted the lock")
			if err := os.Remove(stale); err != nil {
				return nil, err
			}
		}
	}
	open := true
	return func() {
		if open {
			_ = os.Remove(dir)
		}
		open = false
	}, nil
}

type fakeBus struct {
	actors, messages int
	order            []string
	pending          map[string]string // by message, its addressee
}

func readFake() (fakeBus, error) {
	b := fakeBus{pending: map[string]string{}}
	log, err := os.ReadFile(fakeLog())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	for _, line := range slices.Collect(strings.Lines(string(log))) {
		var r logRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return b, err
		}
		switch r.Type {
		case typeRegistered:
			if r.IsNew {
				b.actors++
			}
		case typeSent:
			b.messages++
			b.order = append(b.order, r.Message.MessageID)
			b.pending[r.Message.MessageID] = r.Message.To
		case typeAcked:
			delete(b.pending, r.MessageID)
		}
	}
	return b, nil
}

func appendFake(events []object) error {
	var text []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	f, err := os.OpenFile(fakeLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Close()
}

// fakeClient is a client of the SDK's making that reads its configuration as
// real ones do.
func fakeClient(config, name, manner string) error {
	if manner == "idles" {
		return errors.New("no model today")
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	var c struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	server := c.Servers["gaia-interagent"]
	cmd := exec.Command(server.Command, server.Args...)
	session, err := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, nil).
		Connect(context.Background(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	call := func(verb string, args object) (result object) {
		res, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: verb, Arguments: args})
		if err != nil {
			panic(err)
		}
		var e struct{ Result object }
		if err := json.Unmarshal([]byte(res.Content[0].(*sdk.TextContent).Text), &e); err != nil {
			panic(err)
		}
		return e.Result
	}
	ref := call(verbRegister, object{"actorId": name})["ref"]
	for range 4 {
		call(verbSend, object{"from": ref, "to": ref, "text": "a note of my own"})
		call(verbHandoff, object{"from": ref, "to": ref, "summary": "the rest"})
		for _, m := range call(verbInbox, object{"actorId": ref})["pending"].([]any) {
			call(verbAck, object{"actorId": ref, "messageId": m.(object)["messageId"], "note": "seen"})
		}
		call(verbHeartbeat, object{"actorId": ref})
	}
	if manner == "kills" {
		go call(verbHeartbeat, object{"actorId": ref})
		time.Sleep(time.Millisecond)
		return cmd.Process.Kill()
	}
	return session.Close()
}
