package main

import "io"

// polled does nothing: a pipe that was handed to us can't be polled here.
func polled(in io.ReadCloser, _ ...io.Writer) (io.ReadCloser, bool) { return in, false }
