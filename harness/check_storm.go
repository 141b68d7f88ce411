package harness

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gaia/results"
)

// wholeLines is the promise of whole lines. A server that is killed within its
// append may leave the beginning of a line, at which the bus stops until a
// person looks: that was promised. It is told as unchecked, for a log that
// ends so isn't whole either, and only while there is a killed server's call
// that it can be of.
func (c *checker) wholeLines() results.Promise {
	if c.excused && c.whole.total == 1 {
		return results.Promise{Name: PromiseWholeLines, Skipped: true, Detail: c.tear()}
	}
	return c.whole.promise(PromiseWholeLines, "%d lines", c.lines)
}

var marks = regexp.MustCompile(`L\d{2,}-\d{6,}`) // as callMark makes them

// tornBy tells whether the log's torn end can be the beginning of what a
// killed server was appending for k: of its first record that isn't in the log,
// bearing no other call's mark, and with no call acknowledged that began after
// the death, for past a tear the bus acknowledges none.
func (c *checker) tornBy(k *call) bool {
	if c.torn == "" || k.Outcome != OutcomeKilled || c.begun >= k.ended ||
		!slices.ContainsFunc(c.histories, func(h History) bool { return h.Lane == k.Lane && h.Storm != nil }) {
		return false
	}
	for _, t := range verbRecords[k.Verb] {
		if k.got[t] > 0 {
			continue
		}
		head := `{"type":"` + t + `"`
		if !strings.HasPrefix(c.fragment, head) && !strings.HasPrefix(head, c.fragment) {
			return false
		}
		return !slices.ContainsFunc(marks.FindAllString(c.fragment, -1), func(m string) bool { return m != k.mark() })
	}
	return false
}

func (c *checker) tear() string {
	return c.torn + ": torn by a death within the append; the bus stops there by design, and a person must look"
}

// through holds kill-storm against what it is for: every lane makes all its
// calls, and the bus refuses none. After a tear it must refuse them.
func (c *checker) through() (p results.Promise, ok bool) {
	var f findings
	var kills, unknown int
	for _, h := range c.histories {
		if h.Storm == nil {
			continue
		}
		ok = true
		kills += len(h.Storm.Kills)
		made, stopped := 0, ""
		for _, r := range h.Calls {
			if r.Call > 0 {
				made++
			}
			if r.Outcome == OutcomeKilled {
				unknown++
			}
			if r.failedClosed() && stopped == "" {
				stopped = fmt.Sprintf("%s failed closed: %s: %s", r.mark(), r.Outcome, r.Detail)
			}
		}
		switch {
		case stopped != "" && c.excused:
		case stopped != "":
			f.add("lane %d stopped: %s", h.Lane, stopped)
		case made < h.Storm.Calls:
			f.add("lane %d made %d of its %d calls", h.Lane, made, h.Storm.Calls)
		}
	}
	if f.total == 0 && c.excused {
		return results.Promise{Name: PromiseThrough, Skipped: true, Detail: c.tear()}, ok
	}
	return f.promise(PromiseThrough, "%d kills, %d calls of unknown outcome", kills, unknown), ok
}
