package local

import (
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
)

// After a process that died before its first event the next one waits, doubling from the first to the second. The second
// is short: each event has one start, so that hundreds of them, for a provider that cannot start, must not take minutes.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 500 * time.Millisecond
)

// maxRobbed is how often a process is started again with another port because another program had taken its port.
const maxRobbed = 3

const lateMessage = "the event's deadline passed before a process was ready for it"

// worker handles the events of a provider one after the other, each in its process, which it replaces when it dies.
type worker struct {
	pool     *pool
	runtime  *Runtime
	events   chan Event // holds one; filled or closed by the pool while the worker idles
	resource string     // of the event that it has; Runtime.mu guards it
	redactor *redactor
	process  *process // nil until one is needed, and after it died
	failures int      // starts in a row that came to nothing
	retryAt  time.Time
}

func newWorker(p *pool) *worker {
	return &worker{
		pool: p, runtime: p.runtime, events: make(chan Event, 1),
		redactor: newRedactor(),
	}
}

// run handles the event and those that follow, until the pool has none or the runtime closes.
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

// handle takes the event to its end.
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
		w.redactor.known.Add(w.pool.provider.Secrets...) // the last, so that many events do not make it forget them
		if warm {
			if w.process.fc != nil {
				w.redactor.known.Add(w.process.fc.secrets()...) // likewise
			}
			if w.process.secret != "" {
				w.redactor.known.Add(w.process.secret) // likewise
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
			event.Started(most) // the initialization of a cold process counts, as it does in the cloud
		}
		started = true
		inv := newInvocation(event, w.pool.provider.Timeout)
		failed, ok := w.hand(inv)
		switch {
		case failed.Kind == Stopped && isClosed(event.cancel.begun):
			failed.Log = w.process.log.end()
			return failed // the process may have the next one
		case ok:
			w.failures = 0
			if event.Handed != nil {
				event.Handed()
			}
			return w.await(inv)
		case failed.Kind != InitFailed:
		case warm:
			// A process that served before and has died or hung since says nothing about this event.
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

// start starts a process, after the pause that earlier failures earned.
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

// failed counts a start that came to nothing.
func (w *worker) failed() {
	pause := backoff.Bound(minBackoff, maxBackoff, w.failures)
	w.failures++
	w.retryAt = time.Now().Add(pause)
}

// hand gives the event to the process. If it cannot, the process has finished when it returns.
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
			// The report of an error is the better story, and precedes the end.
			select {
			case outcome := <-p.initFailed:
				return outcome, false
			default:
			}
			outcome := p.body.end("before it asked for an event")
			outcome.Kind = InitFailed
			if outcome.Signal == "" && outcome.ExitCode == 0 {
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

// await waits for the end of an event that the process has got.
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
