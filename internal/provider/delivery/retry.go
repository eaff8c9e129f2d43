package delivery

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/wire"
)

// maxBackoff limits the pause between two attempts.
const maxBackoff = 10 * time.Second

// slotFor is how long a send occupies a slot. A slower one continues without a slot.
const slotFor = 5 * time.Second

// attemptResult is the result of one attempt.
type attemptResult struct {
	// outcome ends the sending. Nil means that it may be retried because of the error in text.
	outcome Outcome
	// text is redacted.
	text string
	// delivered means that the provider may have the request.
	delivered bool
	// wait is the pause that the other side asked for.
	wait time.Duration
}

func refused(text string) attemptResult { return attemptResult{outcome: Refused{Text: text}} }

// persist tries until there is an outcome, RetryFor has passed, or the request times out. It returns nil if soft ends
// between two attempts or hard ends during one.
func (rt *router) persist(soft, hard context.Context, s *send, try func(context.Context) attemptResult) Outcome {
	start := time.Now()
	deadline := start.Add(cmp.Or(s.request.Body.Timeout, wire.DefaultServiceTimeout))
	end := start.Add(rt.config.RetryFor)
	if deadline.Before(end) {
		end = deadline
	}
	delivered := false
	for n := 0; ; n++ {
		v := rt.attempt(hard, deadline, s, try)
		delivered = delivered || v.delivered
		switch outcome := v.outcome.(type) {
		case Refused:
			outcome.Delivered = delivered
			return outcome
		case Accepted:
			if took := time.Since(start); isROS(s.request) && took >= time.Second {
				outcome.Took = took
			}
			return outcome
		case Answered, Died, Provided, Awaiting, Waiting, Returned, Poll, resolved, subscribed:
			return outcome
		case nil:
		}
		if soft.Err() != nil {
			return nil
		}
		left := time.Until(end)
		if left <= 0 {
			return Refused{Text: giveUp(v.text, n+1, time.Since(start)), Delivered: delivered}
		}
		rt.config.Progress(s.request.ID, fmt.Sprintf("%s, retrying, %d s left", v.text, int(left.Round(time.Second)/time.Second)))
		if !backoff.Wait(soft, min(max(jitter(rt.config.Backoff, n), v.wait), left)) {
			return nil
		}
		if time.Until(deadline) <= 0 {
			return Refused{Text: giveUp(v.text, n+1, time.Since(start)), Delivered: delivered}
		}
		rt.config.Retried()
		s.resume()
	}
}

func (rt *router) attempt(hard context.Context, deadline time.Time, s *send, try func(context.Context) attemptResult) attemptResult {
	ctx, cancel := context.WithDeadline(hard, deadline)
	defer cancel()
	slow := time.AfterFunc(slotFor, s.release)
	defer slow.Stop()
	defer s.release()
	return try(ctx)
}

func giveUp(text string, tries int, took time.Duration) string {
	if tries == 1 {
		return text
	}
	return fmt.Sprintf("%s (%d tries in %s)", text, tries, took.Round(time.Second))
}

// jitter returns the pause after attempt n, counted from 0: a random part of a limit that doubles.
func jitter(first time.Duration, n int) time.Duration {
	return backoff.Random(first, maxBackoff, n)
}
