// Package eventlog is the only I/O of the bus: the file and its lines (what
// they say is core's), the lock, the commit protocol and the cached fold.
//
// # The file
//
// events.jsonl is the whole state: JSON objects, one a line, each ended by a
// line feed. It only grows. Nothing in the data directory outlives a commit
// but this file, and, for as long as a process is busy, a directory that nobody
// else looks at (see The lock). Its mode is 0600, its directory's 0700, and
// only a call that gets the lock makes them: the log is empty where that call
// was refused, for who makes a file can't know that it is still alone with it.
//
// # A commit
//
//  1. acquire: be this process's next; take the kernel's lock on the log;
//     make events.lock, or adopt it
//  2. read: check what was folded before, read what is new
//  3. fold: decode and apply it, in one pass over each line
//  4. decide: from that state, with the time read here
//  5. append: one write of complete lines
//  6. sync: fsync, of the directory too when the log was empty
//  7. release: move events.lock away, remove it, drop the kernel's lock
//
// [Options].Hook hears of each before it begins, and [Receipt] tells how long
// each took. What holds, by number:
//
//  1. [Log.Update] is the one way to write. It decides on a state that holds
//     every committed record, and no other process commits before it is done.
//  2. Update's success means that the records are on the disk.
//  3. Update's failure means that nothing was written, but for
//     [IOError].OutcomeUnknown: the append failed and so did undoing it. This
//     Log then writes no more.
//  4. What release can't do never fails a call whose records are safe.
//  5. A reader creates nothing and takes no lock that a writer waits long for.
//  6. Damage is reported with its line and byte, and left as it is. A last
//     line without its end is damage only when no writer can still be at it.
//  7. No code removes a lock that it doesn't own. One is adopted only when
//     the kernel proves its owner dead.
//
// # What is assumed of the disk
//
// mkdir and a rename that doesn't replace are atomic; what fsync returned for
// stays; an append of a process that dies may leave any beginning of it. The
// last is the one state after a crash that needs a person: the line is torn,
// every call fails closed and says at which byte, because only a person can
// know whether somebody has seen that record.
//
// # The lock
//
// events.lock is a directory, made by mkdir's rules, so that a peer that knows
// nothing else keeps them too; owner.json in it says who has it. It exists
// complete or not at all: it is prepared under a private name and renamed with
// a rename that can't replace. Whoever makes it holds the kernel's lock on the
// log (flock, LockFileEx) from before until after. So:
//
//  1. events.lock names this log, this boot and this machine in its marker,
//     and I hold the kernel's lock: its owner is dead. I put my marker in the
//     place of its and have the lock; nothing was removed.
//  2. Any other events.lock (no marker, another domain, unreadable) may have a
//     living owner: a peer that knows only mkdir, another host, a person. I
//     wait for it to the deadline, say so, and never touch it.
//  3. Nobody who died can stop the fleet but between two steps where the
//     filesystem has no such rename, and a mkdir-only peer that dies.
//
// Making the directory and its marker and removing both was half of what a
// commit took beside its fsync: on ext4, freeing a directory's block alone is
// 50 us. So a process whose calls follow each other within 50 ms only renames
// it, events.lock back to its private name, and writes the next marker over
// the last one. It removes it when it has rested for 50 ms or is closed; one
// that it leaves by dying is the next call's. The private name is touched only
// by who holds the kernel's lock. A commit takes 0.7 of a bare mkdir, append,
// fsync and rmdir that way, and took 1.5 of it.
//
// models holds the candidates for this and their exhaustive check: breaking a
// lock by age, with or without looking again, ends with two writers.
// GAIA_INTERAGENT_LOCK_ADOPTION=off leaves the kernel's lock out.
//
// # Fairness
//
// Calls of one process queue in memory in their order and at most one waits
// in the kernel, woken and not polling. Among processes flock alone favours
// whoever unlocked last, since it runs while the woken one is being scheduled. So a
// second lock, on the directory, is a gate: it is taken before the log's and
// dropped once that is held. A process that just left must queue at the gate
// behind the one that waits at the log, so it can't pass it; at the gate
// itself waiters are woken in the kernel's order. A directory needs no file of
// its own, is held open only while waiting, and one that can't be opened costs
// fairness and nothing else. Another program that locks the data directory
// with flock stops the bus for as long.
//
// `gaia lab figures` measures the candidates as bare processes, each lock +
// append + fsync + unlock without a pause. Three rounds of 2 s on ext4 and two
// cores, eight processes: medians, and the longest wait of all rounds:
//
//	            calls/s  Jain   median   worst
//	flock alone 3,895    0.867  0.22 ms  382 ms
//	the gate    2,823    1.000  2.76 ms  25.7 ms
//
// flock alone is fast because one process keeps the lock and the others wait:
// its worst wait is more than a thousand medians. The gate wakes another
// process at each turn, which costs a quarter of the bare calls' throughput,
// and its worst wait is 11 medians where a fair turn is one. Behind it, with
// all of MCP, eight lanes' worst wait was 3.25 medians. A range lock (OFD) as
// the gate, tried apart from the lab, was no better, and only Linux has it.
// (On Windows LockFileEx is said to grant in the order of arrival, and the
// gate is left out.)
//
// # The bounded read
//
// A Log keeps the fold at an offset. Each call checks that the path still
// names the same file, that it isn't shorter, and that its bytes before the
// offset are what they were: the last 4 KiB compared, and 64 KiB more in turn
// against digests in memory, so that an edit elsewhere is noticed within
// size / 64 KiB calls. A difference falls back to a full read, which fails
// closed like any. ReplayEachCall reads all of it every time.
//
// Whoever has the gate is next, and reads ahead while the lock's holder waits
// for its disk: with eight lanes 15 us of reading are left to the lock instead
// of 80, and almost no folding. What the holder takes back after a failed sync
// is noticed like any other change.
package eventlog
