package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

var nodeTests = []test{
	{"join", func(t *testing.T, b *bench) {
		seen := map[store.Incarnation]bool{0: true}
		for range 5 {
			node := b.join()
			if seen[node] {
				t.Errorf("incarnation %d was given before", node)
			}
			seen[node] = true
			if err := b.Leave(context.Background(), node); err != nil {
				t.Error(err)
			}
			isError(t, "beat of a node that left", b.Beat(context.Background(), node), store.ErrGone)
		}
	}},
	{"list", func(t *testing.T, b *bench) {
		var want []store.Incarnation
		for range 3 {
			want = append(want, b.join())
		}
		if err := b.Leave(context.Background(), want[1]); err != nil {
			t.Error(err)
		}
		want = slices.Sorted(slices.Values(slices.Delete(want, 1, 2)))
		got, err := b.Nodes(context.Background())
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the nodes are %v, want %v, error %v", got, want, err)
		}
	}},
	{"silence", func(t *testing.T, b *bench) {
		dead, quiet, self := b.join(), b.join(), b.join()
		b.clock.Advance(4 * time.Second)
		for _, node := range []store.Incarnation{quiet, self} {
			if err := b.Beat(context.Background(), node); err != nil {
				t.Error(err)
			}
		}
		b.clock.Advance(time.Second)
		b.reap(self, 5*time.Second, 0) // dead has been silent for exactly the limit
		if err := b.Beat(context.Background(), quiet); err != nil {
			t.Error(err)
		}
		b.clock.Advance(time.Millisecond)
		b.reap(self, 5*time.Second, 0)
		isError(t, "beat of a dead node", b.Beat(context.Background(), dead), store.ErrGone)
		if _, err := b.Reap(context.Background(), dead, 0); err == nil {
			t.Error("a dead node reaped")
		}
		for _, node := range []store.Incarnation{quiet, self} {
			if err := b.Beat(context.Background(), node); err != nil {
				t.Errorf("node %d: %v", node, err)
			}
		}
		b.reap(self, 0, 0)
		isError(t, "beat after a reap of all", b.Beat(context.Background(), quiet), store.ErrGone)
		if err := b.Beat(context.Background(), self); err != nil {
			t.Error(err)
		}
	}},
	{"take-over", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		dead, left, other, self := b.join(), b.join(), b.join(), b.join()
		due := b.now().Add(time.Hour)
		b.asks(1,
			store.Request{ID: "ready-dead", State: store.RequestReady, Owner: dead},
			store.Request{ID: "ready-left", State: store.RequestReady, Owner: left},
			store.Request{ID: "ready-other", State: store.RequestReady, Owner: other},
			store.Request{ID: "run-dead", State: store.RequestWaiting, Executor: dead, Due: due, Delivered: b.now()},
			store.Request{ID: "run-other", State: store.RequestWaiting, Executor: other, Due: due},
			store.Request{ID: "away", State: store.RequestWaiting, Due: due},
			store.Request{ID: "delayed", State: store.RequestDelayed, Due: due},
			store.Request{ID: "settled", State: store.RequestSettled},
		)
		if err := b.Leave(context.Background(), left); err != nil {
			t.Fatal(err)
		}
		b.clock.Advance(10 * time.Second)
		for _, node := range []store.Incarnation{other, self} {
			if err := b.Beat(context.Background(), node); err != nil {
				t.Fatal(err)
			}
		}
		b.reap(self, 5*time.Second, 3)
		b.reap(self, 5*time.Second, 0)
		same(t, "claimed by the new owner", b.claim(self, 9), "ready-dead ready-left run-dead")
		same(t, "claimed by the other", b.claim(other, 9), "ready-other")
		same(t, "claimed by the dead", b.claim(dead, 9), "")
		got, err := b.Request(context.Background(), "run-dead")
		if err != nil || got.State != store.RequestReady || got.Owner != self || got.Executor != 0 || !got.Due.IsZero() || got.Body == nil {
			t.Errorf("a request that died with its node: %+v, error %v", got, err)
		}
		for id, want := range map[wire.RequestID]store.Request{
			"run-other": {State: store.RequestWaiting, Executor: other, Due: due}, "away": {State: store.RequestWaiting, Due: due},
			"delayed": {State: store.RequestDelayed, Due: due}, "settled": {State: store.RequestSettled},
		} {
			got, err := b.Request(context.Background(), id)
			if err != nil || got.State != want.State || got.Owner != 0 || got.Executor != want.Executor || !got.Due.Equal(want.Due) {
				t.Errorf("%s was taken: %+v, error %v", id, got, err)
			}
		}
		ids, _, err := b.Due(context.Background(), 9)
		if len(ids) > 0 || err != nil {
			t.Errorf("due: %v, error %v", ids, err)
		}
		// A view shows the takeover, and a decision may continue from there.
		if seen := b.see(store.Target{Request: "run-dead"}); seen.Request.State != store.RequestReady || seen.Request.Owner != self ||
			seen.Requests["ready-left"].Owner != self || seen.Requests["ready-other"].Owner != other {
			t.Errorf("a view after the take-over: %+v, %+v", seen.Request, seen.Requests)
		}
		b.settle("run-dead")
		same(t, "claimed after the settling", b.claim(self, 9), "ready-dead ready-left")
	}},
	{"claim", func(t *testing.T, b *bench) {
		node, other := b.join(), b.join()
		for key, name := range []string{"", "a", "b", "c"} {
			if key > 0 {
				b.create(stackOf(store.StackKey(key), name))
			}
		}
		age := 0
		ready := func(key store.StackKey, owner store.Incarnation, ids ...string) {
			for _, id := range ids {
				age++
				b.asks(key, store.Request{ID: wire.RequestID(id), State: store.RequestReady, Owner: owner,
					Created: start.Add(time.Duration(age) * time.Millisecond)})
			}
		}
		ready(2, node, "b1", "b2", "b3", "b4", "b5")
		ready(1, node, "a1", "a2")
		ready(3, other, "x1")
		ready(3, node, "c1")
		same(t, "all", b.claim(node, 99), "b1 a1 c1 b2 a2 b3 b4 b5")
		same(t, "again", b.claim(node, 99), "b1 a1 c1 b2 a2 b3 b4 b5")
		same(t, "some", b.claim(node, 4), "b1 a1 c1 b2")
		same(t, "none", b.claim(node, 0), "")
		same(t, "skipping", b.claim(node, 3, "b1", "c1", "b2"), "a1 a2 b3")
		same(t, "the other's", b.claim(other, 99), "x1")
		b.settle("b1")
		same(t, "after one was settled", b.claim(node, 3), "b2 a1 c1")
		got, err := b.Claim(context.Background(), node, 1, nil)
		if err != nil || len(got) != 1 || got[0].Body == nil || got[0].Body.ServiceToken() == "" || got[0].Owner != node || got[0].Logical != "Thing" {
			t.Errorf("claimed %+v, error %v", got, err)
		}
	}},
	{"claim of many", func(t *testing.T, b *bench) {
		node := b.join()
		for key := store.StackKey(1); key <= 3; key++ {
			b.create(stackOf(key, fmt.Sprint("many-", key)))
			requests := make([]store.Request, 50)
			for i := range requests {
				requests[i] = store.Request{ID: wire.RequestID(fmt.Sprintf("%d-%02d", key, i)), State: store.RequestReady, Owner: node,
					Created: start.Add(time.Duration(int(key)*50+i) * time.Millisecond)}
			}
			b.asks(key, requests...)
		}
		held := make(map[wire.RequestID]bool) // a delivery that holds more and more requests
		var order []string
		for {
			got, err := b.Claim(context.Background(), node, 7, func(id wire.RequestID) bool { return held[id] })
			if err != nil {
				t.Fatal(err)
			}
			if len(got) == 0 {
				break
			}
			for _, r := range got {
				held[r.ID] = true
				order = append(order, string(r.ID))
			}
		}
		var want []string
		for i := range 50 {
			for key := 1; key <= 3; key++ {
				want = append(want, fmt.Sprintf("%d-%02d", key, i))
			}
		}
		same(t, "order", order, want)
	}},
	{"claim of many stacks", func(t *testing.T, b *bench) {
		node := b.join()
		const stacks = 11
		for key := store.StackKey(1); key <= stacks; key++ {
			b.create(stackOf(key, fmt.Sprint("one-of-", key)))
			for _, n := range []int{0, 1} {
				b.asks(key, store.Request{ID: wire.RequestID(fmt.Sprintf("%d-%d", key, n)), State: store.RequestReady, Owner: node,
					Created: start.Add(time.Duration(n*stacks+int(key)) * time.Millisecond)})
			}
		}
		held, turns := make(map[wire.RequestID]bool), make(map[store.StackKey]int)
		for n := 0; n < 2*stacks; {
			got, err := b.Claim(context.Background(), node, 4, func(id wire.RequestID) bool { return held[id] })
			if err != nil || len(got) == 0 {
				t.Fatalf("%d are claimed after %d, error %v", len(got), n, err)
			}
			for _, r := range got {
				if turn := n / stacks; turns[r.Stack] != turn || r.ID != wire.RequestID(fmt.Sprintf("%d-%d", r.Stack, turn)) {
					t.Errorf("claim %d is %s, in turn %d", n, r.ID, turn)
				}
				held[r.ID] = true
				turns[r.Stack]++
				n++
			}
		}
	}},
	{"due", func(t *testing.T, b *bench) {
		b.create(stackOf(1, "one"))
		ids, next, err := b.Due(context.Background(), 9)
		if len(ids) > 0 || !next.IsZero() || err != nil {
			t.Errorf("of nothing: %v, next %v, error %v", ids, next, err)
		}
		at := b.now()
		b.asks(1,
			store.Request{ID: "third", State: store.RequestWaiting, Due: at.Add(3 * time.Second)},
			store.Request{ID: "first", State: store.RequestDelayed, Due: at.Add(time.Second)},
			store.Request{ID: "second", State: store.RequestWaiting, Executor: 1, Due: at.Add(2 * time.Second)},
			store.Request{ID: "ready", State: store.RequestReady, Owner: 1},
			store.Request{ID: "settled", State: store.RequestSettled})
		for _, want := range []struct {
			after time.Duration // since the previous row
			limit int
			ids   string
			next  time.Time
		}{
			{0, 9, "", at.Add(time.Second)},
			{999 * time.Millisecond, 9, "", at.Add(time.Second)},
			{time.Millisecond, 9, "first", at.Add(2 * time.Second)},
			{2 * time.Second, 9, "first second third", time.Time{}},
			{0, 2, "first second", at.Add(3 * time.Second)},
			{0, 3, "first second third", time.Time{}},
		} {
			b.clock.Advance(want.after)
			ids, next, err := b.Due(context.Background(), want.limit)
			if join(ids) != want.ids || !next.Equal(want.next) || err != nil {
				t.Errorf("at %v: due %q, next %v, error %v; want %q, next %v", b.now(), join(ids), next, err, want.ids, want.next)
			}
		}
		b.settle("first")
		if ids, _, _ := b.Due(context.Background(), 9); join(ids) != "second third" {
			t.Errorf("after one was settled: %v", ids)
		}
	}},
}

func (b *bench) join() store.Incarnation {
	b.t.Helper()
	node, err := b.Join(context.Background(), "host:1")
	if err != nil {
		b.t.Fatal("join:", err)
	}
	return node
}

func (b *bench) reap(node store.Incarnation, silent time.Duration, want int) {
	b.t.Helper()
	if taken, err := b.Reap(context.Background(), node, silent); taken != want || err != nil {
		b.t.Errorf("reap took %d requests, not %d, error %v", taken, want, err)
	}
}

// claim returns the IDs that node claims.
func (b *bench) claim(node store.Incarnation, limit int, skip ...wire.RequestID) string {
	b.t.Helper()
	skipped := make(map[wire.RequestID]bool)
	for _, id := range skip {
		skipped[id] = true
	}
	claimed, err := b.Claim(context.Background(), node, limit, func(id wire.RequestID) bool { return skipped[id] })
	if err != nil {
		b.t.Fatal("claim:", err)
	}
	ids := make([]wire.RequestID, len(claimed))
	for i, r := range claimed {
		ids[i] = r.ID
	}
	return join(ids)
}

func join(ids []wire.RequestID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, " ")
}
