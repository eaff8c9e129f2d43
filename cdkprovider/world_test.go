package cdkprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// world is a server with a bucket in memory for its answers, and a clock that advances without waiting.
type world struct {
	*pintle.Server
	clock   *fastClock
	mu      sync.Mutex
	log     bytes.Buffer
	answers []wire.Response
	refuse  int // how many PUTs get a 503
	n       int
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	dialect := wire.CloudFormation
	if r.Method == http.MethodPost {
		dialect = wire.ROS
	}
	answer, err := dialect.ParseResponse(body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	status := http.StatusOK
	if w.refuse > 0 {
		w.refuse--
		status = http.StatusServiceUnavailable
	} else {
		w.answers = append(w.answers, answer)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: r}, nil
}

// fastClock is a clock whose sleeps return immediately.
type fastClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fastClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fastClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (c *fastClock) WithDeadline(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// clockStore gives its server a clock.
type clockStore struct {
	pintle.IdempotencyStore
	of clock.Clock
}

func (s clockStore) Clock() clock.Clock { return s.of }

func newClockStore() clockStore {
	now := &fastClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	memory, err := pintle.NewMemoryStore(0)
	if err != nil {
		panic(err)
	}
	return clockStore{memory, now}
}

func newWorld(t *testing.T, handler pintle.Handler) *world {
	t.Helper()
	return newWaitingWorld(t, nil, handler)
}

// newWaitingWorld returns a world whose server has a waiter.
func newWaitingWorld(t *testing.T, waiter pintle.Waiter, handler pintle.Handler) *world {
	t.Helper()
	store := newClockStore()
	w := &world{clock: store.of.(*fastClock)}
	var err error
	w.Server, err = pintle.NewServer(pintle.ServerConfig{
		Handlers:    []pintle.Handler{handler},
		Waiter:      waiter,
		Client:      &http.Client{Transport: w},
		Idempotency: store,
		Logger:      slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// event returns a request with a new ID.
func (w *world) event(kind pintle.RequestType, id pintle.PhysicalID, properties, old string) wire.Request {
	w.n++
	r := wire.Request{
		RequestType: kind, ResponseURL: "https://bucket.test/key?X-Amz-Signature=5ec2e7",
		StackID: wire.NewStackID("us-east-1", "123456789012", "web", "5f1a"), RequestID: wire.RequestID(fmt.Sprint("r-", w.n)),
		LogicalResourceID: "Disk", PhysicalResourceID: id, ResourceType: "Custom::Disk", ResourceProperties: json.RawMessage(properties),
	}
	if old != "" {
		r.OldResourceProperties = json.RawMessage(old)
	}
	return r
}

// deliver delivers a request and returns the answer.
func (w *world) deliver(t *testing.T, r wire.Request) wire.Response {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.answers)
	if err := w.ServeEvent(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if len(w.answers) != before+1 {
		t.Fatalf("%d answers to %v\n%s", len(w.answers)-before, r, &w.log)
	}
	return w.answers[before]
}

func (w *world) ask(t *testing.T, kind pintle.RequestType, id pintle.PhysicalID, properties, old string) string {
	t.Helper()
	return short(w.deliver(t, w.event(kind, id, properties, old)))
}

// short formats a response in one line.
func short(r wire.Response) string {
	text := fmt.Sprintf("%s %s", r.Status, r.PhysicalResourceID)
	if r.Data != nil {
		text += " " + string(r.Data)
	}
	if r.NoEcho {
		text += " NoEcho"
	}
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

// shelf is a waiter that stores records like a database, in order of arrival.
type shelf struct {
	mu    sync.Mutex
	texts map[string][]byte
	began int   // number of waits
	err   error // of Wait
}

func (s *shelf) Wait(_ context.Context, p pintle.Pending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.texts[p.Key] != nil {
		return nil
	}
	text, err := p.Encode()
	if s.texts == nil {
		s.texts = map[string][]byte{}
	}
	s.texts[p.Key] = text
	s.began++
	return err
}

func (s *shelf) Waits(_ context.Context, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[key] != nil, s.err
}

// only returns the only record.
func (s *shelf) only(t *testing.T) pintle.Pending {
	t.Helper()
	if len(s.texts) != 1 {
		t.Fatalf("%d records, want 1", len(s.texts))
	}
	for _, text := range s.texts {
		p, err := pintle.ParsePending(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return pintle.Pending{}
}

// settle resumes the only record once, after its pause.
func (s *shelf) settle(t *testing.T, w *world) (waits bool) {
	t.Helper()
	p := s.only(t)
	if err := w.clock.Sleep(t.Context(), p.After); err != nil {
		t.Fatal(err)
	}
	next, err := w.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	delete(s.texts, p.Key)
	if next == nil {
		return false
	}
	if err := s.Wait(t.Context(), *next); err != nil {
		t.Fatal(err)
	}
	s.began--
	return true
}

// hand delivers a request and checks that its wait is handed over.
func hand(t *testing.T, w *world, r wire.Request) {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.answers)
	if err := w.ServeEvent(t.Context(), text); err != nil || len(w.answers) != before {
		t.Fatalf("error %v, answers %v", err, w.answers[before:])
	}
}
