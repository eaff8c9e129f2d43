package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
)

// TestPooler opens stores behind PgBouncer, which keeps PostgreSQL sessions separate in only one of its modes.
func TestPooler(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings []string
		refused  bool
	}{
		{"session", []string{"pool_mode = session"}, false},
		{"transaction", []string{"pool_mode = transaction"}, true},
		{"transaction, one session", []string{"pool_mode = transaction", "default_pool_size = 1"}, true},
		{"transaction, sessions in turn", []string{"pool_mode = transaction", "server_round_robin = 1"}, true},
		{"transaction, sessions cleared", []string{"pool_mode = transaction", "server_reset_query_always = 1"}, true},
		{"statement", []string{"pool_mode = statement"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			server := postgres.Shared.Server(t)
			direct := server.Database(t)
			pooled := server.Pooler(t, direct, c.settings...)
			fresh, err := postgres.Fresh(ctx, pooled)
			if !c.refused {
				if err != nil || !fresh {
					t.Fatalf("the database is fresh: %v, %v", fresh, err)
				}
				useStore(t, pooled)
				return
			}
			if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("asked whether the database is fresh: %v", err)
			}
			useStore(t, direct)
			s, err := postgres.Open(ctx, postgres.Config{DSN: pooled, Codec: codec(t, 'a')})
			if err == nil {
				closeStore(t, s)
			}
			if err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("opened: %v", err)
			}
		})
	}
}

// useStore writes to a database and reads it.
func useStore(t *testing.T, dsn string) {
	t.Helper()
	s, err := postgres.Open(context.Background(), postgres.Config{DSN: dsn, Codec: codec(t, 'a')})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	create(t, s, newStack(1, "one"))
	if err := s.Apply(context.Background(), store.Target{Stack: 1}, step); err != nil {
		t.Error(err)
	}
	if _, err := s.Figures(context.Background()); err != nil {
		t.Error(err)
	}
}
