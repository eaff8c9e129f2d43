package local

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

// Settle is how long an answer may still take after a handler has returned without one and no remaining work is known.
// An answer in flight over loopback takes milliseconds, and the helper libraries retry a failed one after one to three
// seconds. The engine, invoke and the documentation use this constant.
const Settle = 5 * time.Second

const (
	// maxHint limits the length in bytes of a runner's report about remaining work.
	maxHint = 200
	// maxHints limits the concurrent events of one process with remaining work. Further reports are ignored.
	maxHints = 100
	// headerWorking is the header of a handler's result that describes the work that the handler left running; see
	// [work].
	headerWorking = "Pintle-Working"
)

// work is the remaining work of a process for an event after its handler has returned. It is evidence, not proof: a
// runner's report is a hint, and the operating system shows only that something runs.
type work struct {
	process *process
	began   time.Time // when the event was sent

	mu   sync.Mutex
	hint string // the runner's report; empty for none or when the work has finished
}

// done records that the work has finished.
func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hint = ""
}

// what describes the remaining work in words, such as "1 thread (Thread-7)", or returns "". It takes a quarter of a
// second if it has to measure CPU use, and less if ctx ends.
func (w *work) what(ctx context.Context) string {
	p := w.process
	if p.ends() {
		return ""
	}
	w.mu.Lock()
	hint := w.hint
	w.mu.Unlock()
	switch {
	case hint != "":
		return hint
	case p.bornSince(w.began):
		return "a child process"
	}
	before, ok := p.cpu()
	if !ok || p.busy() || !backoff.Wait(ctx, cpuWindow) {
		return ""
	}
	after, ok := p.cpu()
	if !ok || p.busy() || p.ends() || after-before < cpuWindow/8 {
		return ""
	}
	return "it uses the CPU"
}

// cpuWindow is how long CPU use is measured. Linux counts it in steps of 10 ms.
const cpuWindow = 250 * time.Millisecond

// ends reports whether the process has finished or is about to be reaped, without waiting.
func (p *process) ends() bool {
	select {
	case <-p.ending:
		return true
	default:
		return false
	}
}

// busy reports whether the process handles an event.
func (p *process) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil
}

// leaves records the remaining work of an event, as its runner reports it with the result. The caller has taken the
// event, which the process knows by the id. It returns nil if nothing can be observed: for a ServeFunc, or for a cloud
// function, which is frozen after it has returned.
func (p *process) leaves(inv *invocation, id string, header http.Header) *work {
	if p.function || p.body.pid() == 0 {
		return nil
	}
	left := &work{process: p, began: inv.begun}
	if hint := header.Get(headerWorking); hint != "" {
		left.hint = p.bounded(hint, maxHint)
		p.mu.Lock()
		if p.hints == nil {
			p.hints = map[string]*work{}
		}
		if len(p.hints) < maxHints {
			p.hints[id] = left
		} else {
			left.hint = ""
		}
		p.mu.Unlock()
	}
	return left
}

// hinted reports whether a runner has reported work that has not finished.
func (p *process) hinted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.hints) > 0 && !p.ends()
}

// idle records a runner's report that the remaining work has finished.
func (p *process) idle(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	p.mu.Lock()
	left := p.hints[id]
	delete(p.hints, id)
	p.mu.Unlock()
	if left == nil {
		replyUnknownID(w)
		return
	}
	left.done()
	p.replyOK(w)
}
