package harness

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gaia/results"
)

// buildGaia builds the product; the harness knows it by its commands alone.
func buildGaia(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: building and running the product takes a while")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool to build the product with")
	}
	gaia := filepath.Join(t.TempDir(), "gaia")
	if runtime.GOOS == "windows" {
		gaia += ".exe"
	}
	build := exec.CommandContext(t.Context(), goTool, "build", "-o", gaia, "gaia/cmd/gaia")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return gaia
}

// The product itself: four servers and four clients on one directory, and a
// holder's death at each step, survived.
func TestGaiaKeepsEveryPromise(t *testing.T) {
	gaia := buildGaia(t)
	run := func(t *testing.T, calls int, fault string) results.Trial {
		spec := fakeSpec(t, 4, calls)
		spec.Self, spec.Factors.Fault = []string{gaia}, fault
		got, err := RunTrial(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Promises {
			if !p.OK {
				t.Errorf("%s: %s", p.Name, p.Detail)
			}
		}
		if len(got.Errors) > 0 {
			t.Errorf("errors: %v", got.Errors)
		}
		return got
	}
	t.Run("undisturbed", func(t *testing.T) {
		got := run(t, 200, FaultNone)
		if got.Calls != 800 || len(got.Phases) == 0 || got.ServerPeakRSS == 0 && runtime.GOOS != "darwin" {
			t.Errorf("%d calls, phases %v, peak %d", got.Calls, got.Phases, got.ServerPeakRSS)
		}
	})
	faults := []string{FaultStallHolder, FaultKillClient}
	for _, step := range FaultSteps() {
		faults = append(faults, FaultKillHolder+":"+step)
	}
	for _, fault := range faults {
		t.Run(strings.ReplaceAll(fault, ":", " at "), func(t *testing.T) {
			got := run(t, 30, fault)
			if o := got.Outage; o.Injected != 1 || o.FailClosed != 0 || o.Recovery <= 0 {
				t.Errorf("seen: %+v", o)
			}
			t.Logf("seen: %+v", got.Outage)
		})
	}
}
