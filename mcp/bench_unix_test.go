//go:build unix

package mcp

import (
	"bufio"
	"context"
	"io"
	"os"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaia/core"
	"gaia/eventlog"
)

// What a round trip costs, whole and beyond the commit (with a decision in
// memory in its place), beside a go-sdk server that answers with nothing.
// cpu-ns/op is of the whole process, the client's few instructions included,
// alike in all.
//
//	go test ./mcp -run '^$' -bench RoundTrip -count 10 | benchstat -
func BenchmarkRoundTrip(b *testing.B) {
	request := []byte(toolsCall(1, "heartbeat", obj{"actorId": "a"}))
	roundTrips := func(b *testing.B, serve func(io.ReadCloser, io.WriteCloser)) {
		inR, inW, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		outR, outW, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			serve(inR, outW)
		}()
		replies := bufio.NewReader(outR)
		ask := func(line []byte) {
			if _, err := inW.Write(line); err != nil {
				b.Fatal(err)
			}
			if _, err := replies.ReadSlice('\n'); err != nil && err != bufio.ErrBufferFull {
				b.Fatal(err)
			}
		}
		ask([]byte(handshake))
		ask([]byte(toolsCall(1, "register", obj{"actorId": "a"})))
		measureCPU(b, func() { ask(request) })
		inW.Close()
		<-ended
		outR.Close()
	}
	b.Run("gaia", func(b *testing.B) {
		s := newTestServer(b, eventlog.Options{})
		roundTrips(b, func(in io.ReadCloser, out io.WriteCloser) { s.Serve(b.Context(), in, out) })
	})
	b.Run("gaia-without-commit", func(b *testing.B) {
		s := newTestServer(b, eventlog.Options{})
		state := core.NewState()
		s.update = func(_ context.Context, decide func(*core.State) []core.Event) (eventlog.Receipt, error) {
			for _, e := range decide(state) {
				core.Apply(state, e)
			}
			return eventlog.Receipt{}, nil
		}
		roundTrips(b, func(in io.ReadCloser, out io.WriteCloser) { s.Serve(b.Context(), in, out) })
	})
	b.Run("sdk", func(b *testing.B) {
		srv := sdk.NewServer(&sdk.Implementation{Name: "nothing", Version: "0"}, nil)
		for _, tool := range tools() {
			srv.AddTool(tool, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{}, nil
			})
		}
		roundTrips(b, func(in io.ReadCloser, out io.WriteCloser) {
			srv.Run(b.Context(), &sdk.IOTransport{Reader: in, Writer: out})
		})
	})
}

func measureCPU(b *testing.B, do func()) {
	before := cpu(b)
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
	b.ReportAllocs()
}

func cpu(b *testing.B) int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}
