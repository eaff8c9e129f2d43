package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ofAccounts restricts a query to accounts in a JSON array, or to all for null.
const ofAccounts = "(?1 IS NULL OR s.account IN (SELECT value FROM json_each(?1)))"

// The lists. None of them reads rows of other pages.
const (
	nextRegion   = " FROM stack n WHERE (n.account, n.region) > (r.account, r.region) ORDER BY n.account, n.region LIMIT 1)"
	regionsAfter = `WITH RECURSIVE r (account, region) AS (
		SELECT * FROM (SELECT account, region FROM stack ORDER BY account, region LIMIT 1)
		UNION ALL SELECT (SELECT n.account` + nextRegion + ", (SELECT n.region" + nextRegion + ` FROM r WHERE r.account IS NOT NULL)
		SELECT s.account, s.region FROM r s WHERE s.account IS NOT NULL AND ` + ofAccounts + " LIMIT ?2"
	instancesAfter = instances + " AND i.number > ? ORDER BY i.number LIMIT ?"
	openNarrow     = "SELECT " + narrowColumns + " FROM request r WHERE r.stack = ? AND r.state <> 'settled' ORDER BY r.logical, r.seq LIMIT ?"
	leftAfter      = "SELECT " + instanceColumns + ` FROM instance i JOIN instance_body b ON b.seq = i.seq
		JOIN stack s ON s.key = i.stack WHERE i.role IN ('orphan', 'retained') AND (i.stack, i.number) > (?2, ?3) AND ` + ofAccounts +
		" ORDER BY i.stack, i.number LIMIT ?4"
	auditBefore = `SELECT a.stack, a.seq, a.entry FROM audit a JOIN stack s ON s.key = a.stack
		WHERE a.seq < ?2 AND ` + ofAccounts + " ORDER BY a.seq DESC LIMIT ?3"
)

// listed returns accounts in the form that [ofAccounts] expects.
func listed(accounts []string) (any, error) {
	if accounts == nil {
		return nil, nil
	}
	text, err := json.Marshal(accounts)
	return string(text), err
}

// StackOf implements [store.Store].
func (s *Store) StackOf(ctx context.Context, key store.StackKey) (store.Stack, error) {
	return readOne(ctx, s, s.scanStack, stackByKey, key)
}

// Regions implements [store.Store]. It jumps from one region to the next in the index, however many stacks each has.
func (s *Store) Regions(ctx context.Context, accounts []string, limit int) ([]store.Region, error) {
	meant, err := listed(accounts)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, scanRegion, regionsAfter, meant, max(limit, 0))
}

func scanRegion(rows *sql.Rows) (row store.Region, err error) {
	err = rows.Scan(&row.Account, &row.Name)
	return row, err
}

// InstancesAfter implements [store.Store].
func (s *Store) InstancesAfter(ctx context.Context, stack store.StackKey, after, limit int) ([]store.Instance, error) {
	return readAll(ctx, s, s.scanInstance, instancesAfter, stack, after, max(limit, 0))
}

// InstancesOf implements [store.Store].
func (s *Store) InstancesOf(ctx context.Context, stack store.StackKey, logical []wire.LogicalID) ([]store.Instance, error) {
	ids, err := json.Marshal(logical)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, s.scanInstance, livingOf+" ORDER BY i.number", stack, string(ids))
}

// OpenRequests implements [store.Store].
func (s *Store) OpenRequests(ctx context.Context, stack store.StackKey, limit int) ([]store.Request, error) {
	return readAll(ctx, s, s.scanNarrow, openNarrow, stack, max(limit, 0))
}

// LeftBehind implements [store.Store].
func (s *Store) LeftBehind(ctx context.Context, accounts []string, after store.InstancePlace, limit int) ([]store.Instance, error) {
	meant, err := listed(accounts)
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s, s.scanInstance, leftAfter, meant, after.Stack, after.Number, max(limit, 0))
}

// AuditTrail implements [store.Store].
func (s *Store) AuditTrail(ctx context.Context, accounts []string, before store.AuditPlace, limit int) ([]store.AuditRow, error) {
	meant, err := listed(accounts)
	if err != nil {
		return nil, err
	}
	last := before.Number
	if before == (store.AuditPlace{}) {
		last = math.MaxInt64
	}
	return readAll(ctx, s, scanTrail, auditBefore, meant, last, max(limit, 0))
}

func scanTrail(rows *sql.Rows) (row store.AuditRow, err error) {
	var entry []byte
	if err = rows.Scan(&row.Stack, &row.Place.Number, &entry); err == nil {
		row.Place.Stack = row.Stack
		row.Audit, err = readAudit(entry)
	}
	return row, err
}
