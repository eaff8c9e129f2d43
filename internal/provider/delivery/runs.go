package delivery

import (
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// runs is the local invocations that have not ended, the ends that are to be reported, and who waits for a busy provider.
// They are known by the request that they are about, so that no process is given one while another one, or a try before,
// still has it.
type runs struct {
	wake chan struct{} // an end is to be reported

	limit int // of those who wait

	mu      sync.Mutex
	silent  map[wire.RequestID]chan struct{} // returned silently: closed when the request is settled
	running map[wire.RequestID]*run
	ends    []end
	waiting map[string][]chan struct{} // by provider, in turn
	waiters int
}

type run struct {
	of       asking // the last that was answered with this invocation
	provider string
	end      func(asking, local.Outcome) Outcome
	started  chan struct{} // closed when a process was started for it, or it has finished
	most     time.Duration // the longest that the process may take from then on; set before started is closed, zero if it has finished
	began    time.Time     // when that process got it; zero if none has
	settled  bool          // its request was settled meanwhile
	told     bool          // that it is being executed was recorded
	outcome  Outcome       // it ended before that
}

// end is the end of an invocation.
type end struct {
	of      asking
	outcome Outcome
	// settled, of a silent return, is closed when the request is settled, and began is when a process got it.
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

// begin notes an invocation; end reports what is to be reported of its end, nil for nothing. False means that the request is
// being executed already: what comes of that is reported of what was to begin, once it is recorded that it is executed.
func (r *runs) begin(of asking, provider string, end func(asking, local.Outcome) Outcome) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[of.about]; found != nil {
		found.of, found.told = of, false
		return false
	}
	r.running[of.about] = &run{of: of, provider: provider, end: end, started: make(chan struct{})}
	return true
}

// run returns the invocation of a request, nil if it has finished. The caller may wait for started, and read most after that.
func (r *runs) run(id wire.RequestID) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running[id]
}

// start notes that there is a process for the request, which may take so long from now on.
func (r *runs) start(id wire.RequestID, most time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[id]; found != nil {
		found.start(most)
	}
}

// hand notes that the process has the request.
func (r *runs) hand(id wire.RequestID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.running[id]; found != nil {
		found.began = time.Now()
	}
}

// start sets most and closes started, unless that was done before; the caller holds mu.
func (r *run) start(most time.Duration) {
	select {
	case <-r.started:
	default:
		r.most = most
		close(r.started)
	}
}

// drop forgets an invocation that was not accepted.
func (r *runs) drop(id wire.RequestID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// accepted says whether Accepted was recorded for the request; its end is reported only after that.
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
		found.told = recorded
	}
}

// done notes the end of an invocation.
func (r *runs) done(id wire.RequestID, outcome local.Outcome) {
	r.mu.Lock()
	found := r.running[id]
	if found == nil {
		r.mu.Unlock()
		return
	}
	of := found.of
	r.mu.Unlock()
	came := found.end(of, outcome)

	r.mu.Lock()
	defer r.mu.Unlock()
	found.start(0)
	r.next(found.provider)
	found.outcome = came
	if came == nil || found.told {
		delete(r.running, id)
	}
	if came != nil && found.told && !found.answered() {
		r.report(found)
	}
}

// answered reports whether the run has finished in a silent return that says nothing, because its request is settled. The
// caller holds mu.
func (r *run) answered() bool {
	_, is := r.outcome.(silent)
	return is && r.settled
}

// settle notes that a request is settled, and reports whether an invocation of it has not ended.
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

// leaveSilent forgets a silent return of which nothing more is to be reported.
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
			close(before) // of an earlier delivery, of which nothing matters any more
		}
		r.silent[found.of.about] = e.settled
	}
	r.ends = append(r.ends, e)
	signal(r.wake)
}

// ended returns the ends that are to be reported, once.
func (r *runs) ended() []end {
	r.mu.Lock()
	defer r.mu.Unlock()
	ends := r.ends
	r.ends = nil
	return ends
}

// await returns a channel that is closed when it is the caller's turn to try a busy provider again, who must then
// leave; nil if too many wait already.
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

// leave ends a wait. used says that the caller tries the provider, or has tried it, because of its turn; a turn that
// was not used goes to the next.
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

// next gives the first of those who wait for a provider their turn.
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

// slack reports whether there is room for more to wait.
func (r *runs) slack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiters < r.limit/2 || r.waiters == 0
}
