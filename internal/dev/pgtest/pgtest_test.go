//go:build unix

package pgtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// TestServer kills a server and restarts it: committed data is still there, at the same address.
func TestServer(t *testing.T) {
	s := pgtest.Start(t, pgtest.Options{Settings: []string{"max_connections=7"}})
	dsn := s.Database(t)
	ask := func(sql string) (answer string, err error) {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			return "", err
		}
		defer func() { _ = conn.Close(context.Background()) }()
		return answer, conn.QueryRow(context.Background(), sql).Scan(&answer)
	}
	if got, err := ask("SHOW max_connections"); got != "7" || err != nil {
		t.Errorf("max_connections is %q, error %v", got, err)
	}
	s.Exec(t, "test1", "CREATE TABLE kept (a text); INSERT INTO kept VALUES ('here')")
	for _, end := range []func() error{s.Kill, s.Stop} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if _, err := ask("SELECT a FROM kept"); err == nil {
			t.Error("it answers after its end")
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		if got, err := ask("SELECT a FROM kept"); got != "here" || err != nil {
			t.Errorf("after a start: %q, error %v", got, err)
		}
	}
}

// TestStandby kills a server whose standby takes over, twice. Committed data is still there, and clients find it.
func TestStandby(t *testing.T) {
	primary := pgtest.Start(t, pgtest.Options{})
	primary.Database(t)
	primary.Exec(t, "test1", "CREATE TABLE kept (a int)")
	standby := primary.Standby(t)
	for n := range 2 {
		if n > 0 {
			standby.Follow(t, primary)
		}
		primary.Exec(t, "test1", fmt.Sprintf("INSERT INTO kept VALUES (%d)", n))
		if err := primary.Kill(); err != nil {
			t.Fatal(err)
		}
		standby.Promote(t)
		conn, err := pgx.Connect(context.Background(), pgtest.Hosts("test1", primary, standby))
		if err != nil {
			t.Fatal(err)
		}
		var kept int
		if err := conn.QueryRow(context.Background(), "SELECT count(*) FROM kept").Scan(&kept); err != nil || kept != n+1 {
			t.Errorf("%d rows are left of %d, error %v", kept, n+1, err)
		}
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
		primary, standby = standby, primary
	}
}
