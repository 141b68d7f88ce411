package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Client is an in-process MCP client of a Server: the same wire and the same
// tools as any other client's, so that the command line has no side door.
type Client struct {
	session *sdk.ClientSession
	stop    context.CancelFunc
	served  chan error
}

// Connect starts a session of the server in process and returns its client.
// Once ctx is done a commit in flight finishes and no other starts. Close it.
func (s *Server) Connect(ctx context.Context) (*Client, error) {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	c := &Client{stop: stop, served: make(chan error, 1)}
	go func() { c.served <- s.Serve(serving, serverIn, serverOut) }()
	client := sdk.NewClient(&sdk.Implementation{Name: "gaia", Version: s.version}, nil)
	session, err := client.Connect(context.WithoutCancel(ctx),
		&sdk.IOTransport{Reader: clientIn, Writer: clientOut, MaxLineLength: -1}, nil)
	if err != nil {
		stop()
		<-c.served
		return nil, fmt.Errorf("connecting to the server in process: %w", err)
	}
	c.session = session
	return c, nil
}

// Tools asks tools/list for the tools' names, in the server's order.
func (c *Client) Tools(ctx context.Context) ([]string, error) {
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Tools))
	for i, t := range list.Tools {
		names[i] = t.Name
	}
	return names, nil
}

// ErrNotWritten is returned by Call when the call was ended before its commit.
var ErrNotWritten = errors.New("nothing was written")

// Call asks tools/call. The error is a transport's or protocol's; a refusal
// and a fail-closed answer are envelopes. If ctx ends before the call's commit
// began, nothing is written; if later, the call's true answer is returned.
// Either way the client is of no use afterwards.
func (c *Client) Call(ctx context.Context, verb string, args jsontext.Value) (Envelope, error) {
	defer context.AfterFunc(ctx, c.stop)()
	params := &sdk.CallToolParams{Name: verb}
	if len(args) > 0 {
		params.Arguments = args
	}
	// Not ctx: the SDK would return at its end without the answer.
	res, err := c.session.CallTool(context.WithoutCancel(ctx), params)
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code == codeShuttingDown {
		return Envelope{}, fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	if err != nil {
		return Envelope{}, err
	}
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*sdk.TextContent); ok {
			var env Envelope
			err := json.Unmarshal([]byte(text.Text), &env)
			return env, err
		}
	}
	return Envelope{}, errors.New("the server's answer holds no envelope")
}

// Close ends the session and waits until the server has finished.
func (c *Client) Close() error {
	err := c.session.Close()
	if served := <-c.served; err == nil && !errors.Is(served, context.Canceled) {
		err = served
	}
	c.stop()
	return err
}
