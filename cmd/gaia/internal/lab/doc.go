// Package lab runs a planned experiment: it draws the arms, makes the logs they
// start from, runs one trial after the other through package harness with the
// disk's floor beside each, and writes every record before the next trial
// begins. It prints nothing; who calls it is told of each trial.
//
// What holds, by number:
//
//  1. The plan is written before the first trial, and an interrupted run goes
//     on with what the plan has left.
//  2. A trial is recorded whole or not at all. One that was interrupted is run
//     again; one that was recorded never is.
//  3. A trial that broke a promise keeps its data directory and histories
//     under failed/; every other trial's are removed.
//  4. Nothing is left of a run that couldn't start.
package lab
