package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaia/harness"
	"gaia/mcp"
)

// A session is one server process of its own and a client of it. The process
// is started by the lab's tap, the one place that starts any.
type session struct {
	client *sdk.ClientSession
	ended  chan error
}

// open starts a server on a data directory. work is a folder for the tap's
// own files, and n tells the sessions apart there.
func open(ctx context.Context, server []string, work, dir string, n int, stderr io.Writer) (*session, error) {
	order, err := json.Marshal(struct {
		Lane   int      `json:"lane"`
		Work   string   `json:"work"`
		Server []string `json:"server"`
		Env    []string `json:"env"`
	}{n, work, server, []string{"GAIA_INTERAGENT_DATA_DIR=" + dir}})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(work, fmt.Sprintf("order-%d.json", n))
	if err := os.WriteFile(file, order, 0o600); err != nil {
		return nil, err
	}
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	s := &session{ended: make(chan error, 1)}
	go func() {
		code, err := harness.Tap(ctx, file, serverIn, serverOut, stderr)
		if err == nil && code != 0 {
			err = fmt.Errorf("the server exited with %d", code)
		}
		serverOut.CloseWithError(io.EOF)
		serverIn.Close()
		s.ended <- err
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "gaia-demo", Version: "1"}, nil)
	s.client, err = client.Connect(ctx, &sdk.IOTransport{Reader: clientIn, Writer: clientOut}, nil)
	if err != nil {
		clientOut.Close()
		return nil, errors.Join(fmt.Errorf("starting a server: %w", err), <-s.ended)
	}
	return s, nil
}

func (s *session) call(ctx context.Context, verb, args string) (e mcp.Envelope, err error) {
	res, err := s.client.CallTool(ctx, &sdk.CallToolParams{Name: verb, Arguments: jsontext.Value(args)})
	if err != nil {
		return e, err
	}
	if len(res.Content) == 1 {
		if t, ok := res.Content[0].(*sdk.TextContent); ok {
			return e, json.Unmarshal([]byte(t.Text), &e)
		}
	}
	return e, errors.New("the server's answer holds no envelope")
}

// close ends the server's input and waits for its process.
func (s *session) close() error {
	return errors.Join(s.client.Close(), <-s.ended)
}
