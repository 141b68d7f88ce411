//go:build !linux

package main

import "io"

// polled does nothing: there is no way here to wait for an input in Go's poller
// that doesn't change it for whoever shares it.
func polled(in io.ReadCloser) (io.ReadCloser, bool) { return in, false }
