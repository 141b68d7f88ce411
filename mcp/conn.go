package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// surface is every method a client may call, beside ping, which the
// connection answers itself.
var surface = map[string]bool{
	"initialize":      true,
	"server/discover": true,
	"tools/list":      true,
	"tools/call":      true,
}

// maxLoad bounds what unanswered requests may hold. Past it reading pauses,
// and the pipe's own back-pressure stops the client.
const maxLoad = 64 << 20

// requestCost is about what a request costs beside its bytes.
const requestCost = 8 << 10

// A conn is the wire under one session. The SDK sees well-formed requests
// whose ids are numbers that count up, and every tools/call with that number
// for arguments; the client's ids, and the bus's arguments and envelopes, pass
// beside it and are never re-encoded.
type conn struct {
	in  *lineReader
	inC io.Closer
	out io.WriteCloser

	mu       sync.Mutex
	room     sync.Cond // load went down, or ended
	requests map[int64]*request
	ids      map[string]*request // by idKey, those not yet replied to
	last     int64
	load     int
	maxLoad  int
	turns    []*request // unfinished tools/calls in arrival order
	outbox   [][]byte   // lines not yet written
	writing  bool       // somebody is emptying the outbox
	unsent   int        // replies in the outbox or being written
	gone     bool       // the output is broken
	ended    bool       // no more requests
	readErr  error      // why, other than the end of input

	stop    <-chan struct{}
	over    chan struct{} // closed once ended
	settled chan struct{} // closed once ended and no commit is in flight or to come
	idle    chan struct{} // closed once ended and every reply is written
}

// A request is one that awaits its reply.
type request struct {
	n    int64
	id   jsontext.Value
	key  string
	size int

	// Of a tools/call only.
	verb   string
	args   jsontext.Value
	ctx    context.Context
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed when every earlier tools/call is through
	locked atomic.Bool   // its commit has the lock
	answer []byte        // the envelope, once there is one
}

// newConn speaks on in and out. Once told to stop it lets no call start.
func newConn(in io.ReadCloser, out io.WriteCloser, maxLoad int, stop <-chan struct{}) *conn {
	c := &conn{
		in: newLineReader(in, maxLine), inC: in, out: out, maxLoad: maxLoad, stop: stop,
		requests: map[int64]*request{}, ids: map[string]*request{},
		over: make(chan struct{}), settled: make(chan struct{}), idle: make(chan struct{}),
	}
	c.room.L = &c.mu
	return c
}

// Connect makes the conn its own sdk.Transport.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is empty: a pipe has one session.
func (c *conn) SessionID() string { return "" }

// Read returns the next request for the SDK, having dealt with whatever isn't
// one. At the end of input it returns only after everything read has been
// replied to, for the SDK drops what is in flight then.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		c.waitForRoom()
		line, err := c.in.next()
		switch {
		case errors.Is(err, errLineTooLong):
			c.refuse(nil, invalidRequest(fmt.Sprintf("a line may have %d MiB", maxLine>>20)))
			continue
		case err != nil:
			c.end(err)
			<-c.idle
			return nil, io.EOF
		case len(bytes.Trim(line, " \t\r")) == 0:
			continue
		}
		if m := c.accept(line); m != nil {
			return m, nil
		}
	}
}

// accept takes one line. It returns what the SDK should see of it, or nil.
func (c *conn) accept(line []byte) jsonrpc.Message {
	m, bad := parseMessage(line)
	switch {
	case bad != nil:
		c.refuse(nil, bad)
		return nil
	case m.response:
		return nil // to a question we never asked
	case m.id == nil:
		return c.notification(m)
	}
	r := &request{id: m.id, key: idKey(m.id), size: len(line) + requestCost}
	switch {
	case c.inFlight(r.key) != nil:
		c.refuse(nil, invalidRequest(fmt.Sprintf("id %s is in flight already", brief(string(m.id)))))
		return nil
	case m.method == "ping":
		c.reply(m.id, []byte(`"result":{}`), nil)
		return nil
	case !surface[m.method]:
		c.refuse(m.id, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", brief(m.method))})
		return nil
	case m.params != nil && m.params.Kind() != '{':
		c.refuse(m.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: want an object"})
		return nil
	}
	req := &jsonrpc.Request{Method: m.method, Params: []byte(m.params)}
	if m.method == "tools/call" {
		t, bad := parseToolCall(m.params)
		if bad != nil {
			c.refuse(m.id, bad)
			return nil
		}
		r.verb, r.args = t.name, t.args
		r.ctx, r.cancel = context.WithCancelCause(context.Background())
		r.ready = make(chan struct{})
		if !c.enter(r) {
			return nil
		}
		req.Params = ticket(t.meta, r.n)
	} else if bad := checkMeta(m.params); bad != nil {
		c.refuse(m.id, bad)
		return nil
	} else if !c.enter(r) {
		return nil
	}
	req.ID, _ = jsonrpc.MakeID(float64(r.n))
	return req
}

// ticket is what the SDK sees of a tools/call's params: the request's number,
// and the name of a tool that it knows, for it would refuse any other before
// the bus could.
func ticket(meta jsontext.Value, n int64) []byte {
	b := strconv.AppendInt([]byte(`{"name":"register","arguments":`), n, 10)
	if meta != nil {
		b = append(append(b, `,"_meta":`...), meta...)
	}
	return append(b, '}')
}

// notification never answers: that is what a notification is.
func (c *conn) notification(m message) jsonrpc.Message {
	switch m.method {
	case "notifications/initialized":
		return &jsonrpc.Request{Method: m.method, Params: []byte(m.params)}
	case "notifications/cancelled":
		var id jsontext.Value
		if m.params.Kind() == '{' {
			eachMember(m.params, func(name string, value jsontext.Value) error {
				if name == "requestId" {
					id = value
				}
				return nil
			})
		}
		if r := c.inFlight(idKey(id)); r != nil && r.cancel != nil {
			r.cancel(errCancelled)
		}
	}
	return nil
}

// inFlight is the request that bears an id and has no reply yet, or nil.
func (c *conn) inFlight(key string) *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[key]
}

// enter registers a request, unless nothing new may start.
func (c *conn) enter(r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Asked here and not only by whom the end wakes: a call that comes after
	// the end must find it, however late that goroutine runs.
	ended := c.ended
	select {
	case <-c.stop:
		ended = ended || r.ready != nil
	default:
	}
	if ended {
		c.replyLocked(r.id, errorMember(&jsonrpc.Error{Code: codeShuttingDown, Message: errShutdown.Error()}), nil)
		return false
	}
	c.last++
	r.n = c.last
	c.requests[r.n], c.ids[r.key] = r, r
	c.load += r.size
	if r.ready != nil {
		c.turns = append(c.turns, r)
		if len(c.turns) == 1 {
			close(r.ready)
		}
	}
	return true
}

// through tells that a tools/call will not touch the bus any more; the next
// one's turn comes when all before it are through. Calling it again is fine.
func (c *conn) through(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.turns, r)
	if i < 0 {
		return
	}
	c.turns = slices.Delete(c.turns, i, i+1)
	if i == 0 && len(c.turns) > 0 {
		close(c.turns[0].ready)
	}
	c.check()
}

// check closes what has come about. The caller holds mu.
func (c *conn) check() {
	if c.ended && len(c.turns) == 0 {
		closeOnce(c.settled)
	}
	if c.ended && len(c.requests) == 0 && c.unsent == 0 {
		closeOnce(c.idle)
	}
}

func closeOnce(ch chan struct{}) {
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// end lets no new request in.
func (c *conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(why)
}

func (c *conn) endLocked(why error) {
	if !c.ended {
		c.ended = true
		close(c.over)
		if !errors.Is(why, io.EOF) {
			c.readErr = why
		}
	}
	c.room.Broadcast()
	c.check()
}

// giveUp cancels every tools/call that isn't through.
func (c *conn) giveUp(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.turns {
		r.cancel(cause)
	}
}

// head is the tools/call whose turn it is, or nil.
func (c *conn) head() *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.turns) == 0 {
		return nil
	}
	return c.turns[0]
}

func (c *conn) waitForRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.load > c.maxLoad && !c.ended {
		c.room.Wait()
	}
}

// request finds the one behind a ticket.
func (c *conn) request(n int64) *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[n]
}

// Write takes what the SDK replies. It reports no error: a broken output is
// the end of input, and what was read before is still carried out.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	resp, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil // the SDK has nothing to ask or tell on our surface
	}
	n, _ := resp.ID.Raw().(int64)
	r := c.request(n)
	if r == nil {
		return nil
	}
	if r.ready != nil {
		c.through(r)
		r.cancel(nil)
	}
	if resp.Error != nil {
		c.reply(r.id, errorMember(wireError(resp.Error)), r)
	} else if body, err := appendResult([]byte(`"result":`), resp.Result, r.answer); err != nil {
		c.reply(r.id, errorMember(&jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: " + err.Error()}), r)
	} else {
		c.reply(r.id, body, r)
	}
	return nil
}

// noContent is how the SDK writes the content that a tools/call leaves to us.
var noContent = []byte(`"content":[]`)

// appendResult adds a result as the SDK encoded it, strings respelled as
// JSON.stringify does, and the envelope put in for the empty content.
func appendResult(dst []byte, result []byte, envelope []byte) ([]byte, error) {
	if envelope == nil {
		return jsontext.AppendFormat(dst, result)
	}
	before, after, found := bytes.Cut(result, noContent)
	if !found {
		return nil, errors.New("the reply has no place for its content")
	}
	dst = slices.Grow(dst, 2*len(envelope)+len(envelope)/4+len(result)+128)
	dst = append(dst, before...)
	dst = append(dst, `"content":[{"type":"text","text":`...)
	dst, _ = jsontext.AppendQuote(dst, envelope)
	dst = append(dst, `}],"structuredContent":`...)
	dst = append(dst, envelope...)
	return append(dst, after...), nil
}

// wireError gives an SDK's error its code; those without one are about
// requests that come at the wrong time.
func wireError(err error) *jsonrpc.Error {
	e := &jsonrpc.Error{Message: err.Error()}
	var inner *jsonrpc.Error
	if errors.As(err, &inner) {
		e.Code, e.Data = inner.Code, inner.Data
	}
	if e.Code == 0 {
		e.Code = jsonrpc.CodeInvalidRequest
	}
	// What it says of its Go types, and of our ticket, is no client's business.
	e.Message, _, _ = strings.Cut(e.Message, ": unmarshaling")
	e.Message = brief(e.Message)
	return e
}

func errorMember(e *jsonrpc.Error) []byte {
	b := strconv.AppendInt([]byte(`"error":{"code":`), e.Code, 10)
	b = quote(append(b, `,"message":`...), e.Message)
	if e.Data != nil {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	return append(b, '}')
}

// refuse answers what the SDK never sees.
func (c *conn) refuse(id jsontext.Value, e *jsonrpc.Error) { c.reply(id, errorMember(e), nil) }

// reply puts one line into the outbox: the id as it was sent, and body, a
// member. r is the request that is now answered, if it had been entered. It
// never waits for the client: a client that writes all its requests before it
// reads any reply would wait for us.
func (c *conn) reply(id jsontext.Value, body []byte, r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replyLocked(id, body, r)
}

func (c *conn) replyLocked(id jsontext.Value, body []byte, r *request) {
	if id == nil {
		id = jsontext.Value("null")
	}
	line := make([]byte, 0, len(body)+len(id)+32)
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), id...)
	line = append(append(append(line, ','), body...), "}\n"...)
	if r != nil {
		// The client may use the id again as soon as it has read the reply.
		delete(c.requests, r.n)
		delete(c.ids, r.key)
		c.load -= r.size
	}
	c.load += len(line)
	c.unsent++
	c.outbox = append(c.outbox, line)
	if !c.writing {
		c.writing = true
		go c.empty()
	}
}

// empty writes what is in the outbox, in its order.
func (c *conn) empty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.outbox) > 0 {
		batch := c.outbox
		c.outbox = nil
		for _, line := range batch {
			if !c.gone {
				c.mu.Unlock()
				_, err := c.out.Write(line)
				c.mu.Lock()
				if err != nil {
					c.gone = true
					c.endLocked(io.EOF)
				}
			}
			c.load -= len(line)
			c.unsent--
			c.room.Broadcast()
			c.check()
		}
	}
	c.writing = false
}

// Close ends both directions. It doesn't wait for a blocked read.
func (c *conn) Close() error {
	c.end(io.EOF)
	c.inC.Close()
	c.out.Close()
	return nil
}
