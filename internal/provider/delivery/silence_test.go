package delivery_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
)

// settling is reported when no source of an answer is left.
var settling = delivery.Silent{Settle: local.Settle}

// startSilent is startLocal with a handler that returns without sending an answer. change may alter its outcome.
func startSilent(t *testing.T, change func(*delivery.Config, *local.Outcome)) *world {
	t.Helper()
	return startLocal(t, "returns", "", func(c *delivery.Config, l *local.Config) {
		c.Look = time.Millisecond
		if change != nil {
			change(c, &local.Outcome{})
		}
		done := l.Done
		l.Done = func(id string, o local.Outcome) {
			if change != nil {
				change(&delivery.Config{}, &o)
			}
			done(id, o)
		}
	})
}

// sends dispatches a Create and returns the outcome after Accepted.
func (w *world) sends(t *testing.T, r store.Request) delivery.Outcome {
	t.Helper()
	w.Dispatch([]store.Request{r})
	accepted := w.next(t)
	if poll, ok := accepted.Outcome.(delivery.Poll); ok {
		accepted.Outcome = poll.Outcome
	}
	if accepted.Outcome != (delivery.Accepted{Local: true}) {
		t.Fatalf("%+v", accepted)
	}
	return w.next(t).Outcome
}

func TestSilent(t *testing.T) {
	t.Run("no remaining work", func(t *testing.T) {
		w := startSilent(t, nil)
		if diff := cmp.Diff(settling, w.sends(t, request("a", 1, localTopic))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a try", func(t *testing.T) {
		w := startSilent(t, nil)
		want := delivery.Poll{For: "a", Try: 3, Outcome: settling}
		if diff := cmp.Diff(want, w.sends(t, poll("p", "a", localTopic, 3, `{}`))); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("it called a service", func(t *testing.T) {
		start := time.Now()
		w := startSilent(t, func(c *delivery.Config, _ *local.Outcome) {
			c.CalledOut = func(provider string, since time.Time) bool { return provider == "Thing" && !since.Before(start) }
		})
		got, _ := w.sends(t, request("a", 1, localTopic)).(delivery.Silent)
		if !strings.Contains(got.Awaits, "EventBridge") || !got.Later {
			t.Errorf("%+v", got)
		}
	})
	t.Run("it works on", func(t *testing.T) {
		says := make(chan string)
		w := startSilent(t, func(_ *delivery.Config, o *local.Outcome) {
			o.Work = func(context.Context) string { return <-says }
		})
		go func() {
			for _, text := range []string{"1 thread (hunter2&more)", "1 thread (hunter2&more)", "a child process", ""} {
				says <- text
			}
		}()
		if got, _ := w.sends(t, request("a", 1, localTopic)).(delivery.Silent); got.Awaits != "its process still works on it: 1 thread (*****)" {
			t.Errorf("%+v", got)
		}
		for _, want := range []string{"its process still works on it: a child process", ""} {
			if got, _ := w.next(t).Outcome.(delivery.Silent); got.Awaits != want {
				t.Errorf("%+v, want %q", got, want)
			}
		}
	})
}

// TestSilentUntilTimeout checks that work that never ends, such as a permanent thread, counts only until the provider's
// timeout.
func TestSilentUntilTimeout(t *testing.T) {
	w := startSilent(t, func(_ *delivery.Config, o *local.Outcome) {
		o.Work = func(context.Context) string { return "1 thread (metrics)" }
	})
	w.Dispatch([]store.Request{request("a", 1, briefTopic)})
	w.next(t)
	got := w.next(t).Outcome
	if silent, _ := got.(delivery.Silent); silent.Awaits != "" { // otherwise the timeout expired before the first look
		if silent.Awaits != "its process still works on it: 1 thread (metrics)" || silent.Until.IsZero() {
			t.Errorf("%+v", silent)
		}
		got = w.next(t).Outcome
	}
	if diff := cmp.Diff(settling, got); diff != "" {
		t.Error(diff)
	}
}

// TestSilentAndSettled checks that a settled request is not checked again, whether it is settled before or after its
// handler returns.
func TestSilentAndSettled(t *testing.T) {
	for _, early := range []bool{true, false} {
		looks := make(chan chan string)
		ended := make(chan struct{})
		var w *world
		w = startSilent(t, func(_ *delivery.Config, o *local.Outcome) {
			if o.Kind != local.Returned {
				return
			}
			if early {
				w.Settled("a", true)
				defer close(ended)
			}
			o.Work = func(context.Context) string {
				says := make(chan string)
				looks <- says
				return <-says
			}
		})
		w.Dispatch([]store.Request{request("a", 1, localTopic)})
		w.next(t)
		if early {
			<-ended
		} else {
			says := <-looks
			w.Settled("a", true)
			says <- "1 thread"
		}
		w.Settled("unknown", false)
		w.stop()
		<-w.ended
		if len(w.outcomes) > 0 {
			t.Errorf("early %v: reported %+v", early, <-w.outcomes)
		}
	}
}

// TestReturnIsNotSilence checks that the handler of a notification need not answer, and that a result inside this process is the
// answer.
func TestReturnIsNotSilence(t *testing.T) {
	for name, r := range map[string]store.Request{"notification": stackEvent(localTopic), "inside": request("a", 1, localTopic)} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			w := startSilent(t, func(_ *delivery.Config, o *local.Outcome) {
				if o.Kind == local.Returned {
					o.Inside = name == "inside"
					o.Work = func(context.Context) string { return "works" }
					close(ended)
				}
			})
			w.Dispatch([]store.Request{r})
			w.next(t)
			<-ended
			w.stop()
			<-w.ended
			if len(w.outcomes) > 0 {
				t.Errorf("reported %+v", <-w.outcomes)
			}
		})
	}
}

// TestAnswersLater checks that a provider with answers: later does not fail because its handler returned.
func TestAnswersLater(t *testing.T) {
	w := startSilent(t, nil)
	got, _ := w.sends(t, request("a", 1, laterTopic)).(delivery.Silent)
	if !strings.Contains(got.Awaits, "pintle.yaml") {
		t.Errorf("%+v", got)
	}
}
