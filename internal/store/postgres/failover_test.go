package postgres_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
)

// TestUnconfirmedCommit ends a commit's wait for the standby, as a timeout or an operator does. PostgreSQL then reports
// the commit as done, although it is on the primary alone. It must not be acknowledged before a standby has it.
func TestUnconfirmedCommit(t *testing.T) {
	primary := pgtest.Start(t, pgtest.Options{})
	dsn := primary.Database(t)
	s, err := postgres.Open(context.Background(), postgres.Config{DSN: dsn, Codec: codec(t, 'a'), Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	create(t, s, newStack(1, "one"))
	standby := primary.Standby(t)
	if err := standby.Kill(); err != nil {
		t.Fatal(err)
	}
	var back atomic.Bool
	calls := map[string]func() error{
		"apply": func() error { return s.Apply(context.Background(), store.Target{Stack: 1}, step) },
		"provider": func() error {
			return s.PutProvider(context.Background(), store.Provider{Name: "P", Definition: []byte("{}")})
		},
	}
	done := make(chan error, len(calls))
	for name, call := range calls {
		go func() {
			err := call()
			if err == nil && !back.Load() {
				err = errors.New(name + " was acknowledged without a standby")
			}
			done <- err
		}()
	}
	admin, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.Background()) }()
	// Once for the commit, once for the query whether it was done; the provider is written twice.
	cancelled := 0
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); cancelled < 3 && len(done) < len(calls) && time.Now().Before(deadline); <-tick.C {
		var n int
		if err := admin.QueryRow(context.Background(), "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		cancelled += n
	}
	back.Store(true)
	if err := standby.Start(); err != nil {
		t.Fatal(err)
	}
	for range calls {
		if err := <-done; err != nil && !errors.Is(err, postgres.ErrUnassured) {
			t.Error(err)
		}
	}
	if o, err := s.Operation(context.Background(), 1, 1); err != nil || o.Events != 1 {
		t.Errorf("%d events, error %v", o.Events, err)
	}
}
