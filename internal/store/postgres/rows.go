package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// The columns of every row, in the order in which its scan reads them.
const (
	stackColumns     = "s.key, s.id, s.account, s.region, s.name, s.live, sb.plain, sb.vals"
	operationColumns = "o.stack, o.number, o.version, o.plain"
	revisionColumns  = "r.stack, r.number, t.text, r.plain, r.vals"
	stepColumns      = "s.stack, s.logical, s.plain, p.plain"
	instanceColumns  = "i.stack, i.number, i.logical, i.role, i.plain, b.plain, b.vals"
	narrowColumns    = "r.id, r.stack, r.operation, r.logical, r.instance, r.type, r.state, r.owner, r.executor, r.due, r.plain"
	requestColumns   = narrowColumns + ", b.plain, b.vals"
)

func (s *Store) scanStack(rows pgx.Row) (row store.Stack, err error) {
	var plain, values []byte
	err = rows.Scan((*int64)(&row.Key), (*string)(&row.ID), &row.Account, &row.Region, &row.Name, &row.Live, &plain, &values)
	if err == nil {
		err = s.codec.Decode(&row, plain, values)
	}
	return row, err
}

func (s *Store) scanOperation(rows pgx.Row) (row store.Operation, err error) {
	var plain []byte
	if err = rows.Scan((*int64)(&row.Stack), &row.Number, &row.Version, &plain); err == nil {
		err = s.codec.Decode(&row, plain, nil)
	}
	return row, err
}

func (s *Store) scanRevision(rows pgx.Row) (row store.Revision, err error) {
	var text, plain, values []byte
	if err = rows.Scan((*int64)(&row.Stack), &row.Number, &text, &plain, &values); err == nil {
		row.Template = string(text)
		err = s.codec.Decode(&row, plain, values)
	}
	return row, err
}

func (s *Store) scanStep(rows pgx.Row) (row store.Step, err error) {
	var plain, plan []byte
	if err = rows.Scan((*int64)(&row.Stack), (*string)(&row.Logical), &plain, &plan); err != nil {
		return row, err
	}
	row.Plan = new(store.StepPlan)
	if err = s.codec.Decode(&row, plain, nil); err == nil {
		err = s.codec.Decode(row.Plan, plan, nil)
	}
	return row, err
}

func (s *Store) scanInstance(rows pgx.Row) (row store.Instance, err error) {
	var plain, body, values []byte
	err = rows.Scan((*int64)(&row.Stack), &row.Number, (*string)(&row.Logical), (*string)(&row.Role), &plain, &body, &values)
	if err != nil {
		return row, err
	}
	row.Body = new(store.InstanceBody)
	if err = s.codec.Decode(&row, plain, nil); err == nil {
		err = s.codec.Decode(row.Body, body, values)
	}
	return row, err
}

func (s *Store) scanRequest(rows pgx.Row) (store.Request, error) {
	var body, values []byte
	row, err := s.scanColumns(rows, &body, &values)
	if err != nil {
		return row, err
	}
	row.Body = new(store.RequestBody)
	return row, s.codec.Decode(row.Body, body, values)
}

// scanNarrow reads a request without its body.
func (s *Store) scanNarrow(rows pgx.Row) (store.Request, error) { return s.scanColumns(rows) }

// scanColumns reads a request without its body, and further columns into more.
func (s *Store) scanColumns(rows pgx.Row, more ...any) (row store.Request, err error) {
	var plain []byte
	var due *int64
	into := []any{(*string)(&row.ID), (*int64)(&row.Stack), &row.Operation, (*string)(&row.Logical), &row.Instance,
		(*string)(&row.Type), (*string)(&row.State), (*int64)(&row.Owner), (*int64)(&row.Executor), &due, &plain}
	if err = rows.Scan(append(into, more...)...); err != nil {
		return row, err
	}
	if due != nil {
		row.Due = fromUnix(*due)
	}
	return row, s.codec.Decode(&row, plain, nil)
}

func scanEvents(rows pgx.Row) (row store.EventRow, err error) {
	var events []byte
	if err = rows.Scan(&row.Place.Operation, &row.Place.Number, &events); err != nil {
		return row, err
	}
	if err = json.Unmarshal(events, &row.Events); err != nil {
		err = fmt.Errorf("decode events: %w", err)
	}
	return row, err
}

func scanAudit(rows pgx.Row) (row store.Audit, err error) {
	var entry []byte
	if err = rows.Scan(&entry); err != nil {
		return row, err
	}
	return readAudit(entry)
}

func readAudit(entry []byte) (row store.Audit, err error) {
	if err = json.Unmarshal(entry, &row); err != nil {
		err = fmt.Errorf("decode audit: %w", err)
	}
	return row, err
}

func (s *Store) scanProvider(rows pgx.Row) (row store.Provider, err error) {
	var definition []byte
	if err = rows.Scan(&row.Name, &row.Holder, &definition); err == nil {
		row.Definition, err = s.codec.OpenDefinition(definition)
	}
	return row, err
}

// scanValue reads a row of one column.
func scanValue[T any](rows pgx.Row) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}

// collect passes every row of a result to put.
func collect[T any](rows pgx.Rows, scan func(pgx.Row) (T, error), put func(T)) error {
	for rows.Next() {
		row, err := scan(rows)
		if err != nil {
			return err
		}
		put(row)
	}
	return rows.Err()
}
