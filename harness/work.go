package harness

import (
	"math/rand/v2"
	"strings"
	"time"
)

// The mix, in hundredths. As many acks are tried as messages are made, so
// that inboxes stay short however long the trial.
var mix = []struct {
	verb   string
	weight int
}{
	{verbSend, 22},
	{verbHandoff, 8},
	{verbAck, 30},
	{verbInbox, 20},
	{verbHeartbeat, 15},
	{verbRegister, 5},
}

// A step is one call as the seed wants it, before the lane knows what it can
// name.
type step struct {
	verb  string
	peer  int           // addressee: the lane's number, from 1
	body  string        // begins with the call's mark
	think time.Duration // to wait before it
}

// A plan deals out a lane's work. Each step takes the same number of draws,
// so that no reply can shift what comes after.
type plan struct {
	rng          *rand.Rand
	lane, lanes  int
	messageBytes int
	think        time.Duration
	call         int
}

func newPlan(seed uint64, lane, lanes, messageBytes int, think time.Duration) *plan {
	return &plan{
		rng: rand.New(rand.NewPCG(seed, uint64(lane))), lane: lane, lanes: lanes,
		messageBytes: messageBytes, think: think,
	}
}

func (p *plan) next() step {
	p.call++
	verb, peer, text, think := p.rng.IntN(100), p.rng.IntN(max(p.lanes-1, 1)), p.rng.IntN(len(filler)), p.rng.Float64()
	s := step{body: body(callMark(p.lane, p.call), p.messageBytes, text)}
	for _, m := range mix {
		if verb -= m.weight; verb < 0 {
			s.verb = m.verb
			break
		}
	}
	// A lane alone writes to itself; one with neighbours only to them.
	s.peer = peer + 1
	if p.lanes > 1 && s.peer >= p.lane {
		s.peer++
	}
	// Half to one and a half of the mean: lanes don't stay in step.
	s.think = time.Duration((0.5 + think) * float64(p.think))
	return s
}

// filler is what a body is padded with: plain words, none of which the bus
// would flag, and a few beyond ASCII.
const filler = "the lane left a note beside the log so that its neighbour can read on café naïve 東京 where it stood "

// body is mark, a space and filler from an offset on, cut to size bytes at a
// character's end; never less than the mark.
func body(mark string, size, offset int) string {
	if size <= len(mark)+1 {
		return mark
	}
	var b strings.Builder
	b.Grow(size + len(filler))
	b.WriteString(mark)
	b.WriteByte(' ')
	for b.Len() < size {
		b.WriteString(strings.ToValidUTF8(filler[offset:], ""))
		offset = 0
	}
	s := strings.ToValidUTF8(b.String()[:size], "")
	return s + strings.Repeat(".", size-len(s))
}
