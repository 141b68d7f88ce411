package mcp

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaia/core"
)

// session makes the SDK's server for one connection.
func (s *Server) session(c *conn) *sdk.Server {
	srv := sdk.NewServer(s.implementation(), &sdk.ServerOptions{Instructions: instructions, Capabilities: capabilities()})
	for _, t := range s.tools {
		srv.AddTool(t, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return s.callTool(c, req)
		})
	}
	order := map[string]int{}
	for i, v := range core.Verbs() {
		order[string(v)] = i
	}
	var greeted atomic.Bool
	srv.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
			// A panic here would take the whole process with it, and every
			// other call in flight.
			defer func() {
				if p := recover(); p != nil {
					fmt.Fprintf(s.stderr, "gaia: error: %s panicked: %v\n%s", method, p, debug.Stack())
					res, err = nil, errPanicAnywhere
				}
			}()
			res, err = next(ctx, method, req)
			switch method {
			case "initialize":
				// A client that waited too long for server/discover's answer
				// falls back to the handshake, which the SDK then takes for
				// the second.
				params, ok := req.GetParams().(*sdk.InitializeParams)
				if first := !greeted.Swap(true); first && ok && err != nil {
					return s.welcome(params.ProtocolVersion), nil
				}
			case "tools/list":
				if list, ok := res.(*sdk.ListToolsResult); ok && err == nil {
					slices.SortFunc(list.Tools, func(a, b *sdk.Tool) int { return cmp.Compare(order[a.Name], order[b.Name]) })
				}
			}
			return res, err
		}
	})
	return srv
}

func (s *Server) implementation() *sdk.Implementation {
	return &sdk.Implementation{Name: core.ServerName, Version: s.version}
}

// capabilities are set, or the SDK would announce logging and list changes.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}
}

// handshakeless is the first version that has no initialize.
const handshakeless = "2026-07-28"

// welcome answers initialize: with the client's version where that is one with
// a handshake, else with the newest that is.
func (s *Server) welcome(version string) *sdk.InitializeResult {
	res := &sdk.InitializeResult{Capabilities: capabilities(), Instructions: instructions, ServerInfo: s.implementation()}
	for _, v := range slices.Backward(sdk.SupportedProtocolVersions()) { // oldest first
		if v < handshakeless {
			if res.ProtocolVersion = v; v == version {
				break
			}
		}
	}
	return res
}

// errPanic answers a call that panicked before it wrote, errPanicAnywhere one of
// which that isn't known.
var (
	errPanic = &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "internal error: this call failed and wrote nothing; the server goes on; what happened is on its stderr, please report it"}
	errPanicAnywhere = &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: "internal error: this request failed, and whether a call wrote is unknown: look before you call again; the server goes on; what happened is on its stderr, please report it"}
)
