package harness

import (
	"runtime"

	"gaia/results"
)

// Fingerprint describes this host as far as figures depend on it, with the
// filesystem that dir lies on (its nearest folder that exists). It holds no
// host name, user name or path. What can't be found out is "unknown" or 0.
func Fingerprint(dir string) results.Environment {
	e := results.Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU()}
	describeHost(&e, dir)
	for _, s := range []*string{&e.Kernel, &e.CPU, &e.Filesystem, &e.MountOptions, &e.Virtual} {
		if *s = printable(*s); *s == "" {
			*s = "unknown"
		}
	}
	return e
}
