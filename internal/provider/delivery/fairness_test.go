package delivery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

// counted is a table that counts how many of its requests are in the queue.
type counted struct {
	*sqlite.Store
	mu         sync.Mutex
	hand, most int
}

func (c *counted) Claim(ctx context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error) {
	requests, err := c.Store.Claim(ctx, node, limit, skip)
	c.take(len(requests))
	return requests, err
}

func (c *counted) take(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hand += n
	c.most = max(c.most, c.hand)
}

// TestLargeStackDoesNotStarveOthers creates a stack with 10,000 ready requests and, after it has filled the queue, many small
// ones. The small ones are sent as soon as there is room. The queue never exceeds its limit.
func TestLargeStackDoesNotStarveOthers(t *testing.T) {
	const big, small, queue = 10_000, 40, 64
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte{'a'}, store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "pintle.db"), Codec: store.NewCodec(keys)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	node, err := db.Join(ctx, "n")
	if err != nil {
		t.Fatal(err)
	}
	rows := &counted{Store: db}

	served := make(chan store.StackKey)
	done := make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ LogicalResourceID string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		key := store.StackKey(1)
		if asked.LogicalResourceID != "Thing" {
			key = 2
		}
		select {
		case served <- key:
		case <-done:
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer provider.Close()

	add := func(key store.StackKey, logical wire.LogicalID, n int) []store.Request {
		t.Helper()
		name := fmt.Sprint("stack-", key)
		d := store.Delta{
			Stack:     &store.Stack{Key: key, ID: wire.StackID(name), Account: "1", Region: "r", Name: name, Live: true, Revision: 1},
			Operation: &store.Operation{Stack: key, Number: 1, Version: 1, To: 1},
			Revisions: []store.Revision{{Stack: key, Number: 1, Template: "{}"}},
		}
		for i := range n {
			r := request(fmt.Sprintf("%d-%d", key, i), key, provider.URL)
			r.Owner, r.Operation, r.Instance, r.Logical = node, 1, i+1, logical
			d.Requests = append(d.Requests, r)
		}
		if err := db.Apply(ctx, store.Target{Name: store.StackName{Account: "1", Region: "r", Name: name}},
			func(*store.View) (store.Delta, error) { return d, nil }); err != nil {
			t.Fatal(err)
		}
		return d.Requests
	}

	d, err := delivery.New(delivery.Config{
		Table: rows, Node: func() store.Incarnation { return node }, Queue: queue, Sends: 8, AllowPrivate: true,
		WebhookSecret: []byte(secret), Log: slog.New(slog.DiscardHandler),
		ResponseURL: func(store.Request) (string, error) { return provider.URL, nil },
		Report: func(ctx context.Context, id wire.RequestID, _ delivery.Outcome) error {
			err := db.Apply(ctx, store.Target{Request: id, Alone: true}, func(v *store.View) (store.Delta, error) {
				r := *v.Request
				r.State, r.Owner, r.Due, r.Body = store.RequestWaiting, 0, v.Now.Add(time.Hour), nil
				return store.Delta{Requests: []store.Request{r}}, nil
			})
			if err == nil {
				rows.take(-1)
			}
			return err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Dispatch(add(1, "Thing", big))
	rows.take(queue) // the maximum that it can have taken
	for key := store.StackKey(2); key < 2+small; key++ {
		d.Dispatch(add(key, "Small", 1))
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- d.Run(running) }()
	sends, seen := 0, 0
	for ; seen < small && sends < big; sends++ {
		if <-served > 1 {
			seen++
		}
	}
	close(done)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if most := 2*queue + small; sends > most {
		t.Errorf("it took %d sends until %d small stacks had their turn, more than %d", sends, small, most)
	}
	if rows.most > queue {
		t.Errorf("%d requests were in hand at a time, more than %d", rows.most, queue)
	}
}
