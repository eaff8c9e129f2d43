// Package postgres is a [store.Store] in PostgreSQL: the store that many nodes share.
//
// A few writers commit. Each decision goes to the writer of its stack. All decisions that are queued when a writer
// becomes free are one transaction and share one commit. The writer locks and loads the rows of all its stacks in one
// round trip (batch.go, load.go). The decisions run on images of the stacks in memory, in which each sees the changes
// of those before it (image.go). A second round trip writes and commits all changes (write.go). A decision that fails
// leaves the images unchanged, so it does not affect the others. If the database rejects a batch, every member runs
// again alone.
//
// Images are kept from one transaction to the next. If they hold all that a batch needs, there is no first round trip:
// the second one locks the stacks, and fails if another node has changed one of them since (turn.go).
//
// The lock on the row of the stack guards its rows against the other nodes. Locks are taken in the order of the keys.
// The statement that writes an operation also checks its version: if a node wrote without the lock, the transaction
// fails and the decisions run again.
//
// When the connection breaks, the writer connects again and repeats the batch within [Config.Patience]. If it
// broke during the commit, the writer first asks the database whether the batch was committed: every batch writes its
// number to the row of its writer.
//
// Everything is in the schema pintle of the database. The store uses no sequence, trigger, notification, advisory lock
// or savepoint.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pintle-dev/pintle/internal/store"
)

// Config configures a Store. DSN and Codec are required.
type Config struct {
	// DSN is the address of the database, as a URL (postgres://user@host:port/name) or in libpq keywords. Several
	// hosts, sslmode, target_session_attrs and the password file work as in libpq. No error and no log shows it.
	DSN string
	// Codec seals the secrets, with the keys that the database was written with. All nodes need the same keys.
	Codec store.Codec
	// Now is the clock in tests; nil means the database's own.
	Now func() time.Time
	// Log receives events that no caller learns of; nil discards them.
	Log *slog.Logger
	// Writers is the number of connections that commit decisions; 0 means 2. Each shares its commits among all queued
	// decisions, so more writers help only if the database has idle processors.
	Writers int
	// Readers is the number of connections that serve queries; 0 means 8. Together with the writers and the connection
	// for heartbeats they are all connections of a Store.
	Readers int
	// Patience is how long a call waits for a database that cannot be reached, or is electing another primary, before
	// it fails; 0 means 15 s.
	Patience time.Duration
	// Committed is called after every commit, by the goroutines that write: it must not block. It may be nil.
	Committed func(store.Commit)
}

// Store is a [store.Store] in PostgreSQL. Use [Open].
type Store struct {
	address   address
	codec     store.Codec
	now       func() time.Time // nil for the database's clock
	log       *slog.Logger
	patience  time.Duration
	committed func(store.Commit)
	root      store.Root
	damage    store.Damage

	gate    sync.RWMutex // read-locked during every call; Close locks it
	closed  bool
	closing chan struct{} // closed when Close begins: stops the waits for an unreachable database
	once    sync.Once

	pool    *pgxpool.Pool
	writers []*writer
	pulse   *pulse
	ping    int64 // the number of the row that Ping writes
	where   *store.Whereabouts
	latest  latest
	ring    store.Ring // of the stacks with ready requests
}

var _ store.Store = (*Store)(nil)

// Open connects to the database, and creates or migrates the schema; several nodes may do so at once. It rejects a
// database that a newer version of Pintle wrote, keys that do not belong to the database, and a read-only server.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	a, err := parse(cfg.DSN)
	if err != nil {
		return nil, err
	}
	s := &Store{
		address: a, codec: cfg.Codec, now: cfg.Now, log: cfg.Log, patience: cmp.Or(cfg.Patience, 15*time.Second),
		closing: make(chan struct{}), where: store.NewWhereabouts(), committed: cfg.Committed,
	}
	if s.committed == nil {
		s.committed = func(store.Commit) {}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.prepare(ctx); err != nil {
		return nil, a.explain(err)
	}
	if s.pool, err = a.pool(cmp.Or(cfg.Readers, 8)); err != nil {
		return nil, a.explain(err)
	}
	s.ping = newNumber()
	s.pulse = &pulse{address: a}
	for range cmp.Or(cfg.Writers, 2) {
		w := newWriter(s)
		s.writers = append(s.writers, w)
		w.start()
	}
	return s, nil
}

// prepare migrates the database, and checks that the keys belong to it and that the server keeps its commits.
func (s *Store) prepare(ctx context.Context) (err error) {
	conn, err := s.address.first(ctx, reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var encoding, fsync string
	err = conn.QueryRow(ctx, "SELECT current_setting('server_encoding'), coalesce(current_setting('fsync', true), 'on')").Scan(&encoding, &fsync)
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("its encoding is %s: make a database with the encoding UTF8", encoding)
	}
	if fsync == "off" {
		s.log.Warn("the database has fsync off: what it committed is lost when its machine crashes", "database", s.address.shown)
	}
	if err := migrate(ctx, conn, s.address.schema, migrations); err != nil {
		return err
	}
	if err := s.exchangeKeys(ctx, conn); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "DELETE FROM writer WHERE at < "+now+" - $2", s.clock(), forgotten.Milliseconds())
	return err
}

// Fresh reports whether the database holds no data of Pintle yet, so that new keys may be created for it.
func Fresh(ctx context.Context, dsn string) (fresh bool, err error) {
	a, err := parse(dsn)
	if err != nil {
		return false, err
	}
	conn, err := a.first(ctx, reading)
	if err != nil {
		return false, a.explain(err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	version, err := schemaVersion(ctx, conn)
	if err != nil || version == 0 {
		return version == 0, a.explain(err)
	}
	err = conn.QueryRow(ctx, "SELECT probe = '' FROM schema").Scan(&fresh)
	return fresh, a.explain(err)
}

// String returns name and address of the database, without user and password.
func (s *Store) String() string { return s.address.shown }

// Name returns the result of [Store.String] for a store at this address.
func Name(dsn string) (string, error) {
	a, err := parse(dsn)
	return a.shown, err
}

// Close implements [store.Store]. A second Close is a no-op.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closing) })
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, w := range s.writers {
		w.stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	s.pulse.close(ctx)
	// Delete the rows of the writers, which are no longer needed. If the database cannot be reached, the next process
	// that opens it deletes them.
	numbers := []int64{s.ping}
	for _, w := range s.writers {
		numbers = append(numbers, w.number)
	}
	if _, err := s.pool.Exec(ctx, "DELETE FROM writer WHERE id = ANY($1)", numbers); err != nil {
		s.log.Debug("close the database", "error", err)
	}
	s.pool.Close()
	return nil
}

// farewell limits the time for the last statements before closing.
const farewell = 2 * time.Second

// forgotten is the age of a writer's row after which its process has certainly exited.
const forgotten = 30 * 24 * time.Hour

// Queued returns the number of decisions that wait for their turn.
func (s *Store) Queued() int {
	n := 0
	for _, w := range s.writers {
		n += len(w.queue)
	}
	return n
}

// Ping implements [store.Store]. It writes, and does not wait for an unreachable database.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.damage.Err(); err != nil {
		return err
	}
	return s.call(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, beatWithin)
		defer cancel()
		return s.twice(ctx, func() error {
			_, err := s.pool.Exec(ctx, mark, s.clock(), s.ping, 0)
			return err
		})
	})
}

// call runs f unless the store is closed or ctx is done, and explains its error.
func (s *Store) call(ctx context.Context, f func() error) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := f()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return s.explain(err)
}

// again runs f on connections of the pool, and repeats it while the database is unreachable. It stops when ctx ends or
// the database has been away for [Config.Patience].
func (s *Store) again(ctx context.Context, f func() error) error {
	away := newAbsence(s)
	for {
		err := s.twice(ctx, f)
		if err == nil || ctx.Err() != nil || !offline(err) || !away.wait(ctx) {
			return err
		}
	}
}

// twice runs f on connections of the pool, and a second time if the first connection was to a server that is down.
func (s *Store) twice(ctx context.Context, f func() error) error {
	err := f()
	if err != nil && ctx.Err() == nil && offline(err) {
		s.pool.Reset()
		err = f()
	}
	return err
}

// clock returns the first argument of statements that use now: nil for the time of the database.
func (s *Store) clock() *int64 {
	if s.now == nil {
		return nil
	}
	ms := unix(s.now())
	return &ms
}

// now is the time in SQL, in milliseconds; $1 is [Store.clock].
const now = "coalesce($1::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)"

func unix(t time.Time) int64 { return t.UnixMilli() }

func fromUnix(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// newNumber returns a unique number: 63 random bits, not 0.
func newNumber() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(1, int64(binary.BigEndian.Uint64(b[:])>>1))
}
