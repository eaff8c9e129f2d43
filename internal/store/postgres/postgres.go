// Package postgres is a [store.Store] in PostgreSQL: the store that many nodes share.
//
// A few writers commit. A decision goes to the writer of its stack; whatever is queued when a writer becomes free is one
// transaction and shares one commit: the rows of all its stacks are locked and loaded in one round trip (batch.go,
// load.go), the decisions run on an image of the stacks in memory, in which each sees what the ones before it decided
// (image.go), and all that they changed is written and committed in a second round trip (write.go). A decision that
// fails leaves no trace in the image, so it takes no one with it; if the database refuses a batch, every member is run
// again alone.
//
// Images are kept from one transaction to the next. When all that a batch needs is in them there is no first round trip: the
// second one locks the stacks, and fails if another node has changed one since (turn.go).
//
// What guards the rows against the other nodes is the lock on the row of the stack, taken in the order of the keys. The
// version of the operation is checked again by the statement that writes it: should someone write without the lock, the
// transaction fails and the decisions are made again.
//
// When the connection breaks, the writer connects again and repeats, for as long as [Config.Patience] says. If it broke
// during the commit, the writer first asks the database whether the batch was committed: every batch leaves its number
// in a row of its writer.
//
// Everything lies in the schema pintle of the database. There is no sequence, trigger, notification, advisory lock or
// savepoint.
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

// Config is what a Store needs. DSN and Codec are required.
type Config struct {
	// DSN says where the database is, as a URL (postgres://user@host:port/name) or in the words of libpq; several hosts,
	// sslmode, target_session_attrs and the password file work as they do there. No error and no log shows it.
	DSN string
	// Codec seals the secrets, with the keys that the database was written with. All nodes need the same.
	Codec store.Codec
	// Now is the clock, for tests; nil means the database's own.
	Now func() time.Time
	// Log receives what no caller is told; nil discards it.
	Log *slog.Logger
	// Writers is how many connections commit decisions; 0 means 2. Each shares its commits among all that is queued, so
	// more of them help only where the database has processors to spare.
	Writers int
	// Readers is how many connections serve queries; 0 means 8. With the writers and the one for signs of life they are
	// all that a Store opens.
	Readers int
	// Patience is how long a call waits for a database that cannot be reached, or is busy electing another primary, before
	// it fails; 0 means 15 s.
	Patience time.Duration
	// Committed is notified of every commit, by the goroutines that write: it must not block. Nil gets nothing.
	Committed func(store.Commit)
}

// Store is a [store.Store] in PostgreSQL. Use [Open].
type Store struct {
	address  address
	codec    store.Codec
	now      func() time.Time // nil: the database's
	log      *slog.Logger
	patience time.Duration
	told     func(store.Commit)
	root     store.Root
	damage   store.Damage

	gate    sync.RWMutex // read-locked during every call; Close takes it whole
	closed  bool
	closing chan struct{} // closed when Close begins: no one continues waiting for a database that is away
	once    sync.Once

	pool    *pgxpool.Pool
	writers []*writer
	pulse   *pulse
	ping    int64 // the number of the row that Ping writes
	where   *store.Whereabouts
	latest  latest
	ring    store.Ring // of the stacks that have ready requests
}

var _ store.Store = (*Store)(nil)

// Open connects to the database, and makes or migrates what is in it; several nodes may do so at once. It refuses a
// database that a newer version of Pintle wrote, keys that are not the database's, and a server that only reads.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	a, err := parse(cfg.DSN)
	if err != nil {
		return nil, err
	}
	s := &Store{
		address: a, codec: cfg.Codec, now: cfg.Now, log: cfg.Log, patience: cmp.Or(cfg.Patience, 15*time.Second),
		closing: make(chan struct{}), where: store.NewWhereabouts(), told: cfg.Committed,
	}
	if s.told == nil {
		s.told = func(store.Commit) {}
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

// prepare migrates the database, and makes sure that the keys are its own and that the server keeps what it commits.
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

// Fresh reports whether the database holds nothing of Pintle's yet, so that new keys may be made for it.
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

// String returns name and place of the database, without user and password.
func (s *Store) String() string { return s.address.shown }

// Name returns what [Store.String] does of a store at this address.
func Name(dsn string) (string, error) {
	a, err := parse(dsn)
	return a.shown, err
}

// Close implements [store.Store]. A second Close does nothing.
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
	// The rows of the writers are only in the way; who cannot reach the database leaves them to the next one that opens it.
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

// farewell bounds what is said to the database at the end.
const farewell = 2 * time.Second

// forgotten is how old the row of a writer is when its process is surely gone.
const forgotten = 30 * 24 * time.Hour

// Queued returns how many decisions wait for their turn.
func (s *Store) Queued() int {
	n := 0
	for _, w := range s.writers {
		n += len(w.queue)
	}
	return n
}

// Ping implements [store.Store]. It writes, and does not wait for a database that is away.
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

// call runs f unless the store is closed or the caller has given up, and explains its error.
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

// again runs f on connections of the pool, until it is done or fails for another reason than that the database is away. It gives up when
// ctx ends or the database has been away for [Config.Patience].
func (s *Store) again(ctx context.Context, f func() error) error {
	away := newAbsence(s)
	for {
		err := s.twice(ctx, f)
		if err == nil || ctx.Err() != nil || !offline(err) || !away.wait(ctx) {
			return err
		}
	}
}

// twice runs f on connections of the pool, and a second time if the first one turns out to be of a server that is gone.
func (s *Store) twice(ctx context.Context, f func() error) error {
	err := f()
	if err != nil && ctx.Err() == nil && offline(err) {
		s.pool.Reset()
		err = f()
	}
	return err
}

// clock is the first argument of statements that use now: nil for the time of the database.
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

// newNumber draws a number that no one else has: 63 random bits, not 0.
func newNumber() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return max(1, int64(binary.BigEndian.Uint64(b[:])>>1))
}
