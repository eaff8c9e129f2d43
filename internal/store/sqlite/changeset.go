package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
)

const changeSetColumns = "c.id, c.stack, c.name, c.plain"

// ChangeSet implements [store.Store].
func (s *Store) ChangeSet(ctx context.Context, id store.ChangeSetID) (store.ChangeSet, error) {
	return readOne(ctx, s, s.scanWholeChangeSet, "SELECT "+changeSetColumns+", t.text, b.plain, b.vals FROM change_set c "+
		"JOIN change_set_body b ON b.seq = c.seq JOIN template t ON t.seq = b.template WHERE c.id = ?", id)
}

// changeSets selects the change sets of a stack, without their bodies.
const changeSets = "SELECT " + changeSetColumns + " FROM change_set c WHERE c.stack = ? ORDER BY c.seq"

// ChangeSets implements [store.Store].
func (s *Store) ChangeSets(ctx context.Context, stack store.StackKey) ([]store.ChangeSet, error) {
	return readAll(ctx, s, s.scanChangeSet, changeSets, stack)
}

func (s *Store) scanChangeSet(rows *sql.Rows) (row store.ChangeSet, err error) {
	var plain []byte
	if err = rows.Scan(&row.ID, &row.Stack, &row.Name, &plain); err == nil {
		err = s.codec.Decode(&row, plain, nil)
	}
	return row, err
}

func (s *Store) scanWholeChangeSet(rows *sql.Rows) (row store.ChangeSet, err error) {
	var template, plain, body, values []byte
	if err = rows.Scan(&row.ID, &row.Stack, &row.Name, &plain, &template, &body, &values); err != nil {
		return row, err
	}
	row.Body = new(store.ChangeSetBody)
	if err = s.codec.Decode(&row, plain, nil); err == nil {
		err = s.codec.Decode(row.Body, body, values)
	}
	row.Body.Revision.Template = string(template)
	return row, err
}

// putChangeSets removes and writes the change sets of a delta.
func (t *tx) putChangeSets(key store.StackKey, d *store.Delta) error {
	if len(d.DropChangeSets) > 0 {
		dropped := array(d.DropChangeSets)
		const which = " IN (SELECT seq FROM change_set WHERE stack = ? AND id IN (SELECT value FROM json_each(?)))"
		for _, table := range []string{"change_set_body", "change_set"} {
			if _, err := t.exec("DELETE FROM "+table+" WHERE seq"+which, key, dropped); err != nil {
				return err
			}
		}
	}
	for i := range d.ChangeSets {
		if err := t.putChangeSet(&d.ChangeSets[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putChangeSet(r *store.ChangeSet) error {
	plain, _, err := t.store.codec.Encode(r)
	if err != nil {
		return err
	}
	if r.Body == nil {
		return isThere("change set "+string(r.ID), func() (int64, error) {
			return t.exec("UPDATE change_set SET name = ?, plain = ? WHERE id = ? AND stack = ?", r.Name, string(plain), r.ID, r.Stack)
		})
	}
	body, values, err := t.store.codec.Encode(r.Body)
	if err != nil {
		return err
	}
	seq, err := one(t.query, scanValue[int64],
		`INSERT INTO change_set (id, stack, name, plain) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, plain = excluded.plain WHERE stack = excluded.stack RETURNING seq`,
		r.ID, r.Stack, r.Name, string(plain))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("change set %s belongs to another stack", r.ID)
	}
	if err != nil {
		return err
	}
	template, err := t.putTemplate(r.Body.Revision.Template)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO change_set_body (seq, template, plain, vals) VALUES (?, ?, ?, ?) "+
		"ON CONFLICT (seq) DO UPDATE SET template = excluded.template, plain = excluded.plain, vals = excluded.vals",
		seq, template, string(body), string(values))
	return err
}
