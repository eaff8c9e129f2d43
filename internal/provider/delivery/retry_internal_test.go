package delivery

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func idle(t *testing.T, progress func(wire.RequestID, string)) *router {
	d, err := New(Config{
		Table:         noTable{},
		Node:          func() store.Incarnation { return 1 },
		Report:        func(context.Context, wire.RequestID, Outcome) error { return nil },
		ResponseURL:   func(store.Request) (string, error) { return "", nil },
		WebhookSecret: make([]byte, minSecret),
		Progress:      progress,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d.router
}

type noTable struct{}

func (noTable) Claim(context.Context, store.Incarnation, int, func(wire.RequestID) bool) ([]store.Request, error) {
	return nil, nil
}

func sending(timeout time.Duration) *send {
	q := newQueue(1, 1)
	r := rows(1, "a")
	r[0].Body.Timeout = timeout
	q.offer(1, r)
	return q.next()
}

func TestPersist(t *testing.T) {
	ill := attemptResult{text: "ill"}
	tests := map[string]struct {
		timeout time.Duration
		try     func(n int) attemptResult
		within  time.Duration // maximum duration
		beyond  time.Duration // minimum duration
		want    Outcome
	}{
		"at once":   {time.Hour, func(int) attemptResult { return attemptResult{outcome: Accepted{}} }, 0, 0, Accepted{}},
		"not again": {time.Hour, func(int) attemptResult { return refused("no") }, 0, 0, Refused{Text: "no"}},
		"after some attempts": {time.Hour, func(n int) attemptResult {
			if n < 3 {
				return ill
			}
			return attemptResult{outcome: Accepted{}}
		}, 2 * time.Second, 0, Accepted{}},
		"after the requested delay": {time.Hour, func(n int) attemptResult {
			if n < 1 {
				return attemptResult{wait: 20 * time.Second}
			}
			return attemptResult{outcome: Accepted{}}
		}, 20 * time.Second, 20 * time.Second, Accepted{}},
		"until the retries end":   {time.Hour, func(int) attemptResult { return ill }, time.Minute, time.Minute, Refused{Text: "ill"}},
		"until the timeout":       {2 * time.Second, func(int) attemptResult { return ill }, 2 * time.Second, 2 * time.Second, Refused{Text: "ill"}},
		"delivered once":          {time.Minute, func(n int) attemptResult { return attemptResult{text: "ill", delivered: n == 0} }, time.Minute, time.Minute, Refused{Text: "ill", Delivered: true}},
		"delivered, then refused": {time.Minute, deliveredThenRefused, time.Second, 0, Refused{Text: "no", Delivered: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := idle(t, nil)
				n := 0
				began := time.Now()
				got := d.persist(t.Context(), t.Context(), sending(test.timeout), func(context.Context) attemptResult {
					n++
					return test.try(n - 1)
				})
				took := time.Since(began)
				if took > test.within || took < test.beyond {
					t.Errorf("took %s, want %s to %s", took, test.beyond, test.within)
				}
				if r, ok := got.(Refused); ok && n > 1 && r.Text != "no" {
					want := giveUp("ill", n, took)
					if r.Text != want {
						t.Errorf("text %q, want %q", r.Text, want)
					}
					r.Text = "ill"
					got = r
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestPersistCountsFromTheFirstTry takes 6 seconds to reach a provider. In ROS, the provider's time begins with the
// first try. In AWS, it begins when the provider has the request.
func TestPersistCountsFromTheFirstTry(t *testing.T) {
	tests := map[string]struct {
		dialect string
		took    time.Duration
		want    Outcome
	}{
		"CloudFormation":       {"", 6 * time.Second, Accepted{}},
		"ROS":                  {wire.ROS.String(), 6 * time.Second, Accepted{Took: 6 * time.Second}},
		"ROS, within a second": {wire.ROS.String(), 900 * time.Millisecond, Accepted{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sending(10 * time.Second)
				s.request.Body.Dialect = test.dialect
				got := idle(t, nil).persist(t.Context(), t.Context(), s, func(context.Context) attemptResult {
					time.Sleep(test.took)
					return attemptResult{outcome: Accepted{}}
				})
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func deliveredThenRefused(n int) attemptResult {
	if n == 0 {
		return attemptResult{delivered: true}
	}
	return refused("no")
}

func TestPersistReportsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts []string
		d := idle(t, func(_ wire.RequestID, text string) { texts = append(texts, text) })
		d.persist(t.Context(), t.Context(), sending(time.Hour), func(context.Context) attemptResult {
			if len(texts) == 2 {
				return attemptResult{outcome: Accepted{}}
			}
			return attemptResult{text: "connection refused", wait: 18 * time.Second}
		})
		want := []string{"connection refused, retrying, 60 s left", "connection refused, retrying, 42 s left"}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPersistStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := idle(t, nil)
		soft, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		began := time.Now()
		got := d.persist(soft, t.Context(), sending(time.Hour), func(context.Context) attemptResult { return attemptResult{} })
		if took := time.Since(began); got != nil || took != 5*time.Second {
			t.Errorf("%+v after %s", got, took)
		}
	})
}

func TestPausesHoldNoSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := idle(t, nil)
		s := sending(time.Hour)
		busy := func() int {
			s.queue.mu.Lock()
			defer s.queue.mu.Unlock()
			return s.queue.busy
		}
		done := make(chan Outcome)
		go func() {
			n := 0
			done <- d.persist(t.Context(), t.Context(), s, func(context.Context) attemptResult {
				if n++; n == 1 {
					return attemptResult{wait: 10 * time.Second}
				}
				time.Sleep(slotFor + 10*time.Second) // a slow provider
				return attemptResult{outcome: Accepted{}}
			})
		}()
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{5 * time.Second, 0}, {6 * time.Second, 1}, {slotFor, 0}} {
			time.Sleep(step.after)
			synctest.Wait()
			if got := busy(); got != step.want {
				t.Errorf("%s later: %d sends, want %d", step.after, got, step.want)
			}
		}
		<-done
	})
}

func TestJitter(t *testing.T) {
	for n := range 100 {
		bound := maxBackoff
		if n < 5 {
			bound = 200 * time.Millisecond << n
		}
		if got := jitter(200*time.Millisecond, n); got < 0 || got > bound {
			t.Errorf("pause %d is %s, want at most %s", n, got, bound)
		}
	}
}
