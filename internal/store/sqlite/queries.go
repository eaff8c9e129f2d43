package sqlite

import (
	"context"
	"database/sql"
	"math"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// readOne runs a query for one row on a reading connection.
func readOne[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), text string, args ...any) (T, error) {
	return read(ctx, s, func(query querier) (T, error) { return one(query, scan, text, args...) })
}

// readAll runs a query for many rows on a reading connection.
func readAll[T any](ctx context.Context, s *Store, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	return read(ctx, s, func(query querier) ([]T, error) { return all(query, scan, text, args...) })
}

// Stack implements [store.Store].
func (s *Store) Stack(ctx context.Context, id wire.StackID) (store.Stack, error) {
	return readOne(ctx, s, s.scanStack, "SELECT "+stackColumns+" FROM stack s WHERE s.id = ?", id)
}

// LiveStack implements [store.Store].
func (s *Store) LiveStack(ctx context.Context, name store.StackName) (store.Stack, error) {
	return readOne(ctx, s, s.scanStack, stackByName, name.Account, name.Region, name.Name)
}

// Stacks implements [store.Store].
func (s *Store) Stacks(ctx context.Context, account, region string, deleted bool, after store.StackKey, limit int) ([]store.Stack, error) {
	const (
		where = " FROM stack s WHERE s.account = ? AND s.region = ? AND (s.live = 1 OR ?)"
		order = " ORDER BY s.created DESC, s.key DESC LIMIT ?"
	)
	return read(ctx, s, func(query querier) ([]store.Stack, error) {
		if after == 0 {
			return all(query, s.scanStack, "SELECT "+stackColumns+where+order, account, region, deleted, max(limit, 0))
		}
		created, err := one(query, scanValue[int64], "SELECT created FROM stack WHERE key = ?", after)
		if err != nil {
			return nil, err
		}
		return all(query, s.scanStack, "SELECT "+stackColumns+where+" AND (s.created, s.key) < (?, ?)"+order,
			account, region, deleted, created, after, max(limit, 0))
	})
}

// Operation implements [store.Store].
func (s *Store) Operation(ctx context.Context, stack store.StackKey, number int) (store.Operation, error) {
	return readOne(ctx, s, s.scanOperation, "SELECT "+operationColumns+" FROM operation o WHERE o.stack = ? AND o.number = ?", stack, number)
}

// FindOperation implements [store.Store].
func (s *Store) FindOperation(ctx context.Context, id string) (stack store.Stack, operation store.Operation, err error) {
	operation, err = read(ctx, s, func(query querier) (row store.Operation, err error) {
		row, err = one(query, s.scanOperation, "SELECT "+operationColumns+
			" FROM operation_id i JOIN operation o ON o.stack = i.stack AND o.number = i.number WHERE i.id = ?", id)
		if err == nil {
			stack, err = one(query, s.scanStack, "SELECT "+stackColumns+" FROM stack s WHERE s.key = ?", row.Stack)
		}
		return row, err
	})
	return stack, operation, err
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context, stack store.StackKey, number int) (store.Revision, error) {
	return readOne(ctx, s, s.scanRevision, revision, stack, number)
}

// Instances implements [store.Store].
func (s *Store) Instances(ctx context.Context, stack store.StackKey) ([]store.Instance, error) {
	return readAll(ctx, s, s.scanInstance, instances+" ORDER BY i.number", stack)
}

// Events implements [store.Store].
func (s *Store) Events(ctx context.Context, stack store.StackKey, before store.EventCursor, limit int) ([]store.EventRow, error) {
	const (
		where = "SELECT operation, number, events FROM event WHERE stack = ?"
		order = " ORDER BY operation DESC, number DESC LIMIT ?"
	)
	if before == (store.EventCursor{}) {
		return readAll(ctx, s, scanEvents, where+order, stack, max(limit, 0))
	}
	return readAll(ctx, s, scanEvents, where+" AND (operation, number) < (?, ?)"+order, stack, before.Operation, before.Number, max(limit, 0))
}

// Audit implements [store.Store].
func (s *Store) Audit(ctx context.Context, stack store.StackKey, limit int) ([]store.Audit, error) {
	return readAll(ctx, s, scanAudit, "SELECT entry FROM audit WHERE stack = ? ORDER BY seq DESC LIMIT ?", stack, max(limit, 0))
}

// Request implements [store.Store].
func (s *Store) Request(ctx context.Context, id wire.RequestID) (store.Request, error) {
	return readOne(ctx, s, s.scanRequest, requestByID, id)
}

// Executions implements [store.Store].
func (s *Store) Executions(ctx context.Context, machine string, open bool, after wire.RequestID, limit int) ([]store.Request, error) {
	last := int64(math.MaxInt64)
	if after != "" {
		var err error
		if last, err = readOne(ctx, s, scanValue[int64], "SELECT seq FROM request WHERE id = ?", after); err != nil {
			return nil, err
		}
	}
	return readAll(ctx, s, s.scanNarrow, "SELECT "+narrowColumns+` FROM request r WHERE r.type = 'Execution' AND r.logical = ? AND r.seq < ?
		AND (NOT ? OR r.state <> 'settled') ORDER BY r.seq DESC LIMIT ?`, machine, last, open, max(limit, 0))
}

// Requests implements [store.Store].
func (s *Store) Requests(ctx context.Context, stack store.StackKey) ([]store.Request, error) {
	return readAll(ctx, s, s.scanRequest, openOnes+" ORDER BY r.seq", stack)
}

// Providers implements [store.Store].
func (s *Store) Providers(ctx context.Context) ([]store.Provider, error) {
	return readAll(ctx, s, s.scanProvider, "SELECT name, holder, definition FROM provider ORDER BY name")
}

// PutProvider implements [store.Store].
func (s *Store) PutProvider(ctx context.Context, provider store.Provider) error {
	definition, err := s.codec.SealDefinition(provider.Definition)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		changed, err := tx.exec("INSERT INTO provider (name, holder, definition) VALUES (?, ?, ?) "+
			"ON CONFLICT (name) DO UPDATE SET definition = excluded.definition WHERE provider.holder = excluded.holder",
			provider.Name, provider.Holder, definition)
		if err == nil && changed == 0 {
			err = store.ErrTaken
		}
		return err
	})
}

// Provider implements [store.Store].
func (s *Store) Provider(ctx context.Context, name string) (store.Provider, error) {
	return readOne(ctx, s, s.scanProvider, "SELECT name, holder, definition FROM provider WHERE name = ?", name)
}

// DropProvider implements [store.Store].
func (s *Store) DropProvider(ctx context.Context, name, holder string) error {
	return s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("DELETE FROM provider WHERE name = ? AND holder = ?", name, holder)
		return err
	})
}
