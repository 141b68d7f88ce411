package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// handshake is what every client says before its first call.
func (s *server) handshake(ctx context.Context) error {
	type info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	var hello struct {
		Version string `json:"protocolVersion"`
		Info    info   `json:"serverInfo"`
	}
	if err := s.ask(ctx, "initialize", map[string]any{
		"protocolVersion": clientProtocol, "capabilities": struct{}{}, "clientInfo": info{"gaia-lab", "1"},
	}, &hello); err != nil {
		return err
	}
	s.initialized = now()
	s.version = printable(hello.Info.Name + " " + hello.Info.Version)
	if err := tell(s.stdin, rpcRequest{Version: "2.0", Method: "notifications/initialized"}); err != nil {
		return err
	}
	has := map[string]bool{}
	for cursor, page := "", 0; page == 0 || cursor != "" && page < 100; page++ {
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
			Next string `json:"nextCursor"`
		}
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if err := s.ask(ctx, "tools/list", params, &list); err != nil {
			return err
		}
		for _, t := range list.Tools {
			has[t.Name] = true
		}
		cursor = list.Next
	}
	lacks := slices.DeleteFunc(slices.Clone(sixVerbs), func(verb string) bool { return has[verb] })
	if len(lacks) > 0 {
		return fmt.Errorf("its tools lack %s", strings.Join(lacks, ", "))
	}
	return nil
}

// ask makes a request and decodes its result.
func (s *server) ask(ctx context.Context, method string, params, result any) error {
	m, err := s.request(ctx, method, params)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: it ended before it answered", method)
	case err != nil:
		return fmt.Errorf("%s: %w", method, err)
	case m.Error != nil:
		return fmt.Errorf("%s is answered with an error: %s", method, m.Error)
	}
	if err := json.Unmarshal(m.Result, result, lenient); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// request writes one request and waits for its answer.
func (s *server) request(ctx context.Context, method string, params any) (rpcMessage, error) {
	s.lastID++
	id := jsontext.Value(strconv.FormatInt(s.lastID, 10))
	if err := tell(s.stdin, rpcRequest{"2.0", id, method, params}); err != nil {
		return rpcMessage{}, err
	}
	for {
		select {
		case m, more := <-s.lines:
			switch {
			case !more && s.broken != nil:
				return m, s.broken
			case !more:
				return m, io.EOF
			case m.Method == "" && bytes.Equal(m.ID, id):
				return m, nil
			case m.Method != "" && m.ID != nil: // the server asks; this client offers nothing
				refusal := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not supported"}}`+"\n", m.ID)
				if m.Method == "ping" {
					refusal = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
				}
				if _, err := io.WriteString(s.stdin, refusal); err != nil {
					return m, err
				}
			}
		case <-ctx.Done():
			return rpcMessage{}, context.Cause(ctx)
		}
	}
}

// errNotRPC is why a server that prints something else is given up.
var errNotRPC = errors.New("it wrote a line that isn't JSON-RPC to its standard output")

// read hands out what the server says, until its end.
func (s *server) read(stdout io.Reader) {
	s.broken = eachLine(stdout, func(line []byte) error {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		var m rpcMessage
		if err := json.Unmarshal(line, &m, lenient); err != nil {
			return fmt.Errorf("%w: %s", errNotRPC, printable(string(line[:min(len(line), 200)])))
		}
		s.lines <- m
		return nil
	})
	close(s.lines)
	_, _ = io.Copy(io.Discard, stdout) // it must not block before it is ended
}

// A callArgs is a verb's arguments.
type callArgs struct {
	ActorID      string   `json:"actorId,omitzero"`
	Kind         string   `json:"kind,omitzero"`
	Capabilities []string `json:"capabilities,omitzero"`
	Ref          string   `json:"ref,omitzero"`
	From         string   `json:"from,omitzero"`
	To           string   `json:"to,omitzero"`
	Text         string   `json:"text,omitzero"`
	Summary      string   `json:"summary,omitzero"`
	MessageID    string   `json:"messageId,omitzero"`
	After        string   `json:"after,omitzero"`
	Note         string   `json:"note,omitzero"`
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

type rpcRequest struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method"`
	Params  any            `json:"params,omitzero"`
}

// rpcMessage is any message, of either side.
type rpcMessage struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// lenient: what a peer sends beyond its envelope is for others to judge.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

type callParams struct {
	Name      string          `json:"name"`
	Arguments callArgs        `json:"arguments"`
	Meta      map[string]bool `json:"_meta"`
}

var askPhases = map[string]bool{metaPhases: true}

// call makes one call and tells what became of it.
func (s *server) call(ctx context.Context, verb string, args callArgs) (a answer, outcome, detail string) {
	m, err := s.request(ctx, "tools/call", callParams{verb, args, askPhases})
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return a, OutcomeNoReply, "its time was up"
	case errors.Is(err, errNotRPC):
		return a, OutcomeMalformed, printable(err.Error())
	case errors.Is(err, io.EOF):
		return a, OutcomeTransport, "the server has ended"
	case err != nil:
		return a, OutcomeTransport, printable(err.Error())
	case m.Error != nil:
		return a, OutcomeRPC, printable(string(m.Error))
	}
	a, _, outcome, detail = readResult(m.Result)
	return a, outcome, detail
}

// readResult takes the bus's envelope out of a tool's result: the structured
// form where there is one, which the text must equal.
func readResult(result jsontext.Value) (a answer, e envelope, outcome, detail string) {
	var r struct {
		Content    jsontext.Value `json:"content"`
		Structured jsontext.Value `json:"structuredContent"`
		Meta       struct {
			Phases jsontext.Value `json:"gaia/phases"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(result, &r, lenient); err != nil {
		return a, e, OutcomeMalformed, printable(err.Error())
	}
	text := []byte(r.Structured)
	if len(text) == 0 || r.Structured.Kind() != '{' {
		var content []struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(r.Content, &content, lenient); err != nil || len(content) == 0 {
			return a, e, OutcomeMalformed, "the result has neither structured content nor text"
		}
		text = []byte(content[0].Text)
	}
	a, outcome, detail = e.read(text)
	a.phases = phasesOf(r.Meta.Phases)
	return a, e, outcome, detail
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

// phasesOf reads what a server tells of its steps; what isn't that is nothing.
func phasesOf(told jsontext.Value) map[string]int64 {
	var phases map[string]int64
	if len(told) == 0 || json.Unmarshal(told, &phases) != nil || len(phases) > 32 {
		return nil
	}
	for step, ns := range phases {
		if ns < 0 || len(step) > 32 || step != printable(step) {
			return nil
		}
	}
	return phases
}
