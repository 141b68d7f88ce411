package ecosystem

import "testing"

func TestNothingIsAllowedThatWasNotDecided(t *testing.T) {
	for _, c := range []struct {
		name string
		do   Action
		ok   bool
	}{
		{"GA", ReadFiles, true}, {"ga", ReadFiles, true}, {"GA", WriteFiles, false}, {"GA", MountServer, false},
		{"TARS", MountServer, true}, {"TARS", WriteFiles, false}, {"TARS", ReadFiles, false},
		{"Hari", ReadFiles, false}, {"Hari", MountServer, false}, {"IX", ReadFiles, false}, {"IX", MountServer, false},
		{"somebody", ReadFiles, false},
	} {
		if err := May(c.name, c.do); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.name, c.do, err)
		}
	}
}
