package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
)

func TestBatchReplay(t *testing.T) {
	s := openTest(t, Config{})
	if err := <-apply(s, named("first"), func(*store.View) (store.Delta, error) { return made(1, "first", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	odd := errors.New("odd")
	decided := make([]int, 5)
	var results []<-chan error
	for i, member := range []struct {
		target store.Target
		decide store.Decide
	}{
		{named("good"), func(*store.View) (store.Delta, error) { return made(2, "good", "arn:2"), nil }},
		{named("odd"), func(*store.View) (store.Delta, error) { return store.Delta{}, odd }},
		{named("bad"), func(*store.View) (store.Delta, error) { return made(3, "bad", "arn:1"), nil }}, // its ID is taken
		{named("panics"), func(*store.View) (store.Delta, error) { panic("a mistake") }},
		{named("last"), func(*store.View) (store.Delta, error) { return made(4, "last", "arn:4"), nil }},
	} {
		results = append(results, apply(s, member.target, func(v *store.View) (store.Delta, error) {
			decided[i]++
			return member.decide(v)
		}))
		queued(s, i+1)
	}
	release()
	for i, want := range []string{"", "odd", "was taken", "the decision panicked: a string", ""} {
		err := <-results[i]
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("member %d: error %v, want %q", i, err, want)
		}
	}
	if want := []int{2, 2, 2 + maxTries, 2, 2}; fmt.Sprint(decided) != fmt.Sprint(want) {
		t.Errorf("the decisions were run %v times, want %v: in the batch, then each alone", decided, want)
	}
	for name, key := range map[string]store.StackKey{"first": 1, "good": 2, "last": 4, "bad": 0} {
		got, err := s.LiveStack(context.Background(), named(name).Name)
		if got.Key != key || (key == 0) != errors.Is(err, store.ErrNotFound) {
			t.Errorf("stack %s: key %d, error %v", name, got.Key, err)
		}
	}
}

func TestCancelledInQueue(t *testing.T) {
	s := openTest(t, Config{})
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
}

// TestFence writes an operation without the lock of its stack.
func TestFence(t *testing.T) {
	s := openTest(t, Config{})
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	for name, wins := range map[string]int{"once": 2, "always": 100} {
		tries := 0
		err := <-apply(s, named("one"), func(v *store.View) (store.Delta, error) {
			if tries++; tries < wins {
				if _, err := s.pool.Exec(context.Background(), "UPDATE operation SET version = version + 1"); err != nil {
					return store.Delta{}, err
				}
			}
			o := v.Operation
			o.Version++
			return store.Delta{Operation: &o}, nil
		})
		if wins == 2 && (err != nil || tries != 2) || wins > 2 && (err == nil || tries != maxTries+1) {
			t.Errorf("%s: error %v after %d tries", name, err, tries)
		}
	}
}

// TestNameTakenConcurrently has another node create the stack with a name while this node assumes that the name is free.
func TestNameTakenConcurrently(t *testing.T) {
	s := openTest(t, Config{})
	other := openTest(t, Config{DSN: s.address.config.ConnString()})
	tries := 0
	var saw []store.StackKey
	err := s.Apply(context.Background(), named("one"), func(v *store.View) (store.Delta, error) {
		if tries++; tries == 1 {
			if err := other.Apply(context.Background(), named("one"), func(*store.View) (store.Delta, error) { return made(2, "one", "arn:2"), nil }); err != nil {
				return store.Delta{}, err
			}
		}
		saw = append(saw, v.Stack.Key)
		if v.Stack.Key == 0 {
			return made(1, "one", "arn:1"), nil
		}
		return store.Delta{Audit: []store.Audit{{Text: "found"}}}, nil
	})
	if err != nil || fmt.Sprint(saw) != "[0 2]" {
		t.Errorf("error %v; the decision saw the stacks %v", err, saw)
	}
	if audit, err := s.Audit(context.Background(), 2, 9); err != nil || len(audit) != 1 {
		t.Errorf("audit %v, error %v", audit, err)
	}
}

// TestMigrate checks that migrations are applied in order, one by one, and completely.
func TestMigrate(t *testing.T) {
	s := openTest(t, Config{})
	ctx := context.Background()
	conn, err := s.address.connect(ctx, reading)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	version := func() int {
		v, err := schemaVersion(ctx, conn)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	add := append(migrations[:len(migrations):len(migrations)], "CREATE TABLE extra (a int)")
	broken := append(add[:len(add):len(add)], "CREATE TABLE half (a int); CREATE TABLE extra (a int)")
	if err := migrate(ctx, conn, defaultSchema, broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("schema ", len(broken))) {
		t.Errorf("a migration that fails: %v", err)
	}
	if version() != len(add) {
		t.Errorf("schema %d, want %d: the last that went well", version(), len(add))
	}
	var half *string
	if err := conn.QueryRow(ctx, "SELECT to_regclass('half')::text").Scan(&half); err != nil || half != nil {
		t.Errorf("half a migration was kept: error %v", err)
	}
	if err := migrate(ctx, conn, defaultSchema, add); err != nil || version() != len(add) {
		t.Errorf("again: %v", err)
	}
	_, err = Open(ctx, Config{DSN: s.address.config.ConnString(), Codec: testCodec(t)})
	if err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("an older program: %v", err)
	}
}

// TestPausedNode stops a node in the middle of a transaction. The server ends the transaction after a while, another
// node continues, and the decisions of the first node run again when it resumes.
func TestPausedNode(t *testing.T) {
	t.Parallel()
	s := openTest(t, Config{})
	other := openTest(t, Config{DSN: s.address.config.ConnString()})
	if err := <-apply(s, named("one"), func(*store.View) (store.Delta, error) { return made(1, "one", "arn:1"), nil }); err != nil {
		t.Fatal(err)
	}
	step := func(v *store.View) (store.Delta, error) {
		o := v.Operation
		o.Version++
		return store.Delta{Operation: &o}, nil
	}
	asleep, wake := make(chan struct{}), make(chan struct{})
	var versions []int64
	sleeper := apply(s, named("one"), func(v *store.View) (store.Delta, error) {
		versions = append(versions, v.Operation.Version)
		if len(versions) == 1 {
			close(asleep)
			<-wake
		}
		return step(v)
	})
	<-asleep
	if err := <-apply(other, named("one"), step); err != nil {
		t.Error(err)
	}
	close(wake)
	if err := <-sleeper; err != nil || fmt.Sprint(versions) != "[1 2]" {
		t.Errorf("error %v; the sleeper saw the versions %v", err, versions)
	}
	if o, err := s.Operation(context.Background(), 1, 1); err != nil || o.Version != 3 {
		t.Errorf("version %d, error %v", o.Version, err)
	}
}

// TestPlans checks that no statement of a batch scans whole tables: plans are made once, while the tables are still
// empty.
func TestPlans(t *testing.T) {
	s := openTest(t, Config{})
	ctx := context.Background()
	conn, err := s.address.connect(ctx, writing)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	for name, text := range map[string]string{
		"lock": lockTurns, "take turns": takeTurns, "turns": setTurns, "stack": loadStack, "operation": loadOperation, "request": loadRequest, "steps": nearSteps, "instances": nearInstances,
		"requests": nearRequests, "all steps": allSteps, "all instances": allInstances, "all requests": allRequests, "names": loadNames, "revision": loadRevision,
		"change operations": changeOperations, "change steps": changeSteps, "change instances": changeInstances, "change requests": changeRequests,
		"change stacks": changeStacks, "move stacks": moveStacks, "audit": makeAudit, "change sets": allChangeSets, "put change sets": putChangeSets, "change change sets": changeChangeSets, "drop change sets": dropChangeSets, "drop steps": dropSteps, "drop plans": dropPlans,
		"count stacks": countStacks, "count busy": countBusy, "count orphans": countOrphans, "count flights": countFlights,
	} {
		description, err := conn.Prepare(ctx, name, text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		execute := "EXPLAIN EXECUTE " + pgx.Identifier{name}.Sanitize()
		if n := len(description.ParamOIDs); n > 0 {
			execute += " (NULL" + strings.Repeat(", NULL", n-1) + ")"
		}
		rows, err := conn.Query(ctx, execute, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(plan, "\n"); strings.Contains(text, "Seq Scan") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
