package mcp

import (
	"context"
	"strings"
	"testing"

	"gaia/core"
	"gaia/eventlog"
)

// What panics behind the append has written: nobody is told that it hasn't.
func TestAPanicAfterTheCommitIsNotSaidToHaveWrittenNothing(t *testing.T) {
	s := newTestServer(t, eventlog.Options{Adoption: true})
	update := s.update
	s.update = func(ctx context.Context, decide func(*core.State) []core.Event) (eventlog.Receipt, error) {
		if _, err := update(ctx, decide); err != nil {
			t.Error(err)
		}
		panic("a fault behind the append")
	}
	p := play(s, serveTo(t.Context(), make(chan error, 1)))
	p.send(t, handshake+toolsCall(1, "register", obj{"actorId": "a"}))
	answer := answers(t, p.finish(t))["1"]
	if len(lines(t, s.log)) != 1 || strings.Contains(answer, "wrote nothing") || !strings.Contains(answer, "whether a call wrote is unknown") {
		t.Errorf("%d lines, and it is answered %s", len(lines(t, s.log)), answer)
	}
}
