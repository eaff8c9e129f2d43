// Package sqlite is a [store.Store] in one SQLite file: the store of a single node.
//
// One goroutine writes. Whatever is queued when it becomes free is run in one transaction and shares one fsync; callers
// get their result after the commit returned. If anything in a batch fails, the batch is rolled back and every member
// is run again alone, so that one's failure is its own. Queries run next to the writer, on connections that only read.
//
// The file is in WAL mode with synchronous=FULL: what was acknowledged survives a crash of the process and, as far as
// the disk keeps its word, of the machine. The caller makes sure that one process at a time has the file open.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/pintle-dev/pintle/internal/store"
)

// readers is how many connections serve queries.
const readers = 4

// Config is what a Store needs. Path and Codec are required.
type Config struct {
	// Path of the database file. It is made if it is not there; its directory must be.
	Path string
	// Codec seals the secrets, with the keys that the database was written with.
	Codec store.Codec
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log receives what no caller is told; nil discards it.
	Log *slog.Logger
	// Committed is notified of every commit, by the goroutine that writes: it must not block. Nil gets nothing.
	Committed func(store.Commit)
}

// Store is a [store.Store] in an SQLite file. Use [Open].
type Store struct {
	path  string
	codec store.Codec
	now   func() time.Time
	root  store.Root

	gate   sync.RWMutex // read-locked during every call; Close takes it whole
	closed bool
	reads  *pool
	writes *writer
	damage store.Damage
	ring   store.Ring // of the stacks that have ready requests
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a file, and makes or migrates it. It refuses a file that is not a SQLite database or another
// program's, one that a newer version of Pintle wrote, and keys that are not the file's.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", cfg.Path, err)
	}
	s := &Store{path: path, codec: cfg.Codec, now: cfg.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Committed == nil {
		cfg.Committed = func(store.Commit) {}
	}
	if err := s.open(ctx, &cfg); err != nil {
		var cause *sqlite.Error
		if errors.As(err, &cause) {
			return nil, s.explain(err)
		}
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, cfg *Config) error {
	// SQLite would give the file the mode of the umask, and the files next to it get the mode of this one.
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", s.dsn("journal_mode(WAL)", "synchronous(FULL)", "cache_size(-8192)")) // 8 MiB of pages
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	s.writes = newWriter(s, db, cfg)
	if err := s.prepare(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	if s.reads, err = openPool(s.dsn("query_only(1)", "cache_size(-1024)")); err != nil {
		return errors.Join(err, db.Close())
	}
	s.writes.start()
	return nil
}

// prepare migrates the database and makes sure that the keys are its own.
func (s *Store) prepare(ctx context.Context, db *sql.DB) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := migrate(ctx, conn, migrations); err != nil {
		return err
	}
	return s.prepareKeys(ctx, conn)
}

// dsn returns the data source name of the file with pragmas for every connection.
func (s *Store) dsn(pragmas ...string) string {
	path := filepath.ToSlash(s.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/...
	}
	query := url.Values{"_pragma": append([]string{
		"busy_timeout(5000)", "foreign_keys(0)", "temp_store(MEMORY)",
		"journal_size_limit(67108864)", // what the log grew to beyond that is given back
	}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// Queued returns how many writes wait for their turn.
func (s *Store) Queued() int { return len(s.writes.queue) }

// Close implements [store.Store]. A second Close does nothing.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.reads.close()
	return errors.Join(err, s.writes.stop()) // the writer's connection is the last one: it empties the WAL
}

// Ping implements [store.Store]. It writes. After SQLite has reported damage it always fails.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.damage.Err(); err != nil {
		return err
	}
	return s.write(ctx, func(tx *tx) error {
		_, err := tx.exec("UPDATE schema SET pinged = ?", unix(s.time()))
		return err
	})
}

// write runs work as a member of the writer's next batch.
func (s *Store) write(ctx context.Context, work func(*tx) error) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	return s.writes.do(ctx, work)
}

// read runs a query on a reading connection.
func read[T any](ctx context.Context, s *Store, query func(querier) (T, error)) (T, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	var none T
	if s.closed {
		return none, store.ErrClosed
	}
	result, err := query(func(text string, args ...any) (*sql.Rows, error) { return s.reads.query(ctx, text, args...) })
	if err != nil {
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		return none, s.explain(err)
	}
	return result, nil
}

// time returns the time as the database keeps it.
func (s *Store) time() time.Time { return fromUnix(unix(s.now())) }

func unix(t time.Time) int64 { return t.UnixMilli() }

func fromUnix(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
