package console

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// maxLedgers is the number of cached operations, the most recently viewed. maxBars is the maximum number of steps
	// per operation.
	maxLedgers = 4
	maxBars    = 50_000
	// maxPhases is the maximum number of the stack's own events per operation.
	maxPhases = 100
	// chunk is the number of event rows per read.
	chunk = 200
)

// bar is one step of an operation on a resource.
type bar struct {
	Logical    wire.LogicalID
	Verb       store.Verb
	Progress   store.Progress
	Start, End time.Time // End is zero while it runs
	Reason     string
	FailedBy   wire.RequestID // empty if it did not fail
}

// Failure returns the path of the request that caused the failure, or "".
func (b bar) Failure() string { return failureURL(b.FailedBy, b.Reason) }

func (b *bar) class() picture.State { return resourceStatus("", b.Verb, b.Progress).Class }

// ledger caches the history of an operation, so that each event is read once.
type ledger struct {
	mu   sync.Mutex
	read int // number of event rows that were read
	bars []bar
	open map[wire.LogicalID]int // the running bar of each resource
	// newest is the latest bar of each resource.
	newest map[wire.LogicalID]int
	phases []eventLine
	// declared are the resources of the template of the given revision.
	declared []wire.LogicalID
	revision int
	// cut means that some steps or events exceed the limits.
	cut bool
}

// ledgers caches the ledgers of the most recently viewed operations.
type ledgers struct {
	mu    sync.Mutex
	known map[ledgerKey]*ledger
	order []ledgerKey // least recently used first
}

type ledgerKey struct {
	stack  store.StackKey
	number int
}

// of returns the cached ledger of an operation, or a new one.
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

// tracker follows the history of operations, and keeps that of the most recently viewed ones.
type tracker struct {
	engine  Engine
	rows    Rows
	ledgers ledgers
}

// follow adds the new events of an operation to the ledger. The caller holds mu.
func (tr *tracker) follow(ctx context.Context, l *ledger, stack *store.Stack, op *store.Operation) error {
	for l.read < op.Events {
		upto := min(l.read+chunk, op.Events)
		rows, err := tr.rows.Events(ctx, stack.Key, store.EventCursor{Operation: op.Number, Number: upto + 1}, upto-l.read)
		if err != nil {
			return err
		}
		for i := len(rows) - 1; i >= 0; i-- {
			if place := rows[i].Place; place.Operation != op.Number || place.Number <= l.read {
				continue // from an earlier operation: the rows in between have been deleted
			}
			for _, e := range rows[i].Events {
				l.add(stack, e)
			}
		}
		l.read = upto
	}
	return nil
}

// bars adds a page of the operation's bars to the view.
func (tr *tracker) bars(ctx context.Context, view *operationView, op *store.Operation, offset int) ([]bar, error) {
	l := tr.ledgers.of(ledgerKey{view.Stack.Key, op.Number})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := tr.follow(ctx, l, view.Stack, op); err != nil {
		return nil, err
	}
	page, begin, total, counts := l.window(picture.State(view.Show), offset, pageSize)
	view.Counts, view.Cut, view.Phases = counts, l.cut, append([]eventLine(nil), l.phases...)
	view.From, view.To, view.Total = min(begin+1, total), begin+len(page), total
	at := func(from int) string {
		q := url.Values{"from": {strconv.Itoa(from)}}
		if view.Show != "" {
			q.Set("show", view.Show)
		}
		return stackURL(view.Stack.ID, "operations", strconv.Itoa(op.Number)) + "?" + q.Encode()
	}
	if begin > 0 {
		view.Previous = at(max(begin-pageSize, 0))
	}
	if view.To < total {
		view.Next = at(view.To)
	}
	return page, nil
}

// add adds an event.
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
	if runs && l.bars[at].Verb != e.Verb { // the step became another one, as when a Create is replaced by a Delete
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

// tally counts bars by state.
type tally struct{ Running, Done, Failed, Stopped int }

func (t tally) All() int { return t.Running + t.Done + t.Failed + t.Stopped }

// window returns a page of the bars of a class, or of all bars if class is empty. The page begins at offset, or is the
// last page for a negative offset. window also returns the index of its first bar, the number of matching bars, and the
// counts by state. The caller holds mu.
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
