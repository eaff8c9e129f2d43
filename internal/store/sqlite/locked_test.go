package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"testing"
)

// TestLockedByAnotherProgram checks that the members of a batch which could not begin are not run again alone. Each
// would wait for the lock once more, which would block everything for minutes, including the end of the process.
func TestLockedByAnotherProgram(t *testing.T) {
	s := openTest(t)
	var log bytes.Buffer
	s.writes.log = slog.New(slog.NewTextHandler(&log, nil))
	err := s.write(context.Background(), func(tx *tx) error { // on the writer's connection
		var now int
		return tx.conn.QueryRowContext(context.Background(), "PRAGMA busy_timeout = 10").Scan(&now)
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", s.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}

	var batch []*member
	for range 5 {
		batch = append(batch, &member{ctx: context.Background(), done: make(chan struct{}), work: func(*tx) error {
			t.Error("a member was run without the lock")
			return nil
		}})
	}
	s.writes.commit(batch) // the goroutine is idle
	for _, m := range batch {
		<-m.done
		if m.result == nil || !strings.Contains(m.result.Error(), "another program holds it") {
			t.Errorf("error %v", m.result)
		}
	}
	if strings.Contains(log.String(), "repeated") {
		t.Errorf("the members were repeated: %s", log.String())
	}

	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(context.Background()); err != nil {
		t.Errorf("it does not recover: %v", err)
	}
}
