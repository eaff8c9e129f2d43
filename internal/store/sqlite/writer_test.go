package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/internal/store/storetest"
	"github.com/pintle-dev/pintle/wire"
)

func openTest(t *testing.T) *Store {
	t.Helper()
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), Config{Path: filepath.Join(t.TempDir(), "p.db"), Codec: store.NewCodec(keys)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// apply runs a decision and returns the channel for its error.
func apply(s *Store, target store.Target, decide store.Decide) <-chan error {
	result := make(chan error, 1)
	go func() { result <- s.Apply(context.Background(), target, decide) }()
	return result
}

func named(name string) store.Target {
	return store.Target{Name: store.StackName{Account: "1", Region: "r", Name: name}}
}

// made returns a delta that creates a stack, whose ID may be taken.
func made(key store.StackKey, name, id string) store.Delta {
	return store.Delta{
		Stack:     &store.Stack{Key: key, ID: wire.StackID(id), Account: "1", Region: "r", Name: name, Live: true, Revision: 1},
		Operation: &store.Operation{Stack: key, Number: 1, Version: 1, To: 1},
		Revisions: []store.Revision{{Stack: key, Number: 1, Template: "template of " + name}},
	}
}

// hold keeps the writer busy until release is called, so that all members queued meanwhile become one batch.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	result := apply(s, named("held"), func(*store.View) (store.Delta, error) {
		close(held)
		<-free
		return store.Delta{}, nil
	})
	<-held
	return func() {
		close(free)
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
}

// queued waits until this many members are queued behind a held writer.
func queued(s *Store, members int) {
	for len(s.writes.queue) < members {
		runtime.Gosched()
	}
}

func TestAgainstMemory(t *testing.T) {
	storetest.AgainstMemory(t, func(t *testing.T, clock func() time.Time) store.Store {
		s, err := memory.New(memory.Config{Now: clock})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}, func(t *testing.T, clock func() time.Time) storetest.Batched {
		s := openTest(t)
		s.now = clock
		return storetest.Batched{
			Store: s, Hold: func(t *testing.T) func() { return hold(t, s) }, Queued: func() int { return len(s.writes.queue) },
			Rest: func(t *testing.T) {
				if err := s.write(context.Background(), func(tx *tx) error { tx.rest(); return nil }); err != nil {
					t.Fatal(err)
				}
			},
			Reopen: func(t *testing.T) store.Store {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				anew, err := Open(context.Background(), Config{Path: s.path, Codec: s.codec, Now: clock})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := anew.Close(); err != nil {
						t.Error(err)
					}
				})
				return anew
			},
		}
	})
}

func TestBatchReplay(t *testing.T) {
	s := openTest(t)
	if err := <-apply(s, named("first"), func(*store.View) (store.Delta, error) { return made(1, "first", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	odd := errors.New("odd")
	decided := make([]int, 4)
	var results []<-chan error
	for i, member := range []struct {
		target store.Target
		decide store.Decide
	}{
		{named("good"), func(*store.View) (store.Delta, error) { return made(2, "good", "arn:2"), nil }},
		{named("odd"), func(*store.View) (store.Delta, error) { return store.Delta{}, odd }},
		{named("bad"), func(*store.View) (store.Delta, error) { return made(3, "bad", "arn:1"), nil }}, // its ID is taken
		{named("last"), func(*store.View) (store.Delta, error) { return made(4, "last", "arn:4"), nil }},
	} {
		results = append(results, apply(s, member.target, func(v *store.View) (store.Delta, error) {
			decided[i]++
			return member.decide(v)
		}))
		queued(s, i+1)
	}
	release()
	for i, want := range []string{"", "odd", "UNIQUE constraint failed: stack.id", ""} {
		err := <-results[i]
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("member %d: error %v, want %q", i, err, want)
		}
	}
	if want := []int{2, 2, 2, 1}; fmt.Sprint(decided) != fmt.Sprint(want) {
		t.Errorf("the decisions were run %v times, want %v: in the batch up to the failure, then each alone", decided, want)
	}
	for name, key := range map[string]store.StackKey{"first": 1, "good": 2, "last": 4, "bad": 0} {
		got, err := s.LiveStack(context.Background(), named(name).Name)
		if got.Key != key || (key == 0) != errors.Is(err, store.ErrNotFound) {
			t.Errorf("stack %s: key %d, error %v", name, got.Key, err)
		}
	}
}

// TestBatchReplayForgets makes a batch fail after one member has read the writes of another one. When that one runs
// alone, it writes something else.
func TestBatchReplayForgets(t *testing.T) {
	s := openTest(t)
	release := hold(t, s)
	tries := 0
	var seen string
	results := []<-chan error{apply(s, named("one"), func(*store.View) (store.Delta, error) {
		tries++
		d := made(1, "one", "arn:1")
		d.Revisions[0].Template = fmt.Sprint("try ", tries)
		return d, nil
	})}
	queued(s, 1)
	results = append(results, apply(s, named("one"), func(v *store.View) (store.Delta, error) {
		seen = v.Revisions[1].Template
		return store.Delta{}, nil
	}))
	queued(s, 2)
	failing := apply(s, named("bad"), func(*store.View) (store.Delta, error) { return made(3, "bad", "arn:1"), nil })
	queued(s, 3)
	release()
	for _, result := range results {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
	if <-failing == nil {
		t.Error("the batch did not fail")
	}
	if r, err := s.Revision(context.Background(), 1, 1); seen != "try 2" || r.Template != "try 2" || err != nil {
		t.Errorf("a decision saw %q, %q is there, error %v", seen, r.Template, err)
	}
}

func TestCancelledInQueue(t *testing.T) {
	s := openTest(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- s.Apply(ctx, named("one"), func(*store.View) (store.Delta, error) {
			t.Error("the decision of a caller that had given up was run")
			return store.Delta{}, nil
		})
	}()
	queued(s, 1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) { // while the writer is still held
		t.Errorf("error %v", err)
	}
	release()
	if err := s.Ping(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestPanic(t *testing.T) {
	s := openTest(t)
	release := hold(t, s)
	panics := apply(s, named("bad"), func(*store.View) (store.Delta, error) { panic("a mistake") })
	queued(s, 1)
	good := apply(s, named("good"), func(*store.View) (store.Delta, error) { return made(1, "good", "arn:1"), nil })
	queued(s, 2)
	release()
	if err := <-panics; err == nil || !strings.Contains(err.Error(), "the decision panicked: a string") || strings.Contains(err.Error(), "a mistake") {
		t.Errorf("error %v", err)
	}
	if err := <-good; err != nil {
		t.Error(err)
	}
}

// TestDatabaseRejectsWrites makes the database reject writes, and then accept them again.
func TestDatabaseRejectsWrites(t *testing.T) {
	for _, trouble := range []struct{ begin, end, want string }{
		{"PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000", "the disk is full"},
		{"PRAGMA query_only = 1", "PRAGMA query_only = 0", "read-only"},
	} {
		s := openTest(t)
		command := func(text string) { // on the writer's own connection, while the writer is idle
			t.Helper()
			if s.writes.conn == nil { // closed after a failure; any write opens a new one
				if err := s.Ping(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			rows, err := s.writes.conn.QueryContext(context.Background(), text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
			}
			if err := rows.Err(); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		big := func(key store.StackKey) error {
			name := fmt.Sprint(key)
			return <-apply(s, named(name), func(*store.View) (store.Delta, error) {
				d := made(key, name, "arn:"+name)
				d.Revisions[0].Template = strings.Repeat(name, 1<<20)
				return d, nil
			})
		}
		if err := big(1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			command(trouble.begin) // each time: the writer may have opened a new connection
			if err := big(2); err == nil || !strings.Contains(err.Error(), trouble.want) || !strings.Contains(err.Error(), s.path) {
				t.Errorf("%s: error %v", trouble.begin, err)
			}
			if _, err := s.Stack(context.Background(), "arn:1"); err != nil {
				t.Errorf("%s: reading: %v", trouble.begin, err)
			}
		}
		command(trouble.end)
		if err := big(2); err != nil {
			t.Errorf("%s: it does not recover: %v", trouble.begin, err)
		}
	}
}

// TestLostConnection ends the transaction behind the writer's back, which must then not trust its connection.
func TestLostConnection(t *testing.T) {
	s := openTest(t)
	before := s.writes.conn
	err := s.write(context.Background(), func(tx *tx) error {
		before = tx.conn
		if _, err := tx.exec("ROLLBACK"); err != nil {
			return err
		}
		return errors.New("the transaction is gone")
	})
	if err == nil {
		t.Error("the loss was not noticed")
	}
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Error(err)
	}
	if s.writes.conn == before {
		t.Error("the connection was kept")
	}
}

func TestConflict(t *testing.T) {
	s := openTest(t)
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	for name, wins := range map[string]int{"once": 2, "always": 100} {
		tries := 0
		err := s.write(context.Background(), func(tx *tx) error {
			tries++
			o, err := one(tx.query, s.scanOperation, "SELECT "+operationColumns+" FROM operation o WHERE o.stack = ?", 1)
			if err != nil {
				return err
			}
			o.Version++
			if tries < wins {
				o.Version++ // as if another process had written it since
			}
			return tx.putOperation(&o, &o)
		})
		if wins == 2 && (err != nil || tries != 2) || wins > 2 && (!errors.Is(err, errConflict) || tries < maxConflicts || tries > 2*maxConflicts) {
			t.Errorf("%s: error %v after %d tries", name, err, tries)
		}
	}
}

func TestMigrate(t *testing.T) {
	s := openTest(t)
	conn, err := s.writes.db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	version := func() int {
		v, err := schemaVersion(context.Background(), conn)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	add := append(migrations[:len(migrations):len(migrations)], "CREATE TABLE extra (a INTEGER) STRICT")
	broken := append(add[:len(add):len(add)], "CREATE TABLE half (a INTEGER) STRICT; CREATE TABLE extra (a)")
	if err := migrate(context.Background(), conn, broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("schema ", len(broken))) {
		t.Errorf("a migration that fails: %v", err)
	}
	if version() != len(add) {
		t.Errorf("schema %d, want %d: the last that went well", version(), len(add))
	}
	if _, err := conn.ExecContext(context.Background(), "SELECT a FROM half"); err == nil {
		t.Error("half a migration was kept")
	}
	if err := migrate(context.Background(), conn, add); err != nil || version() != len(add) {
		t.Errorf("again: %v", err)
	}
	if err := migrate(context.Background(), conn, migrations); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("an older program: %v", err)
	}
}
