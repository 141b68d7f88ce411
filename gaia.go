// Package gaia is the module's root: it documents the whole and carries the Go
// sources that the binary is built from.
//
// gaia is a durable local bus through which coding agents on one machine talk
// over MCP stdio, and beside it a lab that measures how many of them, as
// lanes, one data directory carries. The packages, in reading order:
//
//   - core: the pure reducer, from commands to events and from events to state
//   - eventlog: the one file, its lock, the commit protocol, the cached fold
//   - mcp: the stdio server with six tools, its transport, an in-process client
//   - results: the record of a trial, its reader, writer, statistics, rendering
//   - lanes: how many lanes are supported, a pure function of recorded trials
//   - harness: real processes, barriers, faults, and the independent checker
//   - bench: the disk's floor and the cost of replay
//   - cmd/gaia: the command
//
// Which of them may import which is a table in imports_test.go, enforced.
package gaia

import "embed"

// Sources holds every Go file of the module, tests included, by its path from
// the module's root. `gaia verify` scans it, so that the claims "no network
// listener" and "no shell" are about the code that is running and not about a
// checkout that happens to lie nearby.
//
//go:embed *.go */*.go cmd/gaia/*.go cmd/gaia/internal/*/*.go
var Sources embed.FS
