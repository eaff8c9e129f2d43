package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

// Root implements [store.Store].
func (s *Store) Root() store.Root { return s.root }

// SealingKeys implements [store.Store].
func (s *Store) SealingKeys(ctx context.Context) ([]store.SealingKey, error) {
	scan := func(rows pgx.Row) (k store.SealingKey, err error) {
		var since int64
		err = rows.Scan(&k.ID, &since)
		k.Since = fromUnix(since)
		return k, err
	}
	return all(ctx, s, scan, "SELECT id, since FROM sealing_key ORDER BY id = $1, since, id", s.codec.KeyID())
}

// lockKeys locks the list of keys against other nodes.
const lockKeys = "SELECT s.probe, r.root FROM ring r, schema s FOR UPDATE OF r"

// exchangeKeys rejects keys that do not belong to the database, records which one seals from now on, and opens the
// root.
func (s *Store) exchangeKeys(ctx context.Context, conn *pgx.Conn) error {
	fresh, err := s.codec.Probes()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var first, root string
		if err := tx.QueryRow(ctx, lockKeys).Scan(&first, &root); err != nil {
			return err
		}
		var probes []string
		rows, err := tx.Query(ctx, "SELECT probe FROM sealing_key")
		if err == nil {
			err = collect(rows, scanValue[string], func(probe string) { probes = append(probes, probe) })
		}
		if err != nil {
			return err
		}
		older := len(probes) == 0 && first != ""
		if older { // written by a version that recorded only one key: each of these may have sealed something
			probes = append(probes, first)
		}
		for _, probe := range probes {
			if err := s.codec.Check(probe); err != nil {
				return err
			}
		}
		for id, probe := range fresh {
			if older || id == s.codec.KeyID() {
				if err := s.noteKey(ctx, tx, id, probe); err != nil {
					return err
				}
			}
		}
		if root == "" {
			s.root = store.NewRoot()
		} else if s.root, err = s.codec.OpenRoot(root); err != nil {
			return err
		}
		// Reseal the root with the first key, so that an old key can be removed once no row needs it.
		if root, err = s.codec.SealRoot(s.root); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE ring SET root = $1", root); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE schema SET probe = $1", fresh[s.codec.KeyID()])
		return err
	})
}

func (s *Store) noteKey(ctx context.Context, tx pgx.Tx, id, probe string) error {
	_, err := tx.Exec(ctx, "INSERT INTO sealing_key (id, probe, since) VALUES ($2, $3, "+now+") ON CONFLICT (id) DO NOTHING", s.clock(), id, probe)
	return err
}

// joinKeys records, in the transaction that registers a node, that its key seals from now on. A running pass of another
// key is then not the last one.
func (s *Store) joinKeys(ctx context.Context, tx pgx.Tx) error {
	var probe, root string
	if err := tx.QueryRow(ctx, lockKeys).Scan(&probe, &root); err != nil {
		return err
	}
	probe, err := s.codec.Probe()
	if err != nil {
		return err
	}
	if err := s.noteKey(ctx, tx, s.codec.KeyID(), probe); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE ring SET sealer = $1, turns = turns + 1 WHERE sealer <> $1", s.codec.KeyID())
	return err
}

// sealed lists the tables with sealed data: how to read a page from a key on, and how to write a row unless it has
// changed in the meantime. A key is two numbers or a text.
var sealed = []struct {
	read, write string
	reseal      func(store.Codec, []byte) (fresh []byte, stale bool, err error)
}{
	{"SELECT key, 0, '', vals FROM stack_body WHERE key > $1" + unused + " ORDER BY key LIMIT $4",
		"UPDATE stack_body SET vals = $5 WHERE key = $1" + unused + " AND vals = $4", store.Codec.Reseal},
	{"SELECT stack, number, '', vals FROM revision WHERE (stack, number) > ($1, $2)" + unused + " ORDER BY stack, number LIMIT $4",
		"UPDATE revision SET vals = $5 WHERE stack = $1 AND number = $2" + unused + " AND vals = $4", store.Codec.Reseal},
	{"SELECT stack, number, '', vals FROM instance_body WHERE (stack, number) > ($1, $2)" + unused + " ORDER BY stack, number LIMIT $4",
		"UPDATE instance_body SET vals = $5 WHERE stack = $1 AND number = $2" + unused + " AND vals = $4", store.Codec.Reseal},
	{"SELECT 0, 0, id, vals FROM request_body WHERE id > $3" + unused + " ORDER BY id LIMIT $4",
		"UPDATE request_body SET vals = $5 WHERE id = $3" + unused + " AND vals = $4", store.Codec.Reseal},
	{"SELECT 0, 0, id, vals FROM change_set_body WHERE id > $3" + unused + " ORDER BY id LIMIT $4",
		"UPDATE change_set_body SET vals = $5 WHERE id = $3" + unused + " AND vals = $4", store.Codec.Reseal},
	{"SELECT 0, 0, name, definition FROM provider WHERE name > $3" + unused + " ORDER BY name LIMIT $4",
		"UPDATE provider SET definition = $5 WHERE name = $3" + unused + " AND definition = $4", store.Codec.ResealDefinition},
	{"SELECT 0, 0, id, body FROM parameter_version WHERE id > $3" + unused + " ORDER BY id LIMIT $4",
		"UPDATE parameter_version SET body = $5 WHERE id = $3" + unused + " AND body = $4", store.Codec.ResealDefinition},
	{"SELECT 0, 0, id, body FROM entry WHERE id > $3" + unused + " ORDER BY id LIMIT $4",
		"UPDATE entry SET body = $5 WHERE id = $3" + unused + " AND body = $4", store.Codec.ResealDefinition},
}

// unused gives types to the arguments that a statement does not use.
const unused = " AND $1::bigint IS NOT NULL AND $2::bigint IS NOT NULL AND $3::text IS NOT NULL"

// sealPlace is the position at which a pass continues: the table, the key after which it continues, and the turn at the
// beginning of the pass.
type sealPlace struct {
	table  int
	turn   int64
	a, b   int64
	behind string
}

func (p sealPlace) String() string {
	return fmt.Sprintf("%d.%d.%d.%d.%s", p.table, p.turn, p.a, p.b, p.behind)
}

func parseSealPlace(from store.Cursor) (p sealPlace, err error) {
	parts := strings.SplitN(string(from), ".", 5)
	if len(parts) != 5 {
		return p, fmt.Errorf("unknown place %q", from)
	}
	p.behind = parts[4]
	p.table, err = strconv.Atoi(parts[0])
	for i, field := range []*int64{&p.turn, &p.a, &p.b} {
		if err == nil {
			*field, err = strconv.ParseInt(parts[1+i], 10, 64)
		}
	}
	if err != nil || p.table < 0 || p.table >= len(sealed) {
		return p, fmt.Errorf("unknown place %q", from)
	}
	return p, nil
}

// Reseal implements [store.Store]. It writes a row only if the row has not changed since it was read. A changed row was
// sealed with the first key, or this pass is not the last one. No pass begins while a node seals with another key.
func (s *Store) Reseal(ctx context.Context, from store.Cursor, limit int) (result store.Resealed, err error) {
	p := sealPlace{a: -1, b: -1}
	if from != "" {
		if p, err = parseSealPlace(from); err != nil {
			return store.Resealed{}, err
		}
	}
	err = s.call(ctx, func() error {
		return s.again(ctx, func() error {
			at := p
			result = store.Resealed{}
			if from == "" {
				turn, alike, err := s.turn(ctx)
				if err != nil || !alike {
					return err
				}
				at.turn = turn
			}
			seen, err := s.resealPage(ctx, &at, max(limit, 1), &result)
			switch {
			case err != nil:
			case seen == max(limit, 1):
				result.Next = store.Cursor(at.String())
			case at.table+1 < len(sealed):
				result.Next = store.Cursor(sealPlace{table: at.table + 1, turn: at.turn, a: -1, b: -1}.String())
			default:
				result.Done, err = s.forgetKeys(ctx, at.turn)
			}
			return err
		})
	})
	if err != nil {
		return store.Resealed{}, err
	}
	return result, nil
}

func (s *Store) resealPage(ctx context.Context, at *sealPlace, limit int, result *store.Resealed) (seen int, err error) {
	type staleRow struct {
		a, b       int64
		name       string
		old, fresh []byte
	}
	t := sealed[at.table]
	rows, err := s.pool.Query(ctx, t.read, at.a, at.b, at.behind, limit)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var stale []staleRow
	for rows.Next() { // most rows are not stale
		var row staleRow
		if err := rows.Scan(&row.a, &row.b, &row.name, &row.old); err != nil {
			return 0, err
		}
		fresh, is, err := t.reseal(s.codec, row.old)
		if err != nil {
			return 0, err
		}
		if row.fresh = fresh; is {
			stale = append(stale, row)
		}
		seen++
		at.a, at.b, at.behind = row.a, row.b, row.name
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	rows.Close()
	for _, row := range stale { // one statement each: it holds no other lock while it waits for the lock of a row
		written, err := s.pool.Exec(ctx, t.write, row.a, row.b, row.name, row.old, row.fresh)
		if err != nil {
			return 0, err
		}
		result.Rows += int(written.RowsAffected())
	}
	return seen, nil
}

// otherSealers finds nodes that seal with another key.
const otherSealers = "EXISTS (SELECT FROM node WHERE seals <> $1)"

// turn returns how often the sealing key has changed, and whether all nodes seal with this node's key.
func (s *Store) turn(ctx context.Context) (turn int64, alike bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT turns, NOT "+otherSealers+" FROM ring", s.codec.KeyID()).Scan(&turn, &alike)
	return turn, alike, err
}

// forgetKeys ends a pass: it drops the other keys, unless a node joined with one of them during the pass.
func (s *Store) forgetKeys(ctx context.Context, turn int64) (done bool, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "SELECT turns = $2 AND NOT "+otherSealers+" FROM ring FOR UPDATE", s.codec.KeyID(), turn).Scan(&done)
		if errors.Is(err, pgx.ErrNoRows) || err != nil || !done {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM sealing_key WHERE id <> $1", s.codec.KeyID())
		return err
	})
	return done && err == nil, err
}
