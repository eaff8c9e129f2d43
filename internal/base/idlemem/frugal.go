// Package idlemem returns the memory of an idle process to the system and paces the garbage collector.
//
// A server is at work for moments and at rest for days. What it needed at work, the runtime keeps for the next time: pages of the
// heap that hold nothing any more, and those of the program itself, tables of the models and schemas among them, that were read
// once. [Run] watches how much processor time the process uses. When that is next to nothing, after the start and after every
// time of work, it has the runtime collect and return what is free ([Rest]), and tells the kernel that the pages of the program
// need not be mapped: they lie in the kernel's cache of the file, or on the disk, and come back as they are used.
//
// [Pace] spends a little of it where that saves work: see there.
//
// Watching costs a system call in five seconds. What Rest costs is kept to a tenth of what was used since the last one.
package idlemem

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"
)

const (
	// every is how often the processor time is looked at, and soon when the first time.
	every, soon = 5 * time.Second, time.Second
	// quiet is the part of the time, one in so many, that a process at rest uses at most.
	quiet = 20
	// least is the processor time that must have been used since the last Rest for another to be worth it.
	least = 100 * time.Millisecond
	// share is how many times what the last Rest took must have been used since, at least.
	share = 10
)

// Run calls [Rest] whenever the process comes to rest, until ctx ends.
func Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTimer(soon)
	defer tick.Stop()
	w := watch{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			tick.Reset(every)
		}
		if !w.due(used()) {
			continue
		}
		if err := Rest(); err != nil {
			log.Debug("give memory back", "error", err)
		}
		w.rested(used())
	}
}

// watch decides when it is time. All times are processor time since the start of the process.
type watch struct {
	// looked is what was used when it was looked at last, rest when the last Rest had ended.
	looked, rest time.Duration
	// cost is what the last Rest took.
	cost time.Duration
	// before says that there was one.
	before bool
}

// due takes what has been used by now, and reports whether the process is at rest and has been at work since it last was.
func (w *watch) due(now time.Duration) bool {
	working := now-w.looked > every/quiet
	w.looked = now
	return !working && (!w.before || now-w.rest > max(least, share*w.cost))
}

// rested takes what has been used by the end of a Rest that was due.
func (w *watch) rested(now time.Duration) {
	w.cost, w.looked, w.rest, w.before = now-w.looked, now, now, true
}

// Rest collects garbage, returns what is free to the kernel, and unmaps the pages of the program. All that is in use stays
// usable. Its error says why the program's pages were left alone; the rest is done all the same.
func Rest() error {
	debug.FreeOSMemory()
	return unmapProgram()
}
