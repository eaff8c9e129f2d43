package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ofAccounts restricts a query to an array of accounts, or to all for null.
const ofAccounts = "($1::text[] IS NULL OR s.account = ANY($1::text[]))"

// StackOf implements [store.Store].
func (s *Store) StackOf(ctx context.Context, key store.StackKey) (store.Stack, error) {
	return one(ctx, s, s.scanStack, fromStack+" WHERE s.key = $1", int64(key))
}

// Regions implements [store.Store]. It jumps from one region to the next in the index, however many stacks each has.
func (s *Store) Regions(ctx context.Context, accounts []string, limit int) ([]store.Region, error) {
	return all(ctx, s, scanRegion, `WITH RECURSIVE r AS (
		(SELECT account, region FROM stack ORDER BY account, region LIMIT 1)
		UNION ALL SELECT n.account, n.region FROM r CROSS JOIN LATERAL (SELECT s.account, s.region FROM stack s
			WHERE (s.account, s.region) > (r.account, r.region) ORDER BY s.account, s.region LIMIT 1) n)
		SELECT s.account, s.region FROM r s WHERE `+ofAccounts+" LIMIT $2", accounts, max(limit, 0))
}

func scanRegion(rows pgx.Row) (row store.Region, err error) {
	err = rows.Scan(&row.Account, &row.Name)
	return row, err
}

// InstancesAfter implements [store.Store].
func (s *Store) InstancesAfter(ctx context.Context, stack store.StackKey, after, limit int) ([]store.Instance, error) {
	return all(ctx, s, s.scanInstance, fromInst+" WHERE i.stack = $1 AND i.number > $2 ORDER BY i.number LIMIT $3",
		int64(stack), after, max(limit, 0))
}

// InstancesOf implements [store.Store].
func (s *Store) InstancesOf(ctx context.Context, stack store.StackKey, logical []wire.LogicalID) ([]store.Instance, error) {
	ids := make([]string, 0, len(logical))
	for _, id := range logical {
		if clean(string(id)) {
			ids = append(ids, string(id))
		}
	}
	return all(ctx, s, s.scanInstance, fromInst+" WHERE i.stack = $1 AND i.role <> 'gone' AND i.logical = ANY($2) ORDER BY i.number",
		int64(stack), ids)
}

// OpenRequests implements [store.Store].
func (s *Store) OpenRequests(ctx context.Context, stack store.StackKey, limit int) ([]store.Request, error) {
	return all(ctx, s, s.scanNarrow, "SELECT "+narrowColumns+` FROM request r WHERE r.stack = $1 AND r.state <> 'settled'
		ORDER BY r.logical, r.born, r.id LIMIT $2`, int64(stack), max(limit, 0))
}

// LeftBehind implements [store.Store].
func (s *Store) LeftBehind(ctx context.Context, accounts []string, after store.InstancePlace, limit int) ([]store.Instance, error) {
	return all(ctx, s, s.scanInstance, fromInst+` JOIN stack s ON s.key = i.stack
		WHERE i.role IN ('orphan', 'retained') AND (i.stack, i.number) > ($2, $3) AND `+ofAccounts+
		" ORDER BY i.stack, i.number LIMIT $4", accounts, int64(after.Stack), after.Number, max(limit, 0))
}

// AuditTrail implements [store.Store].
func (s *Store) AuditTrail(ctx context.Context, accounts []string, before store.AuditPlace, limit int) ([]store.AuditRow, error) {
	if before == (store.AuditPlace{}) {
		before.At = math.MaxInt64
	}
	return all(ctx, s, scanTrail, `SELECT a.at, a.stack, a.number, a.entry FROM audit a JOIN stack s ON s.key = a.stack
		WHERE (a.at, a.stack, a.number) < ($2, $3, $4) AND `+ofAccounts+" ORDER BY a.at DESC, a.stack DESC, a.number DESC LIMIT $5",
		accounts, before.At, int64(before.Stack), before.Number, max(limit, 0))
}

func scanTrail(rows pgx.Row) (row store.AuditRow, err error) {
	var entry []byte
	if err = rows.Scan(&row.Place.At, (*int64)(&row.Stack), &row.Place.Number, &entry); err == nil {
		row.Place.Stack = row.Stack
		row.Audit, err = readAudit(entry)
	}
	return row, err
}
