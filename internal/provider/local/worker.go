package local

import (
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

// After a process that died before its first event, the next start is delayed. The pause doubles from minBackoff to
// maxBackoff. The maximum is short because each event has its own start: hundreds of events for a provider that cannot
// start must not take minutes.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
)

// maxRobbed limits how often a process is restarted with another port because another program uses its port.
const maxRobbed = 3

const lateMessage = "the event's deadline passed before a process was ready for it"

// worker handles the events of a provider one after the other, each in its process. It replaces the process when that
// dies.
type worker struct {
	pool     *pool
	runtime  *Runtime
	events   chan Event // buffered for one; filled or closed by the pool while the worker is idle
	resource string     // of its current event; Runtime.mu guards it
	redactor *redactor
	process  *process // nil until one is needed, and after it died
	failures int      // consecutive failed starts
	retryAt  time.Time
}

func newWorker(p *pool) *worker {
	return &worker{
		pool: p, runtime: p.runtime, events: make(chan Event, 1),
		redactor: newRedactor(),
	}
}

// run handles the event and the following ones, until the pool has none or the runtime closes.
func (w *worker) run(event Event) {
	for ok := true; ok; event, ok = w.pool.next(w) {
		outcome := w.handle(event)
		w.runtime.ended(event)
		w.runtime.config.Done(event.ID, outcome)
	}
	if w.process != nil {
		w.process.stop(w.runtime.config.Grace)
	}
}

// handle executes one event and returns its outcome.
func (w *worker) handle(event Event) Outcome {
	started, robbed := false, 0
	for {
		if w.runtime.ctx.Err() != nil {
			return Outcome{Kind: Stopped, Message: stoppedMessage}
		}
		if isClosed(event.cancel.begun) {
			return Outcome{Kind: Stopped, Message: settledMessage}
		}
		if !event.Deadline.IsZero() && !time.Now().Before(event.Deadline) {
			return Outcome{Kind: TimedOut, Message: lateMessage}
		}
		if w.process != nil && w.process.gone() {
			w.process = nil
		}
		warm := w.process != nil
		w.redactor.known.Add(event.Secrets...)
		w.redactor.known.Add(w.pool.provider.Secrets...) // added last, so that many events do not evict them
		if warm {
			if w.process.fc != nil {
				w.redactor.known.Add(w.process.fc.secrets()...) // for the same reason
			}
			if w.process.secret != "" {
				w.redactor.known.Add(w.process.secret) // for the same reason
			}
			w.process.log.begin(event.ID)
		} else if failed, ok := w.start(event); !ok {
			return failed
		}
		if !started && event.Started != nil {
			most := w.pool.provider.Timeout
			if !warm {
				most += w.runtime.config.InitTimeout
			}
			event.Started(most) // the initialization of a cold process counts, as in the cloud
		}
		started = true
		inv := newInvocation(event, w.pool.provider.Timeout)
		failed, ok := w.hand(inv)
		switch {
		case failed.Kind == Stopped && isClosed(event.cancel.begun):
			failed.Log = w.process.log.end()
			return failed // the process may handle the next event
		case ok:
			w.failures = 0
			if event.Handed != nil {
				event.Handed()
			}
			return w.await(inv)
		case failed.Kind != InitFailed:
		case warm:
			// A warm process that has since died or hung is not the fault of this event.
			w.process = nil
			continue
		case w.process.robbed() && robbed < maxRobbed:
			robbed++
			w.runtime.config.Logger.Warn("another program took the port of a process: starting it again with another port", "provider", w.pool.provider.Name)
			w.process = nil
			continue
		default:
			if w.process.robbed() {
				failed.Message += "; another program listens at the port " + w.process.fc.port + ", which FC_SERVER_PORT named"
			}
			w.failed()
		}
		failed.Log = w.process.log.end()
		w.process = nil
		if !event.WantResult {
			failed.Result = nil
		}
		return failed
	}
}

// start starts a process, after a pause if earlier starts failed.
func (w *worker) start(event Event) (Outcome, bool) {
	ctx := w.runtime.ctx
	if !backoff.Wait(ctx, time.Until(w.retryAt)) {
		return Outcome{Kind: Stopped, Message: stoppedMessage}, false
	}
	command, err := w.pool.program.command(ctx)
	if err == nil {
		w.process, err = w.runtime.start(w.pool.provider, command, w.pool.program.dir(), event, w.redactor)
	}
	if err == nil {
		return Outcome{}, true
	}
	if ctx.Err() != nil {
		return Outcome{Kind: Stopped, Message: stoppedMessage}, false
	}
	w.failed()
	outcome := Outcome{Kind: InitFailed, Message: err.Error()}
	var build *BuildError
	if errors.As(err, &build) {
		outcome.Log = build.Log
	}
	return outcome, false
}

// failed counts a failed start.
func (w *worker) failed() {
	pause := backoff.Bound(minBackoff, maxBackoff, w.failures)
	w.failures++
	w.retryAt = time.Now().Add(pause)
}

// hand sends the event to the process. If it fails, the process has exited when hand returns, unless the event was
// cancelled.
func (w *worker) hand(inv *invocation) (Outcome, bool) {
	p, config := w.process, &w.runtime.config
	timer := time.NewTimer(config.InitTimeout)
	defer timer.Stop()
	var late <-chan time.Time // never, without a deadline
	if d := inv.event.Deadline; !d.IsZero() {
		deadline := time.NewTimer(time.Until(d))
		defer deadline.Stop()
		late = deadline.C
	}
	for {
		select {
		case p.deliver <- inv:
			if <-inv.sent == nil {
				return Outcome{}, true
			}
			// The connection broke. Either the process asks again or it has died.
		case <-p.ended:
			// An error report explains more than the exit, and precedes it.
			select {
			case outcome := <-p.initFailed:
				return outcome, false
			default:
			}
			outcome := p.body.end("before it asked for an event")
			outcome.Kind = InitFailed
			if outcome.Signal == "" {
				outcome.Message += w.pool.provider.Target.mistaken()
			}
			return outcome, false
		case outcome := <-p.initFailed:
			p.stop(config.Grace)
			return outcome, false
		case <-timer.C:
			p.kill()
			return Outcome{
				Kind:    InitFailed,
				Message: fmt.Sprintf("the provider's process did not %s within %s", p.wanted(), config.InitTimeout),
			}, false
		case <-late:
			p.kill()
			return Outcome{Kind: TimedOut, Message: lateMessage}, false
		case <-inv.event.cancel.begun:
			return Outcome{Kind: Stopped, Message: settledMessage}, false
		case <-w.runtime.ctx.Done():
			p.stop(config.Grace)
			return Outcome{Kind: Stopped, Message: stoppedMessage}, false
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// await waits for the outcome of an event that the process has received.
func (w *worker) await(inv *invocation) Outcome {
	p := w.process
	timer := time.NewTimer(time.Until(inv.deadline))
	defer timer.Stop()
	var outcome Outcome
	select {
	case outcome = <-inv.result:
	case <-p.ended:
		outcome = p.body.end("while it handled the event")
	case <-timer.C:
		p.kill()
		outcome = Outcome{Kind: TimedOut, Message: w.timeoutMessage(inv)}
	case <-inv.event.cancel.begun:
		outcome = w.cancelled(inv)
	case <-w.runtime.ctx.Done():
		p.stop(w.runtime.config.Grace)
		outcome = Outcome{Kind: Stopped, Message: stoppedMessage}
	}
	// An outcome that the process reported takes precedence, even if its exit was seen first.
	if said, ok := inv.said(); ok {
		outcome = said
	}
	if outcome.Kind == Returned {
		outcome.Inside = w.pool.provider.Serve != nil
		if inv.left != nil {
			outcome.Work = inv.left.what
		}
	}
	outcome.Delivered, outcome.Invocation = true, inv.id
	outcome.Log = p.log.end()
	p.platform.end(inv, outcome, w.pool.provider.Timeout)
	return outcome
}

func (w *worker) timeoutMessage(inv *invocation) string {
	if inv.event.Deadline.Equal(inv.deadline) {
		return "the handler was still running at the event's deadline, and its process was killed"
	}
	return fmt.Sprintf("the handler was still running after its timeout of %s, and its process was killed",
		w.pool.provider.Timeout)
}
