package local_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// affine is a kit whose events belong to resources.
type affine struct {
	*kit
	post *post
}

func newAffine(t *testing.T, affinity time.Duration) affine {
	k := newKit(t, "handle", func(c *local.Config, p *local.Provider) { c.Affinity, p.Concurrency = affinity, 3 })
	return affine{k, newPost(t)}
}

func (a affine) invoke(id, resource string, t task) {
	a.t.Helper()
	if err := a.Invoke("P", local.Event{ID: id, Resource: resource, Payload: t.payload(), WantResult: true}); err != nil {
		a.t.Fatal(err)
	}
}

// hold sends an event that its process holds until it is released.
func (a affine) hold(id, resource string) *visitor {
	a.t.Helper()
	a.invoke(id, resource, task{Do: "release", Answer: a.post.addr()})
	return a.post.accept()
}

// pid waits for the outcome of an event, and returns the process that handled it.
func (a affine) pid(id string) int {
	a.t.Helper()
	r := a.next()
	var seen struct{ Pid int }
	if err := json.Unmarshal(r.outcome.Result, &seen); err != nil || r.id != id {
		a.t.Fatalf("%s: %+v, want that of %s, error %v", r.id, r.outcome, id, err)
	}
	return seen.Pid
}

// idle waits until one process is idle: an outcome is reported before its process is ready for the next event.
func (a affine) idle() {
	a.t.Helper()
	for start := time.Now(); a.Idle("P") != 1; time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			a.t.Fatal("no process became idle")
		}
	}
}

// TestAffinity checks that an event goes to the process that had the resource's last event, even if that has not
// finished yet, and that events of other resources do not wait.
func TestAffinity(t *testing.T) {
	k := newAffine(t, patience)
	first := k.hold("a1", "A")
	k.invoke("a2", "A", task{Do: "describe"}) // the first has not finished yet
	first.release(t)
	if r := k.next(); r.id != "a1" {
		t.Fatalf("%s ended before a1", r.id)
	}
	if got := k.pid("a2"); got != first.pid {
		t.Errorf("a2 was handled by process %d, a1 by %d", got, first.pid)
	}
	k.idle()

	busy := k.hold("b1", "B")
	defer busy.release(t)
	if busy.pid != first.pid {
		t.Errorf("an idle process was left alone: %d, %d", busy.pid, first.pid)
	}
	k.invoke("c1", "C", task{Do: "describe"})
	if got := k.pid("c1"); got == first.pid {
		t.Error("c1 was handled by the process that has b1")
	}
}

// TestAffinityEnds checks that an event goes to another process if the resource's last event does not finish.
func TestAffinityEnds(t *testing.T) {
	k := newAffine(t, time.Millisecond)
	busy := k.hold("b1", "B")
	defer busy.release(t)
	k.invoke("c1", "C", task{Do: "describe"})
	second := k.pid("c1")
	k.idle()
	k.invoke("b2", "B", task{Do: "describe"})
	if got := k.pid("b2"); got == busy.pid {
		t.Error("b2 was handled by the process that has b1")
	}
	k.idle()
	k.invoke("c2", "C", task{Do: "describe"})
	if got := k.pid("c2"); got != second {
		t.Errorf("c2 was handled by process %d, c1 by %d", got, second)
	}
}
