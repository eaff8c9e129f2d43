package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pintle-dev/pintle/internal/store"
)

// A transaction reads exports without locks, and the rows must be unchanged when it commits. So every row has two
// counters. number changes when the exporting stack or the value changes. uses changes when an import begins. A
// transaction that begins an import updates uses, on the condition that number is unchanged since it read the row. A
// transaction that changes or removes an export requires that both are unchanged. A transaction that only refuses a
// request because of an export writes nothing.

const (
	exportsNamed = `SELECT e.name, e.stack, e.output, e.number, e.uses FROM export e
		WHERE e.account = $1 AND e.region = $2 AND (e.name = ANY($3::text[]) OR e.stack = $4)`
	importersOf = `SELECT i.name, i.stack, s.name FROM import i JOIN stack s ON s.key = i.stack
		WHERE i.account = $1 AND i.region = $2 AND i.name IN (SELECT e.name FROM export e
			WHERE e.account = $1 AND e.region = $2 AND (e.name = ANY($3::text[]) OR e.stack = $4))`
	exportersOf = fromStack + ` WHERE s.key IN (SELECT e.stack FROM export e
		WHERE e.account = $1 AND e.region = $2 AND (e.name = ANY($3::text[]) OR e.stack = $4))`

	// lockExports comes before all changes, in the order of the names, so that two batches cannot deadlock.
	lockExports = `SELECT e.name FROM export e JOIN unnest($1::text[], $2::text[], $3::text[]) u (account, region, name)
		ON e.account = u.account AND e.region = u.region AND e.name = u.name
		ORDER BY e.account, e.region, e.name FOR NO KEY UPDATE OF e`
	dropImports = `DELETE FROM import i WHERE i.stack = ANY($1::bigint[]) AND NOT EXISTS (
		SELECT 1 FROM unnest($2::bigint[], $3::text[]) u (stack, name) WHERE u.stack = i.stack AND u.name = i.name)`
	dropExports = `DELETE FROM export e USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) u (account, region, name, number, uses)
		WHERE e.account = u.account AND e.region = u.region AND e.name = u.name AND e.number = u.number AND e.uses = u.uses`
	changeExports = `UPDATE export e SET stack = u.stack, output = u.output, number = u.next
		FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[])
			u (account, region, name, number, uses, stack, output, next)
		WHERE e.account = u.account AND e.region = u.region AND e.name = u.name AND e.number = u.number AND e.uses = u.uses`
	makeExports = `INSERT INTO export (account, region, name, stack, output, number)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[]) ON CONFLICT DO NOTHING`
	// makeImports returns the number of exports that imports began to use although they have changed since they were
	// read.
	makeImports = `WITH wanted AS (
			SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) u (account, region, name, stack, number)),
		added AS (
			INSERT INTO import (account, region, name, stack) SELECT account, region, name, stack FROM wanted
			ON CONFLICT DO NOTHING RETURNING account, region, name),
		begun AS (SELECT DISTINCT w.account, w.region, w.name, w.number FROM added a JOIN wanted w USING (account, region, name)),
		held AS (
			UPDATE export e SET uses = e.uses + 1 FROM begun b
			WHERE e.account = b.account AND e.region = b.region AND e.name = b.name AND e.number = b.number RETURNING 1)
		SELECT (SELECT count(*) FROM begun) - (SELECT count(*) FROM held)`
)

// exportName identifies an export.
type exportName struct{ account, region, name string }

func (n exportName) compare(o exportName) int {
	return cmp.Or(cmp.Compare(n.account, o.account), cmp.Compare(n.region, o.region), cmp.Compare(n.name, o.name))
}

// export is the batch's copy of an export.
type export struct {
	// The state after the decisions so far; stack is 0 if no stack exports it.
	stack     store.StackKey
	output    string
	number    int64
	importers map[store.StackKey]string // names by key
	// The counters in the database, 0 for a missing row.
	read, uses int64
}

// exports are the batch's copies of exports, and of stacks outside the batch.
type exports struct {
	named  map[exportName]*export
	of     map[store.StackKey]bool        // stacks whose exports are all loaded
	stacks map[store.StackKey]store.Stack // exporters, as they are in the database
	sets   map[store.StackKey][]string    // imports that a decision has set for a stack
}

func newExports() exports {
	return exports{
		named: make(map[exportName]*export), of: make(map[store.StackKey]bool),
		stacks: make(map[store.StackKey]store.Stack), sets: make(map[store.StackKey][]string),
	}
}

// stackOf returns a stack as it is after the decisions so far.
func (b *batch) stackOf(key store.StackKey) *store.Stack {
	if im := b.images[key]; im != nil {
		return &im.Stack
	}
	stack := b.exports.stacks[key]
	return &stack
}

// fillOutside adds to a view the rows outside its stack that the decision requested.
func (b *batch) fillOutside(v *store.View, target store.Target, scope store.Scope) error {
	account, region := target.Home(&v.Stack)
	if len(scope.Exports) > 0 {
		if err := b.loadExports(account, region, v.Stack.Key, scope.Exports); err != nil {
			return err
		}
		v.Exports = make(map[string]store.Exported)
	}
	for _, name := range scope.Exports {
		e := b.exports.named[exportName{account, region, name}]
		if e == nil || e.stack == 0 {
			v.Exports[name] = store.Exported{Name: name}
			continue
		}
		known := store.NewExported(store.Export{Name: name, Output: e.output}, b.stackOf(e.stack))
		known.Importers = slices.Sorted(maps.Values(e.importers))
		v.Exports[name] = known
	}
	return b.fillOthers(v, scope.Others)
}

// fillOthers adds live stacks to a view. Stacks of the batch are as its decisions left them.
func (b *batch) fillOthers(v *store.View, names []store.StackName) error {
	if len(names) == 0 {
		return nil
	}
	v.Others = make(map[store.StackName]store.Stack)
	trip := &pgx.Batch{}
	for _, name := range names {
		v.Others[name] = store.Stack{}
		if !clean(name.Account) || !clean(name.Region) || !clean(name.Name) {
			continue // no stack can have that name
		}
		trip.Queue(stackByNameOrID, name.Account, name.Region, name.Name).Query(func(rows pgx.Rows) error {
			return collect(rows, b.store.scanStack, func(row store.Stack) { v.Others[name] = row })
		})
	}
	if err := b.send(trip); err != nil {
		return err
	}
	for name, row := range v.Others {
		if im := b.images[row.Key]; im != nil && row.Key != 0 {
			v.Others[name] = store.Stack{}
		}
	}
	for _, im := range b.images {
		name := store.StackName{Account: im.Stack.Account, Region: im.Stack.Region, Name: im.Stack.Name}
		if _, asked := v.Others[name]; asked && im.Stack.Live {
			v.Others[name] = im.Stack
		}
		name.Name = string(im.Stack.ID)
		if other, asked := v.Others[name]; asked && im.Stack.Live && other.Key == 0 { // unless another stack has that name
			v.Others[name] = im.Stack
		}
	}
	return nil
}

// loadExports loads the exports with some names, and those of a stack, unless they are loaded.
func (b *batch) loadExports(account, region string, own store.StackKey, names []string) error {
	known := &b.exports
	var missing []string
	for _, name := range names {
		if n := (exportName{account, region, name}); known.named[n] == nil && clean(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 && (own == 0 || known.of[own]) || !clean(account) || !clean(region) {
		return nil
	}
	fresh := make(map[string]*export) // loaded exports are as new or newer
	args := []any{account, region, missing, int64(own)}
	trip := &pgx.Batch{}
	trip.Queue(exportsNamed, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var name string
			e := &export{importers: make(map[store.StackKey]string)}
			if err := rows.Scan(&name, (*int64)(&e.stack), &e.output, &e.number, &e.uses); err != nil {
				return err
			}
			e.read = e.number
			if n := (exportName{account, region, name}); known.named[n] == nil {
				known.named[n], fresh[name] = e, e
			}
		}
		return rows.Err()
	})
	trip.Queue(importersOf, args...).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var name, importer string
			var key int64
			if err := rows.Scan(&name, &key, &importer); err != nil {
				return err
			}
			if e := fresh[name]; e != nil {
				e.importers[store.StackKey(key)] = importer
			}
		}
		return rows.Err()
	})
	trip.Queue(exportersOf, args...).Query(func(rows pgx.Rows) error {
		return collect(rows, b.store.scanStack, func(row store.Stack) { known.stacks[row.Key] = row })
	})
	if err := b.send(trip); err != nil {
		return err
	}
	for _, name := range missing {
		if n := (exportName{account, region, name}); known.named[n] == nil {
			known.named[n] = &export{importers: make(map[store.StackKey]string)}
			fresh[name] = known.named[n]
		}
	}
	for name, e := range fresh {
		if e.stack != 0 && b.stackOf(e.stack).Key == 0 { // it was created between two of these queries
			return errConflict
		}
		for key, set := range known.sets { // decisions on some of its importers came before it was loaded
			if stack := b.stackOf(key); stack.Account == account && stack.Region == region {
				e.imported(stack, slices.Contains(set, name))
			}
		}
	}
	if own != 0 {
		known.of[own] = true
	}
	return nil
}

// imported records whether a stack imports an export.
func (e *export) imported(by *store.Stack, imports bool) {
	if imports {
		e.importers[by.Key] = by.Name
	} else {
		delete(e.importers, by.Key)
	}
}

func (c *changes) encodeExports(d *store.Delta) error {
	if d.Exports != nil {
		names := make([]string, len(*d.Exports))
		for i, e := range *d.Exports {
			if names[i] = e.Name; !clean(e.Name) || !clean(e.Output) {
				return errName
			}
		}
		c.exports = &names
	}
	if d.Imports != nil {
		for _, name := range *d.Imports {
			if !clean(name) {
				return errName
			}
		}
		names := slices.Clone(*d.Imports)
		c.imports = &names
	}
	return nil
}

// takeExports applies a member's changes of exports and imports, before the changes of its stack. If the decision
// returns an error, nothing changes.
func (b *batch) takeExports(im *image, d *store.Delta) error {
	if d.Exports == nil && d.Imports == nil {
		return nil
	}
	own, before := im.Stack, im.Stack
	if d.Stack != nil {
		own = *d.Stack
	}
	var names []string
	if d.Exports != nil {
		for _, e := range *d.Exports {
			names = append(names, e.Name)
		}
	}
	exported := names
	if d.Imports != nil {
		names = slices.Concat(names, *d.Imports)
	}
	if err := b.loadExports(own.Account, own.Region, before.Key, names); err != nil {
		return err
	}
	at := func(name string) *export { return b.exports.named[exportName{own.Account, own.Region, name}] }
	if d.Exports != nil {
		for _, name := range exported {
			if e := at(name); e.stack != 0 && e.stack != own.Key {
				return memberError{store.ErrExport(name)}
			}
		}
		for n, e := range b.exports.named {
			if e.stack != own.Key || slices.Contains(exported, n.name) {
				continue
			}
			for key := range e.importers {
				if key != own.Key || d.Imports == nil || slices.Contains(*d.Imports, n.name) {
					return memberError{store.ErrExport(n.name)}
				}
			}
		}
	}
	if d.Imports != nil {
		for _, name := range *d.Imports {
			e, mine := at(name), slices.Contains(exported, name)
			if !mine && (e.stack == 0 || d.Exports != nil && e.stack == own.Key) {
				return memberError{store.ErrExport(name)}
			}
		}
	}

	if d.Exports != nil {
		for n, e := range b.exports.named {
			if e.stack == own.Key && !slices.Contains(exported, n.name) {
				e.stack, e.output, e.number = 0, "", 0
			}
		}
		for _, row := range *d.Exports {
			e := at(row.Name)
			was, _ := before.OutputValues.Get(e.output)
			is, _ := own.OutputValues.Get(row.Output)
			if e.stack != own.Key || !was.Equal(is) || was.Secrecy() != is.Secrecy() {
				e.number = newNumber()
			}
			e.stack, e.output = own.Key, row.Output
		}
	}
	if d.Imports != nil {
		b.exports.sets[own.Key] = *d.Imports
		for n, e := range b.exports.named {
			if n.account == own.Account && n.region == own.Region {
				e.imported(&own, slices.Contains(*d.Imports, n.name))
			}
		}
	}
	return nil
}

// queueExports adds the changes of exports and imports to a round trip, and reports whether any of them depends on rows
// that were read.
func (b *batch) queueExports(trip *pgx.Batch, keys []store.StackKey, conflict func(int64)) bool {
	var stacks, of, numbers []int64 // of imports
	var wanted []exportName
	for _, key := range keys {
		im := b.images[key]
		if im.changes.imports == nil {
			continue
		}
		stacks = append(stacks, int64(key))
		for _, name := range *im.changes.imports {
			n := exportName{im.Stack.Account, im.Stack.Region, name}
			wanted, of, numbers = append(wanted, n), append(of, int64(key)), append(numbers, b.exports.named[n].number)
		}
	}
	locked := slices.Clone(wanted)
	var dropped, changed, made []exportName
	for _, n := range slices.SortedFunc(maps.Keys(b.exports.named), exportName.compare) {
		switch e := b.exports.named[n]; {
		case e.number == e.read:
			continue
		case e.read == 0:
			made = append(made, n)
			continue
		case e.stack == 0:
			dropped = append(dropped, n)
		default:
			changed = append(changed, n)
		}
		locked = append(locked, n)
	}
	if len(stacks)+len(locked)+len(made) == 0 {
		return false
	}
	if len(locked) > 0 {
		trip.Queue(lockExports, nameColumns(locked)...)
	}
	if len(stacks) > 0 {
		trip.Queue(dropImports, stacks, of, column(wanted, func(n exportName) string { return n.name }))
	}
	at := func(n exportName) *export { return b.exports.named[n] }
	number, uses := func(n exportName) int64 { return at(n).read }, func(n exportName) int64 { return at(n).uses }
	stack, output := func(n exportName) int64 { return int64(at(n).stack) }, func(n exportName) string { return at(n).output }
	next := func(n exportName) int64 { return at(n).number }
	counted := func(want []exportName, statement string, args ...any) {
		if len(want) == 0 {
			return
		}
		trip.Queue(statement, append(nameColumns(want), args...)...).Exec(func(tag pgconn.CommandTag) error {
			conflict(int64(len(want)) - tag.RowsAffected())
			return nil
		})
	}
	counted(dropped, dropExports, column(dropped, number), column(dropped, uses))
	counted(changed, changeExports, column(changed, number), column(changed, uses), column(changed, stack), column(changed, output), column(changed, next))
	counted(made, makeExports, column(made, stack), column(made, output), column(made, next))
	if len(wanted) > 0 {
		trip.Queue(makeImports, append(nameColumns(wanted), of, numbers)...).QueryRow(func(row pgx.Row) error {
			lost, err := scanValue[int64](row)
			conflict(lost)
			return err
		})
	}
	return len(locked)+len(made) > 0
}

// nameColumns returns names as the first three arguments of a statement.
func nameColumns(names []exportName) []any {
	return []any{
		column(names, func(n exportName) string { return n.account }), column(names, func(n exportName) string { return n.region }),
		column(names, func(n exportName) string { return n.name }),
	}
}

// Exports implements [store.Store].
func (s *Store) Exports(ctx context.Context, account, region, after string, limit int) ([]store.Exported, error) {
	type row struct {
		store.Export
		stack store.StackKey
	}
	rows, err := all(ctx, s, func(rows pgx.Row) (r row, err error) {
		err = rows.Scan(&r.Name, (*int64)(&r.stack), &r.Output)
		return r, err
	}, "SELECT name, stack, output FROM export WHERE account = $1 AND region = $2 AND name > $3 ORDER BY name LIMIT $4", account, region, after, max(limit, 0))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	keys := column(rows, func(r row) int64 { return int64(r.stack) })
	found, err := all(ctx, s, s.scanStack, fromStack+" WHERE s.key = ANY($1::bigint[])", slices.Compact(slices.Sorted(slices.Values(keys))))
	if err != nil {
		return nil, err
	}
	stacks := make(map[store.StackKey]*store.Stack, len(found))
	for i := range found {
		stacks[found[i].Key] = &found[i]
	}
	list := make([]store.Exported, 0, len(rows))
	for _, r := range rows {
		if stack := stacks[r.stack]; stack != nil { // otherwise it was deleted and swept in the meantime
			list = append(list, store.NewExported(r.Export, stack))
		}
	}
	return list, nil
}

// Importers implements [store.Store].
func (s *Store) Importers(ctx context.Context, account, region, export, after string, limit int) ([]string, error) {
	return all(ctx, s, scanValue[string], `SELECT s.name FROM import i JOIN stack s ON s.key = i.stack
		WHERE i.account = $1 AND i.region = $2 AND i.name = $3 AND s.name > $4 ORDER BY s.name LIMIT $5`, account, region, export, after, max(limit, 0))
}
