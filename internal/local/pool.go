package local

import (
	"fmt"
	"slices"
	"time"
)

// pool is the events and workers of one provider. Runtime.mu guards it.
type pool struct {
	runtime  *Runtime
	provider Provider
	program  *program
	queue    []Event   // waiting for a worker, oldest first; empty while a worker idles
	idle     []*worker // the one that idled last is used first, so that those not needed age
	workers  int
	retired  bool // replaced by another pool: workers end when the queue is empty
}

func newPool(r *Runtime, provider Provider) *pool {
	return &pool{runtime: r, provider: provider, program: newProgram(provider, &r.config, r.turn(provider.Target.Path()))}
}

// accept hands the event to a worker, new if need be, or queues it. The caller holds Runtime.mu.
func (p *pool) accept(event Event) error {
	switch {
	case len(p.idle) > 0:
		last := len(p.idle) - 1
		w := p.idle[last]
		p.idle = p.idle[:last]
		w.events <- event
	case p.workers < p.provider.Concurrency:
		p.workers++
		w := newWorker(p)
		p.runtime.wg.Go(func() { w.run(event) })
	case len(p.queue) < p.runtime.config.Queue:
		p.queue = append(p.queue, event)
	default:
		return fmt.Errorf("%w: %q", ErrBusy, p.provider.Name)
	}
	return nil
}

// retire ends the workers that have nothing to do, and later the others. The caller holds Runtime.mu.
func (p *pool) retire() {
	p.retired = true
	for _, w := range p.idle {
		close(w.events)
	}
	p.workers -= len(p.idle)
	p.idle = nil
}

// next gives w its next event, waiting for one as long as a worker may idle. False means that w is no longer a worker
// of the pool.
func (p *pool) next(w *worker) (Event, bool) {
	r := p.runtime
	r.mu.Lock()
	if len(p.queue) > 0 {
		event := p.queue[0]
		p.queue[0] = Event{}
		p.queue = p.queue[1:]
		r.mu.Unlock()
		return event, true
	}
	if r.closed || p.retired {
		p.workers--
		r.mu.Unlock()
		return Event{}, false
	}
	p.idle = append(p.idle, w)
	r.mu.Unlock()

	timer := time.NewTimer(r.config.Idle)
	defer timer.Stop()
	select {
	case event, ok := <-w.events:
		return event, ok
	case <-timer.C:
	case <-r.ctx.Done():
	}
	r.mu.Lock()
	if i := slices.Index(p.idle, w); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		p.workers--
		r.mu.Unlock()
		return Event{}, false
	}
	r.mu.Unlock()
	event, ok := <-w.events // handed over or closed in the moment before the lock
	return event, ok
}
