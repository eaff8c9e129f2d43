// Package idlemem returns the memory of an idle process to the system and paces the garbage collector.
//
// A server is busy for moments and idle for days. After a busy period the runtime keeps free heap pages for the next
// one. Pages of the program file that were read once also stay mapped, such as the tables of models and schemas.
// [Run] watches how much processor time the process uses. When the process becomes idle, after the start and after
// each busy period, Run calls [Rest]. Rest makes the runtime collect garbage and return free memory, and lets the
// kernel unmap the pages of the program. The kernel loads them again from its file cache, or from the disk, when they
// are used.
//
// [Pace] lets the heap grow a little where that saves processor time.
//
// Watching costs one system call every five seconds. Rest uses at most a tenth of the processor time that the process
// has used since the last Rest.
package idlemem

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"
)

const (
	// every is the interval at which Run reads the processor time, and soon is the delay before the first time.
	every, soon = 5 * time.Second, time.Second
	// quiet is the divisor of the largest share of time that an idle process uses: one part in quiet.
	quiet = 20
	// least is the processor time that the process must have used since the last Rest before another one is worth it.
	least = 100 * time.Millisecond
	// share is the least ratio of the processor time used since the last Rest to the time that the Rest took.
	share = 10
)

// Run calls [Rest] whenever the process becomes idle, until ctx ends.
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

// watch decides when to call Rest. All times are processor time since the start of the process.
type watch struct {
	// looked is the time used at the last check, and rest at the end of the last Rest.
	looked, rest time.Duration
	// cost is the duration of the last Rest.
	cost time.Duration
	// before is set after the first Rest.
	before bool
}

// due takes the processor time used so far. It reports whether the process is idle and was busy since the last Rest.
func (w *watch) due(now time.Duration) bool {
	working := now-w.looked > every/quiet
	w.looked = now
	return !working && (!w.before || now-w.rest > max(least, share*w.cost))
}

// rested takes the processor time used at the end of a Rest.
func (w *watch) rested(now time.Duration) {
	w.cost, w.looked, w.rest, w.before = now-w.looked, now, now, true
}

// Rest collects garbage, returns free memory to the kernel, and unmaps the pages of the program. It does not affect
// memory in use. An error means that the pages were not unmapped; everything else was done.
func Rest() error {
	debug.FreeOSMemory()
	return unmapProgram()
}
