package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/wire"
)

// newStack returns a delta that creates a stack with one operation.
func newStack(key store.StackKey, name string) store.Delta {
	return store.Delta{
		Stack:     &store.Stack{Key: key, ID: wire.StackID("arn:" + name), Account: "1", Region: "r", Name: name, Live: true, Revision: 1},
		Operation: &store.Operation{Stack: key, Number: 1, Version: 1, To: 1},
		Revisions: []store.Revision{{Stack: key, Number: 1, Template: "{}"}},
	}
}

// step advances a stack's operation by one event.
func step(v *store.View) (store.Delta, error) {
	o := v.Operation
	o.Version++
	o.Events++
	return store.Delta{Operation: &o, Events: []store.Event{{ID: fmt.Sprint(o.Events)}}}, nil
}

func create(t testing.TB, s store.Store, d store.Delta) {
	t.Helper()
	name := store.StackName{Account: d.Stack.Account, Region: d.Stack.Region, Name: d.Stack.Name}
	if err := s.Apply(context.Background(), store.Target{Name: name}, func(*store.View) (store.Delta, error) { return d, nil }); err != nil {
		t.Fatal(err)
	}
}

func closeStore(t testing.TB, s store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

var starts = flag.Int("starts", 6, "how often TestStartedAtOnce starts nodes on an empty database")

// TestStartedAtOnce opens an empty database from two nodes at once, and every third time from eight.
func TestStartedAtOnce(t *testing.T) {
	for n := range *starts {
		nodes := 2
		if n%3 == 2 {
			nodes = 8
		}
		dsn := postgres.Shared.Server(t).Database(t)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for node := range nodes {
			all.Go(func() {
				<-begin
				s, err := postgres.Open(context.Background(), postgres.Config{DSN: dsn, Codec: codec(t, 'a')})
				if err != nil {
					t.Errorf("start %d, node %d: %v", n, node, err)
					return
				}
				defer closeStore(t, s)
				d := newStack(store.StackKey(node+1), fmt.Sprint("of-", node))
				if err := s.Apply(context.Background(), store.Target{Name: store.StackName{Account: "1", Region: "r", Name: d.Stack.Name}},
					func(*store.View) (store.Delta, error) { return d, nil }); err != nil {
					t.Errorf("start %d, node %d: %v", n, node, err)
				}
			})
		}
		close(begin)
		all.Wait()
		s := open(t, dsn, nil)
		list, err := s.Stacks(context.Background(), "1", "r", false, 0, 99)
		if err != nil || len(list) != nodes {
			t.Errorf("start %d: %d stacks of %d nodes, error %v", n, len(list), nodes, err)
		}
		closeStore(t, s)
	}
	t.Logf("nodes were started at the same instant on an empty database %d times", *starts)
}

// TestNodesRace has three nodes advance the same stacks, and create stacks with the same names.
func TestNodesRace(t *testing.T) {
	const nodes, each, stacks = 3, 40, 4
	dsn := postgres.Database(t)
	var all sync.WaitGroup
	made := make(chan store.StackKey, nodes*each)
	for node := range nodes {
		s := open(t, dsn, nil)
		defer closeStore(t, s)
		for i := range each {
			all.Go(func() {
				name := store.StackName{Account: "1", Region: "r", Name: fmt.Sprint("stack-", i%stacks)}
				var key store.StackKey
				err := s.Apply(context.Background(), store.Target{Name: name}, func(v *store.View) (store.Delta, error) {
					key = 0
					if v.Stack.Key == 0 {
						key = store.StackKey(1 + node*each + i)
						d := newStack(key, name.Name)
						d.Stack.ID += wire.StackID(fmt.Sprint(key))
						return d, nil
					}
					return step(v)
				})
				if err != nil {
					t.Errorf("node %d: %v", node, err)
				}
				if key != 0 {
					made <- key
				}
			})
		}
	}
	all.Wait()
	close(made)
	events := 0
	for key := range made {
		s := open(t, dsn, nil)
		o, err := s.Operation(context.Background(), key, 1)
		if err != nil || o.Version != int64(o.Events)+1 {
			t.Errorf("stack %d: version %d and %d events, error %v", key, o.Version, o.Events, err)
		}
		events += o.Events + 1
		closeStore(t, s)
	}
	if events != nodes*each {
		t.Errorf("%d decisions were written, not %d", events, nodes*each)
	}
}

// TestReapMany takes over more requests than one transaction does, from many stacks that are in progress.
func TestReapMany(t *testing.T) {
	s := open(t, postgres.Database(t), nil)
	defer closeStore(t, s)
	ctx := context.Background()
	dead, err := s.Join(ctx, "dead")
	if err != nil {
		t.Fatal(err)
	}
	const stacks, each = 3, 400
	for key := store.StackKey(1); key <= stacks; key++ {
		d := newStack(key, fmt.Sprint("s-", key))
		for i := range each {
			r := store.Request{ID: wire.RequestID(fmt.Sprintf("%d-%d", key, i)), Stack: key, Operation: 1, Logical: "A", Instance: 1, Type: "Create",
				State: store.RequestReady, Owner: dead, Body: &store.RequestBody{}}
			if i%2 == 0 {
				r.State, r.Owner, r.Executor, r.Due = store.RequestWaiting, 0, dead, time.Now().Add(time.Hour)
			}
			d.Requests = append(d.Requests, r)
		}
		create(t, s, d)
	}
	self, err := s.Join(ctx, "self")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for key := store.StackKey(1); key <= stacks; key++ {
		all.Go(func() {
			for range 20 {
				if err := s.Apply(ctx, store.Target{Stack: key}, step); err != nil {
					t.Error(err)
				}
			}
		})
	}
	taken, err := s.Reap(ctx, self, 0)
	all.Wait()
	if taken != stacks*each || err != nil {
		t.Errorf("%d requests were taken over, error %v", taken, err)
	}
	list, err := s.Claim(ctx, self, stacks*each+1, nil)
	if len(list) != stacks*each || err != nil {
		t.Errorf("%d requests are claimed, error %v", len(list), err)
	}
	if _, err := s.Reap(ctx, dead, 0); !errors.Is(err, store.ErrGone) {
		t.Errorf("a dead node took over: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	server := postgres.Shared.Server(t)
	ours := server.Database(t)
	closeStore(t, open(t, ours, nil))
	latin := server.Database(t)
	server.Exec(t, "postgres", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
	_ = latin
	with := func(dsn, more string) string { return strings.Replace(dsn, "pintle@", "pintle:hunter2@", 1) + more }
	for name, c := range map[string]struct {
		dsn    string
		letter byte
		want   string
	}{
		"other keys":     {ours, 'b', "not the keys"},
		"no database":    {with(server.DSN("nowhere"), ""), 'a', "createdb"},
		"no user":        {strings.Replace(with(ours, ""), "pintle:", "nobody-there:", 1), 'a', "check user"},
		"encoding":       {with(server.DSN("latin"), ""), 'a', "UTF8"},
		"no server":      {"postgres://pintle:hunter2@127.0.0.1:1/x", 'a', "see that it runs"},
		"no address":     {"postgres://pintle:hunter2@[::1/x", 'a', "cannot be read"},
		"port":           {"postgres://pintle:hunter2@host:hunter2/x", 'a', "cannot be read"},
		"only reads":     {with(ours, "?default_transaction_read_only=on"), 'a', "target_session_attrs"},
		"sslmode":        {with(ours, "?sslmode=hunter2"), 'a', "cannot be read"},
		"words of libpq": {"host=127.0.0.1 password=hunter2 port=x", 'a', "cannot be read"},
	} {
		s, err := postgres.Open(context.Background(), postgres.Config{DSN: c.dsn, Codec: codec(t, c.letter)})
		if err == nil {
			closeStore(t, s)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want %q and no password", name, err, c.want)
		}
	}
}

// TestFresh distinguishes a database for which new keys may be created from one that is in use.
func TestFresh(t *testing.T) {
	dsn := postgres.Shared.Server(t).Database(t)
	for _, want := range []bool{true, false} {
		if fresh, err := postgres.Fresh(context.Background(), dsn); fresh != want || err != nil {
			t.Errorf("fresh is %v, want %v; error %v", fresh, want, err)
		}
		closeStore(t, open(t, dsn, nil))
	}
}
