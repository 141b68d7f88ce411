//go:build unix && !linux && !darwin

package eventlog

func filesystem(string) (string, bool, error) { return "", false, nil }
