package harness

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kill-storm kills each lane's server again and again, at moments that have
// nothing to do with what it does, while all go on. A lane starts its server
// anew and goes on under its ref. What a call came to whose server died under
// it nobody can know, so it isn't made again: the log holds it once, whole, or
// not at all.
//
// Each lane's last call is spared: it adopts whatever lock the lane's deaths
// left, so that none may be left at the end.
//
// In kill-storm:mkdir-peer the last lane's server takes the lock by mkdir alone
// and is never killed: one that dies in such a lock stops the bus, by design.

// stormLife is the mean of a server's life, from its handshake on, for each lane
// of the trial: the more lanes, the longer a call takes. It is a few calls of
// eight lanes on two cores, so that some get through and many are cut off, and
// ten thousand deaths take minutes.
const stormLife = 8 * time.Millisecond

// envAdoption set to off makes a server that knows mkdir's lock alone.
const envAdoption = envPrefix + "LOCK_ADOPTION"

// A Storm is what kill-storm did to one lane.
type Storm struct {
	Calls     int     // that the lane was to get through
	Kills     []int64 // when its server was killed
	MkdirPeer bool    // its server took the lock by mkdir alone
}

// A killer kills one server, once, unless it is told to spare it.
type killer struct {
	timer  *time.Timer
	at     int64         // when it struck; read it once done is closed
	done   chan struct{} // closed before the server is killed
	spared bool
}

func aim(p *os.Process, after time.Duration) *killer {
	k := &killer{done: make(chan struct{})}
	k.timer = time.AfterFunc(after, func() {
		k.at = now()
		close(k.done)
		_ = p.Kill() // it may have ended by itself: its call then shows it
	})
	return k
}

// struck tells whether the server is dead or about to be. No killer never strikes.
func (k *killer) struck() bool {
	if k == nil {
		return false
	}
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// spare keeps the killer from striking, or waits until it has.
func (k *killer) spare() {
	if k == nil || k.spared {
		return
	}
	if k.spared = k.timer.Stop(); !k.spared {
		<-k.done
	}
}

// lifetimes are a lane's own draws, apart from those of its work.
func (o *order) lifetimes() func() time.Duration {
	rng := rand.New(rand.NewPCG(o.Seed, uint64(o.Lane)<<32))
	return func() time.Duration { return time.Duration(rng.ExpFloat64() * float64(o.Fault.LifeNs)) }
}

// weather starts the server anew if it was killed. The last call's is spared.
func (l *lane) weather(ctx context.Context, life func() time.Duration, last bool) (err error) {
	if last {
		l.killer.spare()
	}
	if l.killer.struck() {
		l.kills = append(l.kills, l.killer.at)
		l.retire()
		if l.server, err = startServer(ctx, l.Server, l.Env, time.Duration(l.StartNs), l.watch); err != nil {
			return err
		}
	} else if l.killer != nil {
		return nil
	}
	if l.Fault.LifeNs > 0 && !last {
		l.killer = aim(l.server.cmd.Process, life())
	}
	return nil
}

// retire waits for a dead server and takes in what it took.
func (l *lane) retire() {
	u := l.server.stop(serverGrace)
	l.used.cpu += u.cpu
	l.used.peak = max(l.used.peak, u.peak)
	l.server = nil
}

// cutOff tells whether an outcome may be that of a server's death: it ended, or
// was in the middle of its reply's line.
func cutOff(outcome, detail string) bool {
	return outcome == OutcomeTransport || outcome == OutcomeMalformed && strings.HasPrefix(detail, errNotRPC.Error())
}

// failedClosed tells whether the bus refused to go on: no retry helps.
func (c *CallRecord) failedClosed() bool {
	return c.Answered() && c.Outcome != OutcomeOK && c.Outcome != OutcomeRefused
}

// stormPeer tells whether lane i is the one that knows mkdir alone.
func (t *trial) stormPeer(i int) bool { return t.fault.mkdirPeer && i == t.Factors.Lanes-1 }

// faultOf is what lane i does to its server or itself.
func (t *trial) faultOf(i int) fault {
	f := t.fault
	f.LifeNs *= int64(t.Factors.Lanes)
	switch {
	case t.stormPeer(i):
		f.LifeNs = 0
	case f.Kind != FaultKillStorm && i > 0:
		return fault{}
	}
	return f
}

// victim tells whether lane i is the one whose fault the others see.
func (t *trial) victim(i int) bool {
	return i == 0 && t.fault.Kind != "" && t.fault.Kind != FaultKillStorm
}

// wholeLog is the trial's data directory or, where a death tore the log's last
// line, a copy without that line: the bus refuses the log itself, as it must,
// and what stands before the tear is still to be replayed.
func (t *trial) wholeLog() (string, error) {
	size, torn, err := wholeLines(t.Dir)
	if err != nil || !torn || t.fault.Kind != FaultKillStorm {
		return t.Dir, err
	}
	to := filepath.Join(t.Work, "untorn")
	if err := copyLog(t.Dir, to); err != nil {
		return "", err
	}
	return to, os.Truncate(filepath.Join(to, logName), size)
}

// wholeLines tells how many bytes the log's whole lines are, and whether more
// follow.
func wholeLines(dir string) (size int64, torn bool, err error) {
	err = scanLog(dir, func(line []byte, _, offset int64, whole bool) {
		if torn = !whole; whole {
			size = offset + int64(len(line)) + 1
		}
	})
	return size, torn, err
}
