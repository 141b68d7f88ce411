package harness

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
)

// The six verbs, in the protocol's order.
const (
	verbRegister  = "register"
	verbSend      = "send"
	verbInbox     = "inbox"
	verbAck       = "ack"
	verbHeartbeat = "heartbeat"
	verbHandoff   = "handoff"
)

var sixVerbs = []string{verbRegister, verbSend, verbInbox, verbAck, verbHeartbeat, verbHandoff}

// What became of a call. Besides these, the code of a fail-closed answer
// (GAIA_LOCK_TIMEOUT, …) is an outcome: answered, and nothing was written.
const (
	OutcomeOK      = "ok"
	OutcomeRefused = "refused"
	// OutcomeNoReply: the call's time was up.
	OutcomeNoReply = "no-reply"
	// OutcomeTransport: the connection ended before the reply.
	OutcomeTransport = "transport"
	// OutcomeKilled: the lab killed the server before the reply.
	OutcomeKilled = "killed"
	// OutcomeAbandoned: a real client ended before the reply.
	OutcomeAbandoned = "abandoned"
	// OutcomeRPC: a JSON-RPC error in place of a result.
	OutcomeRPC = "rpc"
	// OutcomeMalformed: a reply that isn't the bus's envelope.
	OutcomeMalformed = "malformed"
	// OutcomeUnknown: failed closed, and the server doesn't know whether it wrote.
	OutcomeUnknown = "outcome-unknown"
)

// A CallRecord is one line of a lane's history: one call that has ended.
// Instants are nanoseconds of a clock that all processes of the host share.
type CallRecord struct {
	Lane int    `json:"lane"` // from 1
	Call int    `json:"call"` // from 1 in its lane; 0 is the registration before the barrier
	Verb string `json:"verb"`

	Intended int64 `json:"intendedNs"` // when it should have begun
	Start    int64 `json:"startNs"`    // before its first byte was written
	End      int64 `json:"endNs"`      // after its reply was read

	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitzero"` // the error's text, safe to print

	// What was asked.
	Actor  string `json:"actor,omitzero"`  // the caller's ref
	To     string `json:"to,omitzero"`     // send, handoff: the addressee's ref
	Acked  string `json:"acked,omitzero"`  // ack: the message named
	Digest string `json:"digest,omitzero"` // send, handoff: of the body

	// What was answered.
	Ref           string   `json:"ref,omitzero"`
	MessageID     string   `json:"messageId,omitzero"`
	CorrelationID string   `json:"correlationId,omitzero"`
	Shown         []string `json:"shown,omitzero"` // inbox: the messages, in order

	// Of a real client's calls only. Session tells apart the servers that one
	// client started; Named, that the caller named its correlation; Appended
	// are the types of the records that the bus says it wrote.
	Session  int64    `json:"session,omitzero"`
	Named    bool     `json:"named,omitzero"`
	Appended []string `json:"appended,omitzero"`

	// Phases is where the server says the time went, by step, in nanoseconds.
	Phases map[string]int64 `json:"phases,omitzero"`
}

// Answered tells whether the caller got the bus's envelope.
func (c *CallRecord) Answered() bool {
	switch c.Outcome {
	case OutcomeNoReply, OutcomeTransport, OutcomeRPC, OutcomeMalformed, OutcomeAbandoned, OutcomeKilled:
		return false
	}
	return true
}

// unsure tells whether the log may hold this call or not.
func (c *CallRecord) unsure() bool { return !c.Answered() || c.Outcome == OutcomeUnknown }

// mark is what lays a record of the log to this call.
func (c *CallRecord) mark() string { return callMark(c.Lane, c.Call) }

func callMark(lane, call int) string { return fmt.Sprintf("L%02d-%06d", lane, call) }

// answer takes in the ids of an answer.
func (c *CallRecord) answer(a answer) {
	c.Ref, c.MessageID, c.CorrelationID = a.Ref, a.MessageID, a.CorrelationID
	for _, m := range a.Pending {
		c.Shown = append(c.Shown, m.MessageID)
	}
	if c.Session != 0 { // a tap learns from the answer who asked
		c.Actor = a.ActorID + a.AckedBy
	}
}

// digest stands for a body in a history.
func digest(body string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(body)) // a hash never fails
	return strconv.FormatUint(h.Sum64(), 16)
}

// A History is what one lane left.
type History struct {
	Lane  int
	Calls []CallRecord
	// Victim: the lab did its fault to this lane. Its last call may be in the
	// log without being here, replies may be missing, and its pace isn't held
	// against the bus.
	Victim bool
	// Tapped: a real client made the calls, as it saw fit, without marks.
	Tapped bool
	// Storm is what kill-storm did to the lane; nil: it wasn't the fault.
	Storm *Storm
}

// apart tells whether the lane's pace can't be held against the others'.
func (h *History) apart() bool { return h.Victim || h.Storm != nil && h.Storm.MkdirPeer }

// historyFile is where lane n writes its history in the trial's work folder.
func historyFile(work string, lane int) string {
	return filepath.Join(work, fmt.Sprintf("lane-%02d.jsonl", lane))
}

// ReadHistory reads one lane's history. A last line that doesn't end is the
// line that a killed lane was writing; it is left out for a victim and an
// error for any other lane.
func ReadHistory(work string, lane int, victim bool) (History, error) {
	h := History{Lane: lane, Victim: victim}
	name := historyFile(work, lane)
	data, err := os.ReadFile(name)
	if victim && errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("reading a lane's history: %w", err)
	}
	for n := 1; len(data) > 0; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			if victim {
				break
			}
			return h, fmt.Errorf("%s:%d: the line doesn't end", filepath.Base(name), n)
		}
		data = rest
		var c CallRecord
		if err := json.Unmarshal(line, &c); err != nil {
			return h, fmt.Errorf("%s:%d: %w", filepath.Base(name), n, err)
		}
		if c.Lane != lane {
			return h, fmt.Errorf("%s:%d: a call of lane %d", filepath.Base(name), n, c.Lane)
		}
		h.Calls = append(h.Calls, c)
	}
	if len(h.Calls) > 0 && h.Calls[0].Session != 0 {
		h.Tapped = true
		h.Calls = untap(h.Calls)
	}
	return h, nil
}

// untap joins the two lines of each call, the second of which says how it
// ended, and numbers the calls of all sessions as they began.
func untap(lines []CallRecord) (calls []CallRecord) {
	type key struct {
		session int64
		call    int
	}
	at := map[key]int{}
	for _, c := range lines {
		k := key{c.Session, c.Call}
		if i, begun := at[k]; begun {
			calls[i] = c
			continue
		}
		at[k] = len(calls)
		calls = append(calls, c)
	}
	slices.SortStableFunc(calls, func(a, b CallRecord) int { return cmp.Compare(a.Start, b.Start) })
	for i := range calls {
		calls[i].Call = i + 1
	}
	return calls
}

// recorder appends to a lane's history, a write a call and no buffer: what a
// killed lane had stays.
type recorder struct {
	file *os.File
	buf  bytes.Buffer
}

func newRecorder(work string, lane int) (*recorder, error) {
	f, err := os.OpenFile(historyFile(work, lane), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &recorder{file: f}, nil
}

func (r *recorder) write(c CallRecord) error {
	r.buf.Reset()
	if err := json.MarshalWrite(&r.buf, c, json.Deterministic(true)); err != nil {
		return err
	}
	r.buf.WriteByte('\n')
	_, err := r.file.Write(r.buf.Bytes())
	return err
}
