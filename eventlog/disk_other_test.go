//go:build !linux

package eventlog

// smallDisk has no counterpart where a test can't make a filesystem.
func smallDisk(string, string) {}
