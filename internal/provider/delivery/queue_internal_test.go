package delivery

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func rows(stack store.StackKey, ids string) []store.Request {
	var all []store.Request
	for _, id := range strings.Fields(ids) {
		all = append(all, store.Request{ID: wire.RequestID(id), Stack: stack, Owner: 1, Body: &store.RequestBody{}})
	}
	return all
}

func TestStacksTakeTurns(t *testing.T) {
	q := newQueue(100, 8)
	q.offer(1, rows(1, "a1 a2 a3 a4"))
	q.offer(1, rows(2, "b1"))
	q.offer(1, rows(3, "c1 c2"))
	var got []string
	var sends []*send
	for s := q.next(); s != nil; s = q.next() {
		got = append(got, string(s.request.ID))
		sends = append(sends, s)
	}
	// A stack gets a quarter of the eight sends.
	if diff := cmp.Diff("a1 b1 c1 a2 c2", strings.Join(got, " ")); diff != "" {
		t.Error(diff)
	}
	sends[0].release()
	sends[0].release() // counts once
	if s := q.next(); s == nil || s.request.ID != "a3" {
		t.Errorf("next is %+v, want a3", s)
	}
	if s := q.next(); s != nil {
		t.Errorf("next is %s, want none", s.request.ID)
	}
}

func TestSendsAreBounded(t *testing.T) {
	q := newQueue(100, 3)
	for stack := range 5 {
		q.offer(1, rows(store.StackKey(stack+1), string(rune('a'+stack))))
	}
	n := 0
	for q.next() != nil {
		n++
	}
	if n != 3 {
		t.Errorf("%d sends, want 3", n)
	}
}

func TestOfferTakesWhatFits(t *testing.T) {
	q := newQueue(4, 4)
	if n := q.offer(1, rows(1, "a b a")); n != 2 {
		t.Errorf("took %d, want 2: one is there twice", n)
	}
	if n := q.offer(2, rows(1, "x")); n != 0 {
		t.Error("took a request of another owner")
	}
	if n := q.offer(1, rows(2, "c d e f")); n != 2 {
		t.Errorf("took %d, want 2", n)
	}
	if free := q.reading(); free != 0 || !q.left {
		t.Errorf("%d free, left %t", free, q.left)
	}
	s := q.next()
	select {
	case <-q.room:
		t.Error("room before anything was finished")
	default:
	}
	q.forget(s, true)
	select {
	case <-q.room:
	default:
		t.Error("no reading of the table was asked for")
	}
	if free := q.reading(); free != 1 || q.left {
		t.Errorf("%d free, left %t", free, q.left)
	}
	if !q.holds(1, s.request.ID) || q.holds(2, s.request.ID) {
		t.Error("the settled request is not remembered as its owner's")
	}
}

func TestUnsettledRequestsMayComeAgain(t *testing.T) {
	q := newQueue(4, 4)
	q.offer(1, rows(1, "a"))
	q.forget(q.next(), false)
	if n := q.offer(1, rows(1, "a")); n != 1 {
		t.Error("it was not taken again")
	}
}

func TestSettledIDsAreBounded(t *testing.T) {
	q := newQueue(2, 4)
	for _, id := range strings.Fields("a b c d e f g h i j") {
		q.offer(1, rows(1, id))
		q.forget(q.next(), true)
	}
	if len(q.recent)+len(q.older) > 4 || !q.holds(1, "j") || q.holds(1, "a") {
		t.Errorf("%d remembered, %v %v", len(q.recent)+len(q.older), q.recent, q.older)
	}
	if len(q.lanes) != 0 || len(q.turns) != 0 || q.busy != 0 {
		t.Errorf("left over: %v %v %d", q.lanes, q.turns, q.busy)
	}
}

func TestRequestWithoutBodyIsReadFromTable(t *testing.T) {
	q := newQueue(4, 4)
	r := rows(1, "a")
	r[0].Body = nil
	if n := q.offer(1, r); n != 0 || !q.left {
		t.Errorf("took %d, left %t", n, q.left)
	}
}
