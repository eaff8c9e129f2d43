package local

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

// Settle is how long an answer may still take after a handler has returned without one and nothing here works on it any more.
// An answer on its way over loopback takes milliseconds, and the helper libraries repeat a failed one after one to three
// seconds. The engine, invoke and the documentation use this constant.
const Settle = 5 * time.Second

const (
	// maxHint bounds what a runner says of the work that its handler left behind, in bytes.
	maxHint = 200
	// maxHints is how many events of one process may have such work at a time. Further reports are ignored.
	maxHints = 100
	// headerWorking is the header of a handler's result that names what the handler left running; see [work].
	headerWorking = "Pintle-Working"
)

// work is what a process still does for an event after its handler has returned. It is evidence, not proof: what a runner
// reports is a hint, and the operating system shows only that something runs.
type work struct {
	process *process
	began   time.Time // when the event was handed over

	mu   sync.Mutex
	hint string // what the runner reported, empty for nothing or once that has finished
}

// done takes the runner's report that the work has finished.
func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hint = ""
}

// what returns what the process still does for the event, in words such as "1 thread (Thread-7)"; empty for nothing. It
// takes a quarter of a second if it has to measure the use of the CPU, and less if ctx ends.
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

// cpuWindow is how long the use of the CPU is measured. Linux counts it in steps of 10 ms.
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

// leaves notes what the handler of an event left behind, as its runner reports it with the result. The caller has taken
// the event, which the process knows by the id. Nil means that nothing can be seen: a part of this process, or a function of a cloud, which is frozen when it
// has returned.
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

// hinted reports whether a runner has reported work that has not ended.
func (p *process) hinted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.hints) > 0 && !p.ends()
}

// idle takes a runner's report that what its handler left behind has finished.
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
