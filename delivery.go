package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// requestKey returns a key that is the same for every delivery of one request. It leaves out the response URL,
// because each delivery signs a new one, and white space in the properties.
func requestKey(r wire.Request) string {
	kind := "request"
	if r.Dialect == wire.ROS {
		kind = "request of ROS" // so that an answer to one service is never used for the other
	}
	return storeKey(kind, string(r.StackID), string(r.RequestID), string(r.RequestType), string(r.LogicalResourceID),
		string(r.PhysicalResourceID), r.ResourceType, compact(r.ResourceProperties), compact(r.OldResourceProperties))
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// serviceTimeout returns how long the service waits for an answer.
func serviceTimeout(properties json.RawMessage) time.Duration {
	var p struct{ ServiceTimeout json.RawMessage }
	if json.Unmarshal(properties, &p) != nil {
		return wire.DefaultServiceTimeout
	}
	limit, err := wire.ParseServiceTimeout(p.ServiceTimeout)
	if err != nil {
		return wire.DefaultServiceTimeout
	}
	return limit
}

// record is the stored state of a request: its answer, or its wait.
type record struct {
	Body    json.RawMessage `json:",omitempty"`
	Waiting json.RawMessage `json:",omitempty"` // the state of the wait
	// At and Failed are only in records of earlier versions, which had one time to live for all answers.
	At     time.Time `json:",omitzero"`
	Failed bool      `json:",omitempty"`
}

// maxRememberedWait is the size of the largest state of a wait that goes into the store; a store may reject larger
// values.
const maxRememberedWait = 6 << 10

// recall returns the stored result of an earlier delivery of the request.
func (s *Server) recall(ctx context.Context, key string, log *slog.Logger) (record, bool) {
	text, ok, err := s.store.Get(ctx, key)
	if err != nil {
		log.Error("the store cannot be read for an earlier answer", "error", err)
	}
	var kept record
	if !ok || err != nil || json.Unmarshal(text, &kept) != nil {
		return record{}, false
	}
	if kept.Failed && s.clock.Now().Sub(kept.At) > keepFailure {
		return record{}, false
	}
	return kept, true
}

// remember stores an answer before it is sent: if the answer does not arrive, the next delivery does not run the
// handler again. It also stores a wait: if the waiter does not receive it, the next delivery hands it over again.
func (s *Server) remember(ctx context.Context, key string, a answered) {
	kept, ttl := record{Body: a.body}, keepFor
	if a.response.Status == wire.Failed {
		ttl = keepFailure
	}
	if a.waiting != nil {
		if len(a.waiting.State) > maxRememberedWait {
			return
		}
		kept, ttl = record{Waiting: a.waiting.State}, keepFor
	}
	text, err := clearjson.Encode(kept)
	if err == nil {
		err = s.store.Put(ctx, key, text, ttl)
	}
	if err != nil {
		a.log.Error("the store does not take the answer", "error", err)
	}
}

// calls are the requests in progress, so that a second delivery waits for the first.
type calls struct {
	mu  sync.Mutex
	now map[string]*call
}

type call struct {
	done chan struct{}
	// These are set before done is closed; the first two are nil if there was no answer.
	body    []byte
	waiting *Pending
	resumed bool // the call resumes a wait; it is not a delivery
}

// begin returns the call of a request, and whether the caller must make it.
func (c *calls) begin(key string) (*call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if running := c.now[key]; running != nil {
		return running, false
	}
	begun := &call{done: make(chan struct{})}
	c.now[key] = begun
	return begun, true
}

func (c *calls) end(key string, of *call) {
	c.mu.Lock()
	delete(c.now, key)
	c.mu.Unlock()
	close(of.done)
}

// wait waits for another delivery of the request and returns its answer.
func (s *Server) wait(ctx context.Context, a answered, c *call, b budget) (answered, error) {
	ctx, stop := s.clock.WithDeadline(ctx, b.watchdog)
	defer stop()
	select {
	case <-c.done:
	case <-ctx.Done():
		return a, errors.New("another delivery of the request is still being handled")
	}
	if c.waiting != nil {
		a.waiting = c.waiting
		return a, nil
	}
	if c.body == nil {
		return a, errors.New("another delivery of the request could not be answered")
	}
	var err error
	a.body = c.body
	a.response, err = a.request.Dialect.ParseResponse(a.body)
	return a, err
}

// turns passes the requests of one resource to its handler one at a time. An abandoned handler keeps its turn, so that a
// later Delete does not overtake it.
type turns struct {
	mu   sync.Mutex
	held map[string]*turn
}

type turn struct {
	free  chan struct{} // holds one value while no request has the turn
	users int           // requests that have the turn or are waiting for it
}

// take waits for the turn of a resource, at most until the given time. The returned function releases the turn.
func (t *turns) take(ctx context.Context, clock clock.Clock, r wire.Request, until time.Time) (done func(), ok bool) {
	key := string(r.StackID) + "|" + string(r.LogicalResourceID)
	t.mu.Lock()
	mine := t.held[key]
	if mine == nil {
		mine = &turn{free: make(chan struct{}, 1)}
		mine.free <- struct{}{}
		t.held[key] = mine
	}
	mine.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.held, key)
		}
	}
	ctx, stop := clock.WithDeadline(ctx, until)
	defer stop()
	select {
	case <-mine.free:
		return func() {
			mine.free <- struct{}{}
			leave()
		}, true
	case <-ctx.Done():
		leave()
		return nil, false
	}
}
