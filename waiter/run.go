package waiter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/pintle-dev/pintle"
)

const (
	// keepWaits is how long a wait is kept that cannot be resumed. It is useless after that.
	keepWaits  = 48 * time.Hour
	cleanEvery = time.Hour // between clean-ups
	// The pauses after consecutive failures double from the first to the longest.
	firstPause   = 5 * time.Second
	longestPause = time.Minute
	backTries    = 8 // tries to put a wait back
)

// run is one call of Run.
type run struct {
	*Waiter
	resume pintle.ResumeFunc
	work   sync.WaitGroup
	slots  chan struct{} // one value for each wait in progress
	freed  chan struct{} // signals a free slot
	ended  chan error    // an error that ends the program

	mu     sync.Mutex
	atWork map[string]int64 // claims by key
}

// claimed is a wait that this process holds under a lease.
type claimed struct {
	key      string
	claim    int64
	failures int
	record   []byte
}

// Run implements [pintle.RunningWaiter]. While the database is unreachable, it logs that and retries. It returns an error
// only when an abandoned handler does not stop, [pintle.ErrHandlerStuck].
func (w *Waiter) Run(ctx context.Context, resume pintle.ResumeFunc) error {
	r := &run{
		Waiter: w, resume: resume, slots: make(chan struct{}, w.config.Concurrency),
		freed: make(chan struct{}, 1), ended: make(chan error, 1), atWork: map[string]int64{},
	}
	// Leases are renewed until all work is finished, which may be after the context ends.
	beating, still := context.WithCancel(context.WithoutCancel(ctx))
	var beats sync.WaitGroup
	beats.Go(func() { r.beat(beating) }) // ends below
	err := r.loop(ctx)
	r.work.Wait()
	still()
	beats.Wait()
	if err == nil {
		select {
		case err = <-r.ended:
		default:
		}
	}
	return err
}

// loop claims due waits until the context ends.
func (r *run) loop(ctx context.Context) error {
	tick := time.NewTicker(r.config.PollInterval)
	defer tick.Stop()
	var cleaned time.Time
	for {
		if time.Since(cleaned) > cleanEvery {
			cleaned = time.Now()
			r.clean(ctx)
		}
		room := cap(r.slots) - len(r.slots)
		waits, err := r.claim(ctx, room)
		if ctx.Err() != nil {
			// Waits claimed just before the stop become due again when their leases end, here or on another machine.
			return nil
		}
		if err != nil {
			r.log.Error("the database of waits cannot be asked", "error", err)
		}
		for _, c := range waits {
			r.begin(ctx, c)
		}
		if room > 0 && len(waits) == room && len(r.slots) < cap(r.slots) {
			continue // more may be due
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.ended:
			return err
		case <-tick.C:
		case <-r.full():
		}
	}
}

// full returns a channel that signals a free slot, or nil if a slot is free now.
func (r *run) full() <-chan struct{} {
	if len(r.slots) < cap(r.slots) {
		return nil
	}
	return r.freed
}

// claim claims due waits, in order of their due times.
func (r *run) claim(ctx context.Context, most int) (waits []claimed, err error) {
	if most == 0 {
		return nil, nil
	}
	lock := ""
	if r.db.postgres {
		lock = "FOR UPDATE SKIP LOCKED"
	}
	query := r.db.fill.Replace(`UPDATE {}wait SET due = {now} + $1, claim = claim + 1
		WHERE key IN (SELECT key FROM {}wait WHERE due <= {now} ORDER BY due LIMIT $2 ` + lock + `)
		RETURNING key, claim, failures, record`)
	err = r.db.patiently(ctx, func() error {
		waits = nil
		rows, err := r.db.QueryContext(ctx, query, r.config.Lease.Milliseconds(), most)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var c claimed
			if err := rows.Scan(&c.key, &c.claim, &c.failures, &c.record); err != nil {
				return err
			}
			waits = append(waits, c)
		}
		return rows.Err()
	})
	return waits, err
}

// begin resumes a wait in a new goroutine.
func (r *run) begin(ctx context.Context, c claimed) {
	r.mu.Lock()
	_, again := r.atWork[c.key]
	if !again {
		r.atWork[c.key] = c.claim
	}
	r.mu.Unlock()
	if again {
		return // the lease expired before the work ended; the wait is claimed again after that
	}
	r.slots <- struct{}{} // a slot is free: only the loop takes slots
	r.work.Go(func() {    // ends with Resume, which has a deadline
		defer func() {
			r.mu.Lock()
			delete(r.atWork, c.key)
			r.mu.Unlock()
			<-r.slots
			select {
			case r.freed <- struct{}{}:
			default:
			}
		}()
		r.ask(context.WithoutCancel(ctx), c)
	})
}

// ask resumes a wait and stores the result. If the process dies in between, the previous record is resumed again: the
// store then has the answer, or the provider is polled once more.
func (r *run) ask(ctx context.Context, c claimed) {
	log := r.log.With("wait", c.key)
	p, err := r.opened(c.key, c.record)
	var next *pintle.Pending
	if err == nil {
		next, err = r.try(ctx, p)
	}
	switch {
	case errors.Is(err, pintle.ErrInvalidPending):
		log.Error("a wait is dropped", "error", err)
		err = r.drop(ctx, c)
	case err != nil:
		pause := min(firstPause<<min(c.failures, 10), longestPause)
		log.Warn("a wait could not be resumed, it is tried again", "error", err, "pause", pause)
		if errors.Is(err, pintle.ErrHandlerStuck) {
			select {
			case r.ended <- err:
			default: // one error is enough
			}
		}
		err = r.back(ctx, c, c.record, pause, c.failures+1)
	case next == nil:
		err = r.drop(ctx, c)
	default:
		next.Key = c.key
		var record []byte
		if record, err = r.sealed(*next); err == nil {
			err = r.back(ctx, c, record, pause(*next), 0)
		}
	}
	if err != nil {
		log.Error("the result of a wait cannot be stored, so the wait will be resumed unchanged", "error", err)
	}
}

func (r *run) try(ctx context.Context, p pintle.Pending) (*pintle.Pending, error) {
	ctx, stop := context.WithTimeout(ctx, r.config.Timeout)
	defer stop()
	return r.resume(ctx, p)
}

func (r *run) drop(ctx context.Context, c claimed) error {
	return r.surely(ctx, c, `DELETE FROM {}wait WHERE key = $1 AND claim = $2`, c.key, c.claim)
}

func (r *run) back(ctx context.Context, c claimed, record []byte, after time.Duration, failures int) error {
	return r.surely(ctx, c, `UPDATE {}wait SET record = $1, due = {now} + $2, failures = $3 WHERE key = $4 AND claim = $5`,
		record, after.Milliseconds(), failures, c.key, c.claim)
}

// surely changes the row of a wait and retries while the database is briefly unreachable. The lease is renewed in the
// meantime.
func (r *run) surely(ctx context.Context, c claimed, statement string, args ...any) error {
	for try := 1; ; try++ {
		rows, err := r.db.exec(ctx, statement, args...)
		switch {
		case err == nil && rows == 0:
			return fmt.Errorf("the lease of claim %d has expired, and another claim has the wait", c.claim)
		case err == nil:
			return nil
		case try == backTries || rest(ctx, try+4) != nil:
			return err
		}
	}
}

// beat renews the leases of the waits in progress, one by one. It must not renew a wait that was claimed in a call
// whose reply was lost: this process does not know of it, so another claim must take it.
func (r *run) beat(ctx context.Context) {
	tick := time.NewTicker(r.config.Lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		claims := maps.Clone(r.atWork)
		r.mu.Unlock()
		for key, claim := range claims {
			_, err := r.db.exec(ctx, `UPDATE {}wait SET due = {now} + $1 WHERE key = $2 AND claim = $3`, r.config.Lease.Milliseconds(), key, claim)
			if err != nil && ctx.Err() == nil {
				r.log.Error("a lease cannot be prolonged", "wait", key, "error", err)
			}
		}
	}
}

// clean removes expired records.
func (r *run) clean(ctx context.Context) {
	waits, err := r.db.exec(ctx, `DELETE FROM {}wait WHERE born < {now} - $1`, keepWaits.Milliseconds())
	if waits > 0 {
		r.log.Error("waits that no provider can resume were dropped", "count", waits, "after", keepWaits)
	}
	_, forgotten := r.db.exec(ctx, `DELETE FROM {}memory WHERE expires < {now} AND {expires} < {now}`)
	if err = errors.Join(err, forgotten); err != nil && ctx.Err() == nil {
		r.log.Warn("expired rows cannot be removed", "error", err)
	}
}
