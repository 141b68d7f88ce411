// Package harness runs one trial of the lab: real lanes, each a client
// process with a server process of its own over stdio, all on one data
// directory. It measures them and then checks, from the bytes of the log and
// of the lanes' histories, that every promise of the bus was kept.
//
// It shares no code with the bus: it has its own small reader of the log, so
// that a bug in the reducer can't hide in its checker. A prefilled log is
// handed over as a directory.
//
// What holds, by number:
//
//  1. Every process that [RunTrial] starts has ended, and was waited for,
//     when it returns: after a success, an error, a deadline or a cancelled
//     context. A lane whose parent is gone sees the end of its input, ends
//     its server and exits.
//  2. Every wait has a deadline ([Limits]).
//  3. The same seed gives the same work: verbs, addressees, think times and
//     bodies are drawn from the trial's seed and the lane's number alone. Only
//     which message an ack names depends on what the lane was shown, and an
//     ack that has nothing to name becomes a heartbeat. Under kill-storm an
//     inbox after one of unknown outcome does, too, until a marked call is
//     acknowledged: nothing else tells the two polls apart in the log.
//  4. Every call bears a mark, "L<lane>-<call>", in its text, note, summary
//     or capabilities, so that each record of the log can be laid to exactly
//     one call. Only inbox has no room for one: the k-th poll of an actor is
//     its lane's k-th inbox call. A real client's calls bear no marks; their
//     records are found by the ids in the replies, which a tap between client
//     and server writes down.
//  5. A call is written to its lane's history as soon as it has ended, so
//     that a lane that is killed leaves what it had; at most the call in
//     flight is missing, and only for a lane that the lab killed may the log
//     hold a call that no history knows.
//  6. Instants are compared across processes, so they come from the clock
//     that all processes of one host share: CLOCK_MONOTONIC on Unix, the
//     performance counter on Windows.
//  7. What could not be checked is never reported as kept.
//  8. Nothing that a trial records holds a host name, a user name or an
//     absolute path.
//
// Beside trials it runs what they are held against: processes that contend
// with nothing of the bus in them (contend.go, sqlite.go), and a server's first
// moments (fresh.go). Numbers 1, 2 and 6 hold for these too.
//
// A newcomer reads trial.go (what goes in and what comes out), lane.go (what
// a lane does), then check.go; storm.go and check_storm.go are the fault that
// strikes every lane.
package harness
