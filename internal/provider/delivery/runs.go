package delivery

import (
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// runs holds the local invocations in flight, the outcomes to report, and the requests that wait for a busy provider.
// Its key is the ID of the request that an invocation is about. So no process gets a request while another process
// still has it or an earlier try of it.
type runs struct {
	wake chan struct{} // an outcome is to be reported

	limit int // maximum number of waiters

	mu      sync.Mutex
	silent  map[wire.RequestID]chan struct{} // requests whose handler returned silently; closed when the request is settled
	running map[wire.RequestID]*run
	ends    []end
	waiting map[string][]chan struct{} // by provider, in order
	waiters int
}

type run struct {
	of       asking // the last send that this invocation serves
	provider string
	end      func(asking, local.Outcome) Outcome
	started  chan struct{} // closed when the event has a process, or the invocation is finished
	most     time.Duration // maximum remaining time of the process; set before started is closed, zero if the invocation is finished
	began    time.Time     // when the process got the event; zero if none has
	settled  bool          // the request was settled in the meantime
	recorded bool          // Accepted was recorded for the request
	outcome  Outcome       // the outcome, if it came before Accepted was recorded
}

// end is the outcome of an invocation.
type end struct {
	of      asking
	outcome Outcome
	// For a silent return, settled is closed when the request is settled. began is the time when a process got the
	// event.
	settled chan struct{}
	began   time.Time
}

func newRuns(limit int) *runs {
	return &runs{
		wake:    make(chan struct{}, 1),
		limit:   limit,
		running: map[wire.RequestID]*run{},
		silent:  map[wire.RequestID]chan struct{}{},
		waiting: map[string][]chan struct{}{},
	}
}

// begin registers an invocation. The function end returns the outcome to report for it, or nil for none. begin returns
// false if the request is already being executed. The outcome of that execution is then reported for of, once its
// acceptance is recorded.
func (r *runs) begin(of asking, provider string, end func(asking, local.Outcome) Outcome) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[of.about]; found != nil {
		found.of, found.recorded = of, false
		return false
	}
	r.running[of.about] = &run{of: of, provider: provider, end: end, started: make(chan struct{})}
	return true
}

// run returns the invocation of a request, or nil if it has finished. The caller may wait for started and then read
// most.
func (r *runs) run(id wire.RequestID) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id]
}

// start records that the request has a process, and the maximum time that the process may take from now on.
func (r *runs) start(id wire.RequestID, most time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[id]; found != nil {
		found.start(most)
	}
}

// hand records that the process has received the request.
func (r *runs) hand(id wire.RequestID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[id]; found != nil {
		found.began = time.Now()
	}
}

// start sets most and closes started, unless started is already closed. The caller holds mu.
func (r *run) start(most time.Duration) {
	select {
	case <-r.started:
	default:
		r.most = most
		close(r.started)
	}
}

// drop removes an invocation that was not accepted.
func (r *runs) drop(id wire.RequestID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// accepted records whether Accepted was recorded for the request. Its outcome is reported only after that.
func (r *runs) accepted(id wire.RequestID, recorded bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.running[id]
	switch {
	case found == nil:
	case found.outcome != nil:
		delete(r.running, id)
		if recorded && !found.answered() {
			r.report(found)
		}
	default:
		found.recorded = recorded
	}
}

// done records the outcome of an invocation.
func (r *runs) done(id wire.RequestID, outcome local.Outcome) {
	r.mu.Lock()
	found := r.running[id]
	if found == nil {
		r.mu.Unlock()
		return
	}
	of := found.of
	r.mu.Unlock()
	result := found.end(of, outcome)

	r.mu.Lock()
	defer r.mu.Unlock()
	found.start(0)
	r.next(found.provider)
	found.outcome = result
	if result == nil || found.recorded {
		delete(r.running, id)
	}
	if result != nil && found.recorded && !found.answered() {
		r.report(found)
	}
}

// answered reports whether the run ended in a silent return whose request is already settled. The caller holds mu.
func (r *run) answered() bool {
	_, is := r.outcome.(silent)
	return is && r.settled
}

// settle records that a request is settled. It reports whether an invocation of it is still running.
func (r *runs) settle(id wire.RequestID) (runs bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[id]; found != nil {
		found.settled, runs = true, true
	}
	if settled := r.silent[id]; settled != nil {
		delete(r.silent, id)
		close(settled)
	}
	return runs
}

// leaveSilent removes a silent return that needs no more reports.
func (r *runs) leaveSilent(id wire.RequestID, settled chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.silent[id] == settled {
		delete(r.silent, id)
	}
}

func (r *runs) report(found *run) {
	e := end{of: found.of, outcome: found.outcome, began: found.began}
	if _, is := found.outcome.(silent); is {
		e.settled = make(chan struct{})
		if before := r.silent[found.of.about]; before != nil {
			close(before) // from an earlier delivery, which no longer matters
		}
		r.silent[found.of.about] = e.settled
	}
	r.ends = append(r.ends, e)
	signal(r.wake)
}

// ended removes and returns the outcomes to report.
func (r *runs) ended() []end {
	r.mu.Lock()
	defer r.mu.Unlock()
	ends := r.ends
	r.ends = nil
	return ends
}

// await returns a channel that is closed when it is the caller's turn to try a busy provider again. The caller must
// then call leave. It returns nil if too many requests already wait.
func (r *runs) await(provider string) chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiters >= r.limit {
		return nil
	}
	r.waiters++
	turn := make(chan struct{})
	r.waiting[provider] = append(r.waiting[provider], turn)
	return turn
}

// leave ends a wait. used means that the caller uses its turn, or has used it. An unused turn goes to the next waiter.
func (r *runs) leave(provider string, turn chan struct{}, used bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters--
	line := r.waiting[provider]
	if i := slices.Index(line, turn); i >= 0 {
		r.waiting[provider] = slices.Delete(line, i, i+1)
	} else if !used {
		r.next(provider)
	}
}

// next gives the first waiter of a provider its turn.
func (r *runs) next(provider string) {
	line := r.waiting[provider]
	if len(line) == 0 {
		delete(r.waiting, provider)
		return
	}
	close(line[0])
	line[0] = nil
	r.waiting[provider] = line[1:]
}

// slack reports whether there is room for more waiters.
func (r *runs) slack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiters < r.limit/2 || r.waiters == 0
}
