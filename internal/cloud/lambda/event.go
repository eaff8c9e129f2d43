package lambda

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/base/trace"
)

const (
	maxAge     = 6 * time.Hour // of an event that no process was free for
	firstPause = time.Second   // first pause before such an event is retried, doubling
	lastPause  = time.Minute
)

// InvokeEvent accepts an asynchronous call and returns. If the function fails, it is called again after each of the
// configured pauses. A throttled call is retried for six hours. [Functions.PutEventConfig] reduces both. Unfinished
// events are lost when this process ends. InvokeEvent refuses an event at the end of a chain of [trace.MaxHops]
// functions that call each other as destinations.
func (f *Functions) InvokeEvent(ctx context.Context, c Call) error {
	t, err := f.find(ctx, c, MaxEvent, "Event")
	if err != nil {
		return err
	}
	hops := trace.Hops(ctx)
	if hops >= trace.MaxHops {
		return recursive(t.arn)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return errStopping
	case f.events >= f.config.Queue || f.held+int64(len(t.payload)) > f.config.Memory:
		return throttled("CallerRateLimitExceeded", "Too many events wait.")
	}
	f.events++
	f.held += int64(len(t.payload))
	c.Payload = t.payload
	f.wg.Go(func() {
		f.attempt(invocation{id: uuid.NewString(), call: c, hops: hops})
		f.mu.Lock()
		defer f.mu.Unlock()
		f.events--
		f.held -= int64(len(t.payload))
		if c.Ended != nil {
			f.wg.Go(c.Ended)
		}
	})
	return nil
}

// attempt calls the function until it succeeds or the last attempt fails, and sends the record to a destination.
func (f *Functions) attempt(event invocation) {
	id, c := event.id, event.call
	born, failures := f.config.Now(), 0
	for throttled := firstPause; ; {
		last, err := f.once(id, c)
		if last.item.Name != "" {
			event.last = last
		}
		if err == nil {
			event.tries++
		}
		of := f.eventConfig(event.last)
		retries := len(f.config.Pauses)
		if of.Retries != nil {
			retries = min(*of.Retries, retries)
		}
		old := f.config.Now().Sub(born) > age(of)
		var apiErr *Error
		var pause time.Duration
		switch {
		case f.ctx.Err() != nil:
			return
		case err == nil && last.failure == "":
			f.conclude(of, event, conditionSuccess)
			return
		case err == nil && failures >= retries:
			f.config.Log.Warn("an event was dropped", "function", c.Function, "event", id, "tries", failures+1, "error", last.kind)
			f.conclude(of, event, conditionExhausted)
			return
		case err == nil && !old:
			pause = f.config.Pauses[failures]
			failures++
			f.config.Log.Warn("a function failed, and is called again", "function", c.Function, "event", id, "error", last.kind, "after", pause)
		case errors.As(err, &apiErr) && apiErr.Status < 500 && apiErr.Code != "TooManyRequestsException":
			f.config.Log.Warn("an event was dropped", "function", c.Function, "event", id, "tries", failures, "error", err)
			return
		case old:
			f.config.Log.Warn("an event became too old", "function", c.Function, "event", id, "tries", failures, "error", err)
			f.conclude(of, event, conditionTooOld)
			return
		default:
			pause = throttled
			throttled = min(2*throttled, lastPause)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-f.ctx.Done():
			timer.Stop()
			return
		}
	}
}

// once calls the current version of the function. The result identifies the function even after an error, if it was
// found.
func (f *Functions) once(id string, c Call) (end tried, err error) {
	t, err := f.target(f.ctx, c, MaxEvent, "Event")
	if t.program == "" {
		end.item, end.version = t.item, t.version
	}
	if err != nil {
		return end, err
	}
	done, err := f.send(id, t, 0)
	if err != nil {
		return end, err
	}
	select {
	case o := <-done:
		end.payload, end.failure = ended(o, id, t.item.Of.Timeout)
		end.kind = o.Kind.String()
	case <-f.ctx.Done():
	}
	return end, nil
}
