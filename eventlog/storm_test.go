package eventlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// stormLength is short in every run; GAIA_STORM=5m makes a night of it.
func stormLength(t *testing.T) time.Duration {
	if text := os.Getenv("GAIA_STORM"); text != "" {
		d, err := time.ParseDuration(text)
		must(t, err)
		return d
	}
	return time.Second
}

// Processes are killed at random while others work: no wedge, no acknowledged
// record lost, no number twice; with a peer in the fleet that knows mkdir
// alone, and isn't killed, too.
func TestAStormOfKillsLosesNothingAndStopsNobody(t *testing.T) {
	for _, peers := range []int{0, 1} {
		t.Run(fmt.Sprintf("mkdir-peers=%d", peers), func(t *testing.T) {
			dir := t.TempDir()
			end := time.Now().Add(stormLength(t))
			var mu sync.Mutex
			var acks, failures []string
			kills, adoptions := 0, 0
			const forever = time.Hour
			// life runs one child until it has been ready for so long, and then
			// kills it, or at the storm's end tells it to stop.
			life := func(role, name string, span time.Duration, end time.Time) {
				c := child(role, dir, name, 0)
				in, err := c.StdinPipe()
				must(t, err)
				out, err := c.StdoutPipe()
				must(t, err)
				var stderr bytes.Buffer
				c.Stderr = &stderr
				must(t, c.Start())
				s := listen(out)
				<-s.ready
				killed := false
				select {
				case <-time.After(span):
					killed = true
					c.Process.Kill()
				case <-time.After(time.Until(end)):
					in.Close()
				case <-s.done: // it ended by itself
				}
				<-s.done
				err = c.Wait()
				mu.Lock()
				defer mu.Unlock()
				acks = append(acks, s.acks...)
				adoptions += bytes.Count(stderr.Bytes(), []byte("adopted"))
				if killed {
					kills++
				} else if err != nil {
					failures = append(failures, fmt.Sprintf("%s: %v: %s", name, err, &stderr))
				}
			}
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(1, uint64(i)))
					for j := 0; j < 2 || time.Now().Before(end); j++ {
						end := end
						if j == 0 {
							end = end.Add(forever) // however slow the machine, it storms
						}
						life("worker", fmt.Sprintf("w%d.%d", i, j), time.Duration(r.IntN(80_000))*time.Microsecond, end)
					}
				})
			}
			for i := range peers {
				wg.Go(func() { life("mkdir-peer", fmt.Sprintf("p%d", i), forever, end) })
			}
			wg.Wait()

			data, err := os.ReadFile(filepath.Join(dir, logName))
			must(t, err)
			if whole := bytes.LastIndexByte(data, '\n') + 1; whole < len(data) {
				// A death within the append itself, which a kernel allows at a
				// page's end: everything stops and says so. The rest must hold.
				t.Logf("a line was torn at byte %d of %d; %v", whole, len(data), failures)
				failures = nil
				must(t, os.WriteFile(filepath.Join(dir, logName), data[:whole], 0o600))
			}
			for _, f := range failures {
				t.Error(f)
			}
			by, err := checkNumbered(dir)
			must(t, err)
			if missing := unacked(by, acks); len(missing) > 0 {
				t.Errorf("acknowledged but not once in the log: %v", missing)
			}
			afterDeath(t, "storm", dir, len(by))
			t.Logf("%d kills, %d adoptions, %d records, %d acknowledged", kills, adoptions, len(by), len(acks))
			if kills == 0 || len(acks) == 0 {
				t.Error("no storm")
			}
		})
	}
}

// unacked gives the acknowledged records that aren't in the log exactly once.
func unacked(by, acks []string) []string {
	count := map[string]int{}
	for _, who := range by {
		count[who]++
	}
	var missing []string
	for _, who := range acks {
		if count[who] != 1 {
			missing = append(missing, who)
		}
	}
	return missing
}

func TestTheStormsCheckSeesALostAndADoubledRecord(t *testing.T) {
	if got := unacked([]string{"a", "b", "b"}, []string{"a", "b", "c"}); fmt.Sprint(got) != "[b c]" {
		t.Error(got)
	}
}
