package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
)

// The columns of every row, in the order in which its scan reads them.
const (
	stackColumns     = "s.key, s.id, s.account, s.region, s.name, s.live, s.plain, s.vals"
	operationColumns = "o.stack, o.number, o.version, o.plain"
	revisionColumns  = "r.stack, r.number, t.text, r.plain, r.vals"
	stepColumns      = "s.stack, s.logical, s.plain, p.plain"
	instanceColumns  = "i.stack, i.number, i.logical, i.role, i.plain, b.plain, b.vals"
	narrowColumns    = "r.id, r.stack, r.operation, r.logical, r.instance, r.type, r.state, r.owner, r.executor, r.due, r.plain"
	requestColumns   = narrowColumns + ", b.plain, b.vals"
)

func (s *Store) scanStack(rows *sql.Rows) (row store.Stack, err error) {
	var plain, values []byte
	err = rows.Scan(&row.Key, &row.ID, &row.Account, &row.Region, &row.Name, &row.Live, &plain, &values)
	if err == nil {
		err = s.codec.Decode(&row, plain, values)
	}
	return row, err
}

func (s *Store) scanOperation(rows *sql.Rows) (row store.Operation, err error) {
	var plain []byte
	if err = rows.Scan(&row.Stack, &row.Number, &row.Version, &plain); err == nil {
		err = s.codec.Decode(&row, plain, nil)
	}
	return row, err
}

func (s *Store) scanRevision(rows *sql.Rows) (row store.Revision, err error) {
	var plain, values []byte
	if err = rows.Scan(&row.Stack, &row.Number, &row.Template, &plain, &values); err == nil {
		err = s.codec.Decode(&row, plain, values)
	}
	return row, err
}

func (s *Store) scanStep(rows *sql.Rows) (row store.Step, err error) {
	var plain, plan []byte
	if err = rows.Scan(&row.Stack, &row.Logical, &plain, &plan); err != nil {
		return row, err
	}
	row.Plan = new(store.StepPlan)
	if err = s.codec.Decode(&row, plain, nil); err == nil {
		err = s.codec.Decode(row.Plan, plan, nil)
	}
	return row, err
}

func (s *Store) scanInstance(rows *sql.Rows) (row store.Instance, err error) {
	var plain, body, values []byte
	if err = rows.Scan(&row.Stack, &row.Number, &row.Logical, &row.Role, &plain, &body, &values); err != nil {
		return row, err
	}
	row.Body = new(store.InstanceBody)
	if err = s.codec.Decode(&row, plain, nil); err == nil {
		err = s.codec.Decode(row.Body, body, values)
	}
	return row, err
}

func (s *Store) scanRequest(rows *sql.Rows) (store.Request, error) {
	var body, values []byte
	row, err := s.scanColumns(rows, &body, &values)
	if err != nil {
		return row, err
	}
	row.Body = new(store.RequestBody)
	return row, s.codec.Decode(row.Body, body, values)
}

// scanNarrow reads a request without its body.
func (s *Store) scanNarrow(rows *sql.Rows) (store.Request, error) { return s.scanColumns(rows) }

// scanColumns reads a request without its body, and further columns into more.
func (s *Store) scanColumns(rows *sql.Rows, more ...any) (row store.Request, err error) {
	var plain []byte
	var due sql.NullInt64
	into := []any{&row.ID, &row.Stack, &row.Operation, &row.Logical, &row.Instance, &row.Type, &row.State, &row.Owner, &row.Executor, &due, &plain}
	if err = rows.Scan(append(into, more...)...); err != nil {
		return row, err
	}
	if due.Valid {
		row.Due = fromUnix(due.Int64)
	}
	return row, s.codec.Decode(&row, plain, nil)
}

func scanEvents(rows *sql.Rows) (row store.EventRow, err error) {
	var events []byte
	if err = rows.Scan(&row.Place.Operation, &row.Place.Number, &events); err == nil {
		err = json.Unmarshal(events, &row.Events)
	}
	if err != nil {
		err = fmt.Errorf("decode events: %w", err)
	}
	return row, err
}

func scanAudit(rows *sql.Rows) (row store.Audit, err error) {
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

func (s *Store) scanProvider(rows *sql.Rows) (row store.Provider, err error) {
	var definition []byte
	if err = rows.Scan(&row.Name, &row.Holder, &definition); err == nil {
		row.Definition, err = s.codec.OpenDefinition(definition)
	}
	return row, err
}

// scanValue reads a row of one column.
func scanValue[T any](rows *sql.Rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}
