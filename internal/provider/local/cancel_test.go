package local_test

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// one is a provider with a single process.
func one(_ *local.Config, p *local.Provider) { p.Concurrency = 1 }

func TestCancel(t *testing.T) {
	t.Run("ends the process and frees its place", func(t *testing.T) {
		post := newPost(t)
		k := newKit(t, "handle", one)
		k.invoke("hangs", task{Dial: post.addr(), Do: "hang"})
		post.accept()
		k.invoke("next", task{Do: "answer", Answer: "1"})
		k.Cancel("hangs", 0)
		if got := k.next(); got.id != "hangs" || got.outcome.Kind != local.Stopped || !got.outcome.Delivered {
			t.Errorf("%s: %v", got.id, got.outcome)
		}
		if got := k.next(); got.id != "next" || string(got.outcome.Result) != "1" {
			t.Errorf("%s: %v", got.id, got.outcome)
		}
	})
	t.Run("kills a process that ignores SIGTERM", func(t *testing.T) {
		post := newPost(t)
		k := newKit(t, "handle", func(c *local.Config, p *local.Provider) { c.Grace = time.Millisecond })
		k.invoke("a", task{Do: "stubborn", Answer: post.addr()})
		post.accept()
		k.Cancel("a", 0)
		if got := k.next().outcome; got.Kind != local.Stopped {
			t.Errorf("%v", got)
		}
	})
	t.Run("handler that returns in the grace period keeps its process", func(t *testing.T) {
		post := newPost(t)
		k := newKit(t, "handle", one)
		k.invoke("a", task{Do: "release", Answer: post.addr()})
		process := post.accept()
		k.Cancel("a", time.Hour)
		k.Cancel("a", 0) // the first call counts
		process.release(t)
		if got := k.next().outcome; got.Kind != local.Returned {
			t.Errorf("%v", got)
		}
		k.invoke("b", task{Do: "release", Answer: post.addr()})
		if again := post.accept(); again.pid != process.pid {
			t.Error("the process was ended")
		} else {
			again.release(t)
		}
		k.next()
	})
	t.Run("drops queued requests", func(t *testing.T) {
		post := newPost(t)
		k := newKit(t, "handle", one)
		k.invoke("first", task{Do: "release", Answer: post.addr()})
		process := post.accept()
		k.invoke("second", task{Do: "exit"})
		k.Cancel("second", time.Hour)
		process.release(t)
		k.next()
		if got := k.next(); got.id != "second" || got.outcome.Kind != local.Stopped || got.outcome.Delivered {
			t.Errorf("%s: %v", got.id, got.outcome)
		}
		k.Cancel("first", 0) // has finished
		k.Cancel("unknown", 0)
	})
	t.Run("drops requests that wait for a process to start", func(t *testing.T) {
		k := newKit(t, "init-hang", func(c *local.Config, _ *local.Provider) {
			c.InitTimeout = time.Hour
		})
		k.invoke("a", task{Do: "exit"})
		k.Cancel("a", 0)
		if got := k.next().outcome; got.Kind != local.Stopped || got.Delivered {
			t.Errorf("%v", got)
		}
	})
}

// TestStartedBeforeInitialization checks that the time of an event begins when its process is started, not when that is
// ready.
func TestStartedBeforeInitialization(t *testing.T) {
	k := newKit(t, "init-hang", func(c *local.Config, _ *local.Provider) { c.InitTimeout = time.Hour })
	started := make(chan time.Duration, 1)
	event := local.Event{
		ID: "a", Payload: task{Do: "exit"}.payload(),
		Started: func(most time.Duration) { started <- most },
		Handed:  func() { t.Error("the process has the event before it asked for one") },
	}
	if err := k.Invoke("P", event); err != nil {
		t.Fatal(err)
	}
	select {
	case most := <-started: // the process hangs for an hour
		if want := time.Hour + local.DefaultTimeout; most != want {
			t.Errorf("it may take %s, want %s", most, want)
		}
	case <-time.After(patience):
		t.Fatal("the event was not started")
	}
	k.Cancel("a", 0)
	if got := k.next().outcome; got.Kind != local.Stopped || got.Delivered {
		t.Errorf("%v", got)
	}
}
