//go:build unix

package bench

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/delivery"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/pgtest"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/postgres"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

var rounds = flag.Int("rounds", 5, "how often BenchmarkCycle measures engine and floor in turns; the median of the ratios is reported")

// sizes are how many chains run at a time, and how many cycles each has.
var sizes = []struct{ chains, length int }{{1, 200}, {16, 60}, {256, 20}}

// BenchmarkCycle reports cycles per second, and which part that is of the floor's.
func BenchmarkCycle(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/chains=%d", database, size.chains), func(b *testing.B) {
				var dsn func() string
				if database == "postgres" {
					server := pgtest.Start(b, pgtest.Options{Durable: true, Settings: []string{"shared_buffers=256MB", "max_wal_size=4GB"}})
					dsn = func() string { return server.Database(b) }
				}
				var ratios, rates, cpus, cpuFloors []float64
				for n := range *rounds + 1 {
					run := func() rate { return engineCycles(b, dsn, size.chains, size.length) }
					floor := func() rate { return floorCycles(b, dsn, size.chains, size.length) }
					var ours, theirs rate
					if n%2 == 0 {
						ours, theirs = run(), floor()
					} else {
						theirs, ours = floor(), run()
					}
					if n > 0 { // the first one warms up
						ratios, rates = append(ratios, ours.perSecond/theirs.perSecond), append(rates, ours.perSecond)
						cpus, cpuFloors = append(cpus, ours.cpu), append(cpuFloors, theirs.cpu)
					}
				}
				b.ReportMetric(median(rates), "cycles/s")
				b.ReportMetric(median(ratios), "of-floor")
				b.ReportMetric(median(cpus), "cpu-µs/cycle")
				b.ReportMetric(median(cpuFloors), "floor-cpu-µs/cycle")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// openStore opens the store in a new database: the SQLite file of a path, or the PostgreSQL database of an address.
func openStore(b *testing.B, path, dsn string) store.Store {
	b.Helper()
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte{'a'}, store.KeySize)})
	if err != nil {
		b.Fatal(err)
	}
	var s store.Store
	if dsn == "" {
		s, err = sqlite.Open(b.Context(), sqlite.Config{Path: path, Codec: store.NewCodec(keys)})
	} else {
		s, err = postgres.Open(b.Context(), postgres.Config{DSN: dsn, Codec: store.NewCodec(keys)})
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// tables makes the store's tables in a new database.
func tables(b *testing.B, path, dsn string) {
	b.Helper()
	if err := openStore(b, path, dsn).Close(); err != nil {
		b.Fatal(err)
	}
}

// engineCycles runs stacks that are one chain of resources each, and returns how fast the cycles are made.
func engineCycles(b *testing.B, dsn func() string, chains, length int) rate {
	b.Helper()
	log := slog.New(slog.DiscardHandler)
	path, at := filepath.Join(b.TempDir(), "pintle.db"), ""
	if dsn != nil {
		at = dsn()
	}
	s := openStore(b, path, at)
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	base := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/" + server.ResponsePath}
	signer, err := wire.NewSigner(wire.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{base}})
	if err != nil {
		b.Fatal(err)
	}
	var d *delivery.Delivery
	e, err := engine.Open(b.Context(), engine.Config{Store: s, Alone: true, Log: log, Dispatch: func(r []store.Request) { d.Dispatch(r) }})
	if err != nil {
		b.Fatal(err)
	}
	d, err = delivery.New(delivery.Config{
		Table: s, Node: e.Node, AllowPrivate: true, WebhookSecret: []byte("correct horse battery staple"), Log: log,
		Report: func(ctx context.Context, id wire.RequestID, o delivery.Outcome) error {
			if _, ok := o.(delivery.Accepted); !ok {
				b.Errorf("a request ended with %T", o)
			}
			return e.Report(ctx, id, engine.Outcome{Kind: engine.Accepted, Delivered: true})
		},
		ResponseURL: func(r store.Request) (string, error) {
			key := wire.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			return signer.Sign(base, key, time.Now(), wire.SignOptions{Region: r.Body.Region, Expires: wire.DefaultURLLife})
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	door, err := server.New(server.Config{Engine: e, Store: s, Signer: signer, Dev: true, Listener: listener, Log: log})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{d.Run, door.Serve, e.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				b.Error(err)
			}
		})
	}
	p := newProvider(b, chains, chains*(length-1))
	for n := range chains {
		var resources []string
		for i := range length {
			after := ""
			if i > 0 {
				after = fmt.Sprintf(`, "DependsOn": "R%d"`, i-1)
			}
			resources = append(resources, fmt.Sprintf(
				`"R%d": {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q, "Endpoint": "https://example.com/", "Size": "%d"}%s}`, i, p.URL, i, after))
		}
		_, err := e.Create(b.Context(), engine.CreateStack{
			Name: store.StackName{Account: "000000000000", Region: "us-east-1", Name: fmt.Sprint("chain-", n)}, Template: `{"Resources": {` + strings.Join(resources, ", ") + `}}`,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	made := p.measure()
	stop()
	running.Wait()
	p.close()
	return made
}
