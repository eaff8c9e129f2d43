package local

import (
	"sync"
	"time"
)

const settledMessage = "its request was settled, and its process was ended"

// cancellation cancels one event.
type cancellation struct {
	once  sync.Once
	grace time.Duration // set before begun is closed
	begun chan struct{}
}

func newCancellation() *cancellation { return &cancellation{begun: make(chan struct{})} }

func (c *cancellation) begin(grace time.Duration) {
	c.once.Do(func() {
		c.grace = grace
		close(c.begun)
	})
}

// Cancel ends the event with this ID. Call it when the result is not needed any more: the request was answered in
// another way, or has timed out. An event that no process has received is dropped. A process that handles the event has
// the grace period to return. Then it is asked to end, and killed after [Config.Grace]. Unless the handler returns, the
// event ends as [Stopped]. Cancel does not wait. It ignores finished and unknown events. If it is called twice for an
// event, the first call counts.
func (r *Runtime) Cancel(id string, grace time.Duration) {
	r.mu.Lock()
	c := r.cancels[id]
	r.mu.Unlock()
	if c != nil {
		c.begin(grace)
	}
}

// ended removes an event that has finished.
func (r *Runtime) ended(event Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancels[event.ID] == event.cancel {
		delete(r.cancels, event.ID)
	}
}

// cancelled ends a cancelled event that a process handles. It returns the handler's outcome if the handler returns in
// time, and [Stopped] otherwise.
func (w *worker) cancelled(inv *invocation) Outcome {
	p := w.process
	timer := time.NewTimer(inv.event.cancel.grace)
	defer timer.Stop()
	select {
	case outcome := <-inv.result:
		return outcome
	case <-p.ended:
	case <-timer.C:
		p.stop(w.runtime.config.Grace)
	case <-w.runtime.ctx.Done():
		p.stop(w.runtime.config.Grace)
	}
	return Outcome{Kind: Stopped, Message: settledMessage}
}
