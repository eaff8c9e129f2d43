package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pintle-dev/pintle/internal/store"
)

const importers = "SELECT s.name FROM import i JOIN stack s ON s.key = i.stack WHERE i.account = ? AND i.region = ? AND i.name = ?"

// exportRow is a row of the table export.
type exportRow struct {
	store.Export
	stack store.StackKey
}

func scanExport(rows *sql.Rows) (row exportRow, err error) {
	err = rows.Scan(&row.Name, &row.stack, &row.Output)
	return row, err
}

// fillOutside adds to a view the rows outside its stack that the decision requested. It sees the writes of the
// transaction.
func (t *tx) fillOutside(v *store.View, target store.Target, scope store.Scope) error {
	account, region := target.Home(&v.Stack)
	if len(scope.Exports) > 0 {
		v.Exports = make(map[string]store.Exported)
	}
	for _, name := range scope.Exports {
		row, err := one(t.query, scanExport, "SELECT name, stack, output FROM export WHERE account = ? AND region = ? AND name = ?", account, region, name)
		if errors.Is(err, store.ErrNotFound) {
			v.Exports[name] = store.Exported{Name: name}
			continue
		}
		if err != nil {
			return err
		}
		stack, err := one(t.query, t.store.scanStack, stackByKey, row.stack)
		if err != nil {
			return err
		}
		known := store.NewExported(row.Export, &stack)
		if known.Importers, err = all(t.query, scanValue[string], importers+" ORDER BY s.name", account, region, name); err != nil {
			return err
		}
		v.Exports[name] = known
	}
	if len(scope.Others) > 0 {
		v.Others = make(map[store.StackName]store.Stack)
	}
	for _, name := range scope.Others {
		stack, err := one(t.query, t.store.scanStack, stackByName, name.Account, name.Region, name.Name)
		if errors.Is(err, store.ErrNotFound) {
			stack, err = one(t.query, t.store.scanStack, liveStackByID, name.Account, name.Region, name.Name)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		v.Others[name] = stack
	}
	return nil
}

// putExports replaces the exports and imports of a stack. Imports end first, so that a stack that imports from itself
// can end both.
func (t *tx) putExports(view *store.View, d *store.Delta) error {
	own := view.Stack
	if d.Stack != nil {
		own = *d.Stack
	}
	if d.Imports != nil {
		if _, err := t.exec("DELETE FROM import WHERE stack = ? AND name NOT IN (SELECT value FROM json_each(?))", own.Key, array(*d.Imports)); err != nil {
			return err
		}
	}
	if d.Exports != nil {
		if err := t.replaceExports(&own, *d.Exports); err != nil {
			return err
		}
	}
	if d.Imports == nil {
		return nil
	}
	for _, name := range *d.Imports {
		_, err := t.exec("INSERT INTO import (account, region, name, stack) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", own.Account, own.Region, name, own.Key)
		if err != nil {
			return err
		}
		there, err := one(t.query, scanValue[int], "SELECT count(*) FROM export WHERE account = ? AND region = ? AND name = ?", own.Account, own.Region, name)
		if err == nil && there == 0 {
			err = store.ErrExport(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) replaceExports(own *store.Stack, exports []store.Export) error {
	names := make([]string, len(exports))
	for i, e := range exports {
		names[i] = e.Name
	}
	const ended = "stack = ? AND name NOT IN (SELECT value FROM json_each(?))"
	used, err := all(t.query, scanValue[string], "SELECT e.name FROM export e WHERE e."+ended+
		" AND EXISTS (SELECT 1 FROM import i WHERE i.account = e.account AND i.region = e.region AND i.name = e.name)", own.Key, array(names))
	if err == nil && len(used) > 0 {
		err = store.ErrExport(used[0])
	}
	if err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM export WHERE "+ended, own.Key, array(names)); err != nil {
		return err
	}
	for _, e := range exports {
		written, err := t.exec("INSERT INTO export (account, region, name, stack, output) VALUES (?, ?, ?, ?, ?) "+
			"ON CONFLICT DO UPDATE SET output = excluded.output WHERE stack = excluded.stack", own.Account, own.Region, e.Name, own.Key, e.Output)
		if err == nil && written == 0 {
			err = store.ErrExport(e.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Exports implements [store.Store].
func (s *Store) Exports(ctx context.Context, account, region, after string, limit int) ([]store.Exported, error) {
	return read(ctx, s, func(query querier) ([]store.Exported, error) {
		rows, err := all(query, scanExport, "SELECT name, stack, output FROM export WHERE account = ? AND region = ? AND name > ? ORDER BY name LIMIT ?",
			account, region, after, max(limit, 0))
		if err != nil {
			return nil, err
		}
		stacks := make(map[store.StackKey]store.Stack)
		list := make([]store.Exported, 0, len(rows))
		for _, row := range rows {
			stack, ok := stacks[row.stack]
			if !ok {
				stack, err = one(query, s.scanStack, stackByKey, row.stack)
				if errors.Is(err, store.ErrNotFound) {
					continue // it was deleted and swept in the meantime
				}
				if err != nil {
					return nil, err
				}
				stacks[row.stack] = stack
			}
			list = append(list, store.NewExported(row.Export, &stack))
		}
		return list, nil
	})
}

// Importers implements [store.Store].
func (s *Store) Importers(ctx context.Context, account, region, export, after string, limit int) ([]string, error) {
	return readAll(ctx, s, scanValue[string], importers+" AND s.name > ? ORDER BY s.name LIMIT ?", account, region, export, after, max(limit, 0))
}
