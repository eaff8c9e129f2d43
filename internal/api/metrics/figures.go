package metrics

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// DefaultEvery is the minimum interval between reads of the database figures.
const DefaultEvery = 15 * time.Second

const (
	// readTimeout limits one read of the figures. The scrape waits for it, and Prometheus times out after 10 s. A slow
	// database must not make the server look dead.
	readTimeout = 5 * time.Second
	// share limits the load: the interval between reads is at least share times the duration of a read.
	share = 50
)

// Sources are the inputs of a scrape. All are required except Every, Log and Now.
type Sources struct {
	// Figures reads the figures of the database.
	Figures func(context.Context) (store.Figures, error)
	// Ping checks by a write whether the database is writable.
	Ping func(context.Context) error
	// Queued returns the number of writes that wait to be committed.
	Queued func() int
	// Load returns the number of requests that delivery holds, and how many of them are waiting for their turn or being
	// sent.
	Load func() (inHand, waiting, sending int)
	// Every is the minimum interval between reads of the database. Zero means [DefaultEvery].
	Every time.Duration
	// Log gets errors. Nil discards them.
	Log *slog.Logger
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Watch registers the sources. Call it once, before the first scrape.
func (m *Metrics) Watch(s Sources) {
	if s.Every == 0 {
		s.Every = DefaultEvery
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	m.registry.MustRegister(&figures{Sources: s})
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

var (
	queuedDesc = describe("commit_queue_length", "Writes that wait to be committed by this node.")
	loadDesc   = describe("delivery_requests", "Requests that delivery has to do with on this node.", "state")

	upDesc      = describe("store_up", "Whether the database could be read and written the last time: 1 or 0.")
	membersDesc = describe("members", "Nodes of the database that are not known to be dead.")
	stacksDesc  = describe("stacks", "Stacks that are not deleted.")
	busyDesc    = describe("stacks_busy", "Stacks with a request that is not settled: their operations run.")
	orphansDesc = describe("orphans", "Orphaned resources, which may still exist.")
	flightDesc  = describe("requests_in_flight", "Pending requests, by type and state.", "type", "state")
	ageDesc     = describe("requests_oldest_age_seconds", "Age of the oldest request that is not settled.", "type", "state")
	bytesDesc   = describe("store_bytes", "Room that the database takes.")
	rowsDesc    = describe("store_rows", "About how many rows the tables have that grow.", "table")
)

// figures collects metrics at the time of a scrape.
type figures struct {
	Sources

	mu    sync.Mutex // held during a read: there is one at a time
	until time.Time  // how long the cached figures are valid
	read  store.Figures
	err   error // of the last read
	up    bool
}

// Describe implements [prometheus.Collector].
func (f *figures) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		queuedDesc, loadDesc, upDesc, membersDesc, stacksDesc, busyDesc, orphansDesc, flightDesc, ageDesc, bytesDesc, rowsDesc,
	} {
		to <- desc
	}
}

// Collect implements [prometheus.Collector]. It omits the database figures while the database is unavailable, because
// old figures would hide the failure.
func (f *figures) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	gauge(queuedDesc, float64(f.Queued()))
	inHand, waiting, sending := f.Load()
	gauge(loadDesc, float64(inHand), "in-hand")
	gauge(loadDesc, float64(waiting), "waiting")
	gauge(loadDesc, float64(sending), "sending")
	read, up, err := f.refresh()
	if up {
		gauge(upDesc, 1)
	} else {
		gauge(upDesc, 0)
	}
	if err != nil {
		return
	}
	gauge(membersDesc, float64(read.Nodes))
	gauge(stacksDesc, float64(read.Stacks))
	gauge(busyDesc, float64(read.Busy))
	gauge(orphansDesc, float64(read.Orphans))
	gauge(bytesDesc, float64(read.Bytes))
	for table, rows := range read.Rows {
		gauge(rowsDesc, float64(rows), table)
	}
	now := f.Now()
	for k, flight := range byKind(read.Flights) {
		gauge(flightDesc, float64(flight.Count), k.kind, string(k.state))
		gauge(ageDesc, max(0, now.Sub(flight.Oldest).Seconds()), k.kind, string(k.state))
	}
}

// flightKind holds the labels of flights.
type flightKind struct {
	kind  string
	state store.RequestState
}

// known are the request types with their own time series.
var known = []wire.RequestType{
	wire.Create, wire.Update, wire.Delete, store.TypeIsComplete, store.TypeMacro, store.TypeNotification, store.TypeTimer,
	store.TypeExecution, store.TypeImport, store.TypeDisown, store.TypeRead,
}

// byKind groups flights by their labels. Types without their own series are "other".
func byKind(flights []store.Flight) map[flightKind]store.Flight {
	sorted := map[flightKind]store.Flight{}
	for _, flight := range flights {
		k := flightKind{string(flight.Type), flight.State}
		if !slices.Contains(known, flight.Type) {
			k.kind = "other"
		}
		sum, ok := sorted[k]
		if !ok || flight.Oldest.Before(sum.Oldest) {
			sum.Oldest = flight.Oldest
		}
		sum.Count += flight.Count
		sorted[k] = sum
	}
	return sorted
}

// refresh returns the cached figures, which it reads again if they have expired, and whether the database was writable.
// A database with a full disk can still be read. Errors are cached only for a short time, however long the read took.
// Otherwise a recovered database would still be reported as unavailable.
func (f *figures) refresh() (read store.Figures, up bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := f.Now()
	if began.Before(f.until) && f.until.Sub(began) <= max(f.Every, share*readTimeout) {
		return f.read, f.up, f.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	f.read, f.err = f.Figures(ctx)
	if f.err != nil {
		f.Log.Warn("the figures of the database cannot be read for monitoring", "error", f.err)
	}
	wrote := f.Ping(ctx)
	if wrote != nil && f.err == nil { // otherwise the error is already logged
		f.Log.Warn("the database cannot be written, as monitoring has found", "error", wrote)
	}
	f.up = f.err == nil && wrote == nil
	ended := f.Now()
	f.until = ended.Add(f.Every)
	if f.up {
		f.until = began.Add(max(f.Every, share*ended.Sub(began)))
	}
	return f.read, f.up, f.err
}
