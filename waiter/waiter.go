// Package waiter stores requests whose operations continue in a database, for a provider that runs as a server of its
// own: behind HTTP or SNS, on any number of machines. It is a [pintle.RunningWaiter] and a [pintle.IdempotencyStore]
// on one *sql.DB, SQLite or PostgreSQL, with a driver of the author's choice.
//
//	db, err := sql.Open("sqlite", "file:waits.db?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)")
//	…
//	w, err := waiter.New(ctx, waiter.Config{DB: db, Keys: [][]byte{key}})
//	…
//	err = pintle.Run(ctx, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: handlers, Waiter: w, Idempotency: w}, Listen: ":8080"})
//
// # What is kept
//
// A record holds the data that a request needs to continue: its response URL, its properties and the state of the
// provider. All of it is encrypted with AES-256-GCM under a key that is not in the database. A reader of the tables
// sees how many requests wait, until when, and the sizes of their records. A writer can delete a wait or change its
// time, but cannot forge a record. Remembered answers are encrypted as well. With [Config.Keys] a key can be changed
// while requests wait.
//
// # Who resumes
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

// shortestLease is what a lease needs to be prolonged in time.
const shortestLease = time.Second

// Config is where a [Waiter] keeps its records, and how it works.
type Config struct {
	// DB is the database, SQLite 3.35 or newer or PostgreSQL; which one is found out. Required. The caller closes it,
	// after [Waiter.Run] has returned. A wait is durable when Wait returns only if commits are: with SQLite, leave
	// synchronous at FULL. A SQLite database must be a file on a local disk.
	DB *sql.DB
	// Keys are secrets of 32 bytes or more: the first seals, all of them open. Required. To change a key put the new one
	// before the old one in all processes, but give it to all as a second one before any seals with it; drop the old
	// one after two days.
	Keys [][]byte
	// Prefix begins the names of the tables: a lower-case letter, then at most 30 letters, digits and underscores.
	// Providers with different handlers may share a database if theirs differ. Empty means [DefaultPrefix].
	Prefix string
	// Lease is for how long a wait is a process's own after that has died. Zero means [DefaultLease]; less than a second
	// is refused.
	Lease time.Duration
	// PollInterval is how often the database is asked for what is due, and so how late a wait may be resumed. Zero means
	// [DefaultPollInterval].
	PollInterval time.Duration
	// Timeout is how long one question may take, the answer included. Zero means [DefaultTimeout].
	Timeout time.Duration
	// Concurrency is how many waits this process resumes at once. Zero means [DefaultConcurrency].
	Concurrency int
	// Logger takes what goes wrong. Nil means text on standard error.
	Logger *slog.Logger
}

// Waiter keeps waits in a database. Its methods may be called by many goroutines at once, and by many processes on one
// database.
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

// prefixes is what the names of tables may begin with.
var prefixes = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)

// New opens the tables, which it makes or brings up to date if need be; processes that do so at the same time do not
// disturb each other. The error says what is wrong with the configuration or the database.
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

// Wait is that of [pintle.Waiter]: the record is committed when it returns nil.
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

// Waits is that of [pintle.Waiter].
func (w *Waiter) Waits(ctx context.Context, key string) (bool, error) {
	var n int
	if err := w.db.get(ctx, &n, `SELECT count(*) FROM {}wait WHERE key = $1`, key); err != nil {
		return false, fmt.Errorf("waiter: look for a wait: %w", err)
	}
	return n > 0, nil
}

// sealed returns a record as it is stored.
func (w *Waiter) sealed(p pintle.Pending) ([]byte, error) {
	text, err := p.Encode()
	if err != nil {
		return nil, fmt.Errorf("waiter: %w", err)
	}
	return w.box.Seal(text, w.place(p.Key)), nil
}

// opened is the way back. An error wraps [pintle.ErrInvalidPending] if another key would not help.
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

// place is what a record is bound to, so that none answers in the place of another.
func (w *Waiter) place(key string) string { return w.config.Prefix + "wait/" + key }

// pause returns when a wait is to be resumed, from now.
func pause(p pintle.Pending) time.Duration { return max(0, min(p.After, time.Until(p.Until))) }
