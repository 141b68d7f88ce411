// Package mcp is the bus's MCP server over stdio and its in-process client.
package mcp

import (
	"context"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gaia/eventlog"
)

// Stub signatures, to be replaced by the real implementation.

type Config struct {
	Log     *eventlog.Log
	Clock   func() time.Time // nil: time.Now
	Version string
	Stderr  io.Writer // diagnostics; may block or be gone: must never stop the server
}

type Server struct{}

func NewServer(c Config) *Server { panic("stub") }

// Serve speaks MCP on in and out until in ends (nil) or ctx is done; every call that was read is answered first.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	panic("stub")
}

// Connect starts the same server in process and returns a client of it.
func (s *Server) Connect(ctx context.Context) (*Client, error) { panic("stub") }

type Client struct{}

// Tools asks tools/list.
func (c *Client) Tools(ctx context.Context) ([]string, error) { panic("stub") }

// Call asks tools/call. The error is a transport's or protocol's; a refusal and a fail-closed answer are envelopes.
func (c *Client) Call(ctx context.Context, verb string, args jsontext.Value) (Envelope, error) {
	panic("stub")
}
func (c *Client) Close() error { panic("stub") }

// Envelope is what every call answers. Result stays raw, byte for byte.
type Envelope struct {
	OK             bool           `json:"ok"`
	FailClosed     bool           `json:"failClosed,omitzero"`
	Code           string         `json:"code,omitzero"`
	Error          *string        `json:"error"`
	Result         jsontext.Value `json:"result"`
	EventsAppended []string       `json:"eventsAppended"` // null only where the outcome is unknown
}
