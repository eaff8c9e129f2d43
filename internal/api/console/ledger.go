package console

import (
	"context"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// maxLedgers is how many operations are kept, those looked at last; maxBars is how many steps of one are.
	maxLedgers = 4
	maxBars    = 50_000
	// maxPhases is how many of the stack's own events are kept of an operation.
	maxPhases = 100
	// chunk is how many rows of events are read at a time.
	chunk = 200
)

// bar is one thing that an operation did to a resource.
type bar struct {
	Logical    wire.LogicalID
	Verb       store.Verb
	Progress   store.Progress
	Start, End time.Time // End is zero while it runs
	Reason     string
	FailedBy   wire.RequestID // empty if it did not fail
}

// Failure is the path of the request by which it failed, empty for none.
func (b bar) Failure() string { return failureURL(b.FailedBy, b.Reason) }

func (b *bar) class() picture.State { return resourceStatus("", b.Verb, b.Progress).Class }

// ledger is what is known of an operation by its events: each is read once.
type ledger struct {
	mu   sync.Mutex
	read int // rows of events that are in it
	bars []bar
	open map[wire.LogicalID]int // the bar that runs, of each resource
	// newest is the latest bar of each resource.
	newest map[wire.LogicalID]int
	phases []eventLine
	// declared are the resources of a template, that of the revision number.
	declared []wire.LogicalID
	revision int
	// cut says that there was more than is kept.
	cut bool
}

// ledgers are those of the operations looked at last.
type ledgers struct {
	mu    sync.Mutex
	known map[ledgerKey]*ledger
	order []ledgerKey // longest unused first
}

type ledgerKey struct {
	stack  store.StackKey
	number int
}

// of returns the ledger of an operation, empty if it was not looked at lately.
func (l *ledgers) of(key ledgerKey) *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, k := range l.order {
		if k == key {
			l.order = append(append(l.order[:i:i], l.order[i+1:]...), key)
			return l.known[key]
		}
	}
	if len(l.order) == maxLedgers {
		delete(l.known, l.order[0])
		l.order = l.order[1:]
	}
	if l.known == nil {
		l.known = map[ledgerKey]*ledger{}
	}
	l.known[key] = &ledger{open: map[wire.LogicalID]int{}, newest: map[wire.LogicalID]int{}}
	l.order = append(l.order, key)
	return l.known[key]
}

// follow reads the events of an operation that are not in the ledger yet. The caller holds mu.
func (c *Console) follow(ctx context.Context, l *ledger, stack *store.Stack, op *store.Operation) error {
	for l.read < op.Events {
		upto := min(l.read+chunk, op.Events)
		rows, err := c.Rows.Events(ctx, stack.Key, store.EventCursor{Operation: op.Number, Number: upto + 1}, upto-l.read)
		if err != nil {
			return err
		}
		for i := len(rows) - 1; i >= 0; i-- {
			if place := rows[i].Place; place.Operation != op.Number || place.Number <= l.read {
				continue // of an earlier operation: those in between were swept
			}
			for _, e := range rows[i].Events {
				l.add(stack, e)
			}
		}
		l.read = upto
	}
	return nil
}

// add notes an event.
func (l *ledger) add(stack *store.Stack, e store.Event) {
	if e.Verb == "" {
		if len(l.phases) < maxPhases {
			l.phases = append(l.phases, eventOf(stack, e))
		} else {
			l.cut = true
		}
		return
	}
	at, runs := l.open[e.Logical]
	if runs && l.bars[at].Verb != e.Verb { // what it became, as when a Create makes room for a Delete
		l.bars[at].End = e.Time
		runs = false
		delete(l.open, e.Logical)
	}
	if !runs {
		if len(l.bars) == maxBars {
			l.cut = true
			return
		}
		at = len(l.bars)
		l.bars = append(l.bars, bar{Logical: e.Logical, Verb: e.Verb, Start: e.Time})
		l.open[e.Logical], l.newest[e.Logical] = at, at
	}
	b := &l.bars[at]
	b.Progress, b.Reason, b.FailedBy = e.Progress, e.Reason, e.Request
	if e.Progress != store.ProgressRunning {
		b.End = e.Time
		delete(l.open, e.Logical)
	}
}

// tally counts bars by how they stand.
type tally struct{ Running, Done, Failed, Stopped int }

func (t tally) All() int { return t.Running + t.Done + t.Failed + t.Stopped }

// window returns a page of the bars that are of a class, empty for all: those from offset on, or with a negative offset the
// last page; and where that begins, how many there are and how all stand. The caller holds mu.
func (l *ledger) window(class picture.State, offset, size int) (page []bar, begin, total int, counts tally) {
	var chosen []int
	for i := range l.bars {
		is := l.bars[i].class()
		switch is {
		case picture.Running:
			counts.Running++
		case picture.Done:
			counts.Done++
		case picture.Failed:
			counts.Failed++
		case picture.Stopped, picture.Waiting:
			counts.Stopped++
		}
		if class == "" || is == class {
			chosen = append(chosen, i)
		}
	}
	total = len(chosen)
	if begin = offset; begin < 0 || begin >= total {
		begin = max(total-1, 0) / size * size
	}
	for _, i := range chosen[begin:min(begin+size, total)] {
		page = append(page, l.bars[i])
	}
	return page, begin, total, counts
}
