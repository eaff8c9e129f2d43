package local_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// TestAffinity checks that an event goes to the process that had the resource's last event, even if that has not
// finished yet, but to another one if it does not finish.
func TestAffinity(t *testing.T) {
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency = 3 })
	p := newPost(t)
	invoke := func(id, resource string, t task) {
		k.t.Helper()
		if err := k.Invoke("P", local.Event{ID: id, Resource: resource, Payload: t.payload(), WantResult: true}); err != nil {
			k.t.Fatal(err)
		}
	}
	pid := func(id string) int {
		k.t.Helper()
		r := k.next()
		var seen struct{ Pid int }
		if err := json.Unmarshal(r.outcome.Result, &seen); err != nil || r.id != id {
			t.Fatalf("%s: %+v, want that of %s, error %v", r.id, r.outcome, id, err)
		}
		return seen.Pid
	}

	idle := func() { // an outcome is reported before its process is ready for the next event
		k.t.Helper()
		for start := time.Now(); k.Idle("P") != 1; time.Sleep(time.Millisecond) {
			if time.Since(start) > patience {
				k.t.Fatal("no process became idle")
			}
		}
	}

	k.SetAffinity(patience)
	invoke("a1", "A", task{Do: "release", Answer: p.addr()})
	first := p.accept()
	invoke("a2", "A", task{Do: "describe"}) // the first has not finished yet
	first.release(t)
	if r := k.next(); r.id != "a1" {
		t.Fatalf("%s ended before a1", r.id)
	}
	if got := pid("a2"); got != first.pid {
		t.Errorf("a2 was handled by process %d, a1 by %d", got, first.pid)
	}

	idle()
	invoke("b1", "B", task{Do: "release", Answer: p.addr()})
	if busy := p.accept(); busy.pid != first.pid {
		t.Errorf("an idle process was left alone: %d, %d", busy.pid, first.pid)
	} else {
		defer busy.release(t)
	}
	invoke("c1", "C", task{Do: "describe"}) // another resource does not wait
	second := pid("c1")
	idle()
	k.SetAffinity(time.Millisecond)
	invoke("b2", "B", task{Do: "describe"}) // b1 does not finish
	if got := pid("b2"); got == first.pid {
		t.Errorf("b2 was handled by the process that has b1")
	}
	idle()
	invoke("c2", "C", task{Do: "describe"})
	if got := pid("c2"); got != second {
		t.Errorf("c2 was handled by process %d, c1 by %d", got, second)
	}
}
