package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// BenchmarkApply measures the cycle of a request, which is two writes: the delivery, and the answer, which settles the
// request, updates step, instance and operation, and adds the next request. Every goroutine has a stack of its own. For
// comparison it measures a lower bound on the same server: as many goroutines each commit the smallest possible cycle
// with plain pgx, two transactions that update one row and insert one.
func BenchmarkApply(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Durable: true, Settings: []string{"shared_buffers=512MB", "max_wal_size=4GB"}})
	for _, chains := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("chains=", chains), func(b *testing.B) {
			floor := floorCycles(b, server.Database(b), chains)
			s := open(b, server.Database(b), nil)
			defer func() {
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			}()
			var next atomic.Int64
			b.SetParallelism(max(1, chains/2)) // goroutines per processor, of which there are at least two
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				if chains == 1 && next.Load() > 0 {
					return
				}
				key := store.StackKey(next.Add(1))
				request := chain(b, s, key)
				for n := 0; pb.Next(); n++ {
					request = cycle(b, s, request, n)
				}
			})
			cycles := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(cycles, "cycles/s")
			b.ReportMetric(floor, "floor/s")
			b.ReportMetric(cycles/floor, "of-floor")
		})
	}
}

// floorCycles returns how many pairs of small transactions this many goroutines commit per second.
func floorCycles(b *testing.B, dsn string, chains int) float64 {
	b.Helper()
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = int32(min(chains, 64))
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE a (id bigint PRIMARY KEY, n bigint) WITH (fillfactor = 50)"); err != nil {
		b.Fatal(err)
	}
	if _, err := pool.Exec(ctx, "CREATE TABLE b (id bigint, n bigint, body text, PRIMARY KEY (id, n))"); err != nil {
		b.Fatal(err)
	}
	var cycles atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for id := range chains {
		all.Go(func() {
			_, err := pool.Exec(ctx, "INSERT INTO a VALUES ($1, 0)", id)
			for n := 0; err == nil && time.Since(began) < 2*time.Second; n++ {
				trip := &pgx.Batch{}
				trip.Queue("BEGIN")
				trip.Queue("UPDATE a SET n = n + 1 WHERE id = $1", id)
				trip.Queue("INSERT INTO b VALUES ($1, $2, $3)", id, n, "a body of some length, as a request has one")
				trip.Queue("COMMIT")
				if err = pool.SendBatch(ctx, trip).Close(); err == nil && n%2 == 1 {
					cycles.Add(1)
				}
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	return float64(cycles.Load()) / time.Since(began).Seconds()
}
func properties() value.Value {
	return value.Object(value.Member{Key: "Endpoint", Value: value.Str("https://example.com/")},
		value.Member{Key: "Password", Value: value.SecretStr("hunter2")})
}

func ask(key store.StackKey, n int) store.Request {
	return store.Request{
		ID: wire.RequestID(fmt.Sprintf("%d-%d", key, n)), Stack: key, Operation: 1, Logical: "Thing", Instance: 1, Type: "Update",
		State: store.RequestReady, Owner: 1, Body: &store.RequestBody{Properties: properties()},
	}
}

// chain creates a stack of three resources and its first request.
func chain(b *testing.B, s store.Store, key store.StackKey) wire.RequestID {
	name := fmt.Sprint("chain-", key)
	d := store.Delta{
		Stack:     &store.Stack{Key: key, ID: wire.StackID(name), Account: "1", Region: "r", Name: name, Live: true, Revision: 1},
		Operation: &store.Operation{Stack: key, Number: 1, Version: 1, To: 1},
		Revisions: []store.Revision{{Stack: key, Number: 1, Template: "{}"}},
		Requests:  []store.Request{ask(key, 0)},
	}
	for i, logical := range []wire.LogicalID{"Thing", "Next", "Last"} {
		d.Steps = append(d.Steps, store.Step{Stack: key, Logical: logical, State: store.StepRunning, Instance: i + 1, Plan: &store.StepPlan{Type: "Custom::Thing"}})
		d.Instances = append(d.Instances, store.Instance{Stack: key, Number: i + 1, Logical: logical, Role: store.RoleCurrent,
			Body: &store.InstanceBody{Properties: properties()}})
	}
	d.Steps[0].Next = []wire.LogicalID{"Next"}
	err := s.Apply(context.Background(), store.Target{Name: store.StackName{Account: "1", Region: "r", Name: name}},
		func(*store.View) (store.Delta, error) { return d, nil })
	if err != nil {
		b.Error(err)
	}
	return d.Requests[0].ID
}

func cycle(b *testing.B, s store.Store, id wire.RequestID, n int) (next wire.RequestID) {
	err := s.Apply(context.Background(), store.Target{Request: id, Alone: true}, func(v *store.View) (store.Delta, error) {
		r := *v.Request
		r.State, r.Owner, r.Due, r.Delivered, r.Body = store.RequestWaiting, 0, v.Now.Add(time.Hour), v.Now, nil
		return store.Delta{Requests: []store.Request{r}}, nil
	})
	if err != nil {
		b.Error(err)
	}
	err = s.Apply(context.Background(), store.Target{Request: id}, func(v *store.View) (store.Delta, error) {
		r, o, step, instance := *v.Request, v.Operation, v.Steps["Thing"], v.Instances[1]
		r.State, r.Due, r.Body = store.RequestSettled, time.Time{}, nil
		o.Version++
		o.Events++
		step.Plan, instance.Changed = nil, v.Now
		asked := ask(r.Stack, n+1)
		next = asked.ID
		return store.Delta{
			Operation: &o, Steps: []store.Step{step}, Instances: []store.Instance{instance}, Requests: []store.Request{r, asked},
			Events: []store.Event{{ID: string(r.ID), Logical: "Thing", Type: "Custom::Thing", Time: v.Now}},
		}, nil
	})
	if err != nil {
		b.Error(err)
	}
	return next
}
