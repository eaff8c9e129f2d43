package local

import (
	"sync"
	"time"
)

const settledMessage = "its request was settled, and its process was ended"

// cancellation ends one event that no one waits for any more.
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

// Cancel ends the event with this ID, because no one waits for its result any more: it was answered by something else, or its
// time is over. An event that no process has got is dropped. A process that handles it gets the grace to return; then it is
// asked to end, and killed after [Config.Grace]. Unless the handler returns, the event ends as [Stopped]. Cancel does not
// wait. An event that has finished or is not known is ignored; of two calls for one event the first counts.
func (r *Runtime) Cancel(id string, grace time.Duration) {
	r.mu.Lock()
	c := r.cancels[id]
	r.mu.Unlock()
	if c != nil {
		c.begin(grace)
	}
}

// ended forgets an event that has finished.
func (r *Runtime) ended(event Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancels[event.ID] == event.cancel {
		delete(r.cancels, event.ID)
	}
}

// cancelled ends an event that a process handles and no one waits for. The outcome is only zero if the handler has said how
// it ended.
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
