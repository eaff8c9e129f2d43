package lambda

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

const (
	maxAge     = 6 * time.Hour // of an event that no process was free for
	firstPause = time.Second   // until such an event is offered again, doubling
	lastPause  = time.Minute
)

// InvokeEvent takes a call that nobody waits for and returns. If the function fails, it is called again after each of the
// configured pauses; one that is throttled is tried for six hours. What has not ended is lost with this process.
func (f *Functions) InvokeEvent(ctx context.Context, c Call) error {
	t, err := f.find(ctx, c, MaxEvent, "Event")
	if err != nil {
		return err
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
		f.attempt(uuid.NewString(), c)
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

// attempt calls the function until it has succeeded or failed often enough.
func (f *Functions) attempt(id string, c Call) {
	born, failures := f.config.Now(), 0
	for throttled := firstPause; ; {
		failed, err := f.once(id, c)
		var told *Error
		var pause time.Duration
		switch {
		case f.ctx.Err() != nil || err == nil && failed == "":
			return
		case err == nil && failures >= len(f.config.Pauses):
			f.config.Log.Warn("an event was given up", "function", c.Function, "event", id, "tries", failures+1, "error", failed)
			return
		case err == nil:
			pause = f.config.Pauses[failures]
			failures++
			f.config.Log.Warn("a function failed, and is called again", "function", c.Function, "event", id, "error", failed, "after", pause)
		case errors.As(err, &told) && told.Status < 500 && told.Code != "TooManyRequestsException", f.config.Now().Sub(born) > maxAge:
			f.config.Log.Warn("an event was given up", "function", c.Function, "event", id, "tries", failures, "error", err)
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

// once calls the function as it is now, and returns the kind of its error.
func (f *Functions) once(id string, c Call) (failed string, err error) {
	t, err := f.target(f.ctx, c, MaxEvent, "Event")
	if err != nil {
		return "", err
	}
	done, err := f.send(id, t, 0)
	if err != nil {
		return "", err
	}
	select {
	case o := <-done:
		if _, functionError := ended(o, id, t.item.Of.Timeout); functionError != "" {
			return o.Kind.String(), nil
		}
	case <-f.ctx.Done():
	}
	return "", nil
}
