package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	changeSetColumns = "c.id, c.stack, c.name, c.plain"
	fromChangeSet    = "SELECT " + changeSetColumns + " FROM change_set c"
	allChangeSets    = fromChangeSet + " WHERE c.stack = ANY($1::bigint[])"

	dropChangeSetBodies = "DELETE FROM change_set_body b USING change_set c WHERE c.id = b.id AND c.id = ANY($1::text[]) AND c.stack = ANY($2::bigint[])"
	dropChangeSets      = "DELETE FROM change_set WHERE id = ANY($1::text[]) AND stack = ANY($2::bigint[])"
	putChangeSetBodies  = `INSERT INTO change_set_body (id, template, plain, vals) SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[])
		ON CONFLICT (id) DO UPDATE SET template = excluded.template, plain = excluded.plain, vals = excluded.vals`
)

var (
	changeChangeSets = exactly(`UPDATE change_set c SET name = u.name, plain = u.plain
		FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[]) u (id, stack, name, plain) WHERE c.id = u.id AND c.stack = u.stack`, "cardinality($1)")
	putChangeSets = exactly(`INSERT INTO change_set AS c (id, stack, number, name, plain)
		SELECT u.id, u.stack, coalesce((SELECT max(o.number) FROM change_set o WHERE o.stack = u.stack), 0) + u.place, u.name, u.plain
		FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[]) WITH ORDINALITY u (id, stack, name, plain, place)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, plain = excluded.plain WHERE c.stack = excluded.stack`, "cardinality($1)")
)

// ChangeSet implements [store.Store].
func (s *Store) ChangeSet(ctx context.Context, id store.ChangeSetID) (store.ChangeSet, error) {
	return one(ctx, s, s.scanWholeChangeSet, "SELECT "+changeSetColumns+", t.text, b.plain, b.vals FROM change_set c "+
		"JOIN change_set_body b ON b.id = c.id JOIN template t ON t.hash = b.template WHERE c.id = $1", string(id))
}

// ChangeSets implements [store.Store].
func (s *Store) ChangeSets(ctx context.Context, stack store.StackKey) ([]store.ChangeSet, error) {
	return all(ctx, s, s.scanChangeSet, fromChangeSet+" WHERE c.stack = $1 ORDER BY c.number", stack)
}

func (s *Store) scanChangeSet(rows pgx.Row) (row store.ChangeSet, err error) {
	var plain []byte
	if err = rows.Scan((*string)(&row.ID), (*int64)(&row.Stack), &row.Name, &plain); err == nil {
		err = s.codec.Decode(&row, plain, nil)
	}
	return row, err
}

func (s *Store) scanWholeChangeSet(rows pgx.Row) (row store.ChangeSet, err error) {
	var template, plain, body, values []byte
	err = rows.Scan((*string)(&row.ID), (*int64)(&row.Stack), &row.Name, &plain, &template, &body, &values)
	if err != nil {
		return row, err
	}
	row.Body = new(store.ChangeSetBody)
	if err = s.codec.Decode(&row, plain, nil); err == nil {
		err = s.codec.Decode(row.Body, body, values)
	}
	row.Body.Revision.Template = string(template)
	return row, err
}

// setChange is a member's change of a change set.
type setChange struct {
	row          *store.ChangeSet
	plain        []byte
	hash         [sha256.Size]byte
	body, values []byte // body is nil if unchanged
	template     string
}

// checkSets rejects change sets whose names are taken, and new ones without a body. The image must be complete.
func (im *image) checkSets(d *store.Delta) error {
	names := make(map[string]store.ChangeSetID)
	for id, set := range im.ChangeSets() {
		if !slices.Contains(d.DropChangeSets, id) {
			names[set.Name] = id
		}
	}
	for i := range d.ChangeSets {
		c := &d.ChangeSets[i]
		old, ok := im.ChangeSets()[c.ID]
		switch taken, named := names[c.Name]; {
		case c.Body == nil && (!ok || slices.Contains(d.DropChangeSets, c.ID)):
			return fmt.Errorf("change set %s is not there, and without its body it cannot be made", c.ID)
		case named && taken != c.ID:
			return fmt.Errorf("change set %s: the name %s is that of another one", c.ID, c.Name)
		case !clean(string(c.ID)) || !clean(c.Name):
			return errName
		}
		if ok && names[old.Name] == c.ID {
			delete(names, old.Name)
		}
		names[c.Name] = c.ID
	}
	return nil
}

func (c *changes) encodeSets(codec store.Codec, d *store.Delta) (err error) {
	for _, id := range d.DropChangeSets {
		if clean(string(id)) { // no change set has another ID
			c.dropSets = append(c.dropSets, id)
		}
	}
	for i := range d.ChangeSets {
		row := &d.ChangeSets[i]
		change := setChange{row: row}
		if change.plain, _, err = codec.Encode(row); err != nil {
			return err
		}
		if row.Body != nil {
			change.template = row.Body.Revision.Template
			change.hash = sha256.Sum256([]byte(change.template))
			if change.body, change.values, err = codec.Encode(row.Body); err != nil {
				return err
			}
		}
		c.sets = append(c.sets, change)
	}
	return nil
}

// addSets merges the change sets of a later member into c. They keep the order in which they were written.
func (c *changes) addSets(later changes) {
	for _, id := range later.dropSets {
		c.dropSets = append(c.dropSets, id)
		c.sets = slices.DeleteFunc(c.sets, func(s setChange) bool { return s.row.ID == id })
	}
	for _, change := range later.sets {
		i := slices.IndexFunc(c.sets, func(s setChange) bool { return s.row.ID == change.row.ID })
		if i < 0 {
			c.sets = append(c.sets, change)
			continue
		}
		if before := c.sets[i]; change.body == nil {
			change.body, change.values, change.hash, change.template = before.body, before.values, before.hash, before.template
		}
		c.sets[i] = change
	}
}

func (b *batch) queueChangeSets(trip *pgx.Batch, keys []store.StackKey) {
	var dropped []string
	var stacks []int64
	var changed, whole []setChange
	for _, key := range keys {
		c := &b.images[key].changes
		if len(c.dropSets) > 0 {
			stacks = append(stacks, int64(key))
		}
		for _, id := range c.dropSets {
			dropped = append(dropped, string(id))
		}
		for _, change := range c.sets {
			if change.body == nil {
				changed = append(changed, change)
			} else {
				whole = append(whole, change)
			}
		}
	}
	if len(dropped) > 0 {
		trip.Queue(dropChangeSetBodies, dropped, stacks)
		trip.Queue(dropChangeSets, dropped, stacks)
	}
	id := func(c setChange) string { return string(c.row.ID) }
	narrow := func(list []setChange) []any {
		return []any{column(list, id), column(list, func(c setChange) int64 { return int64(c.row.Stack) }),
			column(list, func(c setChange) string { return c.row.Name }), column(list, func(c setChange) []byte { return c.plain })}
	}
	if len(changed) > 0 {
		trip.Queue(changeChangeSets, narrow(changed)...)
	}
	if len(whole) > 0 {
		trip.Queue(putChangeSets, narrow(whole)...)
		trip.Queue(putChangeSetBodies, column(whole, id), column(whole, func(c setChange) []byte { return c.hash[:] }),
			column(whole, func(c setChange) []byte { return c.body }), column(whole, func(c setChange) []byte { return filled(c.values) }))
	}
}
