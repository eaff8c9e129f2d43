package local

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// pool holds the events and workers of one provider, or only those for one contract. Runtime.mu guards it.
type pool struct {
	runtime  *Runtime
	follows  bool     // the contract of each event applies, not the provider's
	other    *pool    // if follows is set: the pool for events of Function Compute; nil until one is needed
	provider Provider // its contract is the pool's, never zero
	program  *program
	queue    []Event   // waiting for a worker, oldest first; empty while a worker is idle
	idle     []*worker // the last element is used first, so that unneeded workers time out
	workers  int
	retired  bool // replaced by another pool: workers end when the queue is empty

	last map[string]*worker // by resource: the worker that had its last event
	held []*held            // events that wait for such a worker
}

// held is an event that waits until the worker finishes the resource's previous event.
type held struct {
	event  Event
	worker *worker
	timer  *time.Timer
}

// maxLast limits the resources whose last worker is known.
const maxLast = 10_000

func newPool(r *Runtime, provider Provider) *pool {
	p := &pool{runtime: r, follows: provider.Contract == 0, provider: provider}
	p.provider.Contract = cmp.Or(provider.Contract, bootstrap.Lambda)
	p.program = newProgram(p.provider, &r.config, r.turn(provider.Target.Path()))
	return p
}

// of returns the pool for events with the contract. The caller holds Runtime.mu.
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

// accept passes the event to the worker of the resource's last event if that worker is free or about to be. Otherwise
// it passes the event to any worker, starts one, or queues the event. The caller holds Runtime.mu.
func (p *pool) accept(event Event) error {
	if w := p.last[event.Resource]; w != nil && event.Resource != "" {
		if i := slices.Index(p.idle, w); i >= 0 {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.give(w, event)
			return nil
		}
		if w.resource == event.Resource && len(p.held) < p.provider.Queue {
			h := &held{event: event, worker: w}
			h.timer = time.AfterFunc(p.runtime.config.Affinity, func() { p.release(h) })
			p.held = append(p.held, h)
			return nil
		}
	}
	return p.place(event)
}

// give passes the event to an idle worker. The caller holds Runtime.mu.
func (p *pool) give(w *worker, event Event) {
	p.note(w, event)
	w.events <- event
}

// note records that w has the event. The caller holds Runtime.mu.
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

// release stops waiting for the event's worker and uses any worker.
func (p *pool) release(h *held) {
	r := p.runtime
	r.mu.Lock()
	i := slices.Index(p.held, h)
	if i < 0 || r.closed { // Close reports the remaining events
		r.mu.Unlock()
		return
	}
	p.held = slices.Delete(p.held, i, i+1)
	err := p.place(h.event)
	if err != nil { // the event was already accepted, so it is not refused now
		p.queue = append(p.queue, h.event)
	}
	r.mu.Unlock()
}

// place passes the event to any worker, or queues it. The caller holds Runtime.mu.
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

// retire ends the idle workers now and the others later. The caller holds Runtime.mu.
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

// waiting removes and returns the first event that waits for w or for any worker. The caller holds Runtime.mu.
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

// forget removes a worker that is ending. The caller holds Runtime.mu.
func (p *pool) forget(w *worker) {
	p.workers--
	for resource, last := range p.last {
		if last == w {
			delete(p.last, resource)
		}
	}
}

// next returns the next event for w, and waits for one until the worker's idle timeout. It returns false if w no longer
// belongs to the pool.
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
			if idle = w.process != nil && w.process.hinted(); idle { // it still works for an event that was not answered
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
	event, ok := <-w.events // an event was sent, or the channel closed, just before the lock
	return event, ok
}
