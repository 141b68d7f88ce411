// Package core is the bus itself: a pure reducer from commands to events, and
// a fold from events to state. It has no file, no network, no clock, no
// randomness and no goroutine; the time of a command is handed to it.
//
// What holds, by number (tests and verify's messages use these numbers):
//
//  1. Six verbs and no seventh: register, send, inbox, ack, heartbeat,
//     handoff. Any other name is refused, and the refusal is an event.
//  2. A decision is a value. [Decide] reads the state and returns events, a
//     result and a refusal; it changes nothing. [Apply] alone changes state.
//  3. State is built by folding events and by nothing else: the same lines
//     give the same state, in any process, at any time.
//  4. Ids are dense and ordered: act-NNNN and msg-NNNN count up by one in log
//     order; correlation ids never repeat one that the log has seen.
//  5. Every refusal is recorded: one command.rejected and nothing else.
//  6. Bad input is refused, never coerced: a record made from a cleaned-up
//     request would be a false record.
//  7. Authority is absent. Grants stay inside five advisory words, their
//     effect is "none", a handoff transfers [], and every actor's
//     busAuthority is one constant list.
//  8. Every body is labelled untrusted-text, and no body is ever consulted to
//     decide anything (one detector adds a flag, and flags block nothing).
//  9. An event's bytes are those of JavaScript's JSON.stringify of its
//     members in their documented order.
//  10. Unknown event types and unknown members are ignored by the fold, and
//     counted; a known type with a missing or mistyped member is not.
//
// A newcomer reads this file, then command.go (what goes in), event.go (what
// is written), then testdata/.
package core
