package postgres

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	fromStack = "SELECT " + stackColumns + " FROM stack s JOIN stack_body sb ON sb.key = s.key"
	// stackByNameOrID sorts a stack with that name after one with that ID.
	stackByNameOrID = fromStack + " WHERE s.account = $1 AND s.region = $2 AND (s.name = $3 OR s.id = $3) AND s.live ORDER BY s.name = $3"
	stackByName     = fromStack + " WHERE s.account = $1 AND s.region = $2 AND s.name = $3 AND s.live"
	fromRequest     = "SELECT " + requestColumns + " FROM request r JOIN request_body b ON b.id = r.id"
	fromStep        = "SELECT " + stepColumns + " FROM step s JOIN step_plan p ON p.stack = s.stack AND p.logical = s.logical"
	fromInst        = "SELECT " + instanceColumns + " FROM instance i JOIN instance_body b ON b.stack = i.stack AND b.number = i.number"
	fromRev         = "SELECT " + revisionColumns + " FROM revision r JOIN template t ON t.hash = r.template"
)

// all returns every row of a query.
func all[T any](ctx context.Context, s *Store, scan func(pgx.Row) (T, error), text string, args ...any) (list []T, err error) {
	err = s.call(ctx, func() error {
		for _, arg := range args {
			if !sayable(arg) {
				return nil // no row can have that name
			}
		}
		return s.again(ctx, func() error {
			list = nil
			rows, err := s.pool.Query(ctx, text, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			return collect(rows, scan, func(row T) { list = append(list, row) })
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// one returns the only row of a query, or [store.ErrNotFound].
func one[T any](ctx context.Context, s *Store, scan func(pgx.Row) (T, error), text string, args ...any) (T, error) {
	list, err := all(ctx, s, scan, text, args...)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// sayable reports whether an argument can be passed to PostgreSQL. Texts with a NUL or with invalid UTF-8 cannot.
func sayable(arg any) bool {
	switch text := arg.(type) {
	case string:
		return clean(text)
	case wire.StackID:
		return clean(string(text))
	case wire.RequestID:
		return clean(string(text))
	}
	return true
}

func clean(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// Stack implements [store.Store].
func (s *Store) Stack(ctx context.Context, id wire.StackID) (store.Stack, error) {
	return one(ctx, s, s.scanStack, fromStack+" WHERE s.id = $1", id)
}

// LiveStack implements [store.Store].
func (s *Store) LiveStack(ctx context.Context, name store.StackName) (store.Stack, error) {
	return one(ctx, s, s.scanStack, stackByName, name.Account, name.Region, name.Name)
}

// Stacks implements [store.Store].
func (s *Store) Stacks(ctx context.Context, account, region string, deleted bool, after store.StackKey, limit int) ([]store.Stack, error) {
	const (
		where = fromStack + " WHERE s.account = $1 AND s.region = $2 AND (s.live OR $3)"
		order = " ORDER BY s.created DESC, s.key DESC LIMIT $4"
	)
	if after == 0 {
		return all(ctx, s, s.scanStack, where+order, account, region, deleted, max(limit, 0))
	}
	created, err := one(ctx, s, scanValue[int64], "SELECT created FROM stack WHERE key = $1", after)
	if err != nil {
		return nil, err
	}
	return all(ctx, s, s.scanStack, where+" AND (s.created, s.key) < ($5, $6)"+order, account, region, deleted, max(limit, 0), created, after)
}

// Operation implements [store.Store].
func (s *Store) Operation(ctx context.Context, stack store.StackKey, number int) (store.Operation, error) {
	return one(ctx, s, s.scanOperation, "SELECT "+operationColumns+" FROM operation o WHERE o.stack = $1 AND o.number = $2", stack, number)
}

// FindOperation implements [store.Store].
func (s *Store) FindOperation(ctx context.Context, id string) (store.Stack, store.Operation, error) {
	operation, err := one(ctx, s, s.scanOperation, "SELECT "+operationColumns+
		" FROM operation_id i JOIN operation o ON o.stack = i.stack AND o.number = i.number WHERE i.id = $1", id)
	if err != nil {
		return store.Stack{}, store.Operation{}, err
	}
	stack, err := one(ctx, s, s.scanStack, fromStack+" WHERE s.key = $1", operation.Stack)
	if err != nil {
		return store.Stack{}, store.Operation{}, err
	}
	return stack, operation, nil
}

// Revision implements [store.Store].
func (s *Store) Revision(ctx context.Context, stack store.StackKey, number int) (store.Revision, error) {
	return one(ctx, s, s.scanRevision, fromRev+" WHERE r.stack = $1 AND r.number = $2", stack, number)
}

// Instances implements [store.Store].
func (s *Store) Instances(ctx context.Context, stack store.StackKey) ([]store.Instance, error) {
	return all(ctx, s, s.scanInstance, fromInst+" WHERE i.stack = $1 ORDER BY i.number", stack)
}

// Events implements [store.Store].
func (s *Store) Events(ctx context.Context, stack store.StackKey, before store.EventCursor, limit int) ([]store.EventRow, error) {
	const (
		where = "SELECT operation, number, events FROM event WHERE stack = $1"
		order = " ORDER BY operation DESC, number DESC LIMIT $2"
	)
	if before == (store.EventCursor{}) {
		return all(ctx, s, scanEvents, where+order, stack, max(limit, 0))
	}
	return all(ctx, s, scanEvents, where+" AND (operation, number) < ($3, $4)"+order, stack, max(limit, 0), before.Operation, before.Number)
}

// Audit implements [store.Store].
func (s *Store) Audit(ctx context.Context, stack store.StackKey, limit int) ([]store.Audit, error) {
	return all(ctx, s, scanAudit, "SELECT entry FROM audit WHERE stack = $1 ORDER BY number DESC LIMIT $2", stack, max(limit, 0))
}

// Request implements [store.Store].
func (s *Store) Request(ctx context.Context, id wire.RequestID) (store.Request, error) {
	return one(ctx, s, s.scanRequest, fromRequest+" WHERE r.id = $1", id)
}

// Executions implements [store.Store].
func (s *Store) Executions(ctx context.Context, machine string, open bool, after wire.RequestID, limit int) ([]store.Request, error) {
	if after != "" {
		if _, err := one(ctx, s, scanValue[string], "SELECT id FROM request WHERE id = $1", string(after)); err != nil {
			return nil, err
		}
	}
	return all(ctx, s, s.scanNarrow, "SELECT "+narrowColumns+` FROM request r WHERE r.type = 'Execution' AND r.logical = $1
		AND ($2 = '' OR (r.born, r.id) < (SELECT a.born, a.id FROM request a WHERE a.id = $2)) AND (NOT $3 OR r.state <> 'settled')
		ORDER BY r.born DESC, r.id DESC LIMIT $4`, machine, string(after), open, max(limit, 0))
}

// Requests implements [store.Store].
func (s *Store) Requests(ctx context.Context, stack store.StackKey) ([]store.Request, error) {
	return all(ctx, s, s.scanRequest, fromRequest+" WHERE r.stack = $1 AND r.state <> 'settled' ORDER BY r.born, r.id", stack)
}

// Providers implements [store.Store].
func (s *Store) Providers(ctx context.Context) ([]store.Provider, error) {
	return all(ctx, s, s.scanProvider, "SELECT name, holder, definition FROM provider ORDER BY name")
}

// PutProvider implements [store.Store].
func (s *Store) PutProvider(ctx context.Context, provider store.Provider) error {
	definition, err := s.codec.SealDefinition(provider.Definition)
	if err != nil {
		return err
	}
	changed, err := s.exec(ctx, "INSERT INTO provider (name, holder, definition) VALUES ($1, $2, $3) "+
		"ON CONFLICT (name) DO UPDATE SET definition = excluded.definition WHERE provider.holder = excluded.holder",
		provider.Name, provider.Holder, definition)
	if err == nil && changed == 0 {
		err = store.ErrTaken
	}
	return err
}

// Provider implements [store.Store].
func (s *Store) Provider(ctx context.Context, name string) (store.Provider, error) {
	return one(ctx, s, s.scanProvider, "SELECT name, holder, definition FROM provider WHERE name = $1", name)
}

// DropProvider implements [store.Store].
func (s *Store) DropProvider(ctx context.Context, name, holder string) error {
	_, err := s.exec(ctx, "DELETE FROM provider WHERE name = $1 AND holder = $2", name, holder)
	return err
}

// exec runs one statement in a transaction of its own and returns the number of changed rows.
func (s *Store) exec(ctx context.Context, text string, args ...any) (changed int64, err error) {
	err = s.call(ctx, func() error {
		return s.again(ctx, func() error {
			return s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				unwarned(conn.Conn())
				tag, err := conn.Exec(ctx, text, args...)
				changed = tag.RowsAffected()
				return cmp.Or(err, assured(conn.Conn()))
			})
		})
	})
	return changed, err
}
