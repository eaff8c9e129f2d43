//go:build unix

package tests_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/waiter"
)

func connect(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// dump returns the contents of all tables as text.
func dump(t *testing.T, driver, dsn string) string {
	t.Helper()
	db := connect(t, driver, dsn)
	var all strings.Builder
	rows, err := db.Query(`SELECT key, record FROM pintle_wait UNION ALL SELECT key, record FROM pintle_memory`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var record []byte
		if err := rows.Scan(&key, &record); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s\n", key, record)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func pending(key string) pintle.Pending {
	return pintle.Pending{Key: key, Event: []byte(`{"ResponseURL":"` + mark + `"}`), State: []byte(`{"version":1}`),
		Until: time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)}
}

// world is a test with an empty database.
type world struct {
	*testing.T
	db  *sql.DB
	log bytes.Buffer
}

// on runs a test on every database.
func on(t *testing.T, test func(w *world)) {
	t.Helper()
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver, dsn := database(t)
			test(&world{T: t, db: connect(t, driver, dsn)})
		})
	}
}

func (w *world) open(c waiter.Config) *waiter.Waiter {
	w.Helper()
	c.DB = w.db
	if c.Keys == nil {
		c.Keys = [][]byte{key}
	}
	c.PollInterval, c.Logger = 5*time.Millisecond, slog.New(slog.NewTextHandler(&w.log, nil))
	made, err := waiter.New(w.Context(), c)
	if err != nil {
		w.Fatal(err)
	}
	return made
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// run resumes waits until resume calls stop.
func (w *world) run(of *waiter.Waiter, resume func(p pintle.Pending, stop func()) (*pintle.Pending, error)) error {
	ctx, stop := context.WithTimeout(w.Context(), patience)
	defer stop()
	err := of.Run(ctx, func(_ context.Context, p pintle.Pending) (*pintle.Pending, error) { return resume(p, stop) })
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		w.Fatalf("not resumed\n%s", &w.log)
	}
	return err
}

func (w *world) waits(of *waiter.Waiter, key string) bool {
	w.Helper()
	waits, err := of.Waits(w.Context(), key)
	w.must(err)
	return waits
}

// The database returns a record unchanged. A key keeps its first record, until the result of a resume replaces it.
func TestWait(t *testing.T) {
	on(t, func(w *world) {
		one := w.open(waiter.Config{})
		p := pending("aa")
		w.must(one.Wait(w.Context(), p))
		other := p
		other.State = []byte(`{"version":2}`)
		w.must(one.Wait(w.Context(), other))
		if !w.waits(one, "aa") || w.waits(one, "bb") {
			w.Error("what waits is not known")
		}
		var got []pintle.Pending
		second := w.open(waiter.Config{}) // another process
		w.must(w.run(second, func(p pintle.Pending, stop func()) (*pintle.Pending, error) {
			got = append(got, p)
			if len(got) == 3 {
				stop()
				return nil, nil
			}
			next := p
			next.State = fmt.Appendf(nil, `{"version":1,"n":%d}`, len(got))
			return &next, nil
		}))
		first, last := p, p
		first.State, last.State = []byte(`{"version":1,"n":1}`), []byte(`{"version":1,"n":2}`)
		if diff := cmp.Diff([]pintle.Pending{p, first, last}, got); diff != "" {
			w.Error(diff)
		}
		if w.waits(one, "aa") {
			w.Error("what is done waits")
		}
	})
}

// TestOrder checks that due waits are resumed in order, and that the others are not resumed yet.
func TestOrder(t *testing.T) {
	on(t, func(w *world) {
		one := w.open(waiter.Config{Concurrency: 1})
		later := pending("late")
		later.After = time.Hour
		later.Until = time.Now().Add(2 * time.Hour)
		w.must(one.Wait(w.Context(), later))
		const count = 20
		for n := range count {
			w.must(one.Wait(w.Context(), pending(fmt.Sprintf("%02d", n*7%count))))
		}
		var want, got []string
		for n := range count {
			want = append(want, fmt.Sprintf("%02d", n))
			_, err := w.db.Exec(`UPDATE pintle_wait SET due = $1 WHERE key = $2`, n, want[n])
			w.must(err)
		}
		w.must(w.run(one, func(p pintle.Pending, stop func()) (*pintle.Pending, error) {
			got = append(got, p.Key)
			if len(got) == count {
				stop()
			}
			return nil, nil
		}))
		if strings.Join(got, " ") != strings.Join(want, " ") {
			w.Errorf("resumed %v, want %v", got, want)
		}
		if !w.waits(one, "late") {
			w.Error("what was not due is gone")
		}
	})
}

// At most Concurrency waits are resumed at once, and all of them have finished when Run returns.
func TestConcurrency(t *testing.T) {
	on(t, func(w *world) {
		one := w.open(waiter.Config{Concurrency: 3})
		for n := range 10 {
			w.must(one.Wait(w.Context(), pending(fmt.Sprint(n))))
		}
		var mu sync.Mutex
		now, most, done := 0, 0, 0
		meet := make(chan struct{})
		w.must(w.run(one, func(_ pintle.Pending, stop func()) (*pintle.Pending, error) {
			mu.Lock()
			now++
			most = max(most, now)
			if now == 3 && done == 0 {
				close(meet)
			}
			mu.Unlock()
			<-meet
			mu.Lock()
			defer mu.Unlock()
			now--
			if done++; done == 10 {
				stop()
			}
			return nil, nil
		}))
		if now != 0 || most != 3 || done != 10 {
			w.Errorf("%d at once, %d done, %d left", most, done, now)
		}
	})
}

// A record is kept after an error, unless the record itself is invalid.
func TestErrors(t *testing.T) {
	on(t, func(w *world) {
		one := w.open(waiter.Config{Concurrency: 1})
		w.must(one.Wait(w.Context(), pending("bad")))
		w.must(w.run(one, func(_ pintle.Pending, stop func()) (*pintle.Pending, error) {
			stop()
			return nil, fmt.Errorf("very %w", pintle.ErrInvalidPending)
		}))
		if w.waits(one, "bad") {
			w.Error("a record that cannot be used is kept")
		}
		w.must(one.Wait(w.Context(), pending("later")))
		w.must(w.run(one, func(_ pintle.Pending, stop func()) (*pintle.Pending, error) {
			stop()
			return nil, errors.New("away")
		}))
		w.must(one.Wait(w.Context(), pending("runaway")))
		err := w.run(one, func(p pintle.Pending, _ func()) (*pintle.Pending, error) {
			if p.Key != "runaway" {
				w.Errorf("%s is resumed without a pause", p.Key)
			}
			return nil, pintle.ErrHandlerStuck
		})
		if !errors.Is(err, pintle.ErrHandlerStuck) {
			w.Errorf("Run: %v", err)
		}
		if !w.waits(one, "later") || !w.waits(one, "runaway") {
			w.Error("a record is gone that is to be resumed")
		}
	})
}

// A record can be decrypted only under its own key in the table, and with each of the configured secrets.
func TestKeys(t *testing.T) {
	newer := []byte(strings.Repeat("n", 32))
	on(t, func(w *world) {
		before := w.open(waiter.Config{})
		w.must(before.Wait(w.Context(), pending("aa")))
		w.must(before.Put(w.Context(), "aa", []byte("answer"), time.Hour))
		// A writer of the table copies the record to another key.
		_, err := w.db.Exec(`INSERT INTO pintle_wait (key, due, born, record) SELECT 'moved', 0, born, record FROM pintle_wait`)
		w.must(err)
		_, err = w.db.Exec(`INSERT INTO pintle_memory (key, born, record, expires) SELECT 'moved', born, record, expires FROM pintle_memory`)
		w.must(err)
		without := w.open(waiter.Config{Keys: [][]byte{newer}, Concurrency: 1})
		if _, ok, err := without.Get(w.Context(), "aa"); ok || err != nil {
			w.Errorf("a value without its key: %v, %v", ok, err)
		}
		w.must(without.Wait(w.Context(), pending("zz")))
		w.must(w.run(without, func(p pintle.Pending, stop func()) (*pintle.Pending, error) {
			if p.Key != "zz" {
				w.Errorf("%s was opened without its key", p.Key)
			}
			stop()
			return nil, nil
		}))
		if !w.waits(without, "aa") {
			w.Error("a record whose key is elsewhere is gone")
		}
		_, err = w.db.Exec(`UPDATE pintle_wait SET due = 0`) // skips the pause after the failure
		w.must(err)
		both := w.open(waiter.Config{Keys: [][]byte{newer, key}, Concurrency: 1})
		value, ok, err := both.Get(w.Context(), "aa")
		if !ok || err != nil || string(value) != "answer" {
			w.Errorf("%q, %v, %v", value, ok, err)
		}
		if _, ok, err := both.Get(w.Context(), "moved"); ok || err != nil {
			w.Errorf("a value in another place: %v, %v", ok, err)
		}
		w.must(both.Wait(w.Context(), pending("zz")))
		w.must(w.run(both, func(p pintle.Pending, stop func()) (*pintle.Pending, error) {
			switch p.Key {
			case "zz":
				stop()
			case "aa":
			default:
				w.Errorf("%s was opened in another place", p.Key)
			}
			return nil, nil
		}))
		if w.waits(both, "aa") || w.waits(both, "moved") {
			w.Errorf("waits are left\n%s", &w.log)
		}
	})
}

func TestMemory(t *testing.T) {
	on(t, func(w *world) {
		one, two := w.open(waiter.Config{}), w.open(waiter.Config{})
		if _, ok, err := one.Get(w.Context(), "aa"); ok || err != nil {
			w.Errorf("%v, %v", ok, err)
		}
		for _, value := range []string{"first", "second"} {
			w.must(one.Put(w.Context(), "aa", []byte(value), time.Hour))
			if got, ok, err := two.Get(w.Context(), "aa"); !ok || err != nil || string(got) != value {
				w.Errorf("%q, %v, %v, want %q", got, ok, err, value)
			}
		}
	})
}

// TestValuesOfEarlierVersion checks that values without an expiry live for a day. A process of the previous version
// that is still running writes such values.
func TestValuesOfEarlierVersion(t *testing.T) {
	on(t, func(w *world) {
		one := w.open(waiter.Config{})
		w.must(one.Put(w.Context(), "recent", []byte("v"), time.Hour))
		w.must(one.Put(w.Context(), "old", []byte("v"), time.Hour))
		_, err := w.db.Exec(`UPDATE pintle_memory SET expires = 0`)
		w.must(err)
		_, err = w.db.Exec(`UPDATE pintle_memory SET born = born - 25 * 3600000 WHERE key = 'old'`)
		w.must(err)
		w.must(one.Wait(w.Context(), pending("now")))
		w.must(w.run(one, func(_ pintle.Pending, stop func()) (*pintle.Pending, error) {
			stop()
			return nil, nil
		}))
		_, recent, err := one.Get(w.Context(), "recent")
		w.must(err)
		_, old, err := one.Get(w.Context(), "old")
		w.must(err)
		if !recent || old {
			w.Errorf("recent %v, old %v", recent, old)
		}
	})
}

func TestUpkeep(t *testing.T) {
	on(t, func(w *world) {
		one := w.open(waiter.Config{})
		for _, key := range []string{"old", "new"} {
			p := pending(key)
			p.After = time.Minute
			w.must(one.Wait(w.Context(), p))
			w.must(one.Put(w.Context(), key, []byte("v"), 25*time.Hour))
		}
		_, err := w.db.Exec(`UPDATE pintle_wait SET born = born - 49 * 3600000 WHERE key = 'old'`)
		w.must(err)
		_, err = w.db.Exec(`UPDATE pintle_memory SET expires = expires - 26 * 3600000 WHERE key = 'old'`)
		w.must(err)
		w.must(one.Wait(w.Context(), pending("now")))
		w.must(w.run(one, func(_ pintle.Pending, stop func()) (*pintle.Pending, error) {
			stop()
			return nil, nil
		}))
		_, old, err := one.Get(w.Context(), "old")
		w.must(err)
		_, fresh, err := one.Get(w.Context(), "new")
		w.must(err)
		if old || !fresh || w.waits(one, "old") || !w.waits(one, "new") {
			w.Errorf("memory old %v, new %v; waits old %v, new %v", old, fresh, w.waits(one, "old"), w.waits(one, "new"))
		}
	})
}

// Programs that start at the same time on an empty database create its tables once.
func TestStartedAtOnce(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver, dsn := database(t)
			var all sync.WaitGroup
			for range 8 {
				db := connect(t, driver, dsn)
				all.Go(func() {
					w, err := waiter.New(t.Context(), waiter.Config{DB: db, Keys: [][]byte{key}})
					if err == nil {
						err = w.Put(t.Context(), "aa", []byte("v"), time.Hour)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

func TestConfig(t *testing.T) {
	on(t, func(w *world) {
		keys := [][]byte{key}
		for want, c := range map[string]waiter.Config{
			"there is no database": {Keys: keys},
			"no key to seal with":  {DB: w.db},
			"31 bytes":             {DB: w.db, Keys: [][]byte{key[1:]}},
			"too short":            {DB: w.db, Keys: keys, Lease: time.Millisecond},
			"not be negativ":       {DB: w.db, Keys: keys, PollInterval: -1},
			"the prefix":           {DB: w.db, Keys: keys, Prefix: `x"; DROP`},
		} {
			if _, err := waiter.New(w.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
				w.Errorf("error = %v, want %q", err, want)
			}
		}
		w.open(waiter.Config{})
		_, err := w.db.Exec(`INSERT INTO pintle_schema (version) VALUES (99)`)
		w.must(err)
		if _, err := waiter.New(w.Context(), waiter.Config{DB: w.db, Keys: keys}); err == nil || !strings.Contains(err.Error(), "newer version") {
			w.Errorf("error = %v", err)
		}
		w.open(waiter.Config{Prefix: "mine_"})
	})
}
