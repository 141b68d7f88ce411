// Package mcp is the bus on the wire: an MCP server over a pipe with six tools,
// and a client of it in process.
//
// The go-sdk keeps the session: versions, handshakes, capabilities. The wire
// itself is ours (conn.go), for the SDK's own ends a session at the first bad
// line, changes ids, and drops replies at the end of input. What holds, by
// number:
//
//  1. No bytes that a client sends end the session: a bad line gets one error
//     with a null id, and the next line is read. Memory is bounded.
//  2. Every request gets exactly one reply, with the id's own bytes, also when
//     it was cancelled and when the input has ended meanwhile. A notification
//     gets none.
//  3. The calls of one session commit in the order they arrived.
//  4. initialize, server/discover, tools/list and ping touch neither the log nor
//     its lock, and an idle server holds neither.
//  5. A reply is written only after its events are on the disk. A call cancelled
//     before that writes nothing; later it is answered as done.
//  6. The bus decides, not the schema: any tools/call that is a request reaches
//     it, and a refusal is on record. The answer's bytes are the bus's.
//  7. Nothing but lines of JSON-RPC is written to the output, and nothing that
//     happens to the diagnostics' reader stops a call.
//
// A request whose _meta has "gaia/phases": true gets in its result's _meta, under
// the same name, how many nanoseconds each step of its commit took; the lab
// reads them.
package mcp
