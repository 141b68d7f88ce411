package eventlog

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Options are what a Log may be told; the zero value of each field but
// Adoption is its default.
type Options struct {
	// LockTimeout bounds all waiting of one call, from when it is its
	// process's next. 0 means 10 s.
	LockTimeout time.Duration
	// LockStale is the age from which a lock is said to be probably
	// abandoned; nothing acts on it. 0 means 60 s.
	LockStale time.Duration
	// ReleaseRetries and ReleaseRetryDelay are for removing the lock that
	// this process owns, where a virus scanner or indexer keeps it open for
	// a moment. 0 means 12 and 25 ms; a negative number of retries, none.
	ReleaseRetries    int
	ReleaseRetryDelay time.Duration
	// ReplayEachCall reads and folds the whole log in every call.
	ReplayEachCall bool
	// Adoption takes the kernel's lock as well and adopts a lock whose owner
	// is proven dead; without it the lock is mkdir's alone and a death in it
	// stops the bus until a person removes it. OptionsFromEnv turns it on.
	Adoption bool
	// Hook is called before each step of an Update; an error stops the call
	// there, as a failure of that step would. The lab and tests use it.
	Hook func(Step) error
	// Stderr gets warnings, one line each, from any goroutine; nil: none. Its failures are
	// ignored.
	Stderr io.Writer
}

const (
	defaultLockTimeout       = 10 * time.Second
	defaultLockStale         = 60 * time.Second
	defaultReleaseRetries    = 12
	defaultReleaseRetryDelay = 25 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.LockTimeout == 0 {
		o.LockTimeout = defaultLockTimeout
	}
	if o.LockStale == 0 {
		o.LockStale = defaultLockStale
	}
	if o.ReleaseRetries == 0 {
		o.ReleaseRetries = defaultReleaseRetries
	}
	if o.ReleaseRetryDelay == 0 {
		o.ReleaseRetryDelay = defaultReleaseRetryDelay
	}
	if o.Hook == nil {
		o.Hook = func(Step) error { return nil }
	}
	if o.Stderr == nil {
		o.Stderr = io.Discard
	}
	return o
}

// The environment that a bus reads. Unset and empty mean the default.
const (
	EnvDataDir           = "GAIA_INTERAGENT_DATA_DIR"
	EnvLockTimeout       = "GAIA_INTERAGENT_LOCK_TIMEOUT_MS"
	EnvLockStale         = "GAIA_INTERAGENT_LOCK_STALE_MS"
	EnvReleaseRetries    = "GAIA_INTERAGENT_LOCK_RELEASE_RETRIES"
	EnvReleaseRetryDelay = "GAIA_INTERAGENT_LOCK_RELEASE_RETRY_DELAY_MS"
	EnvAdoption          = "GAIA_INTERAGENT_LOCK_ADOPTION"
)

// maxMillis keeps a duration from the environment far from overflow: a day.
const maxMillis = 24 * 60 * 60 * 1000

// OptionsFromEnv reads the GAIA_INTERAGENT_LOCK_* variables. A value that
// can't be meant is an error that names the variable, never a default.
func OptionsFromEnv(getenv func(string) string) (Options, error) {
	o := Options{Adoption: true}
	var errs []error
	number := func(name string, least, most int) (n int, set bool) {
		text := getenv(name)
		if text == "" {
			return 0, false
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			errs = append(errs, fmt.Errorf("%s=%q: want a whole number from %d to %d", name, text, least, most))
			return 0, false
		}
		return n, true
	}
	millis := func(name string) time.Duration {
		n, _ := number(name, 1, maxMillis)
		return time.Duration(n) * time.Millisecond
	}
	o.LockTimeout = millis(EnvLockTimeout)
	o.LockStale = millis(EnvLockStale)
	o.ReleaseRetryDelay = millis(EnvReleaseRetryDelay)
	if n, set := number(EnvReleaseRetries, 0, 10_000); set && n == 0 {
		o.ReleaseRetries = -1
	} else {
		o.ReleaseRetries = n
	}
	switch text := getenv(EnvAdoption); text {
	case "", "on":
	case "off":
		o.Adoption = false
	default:
		errs = append(errs, fmt.Errorf("%s=%q: want on or off", EnvAdoption, text))
	}
	if len(errs) > 0 {
		return Options{}, errors.Join(errs...)
	}
	return o.withDefaults(), nil
}

// DataDir resolves the data directory: flag, else GAIA_INTERAGENT_DATA_DIR,
// else the platform's default, which isDefault tells. It touches nothing.
func DataDir(flag string, getenv func(string) string) (dir string, isDefault bool, err error) {
	if flag == "" {
		flag = getenv(EnvDataDir)
	}
	if flag != "" {
		dir, err = filepath.Abs(flag)
		return dir, false, err
	}
	base, err := dataHome(runtime.GOOS, getenv)
	if err != nil {
		return "", true, err
	}
	return filepath.Join(base, "gaia-interagent", "data"), true, nil
}

// dataHome is where a user's programs keep their data.
func dataHome(goos string, getenv func(string) string) (string, error) {
	if goos == "windows" {
		if base := getenv("LOCALAPPDATA"); base != "" {
			return base, nil
		}
		return "", fmt.Errorf("no data directory: LOCALAPPDATA is not set; name one with --data-dir or %s", EnvDataDir)
	}
	// The XDG specification has a relative XDG_DATA_HOME ignored.
	if base := getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return base, nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share"), nil
	}
	return "", fmt.Errorf("no data directory: neither XDG_DATA_HOME nor HOME is an absolute path; name one with --data-dir or %s", EnvDataDir)
}
