package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/metrics"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// scrape returns the response to a scrape.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(metrics.Token{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, metrics.Path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func says(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("%q is missing", line)
		}
	}
}

// database emulates a database whose figures take time and may fail, with its own clock.
type database struct {
	now   time.Time
	took  time.Duration
	err   error
	full  error // its disk
	reads int
	given time.Duration // the time limit of a read
}

func (d *database) figures(ctx context.Context) (store.Figures, error) {
	d.reads++
	deadline, _ := ctx.Deadline()
	d.given = time.Until(deadline)
	d.now = d.now.Add(d.took)
	return store.Figures{Nodes: 3, Stacks: 9, Busy: 2, Orphans: 1, Bytes: 4096, Rows: map[string]int64{"event": 7}, Flights: []store.Flight{
		{Type: "Create", State: store.RequestWaiting, Count: 4, Oldest: d.now.Add(-time.Minute)},
		{Type: "Nobody's", State: store.RequestReady, Count: 1, Oldest: d.now.Add(-time.Hour)},
		{Type: "Release", State: store.RequestReady, Count: 2, Oldest: d.now.Add(-time.Second)},
	}}, d.err
}

func watched(d *database) *metrics.Metrics {
	m := metrics.New("v1.2.3")
	m.Watch(metrics.Sources{
		Figures: d.figures, Ping: func(context.Context) error { return d.full }, Queued: func() int { return 5 }, Load: func() (int, int, int) { return 6, 3, 2 },
		Now: func() time.Time { return d.now },
	})
	return m
}

func TestFiguresOfTheDatabase(t *testing.T) {
	d := &database{now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	says(t, scrape(t, watched(d)),
		"pintle_store_up 1", "pintle_members 3", "pintle_stacks 9", "pintle_stacks_busy 2", "pintle_orphans 1", "pintle_store_bytes 4096",
		`pintle_store_rows{table="event"} 7`, "pintle_commit_queue_length 5",
		`pintle_delivery_requests{state="in-hand"} 6`, `pintle_delivery_requests{state="waiting"} 3`, `pintle_delivery_requests{state="sending"} 2`,
		`pintle_requests_in_flight{state="waiting",type="Create"} 4`, `pintle_requests_oldest_age_seconds{state="waiting",type="Create"} 60`,
		// Types without their own series are counted as "other".
		`pintle_requests_in_flight{state="ready",type="other"} 3`, `pintle_requests_oldest_age_seconds{state="ready",type="other"} 3600`,
	)
}

// TestFiguresAreCached checks that the database is read for at most a share of the time, however often a server is scraped.
func TestFiguresAreCached(t *testing.T) {
	for _, test := range []struct {
		took, stands time.Duration
	}{{0, metrics.DefaultEvery}, {100 * time.Millisecond, metrics.DefaultEvery}, {time.Second, 50 * time.Second}} {
		d := &database{now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), took: test.took}
		began := d.now
		m := watched(d)
		scrape(t, m)
		scrape(t, m)
		d.now = began.Add(test.stands - time.Millisecond)
		scrape(t, m)
		if d.reads != 1 {
			t.Errorf("a reading of %v was made %d times within %v", test.took, d.reads, test.stands)
		}
		d.now = began.Add(test.stands)
		if scrape(t, m); d.reads != 2 {
			t.Errorf("a reading of %v: %d readings after %v, want 2", test.took, d.reads, test.stands)
		}
	}
}

// TestScrapeWithoutDatabase checks that while the database does not respond, a scrape omits its figures but contains all
// others.
func TestScrapeWithoutDatabase(t *testing.T) {
	d := &database{now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), err: errors.New("away")}
	m := watched(d)
	text := scrape(t, m)
	says(t, text, "pintle_store_up 0", "pintle_commit_queue_length 5")
	if strings.Contains(text, "\npintle_members") || strings.Contains(text, "\npintle_orphans") {
		t.Error("unknown figures are reported")
	}
	d.err = nil
	d.now = d.now.Add(time.Minute)
	says(t, scrape(t, m), "pintle_store_up 1", "pintle_members 3")
}

// TestFiguresOfFullDatabase checks that a read-only database is reported as not up, with its figures.
func TestFiguresOfFullDatabase(t *testing.T) {
	d := &database{now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), full: errors.New("the disk is full"), took: time.Second}
	m := watched(d)
	says(t, scrape(t, m), "pintle_store_up 0", "pintle_members 3", "pintle_orphans 1")
	d.full = nil
	d.now = d.now.Add(metrics.DefaultEvery)
	says(t, scrape(t, m), "pintle_store_up 1", "pintle_members 3")
}

// TestFiguresOfSlowDatabase checks a database that exceeds the time limit of a read. A scrape reports it as unavailable
// before the scraper times out, and as available again as soon as after an immediate failure.
func TestFiguresOfSlowDatabase(t *testing.T) {
	d := &database{now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), err: context.DeadlineExceeded, took: 5 * time.Second}
	m := watched(d)
	says(t, scrape(t, m), "pintle_store_up 0")
	if patience := 10 * time.Second; d.given <= 0 || d.given >= patience {
		t.Errorf("a reading may take %v: Prometheus gives a scrape up after %v", d.given, patience)
	}
	d.err, d.took = nil, 0
	d.now = d.now.Add(metrics.DefaultEvery - time.Millisecond)
	if says(t, scrape(t, m), "pintle_store_up 0"); d.reads != 1 {
		t.Errorf("%d readings within %v", d.reads, metrics.DefaultEvery)
	}
	d.now = d.now.Add(time.Millisecond)
	says(t, scrape(t, m), "pintle_store_up 1")
}

func TestCounts(t *testing.T) {
	d := &database{now: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}
	m := watched(d)
	m.Began("ros", store.KindUpdate)
	m.Ended("ros", store.KindUpdate, store.PhaseReverted, 2*time.Second)
	m.Answered("cloudformation", engine.AnswerOversize)
	m.Failed("cloudformation", engine.CauseTimeout)
	m.TookOver(7)
	m.Retried()
	m.Committed(store.Commit{Members: 12, Took: 3 * time.Millisecond})
	m.Served("api", 503, time.Second)
	m.Served("api", -7, time.Second)
	says(t, scrape(t, m),
		`pintle_operations_started_total{dialect="ros",kind="update"} 1`, `pintle_operations_ended_total{dialect="ros",kind="update",outcome="reverted"} 1`,
		`pintle_operations_ended_total{dialect="ros",kind="update",outcome="failed"} 0`,
		`pintle_operation_duration_seconds_sum{dialect="ros",kind="update"} 2`, `pintle_answers_total{dialect="cloudformation",outcome="oversize"} 1`,
		`pintle_failures_total{cause="timeout",dialect="cloudformation"} 1`, "pintle_takeover_requests_total 7", "pintle_delivery_retries_total 1",
		"pintle_commit_batch_size_sum 12", "pintle_commit_duration_seconds_sum 0.003", `pintle_http_requests_total{code="503",door="api"} 1`,
		`pintle_http_requests_total{code="0",door="api"} 1`,
	)
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]bool{
		"0123456789abcdef": true, " 0123456789abcdef\n": true, strings.Repeat("x", 4096): true,
		"": false, "0123456789abcde": false, strings.Repeat("x", 4097): false, strings.Repeat("x", 9000): false, "01234567 89abcdef": false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		token, err := metrics.ReadToken(file)
		if (err == nil) != want || token.IsZero() == want {
			t.Errorf("a token of %d bytes: %v", len(text), err)
		}
		if err != nil && len(text) > 8 && strings.Contains(err.Error(), text) {
			t.Errorf("the error has the token: %v", err)
		}
	}
	if err := os.WriteFile(file, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := metrics.ReadToken(file)
	if err != nil {
		t.Fatal(err)
	}
	d := &database{now: time.Now()}
	handler := watched(d).Handler(token)
	for header, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer 0123456789abcdeF": 401, "Basic 0123456789abcdef": 401, "0123456789abcdef": 401,
		"Bearer 0123456789abcdef": 200, "bearer 0123456789abcdef": 200,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, metrics.Path, nil)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", header, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, metrics.Path, nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
