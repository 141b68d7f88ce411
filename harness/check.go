package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaia/results"
)

// The promises, by the names that records carry.
const (
	PromiseWholeLines = "whole JSON lines"
	PromiseAppendOnly = "append only"
	PromiseIDs        = "ids dense, unique, in order"
	PromiseAnswered   = "every call answered"
	PromiseOnce       = "acknowledged once, none invented"
	PromiseOrder      = "real-time order"
	PromiseReplay     = "replay agrees"
	PromiseNoLock     = "no lock left"
	PromiseNoStarving = "no lane starved"
	PromiseThrough    = "every lane got through" // of kill-storm
)

// Check holds the log of dir and what the lanes recorded against every
// promise but [PromiseReplay], which takes processes ([CheckReplay]). The
// log was before when the trial began; what it held then is nobody's call.
// An error means that the bytes could not be read, not that a promise broke.
func Check(dir string, before LogMark, histories []History) ([]results.Promise, error) {
	c := newChecker(before, histories)
	if err := scanLog(dir, c.line); err != nil {
		return nil, err
	}
	after, err := prefix(dir, before.Size)
	if err != nil {
		return nil, err
	}
	if after != before {
		c.appendOnly.add("the log's first %d bytes are no longer what they were", before.Size)
	}
	c.settle()
	lock, err := lockLeft(dir)
	if err != nil {
		return nil, err
	}
	promises := []results.Promise{
		c.wholeLines(),
		c.appendOnly.promise(PromiseAppendOnly, "%d bytes stand as they were", before.Size),
		c.ids.promise(PromiseIDs, "%d actors, %d messages", c.actors, c.messages),
		c.answered.promise(PromiseAnswered, "%d calls", c.calls),
		c.once.promise(PromiseOnce, "%d acknowledged calls, %d new records", c.acknowledged, len(c.placed)),
		c.order.promise(PromiseOrder, "%d records against their calls' instants", len(c.placed)),
		lock,
		starving(histories),
	}
	if through, ok := c.through(); ok {
		promises = append(promises, through)
	}
	return promises, nil
}

// findings collects what breaks one promise.
type findings struct {
	first []string
	total int
}

func (f *findings) add(format string, args ...any) {
	if f.total++; len(f.first) < 3 {
		f.first = append(f.first, printable(fmt.Sprintf(format, args...)))
	}
}

func (f *findings) promise(name, kept string, args ...any) results.Promise {
	p := results.Promise{Name: name, OK: f.total == 0, Detail: fmt.Sprintf(kept, args...)}
	if !p.OK {
		p.Detail = strings.Join(f.first, "; ")
		if more := f.total - len(f.first); more > 0 {
			p.Detail += fmt.Sprintf("; and %d more", more)
		}
	}
	return p
}

// A checker reads the log once, in order, and lays each new record to a call.
type checker struct {
	before    LogMark
	histories []History

	whole, appendOnly, ids, answered, once, order findings

	lines, calls, acknowledged int64
	actors, messages           int64 // minted so far
	correlation                int64 // highest cor-N so far
	correlations               map[string]bool

	byMark   map[string]*call
	tapped   tappedCalls
	polls    map[string][]*call // inbox calls by their actor, oldest first
	reached  map[int]int        // by lane, the latest call a mark was seen of
	all      []*call
	placed   []placed
	previous logRecord
	rejected int64
	torn     string // where the last line doesn't end; empty: it does
	fragment string // what there is of it
	excused  bool   // by a server that was killed
	begun    int64  // when the last call began that was acknowledged
}

// A call is a CallRecord and which records the log holds of it.
type call struct {
	CallRecord
	got   map[string]int // by type
	after int            // the lane's latest marked call before it that was acknowledged
	ended int64          // when its lane knew what came of it
}

type placed struct {
	call *call
	line int64
}

func newChecker(before LogMark, histories []History) *checker {
	c := &checker{before: before, histories: histories, correlations: map[string]bool{}, byMark: map[string]*call{}, polls: map[string][]*call{}, reached: map[int]int{}}
	for _, h := range histories {
		last := CallRecord{Lane: h.Lane, Call: -1}
		cut, marked := 0, 0
		for i, r := range h.Calls {
			if r.Call != i && !h.Tapped {
				c.once.add("lane %d: its history has call %d in place of %d", h.Lane, r.Call, i)
			}
			switch {
			case r.Outcome == OutcomeKilled && h.Storm != nil:
				cut++
			case !r.Answered() && !h.Victim && r.Outcome != OutcomeAbandoned:
				c.answered.add("%s %s: %s: %s", r.mark(), r.Verb, r.Outcome, r.Detail)
			}
			c.know(r, marked)
			if r.Outcome == OutcomeOK && r.Verb != verbInbox {
				marked = r.Call
			}
			last = r
		}
		if h.Storm != nil && cut > len(h.Storm.Kills) {
			c.answered.add("lane %d: %d calls were cut off by %d deaths of its server", h.Lane, cut, len(h.Storm.Kills))
		}
		if h.Victim {
			// The call it may have died in: begun after its last one ended,
			// and never answered.
			c.know(CallRecord{Lane: h.Lane, Call: last.Call + 1, Actor: last.actor(), Start: last.End, Outcome: OutcomeTransport}, marked)
		}
	}
	return c
}

// actor is the caller's ref; a lane learns its own from its registration.
func (c *CallRecord) actor() string {
	if c.Actor == "" {
		return c.Ref
	}
	return c.Actor
}

// know takes in a call; after is its lane's latest marked and acknowledged one
// before it.
func (c *checker) know(r CallRecord, after int) {
	k := &call{CallRecord: r, got: map[string]int{}, after: after, ended: r.End}
	if !r.Answered() {
		k.End = math.MaxInt64 // nobody can say that it was over
	}
	if r.Outcome == OutcomeOK {
		c.begun = max(c.begun, r.Start)
	}
	c.all = append(c.all, k)
	if r.Session != 0 {
		c.tapped.know(k)
		c.calls++
		if r.Outcome == OutcomeOK {
			c.acknowledged++
		}
		return
	}
	c.byMark[r.mark()] = k
	if r.Verb != "" {
		c.calls++
	}
	if r.Verb == verbInbox && (r.Outcome == OutcomeOK || r.unsure()) || r.Verb == "" {
		c.polls[r.Actor] = append(c.polls[r.Actor], k)
	}
	if r.Outcome == OutcomeOK {
		c.acknowledged++
	}
}

// line takes the log's next line.
func (c *checker) line(line []byte, number, offset int64, whole bool) {
	c.lines = number
	if !whole {
		c.torn, c.fragment = fmt.Sprintf("line %d, offset %d", number, offset), string(line)
		c.whole.add("%s: the last line doesn't end", c.torn)
		return
	}
	r, err := parseLine(line)
	if err != nil {
		c.whole.add("line %d, offset %d: %v", number, offset, err)
		return
	}
	r.line = number
	fresh := offset >= c.before.Size
	// A caller may name a correlation; the lab's worker never does.
	minted := fresh
	if fresh {
		if k := c.lay(r); k != nil && k.Named {
			minted = false
		}
		c.previous = r
	}
	c.mint(r, minted)
}

// mint checks the ids that a record brings into being; minted tells whether
// its correlation is one of them.
func (c *checker) mint(r logRecord, minted bool) {
	switch r.Type {
	case typeRegistered:
		if r.IsNew {
			c.actors++
			if want := numbered("act", c.actors); r.Ref != want {
				c.ids.add("line %d: actor %q in place of %s", r.line, r.Ref, want)
			}
		} else if n, ok := number("act", r.Ref); !ok || n < 1 || n > c.actors {
			c.ids.add("line %d: updates actor %q, which was never minted", r.line, r.Ref)
		}
	case typeSent:
		c.messages++
		if want := numbered("msg", c.messages); r.Message.MessageID != want {
			c.ids.add("line %d: message %q in place of %s", r.line, r.Message.MessageID, want)
		}
		cor := r.Message.CorrelationID
		n, isNumber := number("cor", cor)
		if minted {
			switch {
			case c.correlations[cor]:
				c.ids.add("line %d: correlation %q was there before", r.line, cor)
			case !isNumber || cor != numbered("cor", n):
				c.ids.add("line %d: %q isn't a correlation that the bus mints", r.line, cor)
			case n <= c.correlation:
				c.ids.add("line %d: correlation %q after cor-%04d", r.line, cor, c.correlation)
			}
		}
		c.correlations[cor] = true
		c.correlation = max(c.correlation, n)
	}
}

func numbered(kind string, n int64) string { return fmt.Sprintf("%s-%04d", kind, n) }

func number(kind, id string) (int64, bool) {
	digits, ok := strings.CutPrefix(id, kind+"-")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil && n >= 0 && !strings.HasPrefix(digits, "+")
}

// lay lays a new record to the call that made it, nil where none did.
func (c *checker) lay(r logRecord) *call {
	var k *call
	switch r.Type {
	case typeRegistered:
		k = c.marked(strings.Join(r.Capabilities, " "))
	case typeSent:
		k = c.marked(r.Message.Text)
	case typeHandedOff:
		k = c.marked(r.Summary)
	case typeAcked, typeHeartbeat:
		if r.Note != nil {
			k = c.marked(*r.Note)
		}
	case typePolled:
		k = c.poll(r)
	case typeRejected:
		c.rejected++
		return nil
	}
	if k == nil {
		k = c.tapped.find(r)
	}
	if k == nil {
		c.once.add("line %d: a %s that no call made", r.line, r.Type)
		return nil
	}
	c.placed = append(c.placed, placed{k, r.line})
	k.got[r.Type]++
	if said := k.differs(r, c.previous); said != "" {
		c.once.add("line %d: %s: %s", r.line, k.name(), said)
	}
	return k
}

// marked finds the call whose mark is the first word of a text.
func (c *checker) marked(text string) *call {
	mark, _, _ := strings.Cut(text, " ")
	k := c.byMark[mark]
	if k != nil {
		c.reached[k.Lane] = max(c.reached[k.Lane], k.Call)
	}
	return k
}

// poll finds the inbox call of a poll: its actor's next. One that may not
// have reached the log is passed over when a later call of its lane did, or
// when the record may be, and looks like, the next one's.
func (c *checker) poll(r logRecord) *call {
	queue := c.polls[r.ActorID]
	for len(queue) > 0 && queue[0].unsure() && queue[0].Verb != "" && queue[0].Call < c.reached[queue[0].Lane] {
		queue = queue[1:]
	}
	if len(queue) == 0 {
		return nil
	}
	take := 0
	for i, k := range queue {
		if !k.unsure() {
			if k.after <= c.reached[k.Lane] && equal(k.Shown, r.MessageIDs) {
				take = i
			}
			break
		}
	}
	if k := queue[take]; k.after > c.reached[k.Lane] {
		return nil // it stands before a record that was acknowledged before its call began
	}
	c.polls[r.ActorID] = queue[take+1:]
	return queue[take]
}

func (k *call) name() string { return strings.TrimSpace(k.mark() + " " + k.Verb) }

// differs tells how a record isn't what the call asked for or was answered.
func (k *call) differs(r, previous logRecord) string {
	if k.Verb == "" { // nobody knows what it asked
		return ""
	}
	if k.Session != 0 {
		return k.tappedDiffers(r, previous)
	}
	type pair struct{ what, got, want string }
	var pairs []pair
	answered := k.Outcome == OutcomeOK
	verb := ""
	switch r.Type {
	case typeRegistered:
		verb = verbRegister
		if r.IsNew != (k.Call == 0) {
			return fmt.Sprintf("isNew is %v", r.IsNew)
		}
		if answered {
			pairs = []pair{{"ref", r.Ref, k.Ref}}
		}
	case typeSent, typeHandedOff:
		verb = k.Verb
		if k.Verb != verbSend || r.Type == typeHandedOff {
			verb = verbHandoff
		}
		id, from, to, text := r.Message.MessageID, r.Message.From, r.Message.To, r.Message.Text
		if r.Type == typeHandedOff {
			id, from, to, text = r.MessageID, r.From, r.To, r.Summary
			if previous.Type != typeSent || previous.Message.MessageID != id {
				return "its work.handed-off doesn't follow its message.sent"
			}
		}
		pairs = []pair{{"from", from, k.Actor}, {"to", to, k.To}, {"body's digest", digest(text), k.Digest}}
		if answered {
			pairs = append(pairs, pair{"messageId", id, k.MessageID})
			if r.Type == typeSent {
				pairs = append(pairs, pair{"correlationId", r.Message.CorrelationID, k.CorrelationID})
			}
		}
	case typePolled:
		verb = verbInbox
		if answered {
			pairs = []pair{{"messages shown", strings.Join(r.MessageIDs, " "), strings.Join(k.Shown, " ")}}
		}
	case typeAcked:
		verb = verbAck
		pairs = []pair{{"actor", r.ActorID, k.Actor}, {"message", r.MessageID, k.Acked}}
	case typeHeartbeat:
		verb = verbHeartbeat
		pairs = []pair{{"actor", r.ActorID, k.Actor}}
	}
	if verb != k.Verb {
		return "is recorded as " + r.Type
	}
	for _, p := range pairs {
		if p.got != p.want {
			return fmt.Sprintf("%s is %q in the log and %q in the call", p.what, p.got, p.want)
		}
	}
	return ""
}

func equal(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }

// settle draws the conclusions when the log has been read.
func (c *checker) settle() {
	var refused, unsure int64
	for _, k := range c.all {
		switch {
		case k.unsure():
			unsure++
		case k.Outcome == OutcomeRefused:
			refused++
		}
		if said := k.miscounted(); said != "" {
			c.once.add("%s: %s", k.name(), said)
		} else if said = k.halved(); said != "" {
			// A tear may lie between the records of one call, the last.
			if last := c.placed[len(c.placed)-1].call; c.torn == "" || k != last {
				c.once.add("%s: %s", k.name(), said)
			}
		}
		c.excused = c.excused || c.tornBy(k)
	}
	if c.rejected < refused || c.rejected > refused+unsure {
		c.once.add("%d command.rejected in the log, and %d calls that were refused", c.rejected, refused)
	}
	c.sweep()
}

// verbRecords are the types that a verb appends, its own first.
var verbRecords = map[string][]string{
	verbRegister:  {typeRegistered},
	verbSend:      {typeSent},
	verbInbox:     {typePolled},
	verbAck:       {typeAcked},
	verbHeartbeat: {typeHeartbeat},
	verbHandoff:   {typeSent, typeHandedOff},
}

// miscounted tells how the log doesn't hold the call's records as often as it
// must: each once for one that was acknowledged, none for one that was refused
// or failed closed, and at most each once where nobody can know.
func (k *call) miscounted() string {
	var want []string
	switch {
	case k.unsure():
		if len(k.got) > 1 && k.Verb == "" && !(len(k.got) == 2 && k.got[typeSent] > 0 && k.got[typeHandedOff] > 0) {
			return "more in the log than one call can have made"
		}
		for _, t := range slices.Sorted(maps.Keys(k.got)) {
			if n := k.got[t]; n > 1 {
				return fmt.Sprintf("its %s is in the log %d times", t, n)
			}
		}
		return ""
	case k.Outcome == OutcomeOK && k.Session != 0:
		want = k.Appended // none where an idempotent call was answered again
	case k.Outcome == OutcomeOK:
		want = verbRecords[k.Verb]
	}
	for _, t := range want {
		if k.got[t] == 0 {
			return fmt.Sprintf("acknowledged%s, and its %s is not in the log", k.ids(), t)
		}
	}
	for _, t := range slices.Sorted(maps.Keys(k.got)) {
		switch n := k.got[t]; {
		case !slices.Contains(want, t) && k.Outcome != OutcomeOK:
			return fmt.Sprintf("answered %s, and its %s is in the log all the same", k.Outcome, t)
		case !slices.Contains(want, t):
			return "its reply doesn't tell of the " + t + " in the log"
		case n > 1:
			return fmt.Sprintf("its %s is in the log %d times", t, n)
		}
	}
	return ""
}

// halved tells how a call whose server was killed is in the log in part.
func (k *call) halved() string {
	if k.Outcome != OutcomeKilled || len(k.got) == 0 {
		return ""
	}
	for _, t := range verbRecords[k.Verb] {
		if k.got[t] == 0 {
			return "its server was killed, and the log holds a part of it without its " + t
		}
	}
	return ""
}

func (k *call) ids() string {
	var s string
	for _, id := range []string{k.Ref, k.MessageID, k.Acked} {
		if id != "" && !strings.HasSuffix(s, id) {
			s += " " + id
		}
	}
	return s
}

// prefix marks the log's first size bytes.
func prefix(dir string, size int64) (LogMark, error) {
	f, err := os.Open(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return markOf(bytes.NewReader(nil))
	}
	if err != nil {
		return LogMark{}, err
	}
	defer f.Close()
	return markOf(io.LimitReader(f, size))
}

// lockLeft looks for the bus's lock and for anything that begins like it.
func lockLeft(dir string) (results.Promise, error) {
	var f findings
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return results.Promise{}, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), lockName) || strings.HasPrefix(e.Name(), "."+lockName) {
			f.add("%s is still there", e.Name())
		}
	}
	return f.promise(PromiseNoLock, "%s is gone", lockName), nil
}
