// Package bench measures what needs the bus's own code or the bare disk: the
// floor under every commit, the cost of replay against the log's size, and it
// makes the logs that trials start from. It starts no process.
package bench
