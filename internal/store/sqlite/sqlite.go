// Package sqlite is a [store.Store] in one SQLite file: the store of a single node.
//
// One goroutine writes. When it becomes free, it runs all queued calls in one transaction with one fsync. Callers get
// their result after the commit. If any call in a batch fails, the batch is rolled back and every member runs again
// alone, so that a failure affects only its own call. Queries run concurrently with the writer, on read-only
// connections.
//
// The file is in WAL mode with synchronous=FULL: acknowledged writes survive a crash of the process and, if the disk
// honours flushes, of the machine. The caller makes sure that only one process at a time has the file open.
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

// readers is the number of connections that serve queries.
const readers = 4

// Config configures a Store. Path and Codec are required.
type Config struct {
	// Path is the path of the database file. A missing file is created; its directory must exist.
	Path string
	// Codec seals the secrets, with the keys that the database was written with.
	Codec store.Codec
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log receives events that no caller learns of; nil discards them.
	Log *slog.Logger
	// Committed is called after every commit, by the goroutine that writes: it must not block. It may be nil.
	Committed func(store.Commit)
}

// Store is a [store.Store] in an SQLite file. Use [Open].
type Store struct {
	path  string
	codec store.Codec
	now   func() time.Time
	root  store.Root

	gate   sync.RWMutex // read-locked during every call; Close locks it
	closed bool
	reads  *pool
	writes *writer
	damage store.Damage
	ring   store.Ring // of the stacks with ready requests
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a file, and creates or migrates it. It rejects a file that is not a SQLite database or
// belongs to another program, one that a newer version of Pintle wrote, and keys that do not belong to the file.
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
	// SQLite would create the file with the mode of the umask, and the files next to it get the mode of this one.
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

// prepare migrates the database and checks that the keys belong to it.
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
		"journal_size_limit(67108864)", // truncate the log to this size
	}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

// Queued returns the number of writes that wait for their turn.
func (s *Store) Queued() int { return len(s.writes.queue) }

// Close implements [store.Store]. A second Close is a no-op.
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
