// Package maintenance re-seals rows under the newest key and removes expired rows. It works in small steps and pauses
// after each for longer than the step took, so it never uses more than a tenth of the store's capacity. It can be
// stopped at any time, and continues when it is started again.
package maintenance

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

// Store is the part of a [store.Store] that an Upkeep uses.
type Store interface {
	SealingKeys(context.Context) ([]store.SealingKey, error)
	Reseal(ctx context.Context, from store.Cursor, limit int) (store.Resealed, error)
	Sweep(ctx context.Context, keep store.Keep, from store.Cursor, limit int) (store.Swept, error)
}

// Config configures an Upkeep. Store is required; zero fields mean the documented defaults.
type Config struct {
	Store Store
	// Keep says which rows are kept; its zero fields mean its own defaults.
	Keep store.Keep
	// Every is the pause between two sweep passes; zero is an hour.
	Every time.Duration
	// Again is the pause before the next resealing pass after one that failed or could not be finished; zero is a
	// minute.
	Again time.Duration
	// Batch is the maximum number of rows in a step; zero is 200.
	Batch int
	Log   *slog.Logger
}

// Upkeep removes expired rows of a store and reseals rows. Use [New], then [Upkeep.Run] once.
type Upkeep struct {
	config Config
	log    *slog.Logger

	mu     sync.Mutex
	status Status
}

// Status is the work of an upkeep since it began.
type Status struct {
	// Resealed counts the rows that were sealed again.
	Resealed int
	// Sealed says that no row is sealed with an older key, as far as this process knows.
	Sealed bool
	// Swept counts the rows that were removed.
	Swept int
	// LastSweep is when the last sweep pass ended; zero before the first.
	LastSweep time.Time
}

// New returns an upkeep, or an error for an invalid config.
func New(config Config) (*Upkeep, error) {
	if config.Store == nil {
		return nil, errors.New("upkeep: no store")
	}
	keep, err := config.Keep.WithDefaults()
	if err != nil {
		return nil, err
	}
	config.Keep = keep
	config.Every, config.Again = cmp.Or(config.Every, time.Hour), cmp.Or(config.Again, time.Minute)
	config.Batch = cmp.Or(config.Batch, 200)
	u := &Upkeep{config: config, log: config.Log}
	if u.log == nil {
		u.log = slog.New(slog.DiscardHandler)
	}
	return u, nil
}

// Status returns the work done so far.
func (u *Upkeep) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.status
}

// Run works until ctx ends, and then returns nil. It logs a failure and tries again in the next pass.
func (u *Upkeep) Run(ctx context.Context) error {
	for sealed := false; ctx.Err() == nil; {
		if !sealed {
			var err error
			if sealed, err = u.reseal(ctx); err != nil && ctx.Err() == nil {
				u.log.Error("seal again data of older keys", "error", err)
			}
		}
		var next time.Duration
		if last := u.Status().LastSweep; last.IsZero() || time.Since(last) >= u.config.Every {
			if err := u.sweep(ctx); err != nil && ctx.Err() == nil {
				u.log.Error("remove expired rows", "error", err)
			}
			next = u.config.Every
		} else {
			next = u.config.Every - time.Since(last)
		}
		if !sealed {
			next = min(next, u.config.Again)
		}
		rest(ctx, next)
	}
	return nil
}

// reseal runs one pass, and reports whether it leaves no work for another.
func (u *Upkeep) reseal(ctx context.Context) (done bool, err error) {
	keys, err := u.config.Store.SealingKeys(ctx)
	if err != nil {
		return false, err
	}
	if len(keys) < 2 {
		u.note(func(s *Status) { s.Sealed = true })
		return true, nil
	}
	var older []string
	for _, key := range keys[:len(keys)-1] {
		older = append(older, key.ID)
	}
	newest := keys[len(keys)-1].ID
	u.log.Info("sealing again data of older keys", "key", newest, "older", strings.Join(older, " "))
	var from store.Cursor
	rows := 0
	for {
		begun := time.Now()
		resealed, err := u.config.Store.Reseal(ctx, from, u.config.Batch)
		if err != nil {
			return false, err
		}
		rows += resealed.Rows
		u.note(func(s *Status) { s.Resealed += resealed.Rows; s.Sealed = resealed.Done })
		if from = resealed.Next; from == "" {
			if resealed.Done {
				u.log.Info("nothing is sealed with an older key any more: those may be dropped", "key", newest,
					"older", strings.Join(older, " "), "rows", rows)
			} else {
				u.log.Info("another node still seals with an older key: this is done once more later", "rows", rows)
			}
			return resealed.Done, nil
		}
		if rest(ctx, pause(time.Since(begun))); ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// sweep runs one pass.
func (u *Upkeep) sweep(ctx context.Context) error {
	defer u.note(func(s *Status) { s.LastSweep = time.Now() }) // after a failed pass too, to delay the next one
	var from store.Cursor
	rows := 0
	for {
		begun := time.Now()
		swept, err := u.config.Store.Sweep(ctx, u.config.Keep, from, u.config.Batch)
		if err != nil {
			return err
		}
		rows += swept.Rows
		u.note(func(s *Status) { s.Swept += swept.Rows })
		if from = swept.Next; from == "" {
			if rows > 0 {
				u.log.Info("removed expired rows", "rows", rows)
			}
			return nil
		}
		if rest(ctx, pause(time.Since(begun))); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (u *Upkeep) note(change func(*Status)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(&u.status)
}

// pause returns how long to pause after a step of that duration.
func pause(took time.Duration) time.Duration {
	return min(max(9*took, time.Millisecond), time.Second)
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
