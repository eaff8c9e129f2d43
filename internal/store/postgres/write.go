package postgres

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pintle-dev/pintle/internal/store"
)

// mark records in a writer's row which batch it wrote last. markBatch fails with a division by zero if the writer has
// abandoned the row.
const mark = "INSERT INTO writer (id, batch, at) VALUES ($2, $3, " + now + ") ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, at = excluded.at"

// exactly makes a statement fail with a division by zero unless it writes as many rows as n says. Under the lock of the
// stack it always does, so a write without the lock is detected before the commit.
func exactly(statement, n string) string {
	return "WITH written AS (" + statement + " RETURNING 1) SELECT 1 / (CASE WHEN (SELECT count(*) FROM written) = " + n + " THEN 1 ELSE 0 END)"
}

const (
	moveStacks   = "UPDATE stack s SET live = u.live, created = u.created FROM unnest($1::bigint[], $2::boolean[], $3::bigint[]) u (key, live, created) WHERE s.key = u.key"
	changeStacks = "UPDATE stack_body s SET plain = u.plain, vals = u.vals FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) u (key, plain, vals) WHERE s.key = u.key"
	makeStacks   = `INSERT INTO stack (key, id, account, region, name, live, created)
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[]) ON CONFLICT DO NOTHING`
	makeBodies    = "INSERT INTO stack_body (key, plain, vals) SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING"
	makeTemplates = "INSERT INTO template (hash, text) SELECT * FROM unnest($1::bytea[], $2::bytea[]) ON CONFLICT DO NOTHING"
	// holdTemplates keeps templates from being swept until the rows that use them are committed. It fails, like a
	// statement of exactly, if a template was swept after it was found.
	holdTemplates = `WITH held AS (SELECT hash FROM template WHERE hash = ANY($1::bytea[]) ORDER BY hash FOR KEY SHARE)
		SELECT 1 / (CASE WHEN (SELECT count(*) FROM held) = cardinality($1) THEN 1 ELSE 0 END)`
	makeRevisions = "INSERT INTO revision (stack, number, template, plain, vals) SELECT * FROM unnest($1::bigint[], $2::int[], $3::bytea[], $4::bytea[], $5::bytea[])"
	makeIDs       = "INSERT INTO operation_id (id, stack, number) SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[]) ON CONFLICT DO NOTHING"
	dropPlans     = "DELETE FROM step_plan WHERE stack = ANY($1::bigint[])"
	dropSteps     = "DELETE FROM step WHERE stack = ANY($1::bigint[])"
	putPlans      = `INSERT INTO step_plan (stack, logical, needs, plain)
		SELECT u.stack, u.logical, string_to_array(u.needs, E'\x1f'), u.plain FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) u (stack, logical, needs, plain)
		ON CONFLICT (stack, logical) DO UPDATE SET needs = excluded.needs, plain = excluded.plain`
	putInstanceBodies = `INSERT INTO instance_body (stack, number, plain, vals) SELECT * FROM unnest($1::bigint[], $2::int[], $3::bytea[], $4::bytea[])
		ON CONFLICT (stack, number) DO UPDATE SET plain = excluded.plain, vals = excluded.vals`
	putRequestBodies = `INSERT INTO request_body (id, plain, vals) SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[])
		ON CONFLICT (id) DO UPDATE SET plain = excluded.plain, vals = excluded.vals`
	makeEvents = "INSERT INTO event (stack, operation, number, events) SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::bytea[])"
	makeAudit  = `INSERT INTO audit (stack, number, entry, at)
		SELECT u.stack, coalesce((SELECT max(a.number) FROM audit a WHERE a.stack = u.stack), 0) + row_number() OVER (PARTITION BY u.stack ORDER BY u.place), u.entry, u.at
		FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) WITH ORDINALITY u (stack, entry, at, place)`
)

var (
	markBatch        = exactly(mark+" WHERE writer.batch >= 0", "1")
	changeOperations = exactly(`UPDATE operation o SET version = u.version, plain = u.plain
		FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::bytea[]) u (stack, number, before, version, plain)
		WHERE o.stack = u.stack AND o.number = u.number AND o.version = u.before`, "cardinality($1)")
	makeOperations = exactly(`INSERT INTO operation (stack, number, version, plain)
		SELECT * FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::bytea[]) ON CONFLICT DO NOTHING`, "cardinality($1)")
	changeSteps = exactly(`UPDATE step s SET next = string_to_array(u.next, E'\x1f'), plain = u.plain
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) u (stack, logical, next, plain)
		WHERE s.stack = u.stack AND s.logical = u.logical`, "cardinality($1)")
	putSteps = exactly(`INSERT INTO step (stack, logical, next, plain)
		SELECT u.stack, u.logical, string_to_array(u.next, E'\x1f'), u.plain FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bytea[]) u (stack, logical, next, plain)
		ON CONFLICT (stack, logical) DO UPDATE SET next = excluded.next, plain = excluded.plain`, "cardinality($1)")
	changeInstances = exactly(`UPDATE instance i SET logical = u.logical, role = u.role, plain = u.plain
		FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bytea[]) u (stack, number, logical, role, plain)
		WHERE i.stack = u.stack AND i.number = u.number`, "cardinality($1)")
	putInstances = exactly(`INSERT INTO instance (stack, number, logical, role, plain)
		SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bytea[])
		ON CONFLICT (stack, number) DO UPDATE SET logical = excluded.logical, role = excluded.role, plain = excluded.plain`, "cardinality($1)")
	changeRequests = exactly(`UPDATE request r SET operation = u.operation, logical = u.logical, instance = u.instance, type = u.type,
			state = u.state, owner = u.owner, executor = u.executor, due = u.due, born = u.born, plain = u.plain
		FROM unnest($1::text[], $2::bigint[], $3::int[], $4::text[], $5::int[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[])
			u (id, stack, operation, logical, instance, type, state, owner, executor, due, born, plain)
		WHERE r.id = u.id AND r.stack = u.stack`, "cardinality($1)")
	putRequests = exactly(`INSERT INTO request AS r (id, stack, operation, logical, instance, type, state, owner, executor, due, born, plain)
		SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[], $4::text[], $5::int[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[])
		ON CONFLICT (id) DO UPDATE SET operation = excluded.operation, logical = excluded.logical, instance = excluded.instance, type = excluded.type,
			state = excluded.state, owner = excluded.owner, executor = excluded.executor, due = excluded.due, born = excluded.born, plain = excluded.plain
		WHERE r.stack = excluded.stack`, "cardinality($1)")
)

// queueWrites adds all changes of the members to a round trip, table by table. Rows that other batches may wait for
// come first: names, templates and IDs, in the same order for all batches. made reports whether there are new stacks,
// or changes of exports and imports. conflict receives the number of those that another node has made impossible.
func (b *batch) queueWrites(trip *pgx.Batch, conflict func(int64)) (made bool) {
	keys := slices.Sorted(maps.Keys(b.images))
	made = b.queueStacks(trip, keys, conflict)
	made = b.queueExports(trip, keys, conflict) || made
	b.queueRevisions(trip, keys)
	b.queueIDs(trip)
	b.queueOperations(trip, keys)
	b.queueSteps(trip, keys)
	b.queueInstances(trip, keys)
	b.queueRequests(trip, keys)
	b.queueChangeSets(trip, keys)
	b.queueHistory(trip, keys)
	return made
}

func (b *batch) queueStacks(trip *pgx.Batch, keys []store.StackKey, conflict func(int64)) (made bool) {
	var moved, changed, fresh []*stackChange
	for _, key := range keys {
		switch c := b.images[key].changes.stack; {
		case c == nil:
		case c.made:
			fresh = append(fresh, c)
		default:
			changed = append(changed, c)
			if c.moved {
				moved = append(moved, c)
			}
		}
	}
	bodies := func(list []*stackChange) []any {
		return []any{column(list, key), column(list, func(c *stackChange) []byte { return c.plain }), column(list, func(c *stackChange) []byte { return filled(c.values) })}
	}
	if len(moved) > 0 {
		trip.Queue(moveStacks, column(moved, key), column(moved, func(c *stackChange) bool { return c.row.Live }), column(moved, born))
	}
	if len(changed) > 0 {
		trip.Queue(changeStacks, bodies(changed)...)
	}
	if len(fresh) == 0 {
		return false
	}
	slices.SortFunc(fresh, func(x, y *stackChange) int {
		return cmp.Or(cmp.Compare(x.row.Account, y.row.Account), cmp.Compare(x.row.Region, y.row.Region), cmp.Compare(x.row.Name, y.row.Name))
	})
	trip.Queue(makeStacks, column(fresh, key), column(fresh, func(c *stackChange) string { return string(c.row.ID) }),
		column(fresh, func(c *stackChange) string { return c.row.Account }), column(fresh, func(c *stackChange) string { return c.row.Region }),
		column(fresh, func(c *stackChange) string { return c.row.Name }), column(fresh, func(c *stackChange) bool { return c.row.Live }), column(fresh, born),
	).Exec(func(tag pgconn.CommandTag) error {
		conflict(int64(len(fresh)) - tag.RowsAffected())
		return nil
	})
	trip.Queue(makeBodies, bodies(fresh)...)
	return true
}

func key(c *stackChange) int64  { return int64(c.row.Key) }
func born(c *stackChange) int64 { return unix(c.row.Created) }

func (b *batch) queueRevisions(trip *pgx.Batch, keys []store.StackKey) {
	var stacks []int64
	var list []revisionChange
	for _, key := range keys {
		for _, c := range b.images[key].changes.revisions {
			stacks, list = append(stacks, int64(key)), append(list, c)
		}
	}
	templates := slices.Clone(list)
	for _, key := range keys {
		for _, c := range b.images[key].changes.sets {
			if c.body != nil {
				templates = append(templates, revisionChange{hash: c.hash, template: c.template})
			}
		}
	}
	if len(templates) == 0 {
		return
	}
	hash := func(c revisionChange) []byte { return c.hash[:] }
	slices.SortFunc(templates, func(x, y revisionChange) int { return bytes.Compare(x.hash[:], y.hash[:]) })
	templates = slices.CompactFunc(templates, func(x, y revisionChange) bool { return x.hash == y.hash })
	trip.Queue(makeTemplates, column(templates, hash), column(templates, func(c revisionChange) []byte { return []byte(c.template) }))
	trip.Queue(holdTemplates, column(templates, hash))
	if len(list) == 0 {
		return
	}
	trip.Queue(makeRevisions, stacks, column(list, func(c revisionChange) int32 { return int32(c.number) }), column(list, hash),
		column(list, func(c revisionChange) []byte { return c.plain }), column(list, func(c revisionChange) []byte { return filled(c.values) }))
}

func (b *batch) queueIDs(trip *pgx.Batch) {
	list := b.ids
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(x, y operationID) int { return cmp.Compare(x.id, y.id) })
	trip.Queue(makeIDs, column(list, func(c operationID) string { return c.id }), column(list, func(c operationID) int64 { return int64(c.stack) }),
		column(list, func(c operationID) int32 { return int32(c.number) }))
}

func (b *batch) queueOperations(trip *pgx.Batch, keys []store.StackKey) {
	var stacks, madeStacks, before, version, madeVersion []int64
	var numbers, madeNumbers []int32
	var plain, madePlain [][]byte
	for _, key := range keys {
		for number, c := range b.images[key].changes.operations {
			if c.made {
				madeStacks, madeNumbers = append(madeStacks, int64(key)), append(madeNumbers, int32(number))
				madeVersion, madePlain = append(madeVersion, c.version), append(madePlain, c.plain)
				continue
			}
			stacks, numbers, before = append(stacks, int64(key)), append(numbers, int32(number)), append(before, c.before)
			version, plain = append(version, c.version), append(plain, c.plain)
		}
	}
	if len(stacks) > 0 {
		trip.Queue(changeOperations, stacks, numbers, before, version, plain)
	}
	if len(madeStacks) > 0 {
		trip.Queue(makeOperations, madeStacks, madeNumbers, madeVersion, madePlain)
	}
}

func (b *batch) queueSteps(trip *pgx.Batch, keys []store.StackKey) {
	type row struct {
		stack   int64
		logical string
		change  stepChange
	}
	var dropped []int64
	var changed, whole []row
	for _, key := range keys {
		c := &b.images[key].changes
		if c.dropSteps {
			dropped = append(dropped, int64(key))
		}
		for logical, change := range c.steps {
			r := row{int64(key), string(logical), change}
			if change.plan == nil {
				changed = append(changed, r)
			} else {
				whole = append(whole, r)
			}
		}
	}
	if len(dropped) > 0 {
		trip.Queue(dropPlans, dropped)
		trip.Queue(dropSteps, dropped)
	}
	stack, logical := func(r row) int64 { return r.stack }, func(r row) string { return r.logical }
	next, plain := func(r row) string { return string(r.change.next) }, func(r row) []byte { return r.change.plain }
	if len(changed) > 0 {
		trip.Queue(changeSteps, column(changed, stack), column(changed, logical), column(changed, next), column(changed, plain))
	}
	if len(whole) > 0 {
		trip.Queue(putSteps, column(whole, stack), column(whole, logical), column(whole, next), column(whole, plain))
		trip.Queue(putPlans, column(whole, stack), column(whole, logical), column(whole, func(r row) string { return string(r.change.needs) }),
			column(whole, func(r row) []byte { return r.change.plan }))
	}
}

func (b *batch) queueInstances(trip *pgx.Batch, keys []store.StackKey) {
	var changed, whole []instanceChange
	for _, key := range keys {
		for _, c := range b.images[key].changes.instances {
			if c.body == nil {
				changed = append(changed, c)
			} else {
				whole = append(whole, c)
			}
		}
	}
	stack, number := func(c instanceChange) int64 { return int64(c.row.Stack) }, func(c instanceChange) int32 { return int32(c.row.Number) }
	narrow := func(list []instanceChange) []any {
		return []any{column(list, stack), column(list, number), column(list, func(c instanceChange) string { return string(c.row.Logical) }),
			column(list, func(c instanceChange) string { return string(c.row.Role) }), column(list, func(c instanceChange) []byte { return c.plain })}
	}
	if len(changed) > 0 {
		trip.Queue(changeInstances, narrow(changed)...)
	}
	if len(whole) > 0 {
		trip.Queue(putInstances, narrow(whole)...)
		trip.Queue(putInstanceBodies, column(whole, stack), column(whole, number), column(whole, func(c instanceChange) []byte { return c.body }),
			column(whole, func(c instanceChange) []byte { return filled(c.vals) }))
	}
}

func (b *batch) queueRequests(trip *pgx.Batch, keys []store.StackKey) {
	var changed, whole []requestChange
	for _, key := range keys {
		for _, c := range b.images[key].changes.requests {
			if c.body == nil {
				changed = append(changed, c)
			} else {
				whole = append(whole, c)
			}
		}
	}
	id := func(c requestChange) string { return string(c.row.ID) }
	narrow := func(list []requestChange) []any {
		return []any{
			column(list, id), column(list, func(c requestChange) int64 { return int64(c.row.Stack) }), column(list, func(c requestChange) int32 { return int32(c.row.Operation) }),
			column(list, func(c requestChange) string { return string(c.row.Logical) }), column(list, func(c requestChange) int32 { return int32(c.row.Instance) }),
			column(list, func(c requestChange) string { return string(c.row.Type) }), column(list, func(c requestChange) string { return string(c.row.State) }),
			column(list, func(c requestChange) int64 { return int64(c.row.Owner) }), column(list, func(c requestChange) int64 { return int64(c.row.Executor) }),
			column(list, func(c requestChange) *int64 {
				if c.row.Due.IsZero() {
					return nil
				}
				due := unix(c.row.Due)
				return &due
			}),
			column(list, func(c requestChange) int64 { return unix(c.row.Created) }), column(list, func(c requestChange) []byte { return c.plain }),
		}
	}
	if len(changed) > 0 {
		trip.Queue(changeRequests, narrow(changed)...)
	}
	if len(whole) > 0 {
		trip.Queue(putRequests, narrow(whole)...)
		trip.Queue(putRequestBodies, column(whole, id), column(whole, func(c requestChange) []byte { return c.body }),
			column(whole, func(c requestChange) []byte { return filled(c.values) }))
	}
}

func (b *batch) queueHistory(trip *pgx.Batch, keys []store.StackKey) {
	var stacks, auditStacks []int64
	var events []eventChange
	var audit []auditChange
	for _, key := range keys {
		c := &b.images[key].changes
		for _, event := range c.events {
			stacks, events = append(stacks, int64(key)), append(events, event)
		}
		for _, entry := range c.audit {
			auditStacks, audit = append(auditStacks, int64(key)), append(audit, entry)
		}
	}
	if len(events) > 0 {
		trip.Queue(makeEvents, stacks, column(events, func(c eventChange) int32 { return int32(c.operation) }),
			column(events, func(c eventChange) int32 { return int32(c.number) }), column(events, func(c eventChange) []byte { return c.events }))
	}
	if len(audit) > 0 {
		trip.Queue(makeAudit, auditStacks, column(audit, func(c auditChange) []byte { return c.entry }),
			column(audit, func(c auditChange) int64 { return c.at }))
	}
}

// column returns one field of every row.
func column[R, T any](rows []R, field func(R) T) []T {
	list := make([]T, len(rows))
	for i, row := range rows {
		list[i] = field(row)
	}
	return list
}

// filled returns b, or empty bytes for nil, which would be NULL.
func filled(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
