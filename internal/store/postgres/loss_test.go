package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
)

// TestServerDies kills the server again and again under load. Every acknowledged write must exist exactly once. Callers
// must notice only a pause.
func TestServerDies(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	dsn := server.Database(t)
	s, err := postgres.Open(context.Background(), postgres.Config{DSN: dsn, Codec: codec(t, 'a'), Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	ctx := context.Background()
	node, err := s.Join(ctx, "n")
	if err != nil {
		t.Fatal(err)
	}
	const stacks, kills = 8, 3
	for key := store.StackKey(1); key <= stacks; key++ {
		create(t, s, newStack(key, fmt.Sprint("s-", key)))
	}
	var acknowledged, decided [stacks + 1]atomic.Int64
	var all sync.WaitGroup
	stop := make(chan struct{})
	for key := store.StackKey(1); key <= stacks; key++ {
		for range 4 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := s.Apply(ctx, store.Target{Stack: key}, func(v *store.View) (store.Delta, error) {
						decided[key].Add(1)
						return step(v)
					}); err != nil {
						t.Errorf("stack %d: %v", key, err)
						return
					}
					acknowledged[key].Add(1)
				}
			})
		}
	}
	progress := func() { // waits until every stack has advanced
		var before [stacks + 1]int64
		for key := range before {
			before[key] = acknowledged[key].Load()
		}
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
			moved := 0
			for key := 1; key <= stacks; key++ {
				if acknowledged[key].Load() > before[key]+5 {
					moved++
				}
			}
			if moved == stacks || t.Failed() {
				return
			}
		}
		t.Error("there is no progress")
	}
	for range kills {
		progress()
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
		if err := s.Ping(ctx); err == nil {
			t.Error("a ping of a dead server is answered")
		}
		if err := s.Beat(ctx, node); err == nil {
			t.Error("a beat at a dead server is answered")
		}
		read := make(chan error, 1)
		go func() {
			_, err := s.Stack(ctx, "arn:s-1") // waits for the server
			read <- err
		}()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Errorf("a query to a dead server: %v", err)
		}
		if err := s.Ping(ctx); err != nil {
			t.Errorf("ping: %v", err)
		}
		if err := s.Beat(ctx, node); err != nil {
			t.Errorf("beat: %v", err)
		}
	}
	progress()
	close(stop)
	all.Wait()
	for key := store.StackKey(1); key <= stacks; key++ {
		o, err := s.Operation(ctx, key, 1)
		if err != nil || int64(o.Events) != acknowledged[key].Load() || o.Version != int64(o.Events)+1 {
			t.Errorf("stack %d: %d events at version %d, %d acknowledged, error %v", key, o.Events, o.Version, acknowledged[key].Load(), err)
		}
	}
}

// TestUnreachableDatabase checks that calls fail when the database is unreachable for longer than their patience, or their
// context ends.
func TestUnreachableDatabase(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	s, err := postgres.Open(context.Background(), postgres.Config{DSN: server.Database(t), Codec: codec(t, 'a'), Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, newStack(1, "one"))
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	err = s.Apply(context.Background(), store.Target{Stack: 1}, step)
	if err == nil || !strings.Contains(err.Error(), "see that it runs") || !strings.Contains(err.Error(), strconv.Itoa(server.Port())) {
		t.Errorf("error %v", err)
	}
	closeStore(t, s) // it does not wait either
}

// TestConnectionLostDuringCommit breaks the connection in the middle of a commit: before the server has received it, and after, but
// before its answer arrives. In both cases the decision is written once and its caller gets a success.
func TestConnectionLostDuringCommit(t *testing.T) {
	dsn := postgres.Shared.Server(t).Database(t)
	for name, cut := range map[string]cut{
		"unheard":         {toServer: []byte("the word to cut at")},
		"unacknowledged":  {toClient: []byte("COMMIT\x00")},
		"at its creation": {toClient: []byte("COMMIT\x00"), creation: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, postgres.Shared.Server(t).Port())
			through := strings.Replace(dsn, ":"+strconv.Itoa(postgres.Shared.Server(t).Port()), ":"+strconv.Itoa(p.port), 1)
			s := open(t, through, nil)
			defer closeStore(t, s)
			key := store.StackKey(len(name))
			target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: name}}
			decided := 0
			make := func(v *store.View) (store.Delta, error) {
				decided++
				if v.Stack.Key != 0 {
					return store.Delta{}, errors.New("it is there already")
				}
				return newStack(key, name), nil
			}
			move := func(v *store.View) (store.Delta, error) {
				decided++
				d, err := step(v)
				d.Events[0].Reason = "the word to cut at"
				return d, err
			}
			decide, want := move, 1
			if cut.creation {
				decide, want = make, 0
			} else if err := s.Apply(context.Background(), target, make); err != nil {
				t.Fatal(err)
			}
			decided = 0
			p.cut.Store(&cut)
			if err := s.Apply(context.Background(), target, decide); err != nil {
				t.Errorf("error %v", err)
			}
			if p.cut.Load() != nil {
				t.Error("nothing was cut")
			}
			if runs := 1; cut.toServer != nil && decided != 2 || cut.toServer == nil && decided != runs {
				t.Errorf("the decision was run %d times", decided)
			}
			o, err := s.Operation(context.Background(), key, 1)
			if err != nil || o.Events != want || o.Version != int64(want)+1 {
				t.Errorf("%d events at version %d, error %v", o.Events, o.Version, err)
			}
		})
	}
}

// TestStaleAndLost breaks the connection while a batch that was decided on an outdated image is rolled back.
func TestStaleAndLost(t *testing.T) {
	ctx := context.Background()
	dsn := postgres.Database(t)
	p := newProxy(t, postgres.Shared.Server(t).Port())
	s := open(t, strings.Replace(dsn, ":"+strconv.Itoa(postgres.Shared.Server(t).Port()), ":"+strconv.Itoa(p.port), 1), nil)
	defer closeStore(t, s)
	other := open(t, dsn, nil)
	defer closeStore(t, other)
	create(t, s, newStack(1, "one"))
	for _, node := range []store.Store{s, other} {
		if err := node.Apply(ctx, store.Target{Stack: 1}, step); err != nil {
			t.Fatal(err)
		}
	}
	p.cut.Store(&cut{toServer: []byte("ROLLBACK")})
	if err := s.Apply(ctx, store.Target{Stack: 1}, step); err != nil {
		t.Errorf("error %v", err)
	}
	if p.cut.Load() != nil {
		t.Error("nothing was cut")
	}
	if o, err := s.Operation(ctx, 1, 1); err != nil || o.Events != 3 || o.Version != 4 {
		t.Errorf("%d events at version %d, error %v", o.Events, o.Version, err)
	}
}

// cut says where a proxy breaks a connection, once: before it forwards data that contains these bytes.
type cut struct {
	toServer, toClient []byte
	creation           bool
}

// proxy forwards connections to a server on loopback.
type proxy struct {
	port int
	cut  atomic.Pointer[cut]
}

func newProxy(t *testing.T, server int) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{port: listener.Addr().(*net.TCPAddr).Port}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(server)))
			if err != nil {
				t.Error(err)
				_ = client.Close()
				return
			}
			mu.Lock()
			open = append(open, client, up)
			mu.Unlock()
			all.Go(func() { p.pass(up, client, func(c *cut) []byte { return c.toServer }) })
			all.Go(func() { p.pass(client, up, func(c *cut) []byte { return c.toClient }) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return p
}

func (p *proxy) pass(to, from net.Conn, at func(*cut) []byte) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if c := p.cut.Load(); c != nil && at(c) != nil && bytes.Contains(buffer[:n], at(c)) {
			p.cut.Store(nil)
			return
		}
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
