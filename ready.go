package pintle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"
)

// The pauses between two calls of Ready: doubled from the first to the longest.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// await asks Ready until the operation is done, fails, or its time is over, and completes the answer.
func (x *resource[P, A]) await(ctx context.Context, r *ReadyRequest[P], state any, answer *Answer) error {
	clock := r.time()
	start := clock.Now()
	if err := r.keep(state); err != nil {
		return err
	}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		r.Try++
		progress, err := x.ready.Ready(ctx, r)
		if err != nil {
			if r.Type == Delete && errors.Is(err, Gone) {
				return nil
			}
			return err
		}
		if progress.Reason != "" {
			answer.Reason = progress.Reason
		}
		if progress.Done {
			if r.Type != Delete {
				x.attributes.addTo(answer, reflect.ValueOf(progress.Attributes))
			}
			answer.NoEcho = answer.NoEcho || progress.NoEcho
			return nil
		}
		if err := r.keep(progress.State); err != nil {
			return err
		}
		wait := progress.After
		if wait <= 0 { // with jitter: many resources of one stack begin together
			wait = pause*3/4 + rand.N(pause/2)
		}
		// To sleep through the deadline would only make the answer late.
		if late := !r.deadline.IsZero() && !clock.Now().Add(wait).Before(r.deadline); late || clock.Sleep(ctx, wait) != nil {
			last := ""
			if answer.Reason != "" {
				last = ": " + answer.Reason
			}
			return fmt.Errorf("Operation timed out: not ready after %v, asked %d times%s", //nolint:staticcheck // the words that users of the CDK know
				clock.Now().Sub(start).Round(time.Millisecond), r.Try, last)
		}
	}
}

// keep puts the state into the form in which it would be stored.
func (r *ReadyRequest[P]) keep(state any) error {
	if state == nil {
		return nil
	}
	raw, _, err := clearJSON(state)
	if err != nil {
		return fmt.Errorf("the state for Ready cannot be encoded: %w", err)
	}
	r.State = raw
	return nil
}
