package local

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// pool is the events and workers of one provider, or those of its events that have one contract. Runtime.mu guards it.
type pool struct {
	runtime  *Runtime
	follows  bool     // the provider's contract is that of each event
	other    *pool    // of a provider that follows: for the events of Function Compute; nil until there is one
	provider Provider // its contract is that of the pool, never zero
	program  *program
	queue    []Event   // waiting for a worker, oldest first; empty while a worker idles
	idle     []*worker // the one that idled last is used first, so that those not needed age
	workers  int
	retired  bool // replaced by another pool: workers end when the queue is empty

	last map[string]*worker // by resource: the worker that had its last event
	held []*held            // events that wait for such a worker
}

// held is an event that waits for the worker that is at the end of the resource's last one.
type held struct {
	event  Event
	worker *worker
	timer  *time.Timer
}

const (
	// affinity is how long an event waits for the process that had the resource's last one: that has sent its answer, or
	// there would be no other event, and needs but a moment to say that it is done. What it remembers is worth the wait.
	affinity = 500 * time.Millisecond
	// maxLast bounds the resources of which the last worker is known.
	maxLast = 10_000
)

func newPool(r *Runtime, provider Provider) *pool {
	p := &pool{runtime: r, follows: provider.Contract == 0, provider: provider}
	p.provider.Contract = cmp.Or(provider.Contract, bootstrap.Lambda)
	p.program = newProgram(p.provider, &r.config, r.turn(provider.Target.Path()))
	return p
}

// of returns the pool for events of the contract. The caller holds Runtime.mu.
func (p *pool) of(contract bootstrap.Contract) *pool {
	if !p.follows || cmp.Or(contract, bootstrap.Lambda) == p.provider.Contract {
		return p
	}
	if p.other == nil {
		provider := p.provider
		provider.Contract = contract
		p.other = newPool(p.runtime, provider)
		p.other.program = p.program // built once
	}
	return p.other
}

// accept hands the event to the worker that had the resource's last one, if that is free or about to be, else to any, new
// if need be, or queues it. The caller holds Runtime.mu.
func (p *pool) accept(event Event) error {
	if w := p.last[event.Resource]; w != nil && event.Resource != "" {
		if i := slices.Index(p.idle, w); i >= 0 {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.give(w, event)
			return nil
		}
		if w.resource == event.Resource && len(p.held) < p.provider.Queue {
			h := &held{event: event, worker: w}
			h.timer = time.AfterFunc(affinity, func() { p.release(h) })
			p.held = append(p.held, h)
			return nil
		}
	}
	return p.place(event)
}

// give hands the event to an idle worker. The caller holds Runtime.mu.
func (p *pool) give(w *worker, event Event) {
	p.note(w, event)
	w.events <- event
}

// note remembers that w has the event. The caller holds Runtime.mu.
func (p *pool) note(w *worker, event Event) {
	w.resource = event.Resource
	if event.Resource == "" {
		return
	}
	if p.last == nil || len(p.last) >= maxLast {
		p.last = make(map[string]*worker)
	}
	p.last[event.Resource] = w
}

// release ends the wait of an event for its worker: any will do.
func (p *pool) release(h *held) {
	r := p.runtime
	r.mu.Lock()
	i := slices.Index(p.held, h)
	if i < 0 || r.closed { // Close answers for those that are left
		r.mu.Unlock()
		return
	}
	p.held = slices.Delete(p.held, i, i+1)
	err := p.place(h.event)
	if err != nil { // it was accepted, so it has a place
		p.queue = append(p.queue, h.event)
	}
	r.mu.Unlock()
}

// place hands the event to any worker, or queues it. The caller holds Runtime.mu.
func (p *pool) place(event Event) error {
	switch {
	case len(p.idle) > 0:
		last := len(p.idle) - 1
		w := p.idle[last]
		p.idle = p.idle[:last]
		p.give(w, event)
	case p.workers < p.provider.Concurrency:
		p.workers++
		w := newWorker(p)
		p.note(w, event)
		p.runtime.workers.Go(func() { w.run(event) })
	case len(p.queue) < p.provider.Queue:
		p.queue = append(p.queue, event)
	default:
		return fmt.Errorf("%w: %q", ErrBusy, p.provider.Name)
	}
	return nil
}

// retire ends the workers that have nothing to do, and later the others. The caller holds Runtime.mu.
func (p *pool) retire() {
	p.retired = true
	if p.other != nil {
		p.other.retire()
	}
	for _, w := range p.idle {
		close(w.events)
	}
	p.workers -= len(p.idle)
	p.idle = nil
}

// waiting takes the first event that waits for w, or for anyone. The caller holds Runtime.mu.
func (p *pool) waiting(w *worker) (Event, bool) {
	for i, h := range p.held {
		if h.worker == w {
			h.timer.Stop()
			p.held = slices.Delete(p.held, i, i+1)
			return h.event, true
		}
	}
	if len(p.queue) == 0 {
		return Event{}, false
	}
	event := p.queue[0]
	p.queue[0] = Event{}
	p.queue = p.queue[1:]
	return event, true
}

// forget drops a worker that ends. The caller holds Runtime.mu.
func (p *pool) forget(w *worker) {
	p.workers--
	for resource, last := range p.last {
		if last == w {
			delete(p.last, resource)
		}
	}
}

// next gives w its next event, waiting for one as long as a worker may idle. False means that w is no longer a worker
// of the pool.
func (p *pool) next(w *worker) (Event, bool) {
	r := p.runtime
	r.mu.Lock()
	if event, ok := p.waiting(w); ok {
		p.note(w, event)
		r.mu.Unlock()
		return event, true
	}
	w.resource = ""
	if r.closed || p.retired {
		p.forget(w)
		r.mu.Unlock()
		return Event{}, false
	}
	p.idle = append(p.idle, w)
	r.mu.Unlock()

	timer := time.NewTimer(r.config.Idle)
	defer timer.Stop()
	for idle := true; idle; {
		select {
		case event, ok := <-w.events:
			return event, ok
		case <-timer.C:
			if idle = w.process != nil && w.process.hinted(); idle { // it works for an event that was not answered
				timer.Reset(r.config.Idle)
			}
		case <-r.ctx.Done():
			idle = false
		}
	}
	r.mu.Lock()
	if i := slices.Index(p.idle, w); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		p.forget(w)
		r.mu.Unlock()
		return Event{}, false
	}
	r.mu.Unlock()
	event, ok := <-w.events // handed over or closed in the moment before the lock
	return event, ok
}
