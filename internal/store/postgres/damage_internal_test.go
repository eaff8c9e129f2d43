package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestDamageIsNotReady checks that a PostgreSQL error about damaged data or indexes makes Ping fail, and that no other
// error does.
func TestDamageIsNotReady(t *testing.T) {
	for code, want := range map[string]bool{"XX001": true, "XX002": true, "XX000": false, "57P01": false, "22012": false} {
		s := &Store{}
		err := s.explain(fmt.Errorf("query: %w", &pgconn.PgError{Code: code, Message: "invalid page in block 1"}))
		if err == nil {
			t.Fatal("the error is lost")
		}
		if ping := s.damage.Err(); (ping != nil) != want || want && !errors.Is(ping, err) {
			t.Errorf("%s: %v", code, ping)
		}
		if want {
			if err := s.Ping(t.Context()); !errors.Is(err, s.damage.Err()) {
				t.Errorf("%s: Ping: %v", code, err)
			}
		}
	}
}
