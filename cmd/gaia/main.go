// Command gaia is a durable local bus for coding agents, and its lab.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a vanished reader must not kill us inside a commit
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup's wish stands
		ends = append(ends, syscall.SIGHUP) // nor may a closed terminal
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	code := newApp().run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
