package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// meddler is a store that counts calls and can be made to fail.
type meddler struct {
	store.Store
	mu      sync.Mutex
	decided int
	dues    int
	broken  wire.RequestID
}

func (m *meddler) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	m.mu.Lock()
	broken := m.broken != "" && target.Request == m.broken
	m.mu.Unlock()
	if broken && !target.Alone {
		return errors.New("this row is broken")
	}
	return m.Store.Apply(ctx, target, func(view *store.View) (store.Delta, error) {
		m.mu.Lock()
		m.decided++
		m.mu.Unlock()
		return decide(view)
	})
}

func (m *meddler) Due(ctx context.Context, limit int) ([]wire.RequestID, time.Time, error) {
	m.mu.Lock()
	m.dues++
	m.mu.Unlock()
	return m.Store.Due(ctx, limit)
}

// running returns an engine whose timers run on synctest's clock. The clock of its database differs by skew.
func running(t *testing.T, skew time.Duration, cfg engine.Config) (e *engine.Engine, db *meddler, sent func() []store.Request) {
	t.Helper()
	inner, err := memory.New(memory.Config{Now: func() time.Time { return time.Now().Add(skew) }})
	if err != nil {
		t.Fatal(err)
	}
	db = &meddler{Store: inner}
	var mu sync.Mutex
	var requests []store.Request
	cfg.Store, cfg.Alone, cfg.Dispatch = db, true, func(ready []store.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, ready...)
	}
	if e, err = engine.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return e, db, func() []store.Request {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(requests)
	}
}

func begin(t *testing.T, e *engine.Engine, name, template string) {
	t.Helper()
	_, err := e.Create(t.Context(), engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: name}, Template: template,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func accept(t *testing.T, e *engine.Engine, requests ...store.Request) {
	t.Helper()
	for _, r := range requests {
		if err := e.Report(t.Context(), r.ID, engine.Outcome{Kind: engine.Accepted}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOneBrokenTimer checks that one stack that cannot continue does not stop the timers of the others.
func TestOneBrokenTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, db, sent := running(t, 0, engine.Config{})
		begin(t, e, "A", one(`"ServiceTimeout": 2`))
		begin(t, e, "B", one(`"ServiceTimeout": 3`))
		requests := sent()
		db.mu.Lock()
		db.broken = requests[0].ID
		db.mu.Unlock()
		accept(t, e, requests...)
		time.Sleep(10 * time.Second)
		if n := len(sent()); n != 3 { // the Delete of the other stack
			t.Errorf("%d requests were sent, want 3", n)
		}
		if db.dues > 40 {
			t.Errorf("Run asked %d times in 10 seconds what is due", db.dues)
		}
	})
}

// TestClocksThatDiffer checks that a node and its database may disagree on the time.
func TestClocksThatDiffer(t *testing.T) {
	for _, skew := range []time.Duration{-time.Minute, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			e, db, sent := running(t, skew, engine.Config{})
			begin(t, e, "A", one(`"ServiceTimeout": 10`))
			accept(t, e, sent()...)
			time.Sleep(75 * time.Second)
			if n := len(sent()); n != 2 {
				t.Errorf("skew %v: %d requests were sent, want 2: the first has timed out", skew, n)
			}
			if db.dues > 1000 {
				t.Errorf("skew %v: Run asked %d times what is due", skew, db.dues)
			}
		})
	}
}

// TestOnlyAnEarlierDeadlineWakes checks that only a deadline before the one that Run waits for wakes it.
func TestOnlyAnEarlierDeadlineWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, db, sent := running(t, 0, engine.Config{})
		taken := 0
		for i, timeout := range []int{20, 30, 40, 10} {
			begin(t, e, fmt.Sprint("S", i), one(fmt.Sprintf(`"ServiceTimeout": %d`, timeout)))
			requests := sent()
			accept(t, e, requests[taken:]...)
			taken = len(requests)
			synctest.Wait()
			db.mu.Lock()
			dues := db.dues
			db.mu.Unlock()
			if want := []int{2, 2, 2, 3}[i]; dues != want {
				t.Errorf("after a deadline in %d seconds Run has asked %d times what is due, want %d", timeout, dues, want)
			}
		}
		for range 4 {
			time.Sleep(10*time.Second + time.Second/2)
			if n := len(sent()); n != taken+1 {
				t.Errorf("%d requests were sent, want %d: one more has timed out", n, taken+1)
			}
			taken++
		}
	})
}

// TestCancelMovesTheDeadline checks that a cancelled request gets an earlier deadline, and that Run respects it.
func TestCancelMovesTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _, sent := running(t, 0, engine.Config{CancelledWait: 5 * time.Second})
		begin(t, e, "A", body(map[string]string{"C": resource(""), "X": resource("")}))
		requests := sent()
		for _, r := range requests {
			if r.Logical == "C" {
				accept(t, e, r)
			}
		}
		synctest.Wait()
		for _, r := range requests {
			if r.Logical == "X" {
				if err := e.Report(t.Context(), r.ID, engine.Outcome{Kind: engine.Refused, Text: "no"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(6 * time.Second)
		if n := len(sent()); n != 3 {
			t.Errorf("%d requests were sent, want 3: the Delete of C waits for 5 seconds only", n)
		}
	})
}

// TestLongChainIsLoadedAtOnce checks that an answer that changes nothing for its dependents passes along them without
// loading the stack step by step.
func TestLongChainIsLoadedAtOnce(t *testing.T) {
	inner, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	db := &meddler{Store: inner}
	var inbox []store.Request
	e, err := engine.Open(t.Context(), engine.Config{Store: db, Alone: true, Dispatch: func(ready []store.Request) {
		inbox = append(inbox, ready...)
	}})
	if err != nil {
		t.Fatal(err)
	}
	template := func(k int) string {
		resources := map[string]string{"R0": resource(fmt.Sprintf(`"K": %d`, k))}
		for i := 1; i < 400; i++ {
			resources[fmt.Sprint("R", i)] = resource("", fmt.Sprintf(`"DependsOn": "R%d"`, i-1))
		}
		return body(resources)
	}
	answer := func() {
		r := inbox[0]
		inbox = inbox[1:]
		if err := e.Answer(t.Context(), r.ID, []byte(document(r, success(string(r.Logical)))), 0); err != nil {
			t.Fatal(err)
		}
	}
	begin(t, e, "S", template(1))
	for len(inbox) > 0 {
		answer()
	}
	ref := engine.Ref{Account: account, Region: region, Stack: "S"}
	if _, err := e.Update(t.Context(), engine.UpdateStack{Stack: ref, Template: template(2)}); err != nil {
		t.Fatal(err)
	}
	db.decided = 0
	answer()
	stack, err := e.Find(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if status := engine.CloudFormation.StackStatus(stack.Kind, stack.Phase); status != "UPDATE_COMPLETE" || db.decided > 100 {
		t.Errorf("%s after %d decisions", status, db.decided)
	}
}

// TestTakenOverRequestMayHaveBeenSent checks the requests of a node that dies and may have sent them. The node that takes a request over
// cannot deliver it, but there may still be a resource to delete.
func TestTakenOverRequestMayHaveBeenSent(t *testing.T) {
	w := newWorld(t, "")
	w.must(w.create(body(map[string]string{"C": resource("")})))
	lost := w.take("C")
	var taken []store.Request
	heir, err := engine.Open(w.ctx, engine.Config{
		Store: w.store, Alone: true, Dispatch: func(ready []store.Request) { taken = append(taken, ready...) },
	})
	w.must(err)
	w.must(heir.Report(w.ctx, lost.ID, engine.Outcome{Kind: engine.Refused, Text: "connection refused"}))
	if len(taken) != 1 || taken[0].Type != wire.Delete {
		t.Fatalf("what may have been created is not deleted: %v\n%s", taken, w.history())
	}

	// The node that was declared dead cannot report the failure of a request that it no longer owns.
	w.must(w.engine.Report(w.ctx, taken[0].ID, engine.Outcome{Kind: engine.Refused, Text: "connection refused"}))
	if s := w.status(); s != "ROLLBACK_IN_PROGRESS" {
		t.Fatalf("a node that was taken over from has ended the operation: %s", s)
	}

	// A request that only one node has owned was not sent if that node reports so.
	w.must(heir.Report(w.ctx, taken[0].ID, engine.Outcome{Kind: engine.Answered, Body: []byte(document(taken[0], success("x")))}))
	_, err = heir.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "T"}, Template: body(map[string]string{"C": resource("")}),
	})
	w.must(err)
	taken = slices.Delete(taken, 0, 1)
	w.must(heir.Report(w.ctx, taken[0].ID, engine.Outcome{Kind: engine.Refused, Text: "connection refused"}))
	if len(taken) != 1 {
		t.Errorf("a resource that nobody was asked to create is deleted: %s", sentLine(taken[1]))
	}
}
