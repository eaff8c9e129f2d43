package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// of reports whether an account is one of accounts; nil means all accounts.
func of(accounts []string, account string) bool {
	return accounts == nil || slices.Contains(accounts, account)
}

// StackOf implements [store.Store].
func (s *Store) StackOf(ctx context.Context, key store.StackKey) (store.Stack, error) {
	return get(ctx, s, key, func(st *stack) (store.Stack, error) { return st.row, nil })
}

// Regions implements [store.Store].
func (s *Store) Regions(ctx context.Context, accounts []string, limit int) (list []store.Region, err error) {
	err = s.do(ctx, func() error {
		for _, st := range s.stacks {
			region := store.Region{Account: st.row.Account, Name: st.row.Region}
			if of(accounts, region.Account) && !slices.Contains(list, region) {
				list = append(list, region)
			}
		}
		slices.SortFunc(list, func(a, b store.Region) int {
			return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Name, b.Name))
		})
		list = first(list, limit)
		return nil
	})
	return list, err
}

// InstancesAfter implements [store.Store].
func (s *Store) InstancesAfter(ctx context.Context, key store.StackKey, after, limit int) ([]store.Instance, error) {
	rows, err := s.picked(ctx, key, func(i store.Instance) bool { return i.Number > after })
	return first(rows, limit), err
}

// InstancesOf implements [store.Store].
func (s *Store) InstancesOf(ctx context.Context, key store.StackKey, logical []wire.LogicalID) ([]store.Instance, error) {
	return s.picked(ctx, key, func(i store.Instance) bool {
		return i.Role != store.RoleGone && slices.Contains(logical, i.Logical)
	})
}

// picked returns the wanted instances of a stack, ordered by number.
func (s *Store) picked(ctx context.Context, key store.StackKey, wanted func(store.Instance) bool) (rows []store.Instance, err error) {
	err = s.do(ctx, func() error {
		if st := s.stacks[key]; st != nil {
			rows = st.picked(wanted)
		}
		return nil
	})
	return rows, err
}

func (st *stack) picked(wanted func(store.Instance) bool) (rows []store.Instance) {
	for _, number := range slices.Sorted(maps.Keys(st.instances)) {
		if i := st.instances[number]; wanted(i) {
			rows = append(rows, copyInstance(i))
		}
	}
	return rows
}

// OpenRequests implements [store.Store].
func (s *Store) OpenRequests(ctx context.Context, key store.StackKey, limit int) (rows []store.Request, err error) {
	err = s.do(ctx, func() error {
		if st := s.stacks[key]; st != nil {
			byLogical := func(a, b *request) int { return cmp.Or(cmp.Compare(a.row.Logical, b.row.Logical), older(a, b)) }
			for _, r := range first(slices.SortedFunc(maps.Values(st.open), byLogical), limit) {
				row := r.row
				row.Body = nil
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}

// LeftBehind implements [store.Store].
func (s *Store) LeftBehind(ctx context.Context, accounts []string, after store.InstancePlace, limit int) (rows []store.Instance, err error) {
	err = s.do(ctx, func() error {
		for _, key := range slices.Sorted(maps.Keys(s.stacks)) {
			if st := s.stacks[key]; of(accounts, st.row.Account) {
				rows = append(rows, st.picked(func(i store.Instance) bool {
					later := cmp.Or(cmp.Compare(i.Stack, after.Stack), cmp.Compare(i.Number, after.Number)) > 0
					return later && (i.Role == store.RoleOrphan || i.Role == store.RoleRetained)
				})...)
			}
		}
		rows = first(rows, limit)
		return nil
	})
	return rows, err
}

// AuditTrail implements [store.Store].
func (s *Store) AuditTrail(ctx context.Context, accounts []string, before store.AuditPlace, limit int) (rows []store.AuditRow, err error) {
	order := func(a, b store.AuditPlace) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Number, b.Number))
	}
	err = s.do(ctx, func() error {
		for key, st := range s.stacks {
			if !of(accounts, st.row.Account) {
				continue
			}
			for n, entry := range st.audit {
				row := store.AuditRow{
					Place: store.AuditPlace{At: entry.Time.UnixMilli(), Stack: key, Number: int64(n + 1)}, Stack: key, Audit: entry,
				}
				if before == (store.AuditPlace{}) || order(row.Place, before) < 0 {
					rows = append(rows, row)
				}
			}
		}
		slices.SortFunc(rows, func(a, b store.AuditRow) int { return order(b.Place, a.Place) })
		rows = first(rows, limit)
		return nil
	})
	return rows, err
}
