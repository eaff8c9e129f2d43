// Package metrics exports counters of the engine, its database and its deliveries to Prometheus.
//
// The components report events to a [Metrics] without importing it: it implements [engine.Observer], and its other
// methods fit the hooks of the stores, of package delivery and of package server. It reads the current state at a
// scrape: that of this process at every scrape, that of the database at most every [DefaultEvery] and for at most a
// fiftieth of the time. Every node reports the same database figures.
//
// Labels come from closed sets. No label contains a name from clients or providers: no stack, no resource, no token.
package metrics

import (
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

const namespace = "pintle"

// Metrics holds the counters. Make one with [New]. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	began, ended, answers, failures, silences, served *prometheus.CounterVec
	lasted, serving                                   *prometheus.HistogramVec
	takeovers, retries, unaudited                     prometheus.Counter
	commits, batches                                  prometheus.Histogram
}

var _ engine.Observer = (*Metrics)(nil)

// New returns metrics with all counters at zero. version is the program's version.
func New(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		began: counters("operations_started_total",
			"Operations of stacks that have begun, rollbacks not counted.", "dialect", "kind"),
		ended: counters("operations_ended_total",
			"Operations of stacks that have ended, by their final phase.", "dialect", "kind", "outcome"),
		answers: counters("answers_total",
			"Answers to requests, by result.", "dialect", "outcome"),
		failures: counters("failures_total",
			"Failures of resources, by their cause; each try of a clean-up is one.", "dialect", "cause"),
		silences: counters("silent_returns_total",
			"Handlers that returned without an answer to their request.", "dialect"),
		served: counters("http_requests_total",
			"HTTP requests served, by whom they were for.", "door", "code"),
		lasted: histograms("operation_duration_seconds", "How long operations took, rollbacks and clean-ups included.",
			[]float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400}, "dialect", "kind"),
		serving: histograms("http_request_duration_seconds", "How long HTTP requests took, by whom they were for.",
			[]float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30}, "door"),
		takeovers: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "takeover_requests_total",
			Help: "Requests of dead nodes that this node has taken over."}),
		retries: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "delivery_retries_total",
			Help: "Sendings of requests to providers that were tried again."}),
		unaudited: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "audit_errors_total",
			Help: "Changes that could not be written to the audit log."}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "commit_duration_seconds",
			Help: "How long transactions took until they were durable.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15)}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: "commit_batch_size",
			Help: "How many writes shared a transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 9)}),
	}
	info := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "The program that runs: always 1.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()}}, func() float64 { return 1 })
	m.registry.MustRegister(m.began, m.ended, m.answers, m.failures, m.silences, m.served, m.lasted, m.serving, m.takeovers, m.retries, m.unaudited,
		m.commits, m.batches, info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.zero()
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// zero creates all possible series, so that the first event of each counts as an increase.
func (m *Metrics) zero() {
	for _, dialect := range []engine.Dialect{engine.CloudFormation, engine.ROS} {
		name := dialect.Name()
		for _, kind := range []store.Kind{store.KindCreate, store.KindUpdate, store.KindDelete, store.KindImport} {
			m.began.WithLabelValues(name, string(kind))
			m.lasted.WithLabelValues(name, string(kind))
			for _, phase := range []store.Phase{store.PhaseSucceeded, store.PhaseFailed, store.PhaseReverted, store.PhaseRevertFailed} {
				m.ended.WithLabelValues(name, string(kind), string(phase))
			}
		}
		for _, answer := range engine.AnswerKinds() {
			m.answers.WithLabelValues(name, string(answer))
		}
		m.silences.WithLabelValues(name)
		for _, cause := range engine.Causes() {
			m.failures.WithLabelValues(name, string(cause))
		}
	}
}

// Began implements [engine.Observer].
func (m *Metrics) Began(dialect string, kind store.Kind) {
	m.began.WithLabelValues(dialect, string(kind)).Inc()
}

// Ended implements [engine.Observer].
func (m *Metrics) Ended(dialect string, kind store.Kind, phase store.Phase, took time.Duration) {
	m.ended.WithLabelValues(dialect, string(kind), string(phase)).Inc()
	m.lasted.WithLabelValues(dialect, string(kind)).Observe(took.Seconds())
}

// Answered implements [engine.Observer].
func (m *Metrics) Answered(dialect string, answer engine.AnswerKind) {
	m.answers.WithLabelValues(dialect, string(answer)).Inc()
}

// Failed implements [engine.Observer].
func (m *Metrics) Failed(dialect string, cause engine.Cause) {
	m.failures.WithLabelValues(dialect, string(cause)).Inc()
}

// Silent implements [engine.Observer].
func (m *Metrics) Silent(dialect string) { m.silences.WithLabelValues(dialect).Inc() }

// TookOver implements [engine.Observer].
func (m *Metrics) TookOver(requests int) { m.takeovers.Add(float64(requests)) }

// Retried counts a retry of a send.
func (m *Metrics) Retried() { m.retries.Inc() }

// Unaudited counts a change that could not be recorded in the audit log.
func (m *Metrics) Unaudited() { m.unaudited.Inc() }

// Committed counts a commit.
func (m *Metrics) Committed(c store.Commit) {
	m.commits.Observe(c.Took.Seconds())
	m.batches.Observe(float64(c.Members))
}

// Served counts an HTTP request by endpoint, a word from a closed set, and the status of the response.
func (m *Metrics) Served(door string, status int, took time.Duration) {
	m.served.WithLabelValues(door, code(status)).Inc()
	m.serving.WithLabelValues(door).Observe(took.Seconds())
}

// code returns a status as a label. It returns 0 if there was no response.
func code(status int) string {
	if status < 100 || status > 599 {
		return "0"
	}
	return strconv.Itoa(status)
}
