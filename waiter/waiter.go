// Package waiter keeps waiting requests in a database, for a provider that runs as its own server: behind HTTP or SNS, on
// any number of machines. It is a [pintle.RunningWaiter] and a [pintle.IdempotencyStore] on one *sql.DB, SQLite or
// PostgreSQL, with a driver of the author's choice.
//
//	db, err := sql.Open("sqlite", "file:waits.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
//	…
//	w, err := waiter.New(ctx, waiter.Config{DB: db, Keys: [][]byte{key}})
//	…
//	err = pintle.Run(ctx, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: handlers, Waiter: w, Idempotency: w}, Listen: ":8080"})
//
// # Stored data
//
// A record holds the data that a request needs to continue: its response URL, its properties and the state of the
// provider. All of it is encrypted with AES-256-GCM under a key that is not in the database. A reader of the tables sees
// how many requests wait, until when, and the sizes of their records. A writer can delete a wait or change its time, but
// cannot forge a record. Stored answers are also encrypted. With [Config.Keys] a key can be changed while requests wait.
//
// # Leases
//
// A process claims a wait with a lease, and renews the lease while it handles the wait. If the process dies, even by
// kill -9, the lease expires and another process, or the same one after a restart, continues. The wait that is due
// first is resumed first, and a resumed wait goes to the end of the queue. All times come from the database, so the
// clocks of the machines need not agree.
//
// A process that stalls for longer than a lease may find that another one has resumed its wait. The row then belongs
// to the other process, and the service accepts the first of the two answers.
package waiter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/seal"
)

// Defaults of [Config].
const (
	DefaultPrefix       = "pintle_"
	DefaultLease        = time.Minute
	DefaultPollInterval = time.Second
	DefaultTimeout      = 15 * time.Minute
	DefaultConcurrency  = 10
)

// shortestLease is the shortest lease that can be renewed in time.
const shortestLease = time.Second

// Config configures a [Waiter].
type Config struct {
	// DB is the database: SQLite 3.35 or newer, or PostgreSQL. [New] detects which. Required. The caller closes it after
	// [Waiter.Run] has returned. A wait is durable only if commits are: with SQLite, leave synchronous at FULL. A SQLite
	// database must be a file on a local disk.
	DB *sql.DB
	// Keys are secrets of 32 bytes or more: the first encrypts, and all of them decrypt. Required. To change a key, first
	// add the new one as the second key in all processes, then move it to the front in all of them. Remove the old one
	// after two days.
	Keys [][]byte
	// Prefix is the start of the table names: a lower-case letter, then at most 30 letters, digits and underscores.
	// Providers with different handlers may share a database if their prefixes differ. Empty means [DefaultPrefix].
	Prefix string
	// Lease is how long a process keeps a wait after its last renewal. After a crash, another process can resume the wait
	// when the lease expires. Zero means [DefaultLease]; less than a second is an error.
	Lease time.Duration
	// PollInterval is how often the database is queried for due waits, and so how late a wait may be resumed. Zero means
	// [DefaultPollInterval].
	PollInterval time.Duration
	// Timeout is how long one poll may take, including the answer. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Concurrency is the number of waits that this process resumes at once. Zero means [DefaultConcurrency].
	Concurrency int
	// Logger logs errors. Nil means text on standard error.
	Logger *slog.Logger
}

// Waiter keeps waits in a database. Many goroutines, and many processes on one database, can use it concurrently.
type Waiter struct {
	config Config
	db     database
	box    *seal.Box
	log    *slog.Logger
}

var (
	_ pintle.RunningWaiter    = (*Waiter)(nil)
	_ pintle.IdempotencyStore = (*Waiter)(nil)
)

// prefixes matches the valid prefixes of table names.
var prefixes = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// New opens the tables and creates or migrates them if necessary. Several processes may do so at the same time. The error
// describes a problem with the configuration or the database.
func New(ctx context.Context, c Config) (*Waiter, error) {
	if c.DB == nil {
		return nil, errors.New("waiter: there is no database")
	}
	box, err := seal.New(c.Keys...)
	if err != nil {
		return nil, fmt.Errorf("waiter: %w", err)
	}
	if c.Lease < 0 || c.PollInterval < 0 || c.Timeout < 0 || c.Concurrency < 0 {
		return nil, errors.New("waiter: Lease, PollInterval, Timeout and Concurrency must not be negative")
	}
	setDefault(&c.Prefix, DefaultPrefix)
	setDefault(&c.Lease, DefaultLease)
	setDefault(&c.PollInterval, DefaultPollInterval)
	setDefault(&c.Timeout, DefaultTimeout)
	setDefault(&c.Concurrency, DefaultConcurrency)
	if c.Lease < shortestLease {
		return nil, fmt.Errorf("waiter: a lease of %v is too short, %v is the least", c.Lease, shortestLease)
	}
	if !prefixes.MatchString(c.Prefix) {
		return nil, fmt.Errorf("waiter: the prefix %.40q is not a lower-case letter with at most 30 letters, digits or underscores after it", c.Prefix)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	db, err := open(ctx, c.DB, c.Prefix)
	if err != nil {
		return nil, fmt.Errorf("waiter: %w", err)
	}
	return &Waiter{config: c, db: db, box: box, log: c.Logger}, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Wait implements [pintle.Waiter]. The record is committed when it returns nil.
func (w *Waiter) Wait(ctx context.Context, p pintle.Pending) error {
	record, err := w.sealed(p)
	if err != nil {
		return err
	}
	_, err = w.db.exec(ctx, `INSERT INTO {}wait (key, due, born, record) VALUES ($1, {now} + $2, {now}, $3) ON CONFLICT (key) DO NOTHING`,
		p.Key, pause(p).Milliseconds(), record)
	if err != nil {
		return fmt.Errorf("waiter: keep a wait: %w", err)
	}
	return nil
}

// Waits implements [pintle.Waiter].
func (w *Waiter) Waits(ctx context.Context, key string) (bool, error) {
	var n int
	if err := w.db.get(ctx, &n, `SELECT count(*) FROM {}wait WHERE key = $1`, key); err != nil {
		return false, fmt.Errorf("waiter: look for a wait: %w", err)
	}
	return n > 0, nil
}

// sealed returns the encrypted form of a record.
func (w *Waiter) sealed(p pintle.Pending) ([]byte, error) {
	text, err := p.Encode()
	if err != nil {
		return nil, fmt.Errorf("waiter: %w", err)
	}
	return w.box.Seal(text, w.place(p.Key)), nil
}

// opened decrypts a record. An error wraps [pintle.ErrInvalidPending] if another key would not help.
func (w *Waiter) opened(key string, record []byte) (pintle.Pending, error) {
	text, err := w.box.Open(record, w.place(key))
	switch {
	case errors.Is(err, seal.ErrKey):
		return pintle.Pending{}, fmt.Errorf("the record cannot be opened: %w", err)
	case err != nil:
		return pintle.Pending{}, fmt.Errorf("%w: %w", pintle.ErrInvalidPending, err)
	}
	return pintle.ParsePending(text)
}

// place returns the context that a record is bound to, so that no record can answer another request.
func (w *Waiter) place(key string) string { return w.config.Prefix + "wait/" + key }

// pause returns how long to wait before a wait is resumed.
func pause(p pintle.Pending) time.Duration { return max(0, min(p.After, time.Until(p.Until))) }
