package pintle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// counting is a handler that makes a new resource each time.
func counting(calls *int) Handler {
	return HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
		*calls++
		if strings.Contains(string(r.RawProperties), "fail") {
			return Answer{}, fmt.Errorf("failure %d", *calls)
		}
		return Answer{ID: PhysicalID(fmt.Sprint("thing-", *calls))}, nil
	})
}

func TestRedelivery(t *testing.T) {
	calls := 0
	w := newWorld(t, counting(&calls))
	r := w.event(Create, "", `{"a":"1"}`, "")
	for range 3 {
		if got := short(w.deliver(t, r)); got != "SUCCESS thing-1" {
			t.Error(got)
		}
		r.ResponseURL += "&again=1" // a new signature
	}
	// The answer did not arrive, so the event failed and is delivered again.
	r = w.event(Create, "", `{"a":"1"}`, "")
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.refuse = 100
	if err := w.ServeEvent(t.Context(), text); err == nil || strings.Contains(err.Error(), "5ec2e7") {
		t.Errorf("an answer that did not arrive: %v", err)
	}
	w.refuse = 0
	if got := short(w.deliver(t, r)); got != "SUCCESS thing-2" || calls != 2 {
		t.Errorf("%s after %d calls", got, calls)
	}
	// A request with the same ID but other properties is another request.
	r.ResourceProperties = []byte(`{"a":"2"}`)
	if got := short(w.deliver(t, r)); got != "SUCCESS thing-3" {
		t.Error(got)
	}
	// A failure is answered again only for a while, because its cause may be fixed.
	r = w.event(Update, "thing-1", `{"fail":"1"}`, "{}")
	for _, want := range []string{"failure 4", "failure 4", "failure 5"} {
		if got := w.deliver(t, r).Reason; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if calls == 4 && want == "failure 4" {
			_ = w.clock.Sleep(t.Context(), keepFailure/2+time.Second)
		}
	}
}

// In records of earlier versions, failures have the time to live of a success. Those are also answered again only for a
// while.
func TestRedeliveryAfterUpgrade(t *testing.T) {
	for after, want := range map[time.Duration]string{keepFailure - time.Second: "disk full", keepFailure + time.Second: "failure 1"} {
		calls := 0
		w := newWorld(t, counting(&calls))
		r := w.event(Update, "thing-1", `{"fail":"1"}`, "{}")
		failed := wire.ResponseTo(r, wire.Failed)
		failed.Reason = "disk full"
		body, err := failed.Encode()
		if err != nil {
			t.Fatal(err)
		}
		old := fmt.Sprintf(`{"At":%q,"Failed":true,"Body":%s}`, w.clock.Now().Format(time.RFC3339), body)
		if err := w.store.Put(t.Context(), requestKey(r), []byte(old), keepFor); err != nil {
			t.Fatal(err)
		}
		_ = w.clock.Sleep(t.Context(), after)
		if got := w.deliver(t, r).Reason; got != want {
			t.Errorf("after %v: %s, want %s", after, got, want)
		}
	}
}

// brokenMemory is a store whose calls fail.
type brokenMemory struct{}

func (brokenMemory) Get(context.Context, string) ([]byte, bool, error) {
	return nil, false, errors.New("memory is away")
}
func (brokenMemory) Put(context.Context, string, []byte, time.Duration) error {
	return errors.New("memory is away")
}

func TestBrokenMemory(t *testing.T) {
	calls := 0
	w := newWorld(t, counting(&calls))
	w.store = brokenMemory{}
	if got := w.ask(t, Create, "", "{}", ""); got != "SUCCESS thing-1" {
		t.Error(got)
	}
	if !strings.Contains(w.log.String(), "memory is away") {
		t.Errorf("the log does not say it:\n%s", &w.log)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m, err := NewMemoryStore(2)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string) {
		if err := m.Put(t.Context(), key, []byte(key), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	put("b")
	if _, ok, _ := m.Get(t.Context(), "a"); !ok {
		t.Error("a is forgotten")
	}
	put("c")
	var there string
	for _, key := range []string{"a", "b", "c"} {
		if v, ok, _ := m.Get(t.Context(), key); ok && bytes.Equal(v, []byte(key)) {
			there += key
		}
	}
	if there != "ac" {
		t.Errorf("it has %s, want ac: b was not used for longest", there)
	}
	if _, err := NewMemoryStore(-1); err == nil {
		t.Error("a memory without room")
	}
}

// blocking is a handler that reports when it begins, and waits for its answer from the test.
type blocking struct {
	began chan RequestType
	end   chan Answer
}

func (b blocking) Handle(_ context.Context, r *Request) (Answer, error) {
	b.began <- r.Type
	return <-b.end, nil
}

// A second delivery waits for the first. Another request of the resource waits for its turn, even after the first one was
// abandoned.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blocking{make(chan RequestType), make(chan Answer)}
		w := newWorld(t, b)
		w.clock, w.sender.clock = clock.System{}, clock.System{} // of the synctest bubble
		serve := func(r wire.Request) <-chan error {
			text, err := r.Encode()
			if err != nil {
				t.Error(err)
			}
			done := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			go func() {
				defer cancel()
				done <- w.ServeEvent(ctx, text)
			}()
			return done
		}
		create := w.event(Create, "", "{}", "")
		first := serve(create)
		<-b.began
		second := serve(create)
		synctest.Wait()
		b.end <- Answer{ID: "one"}
		if err := errors.Join(<-first, <-second); err != nil {
			t.Error(err)
		}
		if len(w.answers) != 2 || short(w.answers[0]) != "SUCCESS one" || short(w.answers[1]) != "SUCCESS one" {
			t.Errorf("answers %v", w.answers)
		}

		w.answers = nil
		hanging := serve(w.event(Update, "one", "{}", "{}"))
		<-b.began
		time.Sleep(58 * time.Second) // bubble time: the handler is abandoned now
		synctest.Wait()
		if len(w.answers) != 1 || !strings.HasPrefix(w.answers[0].Reason, "ran out of time") {
			t.Fatalf("answers %v", w.answers)
		}
		if err := <-hanging; !errors.Is(err, ErrHandlerStuck) {
			t.Errorf("error %v, want ErrHandlerStuck", err)
		}
		remove := serve(w.event(Delete, "one", "{}", ""))
		synctest.Wait()
		select {
		case kind := <-b.began:
			t.Errorf("the %s overtook a handler that was given up", kind)
		default:
		}
		b.end <- Answer{}
		if kind := <-b.began; kind != Delete {
			t.Errorf("%s began, want the Delete", kind)
		}
		b.end <- Answer{}
		if err := <-remove; err != nil {
			t.Error(err)
		}
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if len(w.turns.held) != 0 || len(w.calls.now) != 0 {
			t.Errorf("kept: %v, %v", w.turns.held, w.calls.now)
		}

		// A request that never gets its turn fails in time.
		stuck := serve(w.event(Update, "one", "{}", "{}"))
		<-b.began
		w.answers = nil
		blocked := serve(w.event(Delete, "one", "{}", ""))
		if err := <-blocked; err != nil {
			t.Error(err)
		}
		said := false
		for _, a := range w.answers {
			said = said || a.Reason == "an earlier request of this resource is still being handled"
		}
		if !said {
			t.Errorf("answers %v", w.answers)
		}
		b.end <- Answer{}
		<-stuck
	})
}

// The service stops listening after ServiceTimeout.
func TestServiceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, HandlerFunc(func(ctx context.Context, _ *Request) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}))
		w.clock, w.sender.clock = clock.System{}, clock.System{}
		start := time.Now()
		if got, want := w.ask(t, Update, "x", `{"ServiceTimeout":"10"}`, "{}"), "FAILED x (ran out of time: context deadline exceeded)"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if took := time.Since(start); took < 5*time.Second || took >= 10*time.Second {
			t.Errorf("answered after %v", took)
		}
	})
}

func TestConcurrentRequests(t *testing.T) {
	var mu sync.Mutex
	seen := map[wire.LogicalID]int{}
	w := newWorld(t, HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.LogicalID]++
		return Answer{}, nil
	}))
	var all sync.WaitGroup
	for n := range 50 {
		r := w.event(Create, "", "{}", "")
		r.LogicalResourceID = wire.LogicalID(fmt.Sprint("R", n/2))
		r.RequestID = wire.RequestID(fmt.Sprint("q", n/2)) // two deliveries of each
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := w.ServeEvent(context.Background(), text); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(w.answers) != 50 || len(seen) != 25 {
		t.Errorf("%d answers, %d resources", len(w.answers), len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was made %d times", id, n)
		}
	}
}
