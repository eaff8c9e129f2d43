package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// get runs a query under the lock, over the rows of a stack that must exist.
func get[T any](ctx context.Context, s *Store, key store.StackKey, query func(*stack) (T, error)) (result T, err error) {
	err = s.do(ctx, func() error {
		st := s.stacks[key]
		if st == nil {
			return store.ErrNotFound
		}
		result, err = query(st)
		return err
	})
	return result, err
}

// Stack implements [store.Store].
func (s *Store) Stack(ctx context.Context, id wire.StackID) (row store.Stack, err error) {
	err = s.do(ctx, func() error {
		st := s.stacks[s.ids[id]]
		if st == nil {
			return store.ErrNotFound
		}
		row = st.row
		return nil
	})
	return row, err
}

// LiveStack implements [store.Store].
func (s *Store) LiveStack(ctx context.Context, name store.StackName) (row store.Stack, err error) {
	err = s.do(ctx, func() error {
		st := s.stacks[s.live[name]]
		if st == nil {
			return store.ErrNotFound
		}
		row = st.row
		return nil
	})
	return row, err
}

// Stacks implements [store.Store].
func (s *Store) Stacks(ctx context.Context, account, region string, deleted bool, after store.StackKey, limit int) (page []store.Stack, err error) {
	newer := func(a, b store.Stack) int {
		return cmp.Or(milli(b.Created).Compare(milli(a.Created)), cmp.Compare(b.Key, a.Key))
	}
	err = s.do(ctx, func() error {
		last := s.stacks[after]
		if after != 0 && last == nil {
			return store.ErrNotFound
		}
		for _, st := range s.stacks {
			if st.row.Account == account && st.row.Region == region && (st.row.Live || deleted) &&
				(last == nil || newer(last.row, st.row) < 0) {
				page = append(page, st.row)
			}
		}
		slices.SortFunc(page, newer)
		page = first(page, limit)
		return nil
	})
	return page, err
}

// Operation implements [store.Store].
func (s *Store) Operation(ctx context.Context, key store.StackKey, number int) (store.Operation, error) {
	return get(ctx, s, key, func(st *stack) (store.Operation, error) {
		if number < 1 || number > len(st.operations) || st.operations[number-1].Number == 0 {
			return store.Operation{}, store.ErrNotFound
		}
		return st.operations[number-1], nil
	})
}

// FindOperation implements [store.Store].
func (s *Store) FindOperation(ctx context.Context, id string) (row store.Stack, operation store.Operation, err error) {
	err = s.do(ctx, func() error {
		at, ok := s.operations[id]
		if !ok {
			return store.ErrNotFound
		}
		st := s.stacks[at.stack]
		row, operation = st.row, st.operations[at.number-1]
		return nil
	})
	return row, operation, err
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context, key store.StackKey, number int) (store.Revision, error) {
	return get(ctx, s, key, func(st *stack) (store.Revision, error) {
		row, ok := st.revisions[number]
		if !ok {
			return store.Revision{}, store.ErrNotFound
		}
		return row, nil
	})
}

// Instances implements [store.Store].
func (s *Store) Instances(ctx context.Context, key store.StackKey) (rows []store.Instance, err error) {
	err = s.do(ctx, func() error {
		if st := s.stacks[key]; st != nil {
			for _, number := range slices.Sorted(maps.Keys(st.instances)) {
				rows = append(rows, copyInstance(st.instances[number]))
			}
		}
		return nil
	})
	return rows, err
}

// Events implements [store.Store].
func (s *Store) Events(ctx context.Context, key store.StackKey, before store.EventCursor, limit int) (page []store.EventRow, err error) {
	err = s.do(ctx, func() error {
		if st := s.stacks[key]; st != nil {
			for _, row := range slices.Backward(st.events) {
				at := cmp.Or(cmp.Compare(row.Place.Operation, before.Operation), cmp.Compare(row.Place.Number, before.Number))
				if before == (store.EventCursor{}) || at < 0 {
					page = append(page, row)
				}
			}
		}
		page = first(page, limit)
		return nil
	})
	return page, err
}

// Audit implements [store.Store].
func (s *Store) Audit(ctx context.Context, key store.StackKey, limit int) (page []store.Audit, err error) {
	err = s.do(ctx, func() error {
		if st := s.stacks[key]; st != nil {
			page = slices.Clone(st.audit)
			slices.Reverse(page)
		}
		page = first(page, limit)
		return nil
	})
	return page, err
}

// Request implements [store.Store].
func (s *Store) Request(ctx context.Context, id wire.RequestID) (row store.Request, err error) {
	err = s.do(ctx, func() error {
		r := s.requests[id]
		if r == nil {
			return store.ErrNotFound
		}
		row = r.copy()
		return nil
	})
	return row, err
}

// Executions implements [store.Store].
func (s *Store) Executions(ctx context.Context, machine string, open bool, after wire.RequestID, limit int) (rows []store.Request, err error) {
	err = s.do(ctx, func() error {
		last := s.requests[after]
		if last == nil && after != "" {
			return store.ErrNotFound
		}
		var found []*request
		for _, r := range s.requests {
			if r.row.Type == store.TypeExecution && string(r.row.Logical) == machine &&
				(!open || r.row.State != store.RequestSettled) && (last == nil || r.born < last.born) {
				found = append(found, r)
			}
		}
		slices.SortFunc(found, func(a, b *request) int { return older(b, a) })
		for _, r := range found[:min(len(found), max(limit, 0))] {
			row := r.row
			row.Body = nil
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// Requests implements [store.Store].
func (s *Store) Requests(ctx context.Context, key store.StackKey) (rows []store.Request, err error) {
	err = s.do(ctx, func() error {
		if st := s.stacks[key]; st != nil {
			for _, r := range slices.SortedFunc(maps.Values(st.open), older) {
				rows = append(rows, r.copy())
			}
		}
		return nil
	})
	return rows, err
}

// ChangeSet implements [store.Store].
func (s *Store) ChangeSet(ctx context.Context, id store.ChangeSetID) (row store.ChangeSet, err error) {
	err = s.do(ctx, func() error {
		set := s.sets[id]
		if set == nil {
			return store.ErrNotFound
		}
		row = set.row
		body := *row.Body
		row.Body = &body
		return nil
	})
	return row, err
}

// ChangeSets implements [store.Store].
func (s *Store) ChangeSets(ctx context.Context, key store.StackKey) (rows []store.ChangeSet, err error) {
	err = s.do(ctx, func() error {
		st := s.stacks[key]
		if st == nil {
			return nil
		}
		older := func(a, b *changeSet) int { return cmp.Compare(a.born, b.born) }
		for _, set := range slices.SortedFunc(maps.Values(st.sets), older) {
			rows = append(rows, set.narrow())
		}
		return nil
	})
	return rows, err
}

// Providers implements [store.Store].
func (s *Store) Providers(ctx context.Context) (rows []store.Provider, err error) {
	err = s.do(ctx, func() error {
		for _, name := range slices.Sorted(maps.Keys(s.providers)) {
			rows = append(rows, s.providers[name])
		}
		return nil
	})
	return rows, err
}

// PutProvider implements [store.Store].
func (s *Store) PutProvider(ctx context.Context, provider store.Provider) error {
	return s.do(ctx, func() error {
		if known, ok := s.providers[provider.Name]; ok && known.Holder != provider.Holder {
			return store.ErrTaken
		}
		provider.Definition = slices.Clone(provider.Definition)
		s.providers[provider.Name] = provider
		return nil
	})
}

// Provider implements [store.Store].
func (s *Store) Provider(ctx context.Context, name string) (row store.Provider, err error) {
	err = s.do(ctx, func() error {
		var ok bool
		if row, ok = s.providers[name]; !ok {
			return store.ErrNotFound
		}
		return nil
	})
	return row, err
}

// DropProvider implements [store.Store].
func (s *Store) DropProvider(ctx context.Context, name, holder string) error {
	return s.do(ctx, func() error {
		if known, ok := s.providers[name]; ok && known.Holder == holder {
			delete(s.providers, name)
		}
		return nil
	})
}

func first[T any](rows []T, limit int) []T { return rows[:min(len(rows), max(limit, 0))] }
