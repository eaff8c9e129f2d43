// Package memory is a [store.Store] in the memory of its process. It is for the simulation, which runs thousands of
// stacks on it, and for tests. Because it is written without SQL, it also shows that the store's contract does not
// depend on a database.
//
// Rows are replaced, never changed in place, so a view is a shallow copy. A view holds exactly the rows that the
// contract promises: a decision that forgets to ask for more fails here as it would on a database.
package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Config configures a Store. The zero Config is usable.
type Config struct {
	// Now stands in for the database's clock; nil means [time.Now].
	Now func() time.Time
}

// Store is a [store.Store] in memory. Use [New].
type Store struct {
	now  func() time.Time
	root store.Root

	mu       sync.Mutex // held during every call, including its decisions
	closed   bool
	stacks   map[store.StackKey]*stack
	ids      map[wire.StackID]store.StackKey
	live     map[store.StackName]store.StackKey
	requests map[wire.RequestID]*request
	open     map[wire.RequestID]*request // unsettled requests
	sets     map[store.ChangeSetID]*changeSet
	born     int64 // number of requests and change sets created so far
	nodes    map[store.Incarnation]time.Time
	joined   store.Incarnation // number of nodes so far
	// operations indexes the operations of all stacks by operation ID.
	operations map[string]place
	providers  map[string]store.Provider
	parameters map[store.ParameterKey][]store.Parameter // versions, newest last
	entries    map[string]store.Entry                   // by EntryKey.Row
	exports    map[exportName]export
}

// stack is a stack with all its rows.
type stack struct {
	row        store.Stack
	revisions  map[int]store.Revision
	operations []store.Operation // by number from 1; a swept one is zero
	steps      map[wire.LogicalID]store.Step
	instances  map[int]store.Instance
	open       map[wire.RequestID]*request
	sets       map[store.ChangeSetID]*changeSet
	events     []store.EventRow // oldest first
	audit      []store.Audit    // oldest first
	imports    []string
}

// place identifies an operation.
type place struct {
	stack  store.StackKey
	number int
}

// request is a request with its position in order of creation.
type request struct {
	row  store.Request
	born int64
}

// changeSet is a change set with its position in order of creation.
type changeSet struct {
	row  store.ChangeSet
	born int64
}

var _ store.Store = (*Store)(nil)

// New returns an empty store. It never returns an error.
func New(cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{
		now:       cfg.Now,
		root:      store.NewRoot(),
		stacks:    make(map[store.StackKey]*stack),
		ids:       make(map[wire.StackID]store.StackKey),
		live:      make(map[store.StackName]store.StackKey),
		requests:  make(map[wire.RequestID]*request),
		open:      make(map[wire.RequestID]*request),
		sets:      make(map[store.ChangeSetID]*changeSet),
		nodes:     make(map[store.Incarnation]time.Time),
		providers: make(map[string]store.Provider), parameters: make(map[store.ParameterKey][]store.Parameter),
		entries: make(map[string]store.Entry),

		operations: make(map[string]place), exports: make(map[exportName]export),
	}, nil
}

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	return s.do(ctx, func() error {
		view, delta, err := store.Run(target, func(scope store.Scope) (*store.View, error) {
			return s.view(target, scope)
		}, decide)
		if err != nil {
			return err
		}
		st := s.stacks[view.Stack.Key]
		if st == nil {
			if delta.Stack == nil {
				return nil
			}
			st = &stack{
				revisions: make(map[int]store.Revision),
				steps:     make(map[wire.LogicalID]store.Step),
				instances: make(map[int]store.Instance),
				open:      make(map[wire.RequestID]*request),
				sets:      make(map[store.ChangeSetID]*changeSet),
			}
		}
		if err := s.refuse(st, view, &delta); err != nil {
			return err
		}
		s.write(st, view.Operation, &delta)
		return nil
	})
}

// Ping implements [store.Store].
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, func() error { return nil })
}

// Close implements [store.Store]. The rows are lost. A second Close is a no-op.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// do runs one call of the store under the lock.
func (s *Store) do(ctx context.Context, call func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return call()
}

// time returns the current time with the precision of a database.
func (s *Store) time() time.Time { return milli(s.now()) }

func milli(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// refuse returns the error with which a database would reject a delta, before any of it is written.
func (s *Store) refuse(st *stack, view *store.View, d *store.Delta) error {
	if d.Stack != nil && view.Stack.Key == 0 {
		if _, ok := s.stacks[d.Stack.Key]; ok {
			return fmt.Errorf("stack key %d is taken", d.Stack.Key)
		}
		if _, ok := s.ids[d.Stack.ID]; ok {
			return fmt.Errorf("stack id %q is taken", d.Stack.ID)
		}
	}
	for _, r := range d.Revisions {
		if _, ok := st.revisions[r.Number]; ok {
			return fmt.Errorf("revision %d is there already", r.Number)
		}
	}
	for _, step := range d.Steps {
		if _, ok := st.steps[step.Logical]; step.Plan == nil && (!ok || d.DropSteps) {
			return fmt.Errorf("step %q has no plan", step.Logical)
		}
	}
	for _, i := range d.Instances {
		if _, ok := st.instances[i.Number]; i.Body == nil && !ok {
			return fmt.Errorf("instance %d has no body", i.Number)
		}
	}
	for _, r := range d.Requests {
		old, ok := s.requests[r.ID]
		if r.Body == nil && !ok {
			return fmt.Errorf("request %q has no body", r.ID)
		}
		if ok && old.row.Stack != r.Stack {
			return errors.New("a request belongs to one stack for ever")
		}
	}
	if err := s.refuseExports(view, d); err != nil {
		return err
	}
	return s.refuseSets(st, d)
}

// refuseSets returns the error with which a database would reject change sets.
func (s *Store) refuseSets(st *stack, d *store.Delta) error {
	names := make(map[string]store.ChangeSetID)
	for id, set := range st.sets {
		if !slices.Contains(d.DropChangeSets, id) {
			names[set.row.Name] = id
		}
	}
	for _, c := range d.ChangeSets {
		old, ok := s.sets[c.ID]
		switch taken, named := names[c.Name]; {
		case ok && old.row.Stack != c.Stack:
			return errors.New("a change set belongs to one stack for ever")
		case c.Body == nil && (!ok || slices.Contains(d.DropChangeSets, c.ID)):
			return fmt.Errorf("change set %q has no body", c.ID)
		case named && taken != c.ID:
			return fmt.Errorf("the name of change set %q is taken", c.ID)
		}
		if ok && names[old.row.Name] == c.ID {
			delete(names, old.row.Name)
		}
		names[c.Name] = c.ID
	}
	return nil
}

func (s *Store) write(st *stack, before store.Operation, d *store.Delta) {
	if d.Stack != nil {
		s.writeStack(st, *d.Stack)
	}
	if d.Operation != nil {
		for _, id := range d.Operation.NewIDs(&before) {
			if _, taken := s.operations[id]; !taken {
				s.operations[id] = place{st.row.Key, d.Operation.Number}
			}
		}
		if d.Operation.Number > len(st.operations) {
			st.operations = append(st.operations, *d.Operation)
		} else {
			st.operations[d.Operation.Number-1] = *d.Operation
		}
	}
	for _, r := range d.Revisions {
		st.revisions[r.Number] = r
	}
	if d.DropSteps {
		clear(st.steps)
	}
	for _, step := range d.Steps {
		if step.Plan == nil {
			step.Plan = st.steps[step.Logical].Plan
		}
		st.steps[step.Logical] = step
	}
	for _, i := range d.Instances {
		if i.Body == nil {
			i.Body = st.instances[i.Number].Body
		}
		st.instances[i.Number] = i
	}
	for _, r := range d.Requests {
		s.writeRequest(st, r)
	}
	s.writeSets(st, d)
	s.writeExports(st, d)
	if len(d.Events) > 0 {
		place := store.EventCursor{Operation: d.Operation.Number, Number: d.Operation.Events}
		st.events = append(st.events, store.EventRow{Place: place, Events: d.Events})
	}
	st.audit = append(st.audit, d.Audit...)
}

func (s *Store) writeStack(st *stack, row store.Stack) {
	st.row = row
	s.stacks[row.Key] = st
	s.ids[row.ID] = row.Key
	name := store.StackName{Account: row.Account, Region: row.Region, Name: row.Name}
	if row.Live {
		s.live[name] = row.Key
	} else if s.live[name] == row.Key {
		delete(s.live, name)
	}
}

func (s *Store) writeSets(st *stack, d *store.Delta) {
	for _, id := range d.DropChangeSets {
		if st.sets[id] != nil {
			delete(s.sets, id)
			delete(st.sets, id)
		}
	}
	for _, row := range d.ChangeSets {
		set := s.sets[row.ID]
		if set == nil {
			s.born++
			set = &changeSet{born: s.born}
			s.sets[row.ID], st.sets[row.ID] = set, set
		}
		if row.Body == nil {
			row.Body = set.row.Body
		}
		set.row = row
	}
}

func (s *Store) writeRequest(st *stack, row store.Request) {
	r := s.requests[row.ID]
	if r == nil {
		s.born++
		r = &request{born: s.born}
		s.requests[row.ID] = r
	}
	if row.Body == nil {
		row.Body = r.row.Body
	}
	row.Due = milli(row.Due)
	r.row = row
	if row.State == store.RequestSettled {
		delete(s.open, row.ID)
		delete(st.open, row.ID)
		return
	}
	s.open[row.ID] = r
	st.open[row.ID] = r
}
