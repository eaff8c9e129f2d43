package waiter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// database is an [sql.DB] of a known kind. Statements contain {} for the prefix of tables, {now} for the database's time
// in milliseconds, {expires} for the expiry time of a value, and {bytes} for the type of bytes. Parameters are $1, $2, …
// in the order of their first use, because SQLite counts them that way.
type database struct {
	*sql.DB
	postgres bool
	prefix   string
	fill     *strings.Replacer
}

// schemaVersion is the version of the tables. Each version has a list of statements that upgrade the previous one.
const schemaVersion = 2

var schema = [schemaVersion][]string{{
	// due is the time to resume, or the end of the lease while a process holds the wait. claim counts the claims: a
	// process with an older number has lost the wait. failures counts consecutive failures.
	`CREATE TABLE {}wait (
		key TEXT NOT NULL PRIMARY KEY,
		due BIGINT NOT NULL,
		born BIGINT NOT NULL,
		claim BIGINT NOT NULL DEFAULT 0,
		failures BIGINT NOT NULL DEFAULT 0,
		record {bytes} NOT NULL
	)`,
	`CREATE INDEX {}wait_due ON {}wait (due)`,
	`CREATE TABLE {}memory (key TEXT NOT NULL PRIMARY KEY, born BIGINT NOT NULL, record {bytes} NOT NULL)`,
	`CREATE INDEX {}memory_born ON {}memory (born)`,
}, {
	`ALTER TABLE {}memory ADD COLUMN expires BIGINT NOT NULL DEFAULT 0`,
	`UPDATE {}memory SET expires = born + 86400000`, // the former time to live of all values
	`CREATE INDEX {}memory_expires ON {}memory (expires)`,
	`DROP INDEX {}memory_born`,
}}

// open detects the kind of database and migrates the tables.
func open(ctx context.Context, db *sql.DB, prefix string) (database, error) {
	d := database{DB: db, prefix: prefix}
	if err := d.patiently(ctx, func() error { return db.PingContext(ctx) }); err != nil {
		return database{}, fmt.Errorf("reach the database: %w", err)
	}
	var version string
	now, blob := `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`, "BLOB"
	switch err := db.QueryRowContext(ctx, `SELECT version()`).Scan(&version); {
	case err == nil && strings.HasPrefix(version, "PostgreSQL"):
		d.postgres = true
		now, blob = `CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`, "BYTEA"
	default:
		if d.patiently(ctx, func() error { return db.QueryRowContext(ctx, `SELECT sqlite_version()`).Scan(&version) }) != nil {
			return database{}, errors.New("the database is neither SQLite nor PostgreSQL")
		}
	}
	// A process of the previous version that is still running does not set expires. Its values expire after a day.
	const expires = `CASE WHEN expires = 0 THEN born + 86400000 ELSE expires END`
	d.fill = strings.NewReplacer("{}", prefix, "{now}", now, "{expires}", expires, "{bytes}", blob)
	return d, d.migrate(ctx)
}

// migrate brings the tables up to date. If several processes call it, the first one migrates.
func (d database) migrate(ctx context.Context) error {
	for try := 1; ; try++ {
		err := d.migrateOnce(ctx)
		if err == nil || errors.Is(err, errNewer) || try == 10 || rest(ctx, try) != nil {
			return err
		}
	}
}

var errNewer = errors.New("its tables were made by a newer version of the program; use that, or another prefix")

func (d database) migrateOnce(ctx context.Context) error {
	var at int
	if d.QueryRowContext(ctx, d.fill.Replace(`SELECT max(version) FROM {}schema`)).Scan(&at) == nil && at == schemaVersion {
		return nil // the usual case, which locks nothing
	}
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // a no-op after a commit
	if d.postgres {
		// Concurrent CREATE … IF NOT EXISTS statements fail for one of them.
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, d.lockNumber()); err != nil {
			return fmt.Errorf("make tables: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, d.fill.Replace(`CREATE TABLE IF NOT EXISTS {}schema (version BIGINT NOT NULL PRIMARY KEY)`)); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	if err := tx.QueryRowContext(ctx, d.fill.Replace(`SELECT coalesce(max(version), 0) FROM {}schema`)).Scan(&at); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	if at > schemaVersion {
		return errNewer
	}
	for ; at < schemaVersion; at++ {
		for _, statement := range schema[at] {
			if _, err := tx.ExecContext(ctx, d.fill.Replace(statement)); err != nil {
				return fmt.Errorf("make tables: %w", err)
			}
		}
		if _, err := tx.ExecContext(ctx, d.fill.Replace(`INSERT INTO {}schema (version) VALUES ($1)`), at+1); err != nil {
			return fmt.Errorf("make tables: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	return nil
}

// lockNumber returns the number of the advisory lock for these tables, the same in all programs.
func (d database) lockNumber() int64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("pintle waiter " + d.prefix)) // never fails
	return int64(sum.Sum64())
}

// exec runs a statement in its own transaction and returns the number of changed rows.
func (d database) exec(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	err = d.patiently(ctx, func() error {
		result, err := d.ExecContext(ctx, d.fill.Replace(statement), args...)
		if err == nil {
			rows, err = result.RowsAffected()
		}
		return err
	})
	return rows, err
}

// get reads one value. Without one, the error is [sql.ErrNoRows].
func (d database) get(ctx context.Context, into any, query string, args ...any) error {
	return d.patiently(ctx, func() error { return d.QueryRowContext(ctx, d.fill.Replace(query), args...).Scan(into) })
}

// patiently retries while another process has a SQLite database locked, because not every driver is set to wait.
func (d database) patiently(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || d.postgres || try == 20 || !strings.Contains(err.Error(), "locked") || rest(ctx, try) != nil {
			return err
		}
	}
}

// rest waits for a random time that grows with the tries, up to a quarter of a second.
func rest(ctx context.Context, try int) error {
	timer := time.NewTimer(rand.N(min(time.Millisecond<<min(try, 10), 250*time.Millisecond)) + time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
