package delivery_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("PROVIDER_MODE"); mode != "" {
		provide(mode) // the test runs as a provider's process
		return
	}
	os.Exit(m.Run())
}

const secret = "correct horse battery staple"

const stackID = "arn:aws:cloudformation:us-east-1:000000000000:stack/s/5f0c"

// request returns a ready row of node 1.
func request(id string, stack store.StackKey, token string) store.Request {
	return store.Request{
		ID:      wire.RequestID(id),
		Stack:   stack,
		Logical: "Thing",
		Type:    wire.Create,
		State:   store.RequestReady,
		Owner:   1,
		Body: &store.RequestBody{
			Dialect:      "cloudformation",
			StackID:      stackID,
			Region:       "us-east-1",
			Token:        value.Str(token),
			ResourceType: "Custom::Thing",
			Timeout:      time.Hour,
			Properties: value.Object(
				value.Member{Key: "ServiceToken", Value: value.Str(token)},
				value.Member{Key: "Password", Value: value.SecretStr("hunter2&more")},
			),
		},
	}
}

// table is the request table: rows are ready until they have been reported.
type table struct {
	mu   sync.Mutex
	rows []store.Request
}

func (t *table) Claim(_ context.Context, node store.Incarnation, limit int, skip func(wire.RequestID) bool) ([]store.Request, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ready []store.Request
	for _, r := range t.rows {
		if r.Owner == node && len(ready) < limit && !skip(r.ID) {
			ready = append(ready, r)
		}
	}
	return ready, nil
}

func (t *table) add(rows ...store.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, rows...)
}

func (t *table) settle(id wire.RequestID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = slices.DeleteFunc(t.rows, func(r store.Request) bool { return r.ID == id })
}

type reported struct {
	ID      wire.RequestID
	Outcome delivery.Outcome
}

// world is a running delivery with its surroundings.
type world struct {
	*delivery.Delivery
	table    *table
	outcomes chan reported
	progress chan string
	stop     context.CancelFunc
	ended    chan struct{}
}

// start runs a delivery with the completed and changed config. At the end of the test, its log must not contain
// secrets.
func start(t *testing.T, change func(*delivery.Config, *world)) *world {
	t.Helper()
	base, err := url.Parse("http://127.0.0.1:4600/response")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: "AKIDEXAMPLE", Secret: "0123456789abcdef", Bases: []*url.URL{base}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		table:    &table{},
		outcomes: make(chan reported, 10_000),
		progress: make(chan string, 10_000),
		ended:    make(chan struct{}),
	}
	var log lockedBuffer
	config := delivery.Config{
		Table: w.table,
		Node:  func() store.Incarnation { return 1 },
		Report: func(_ context.Context, id wire.RequestID, o delivery.Outcome) error {
			w.table.settle(id)
			w.outcomes <- reported{id, o}
			return nil
		},
		ResponseURL: func(r store.Request) (string, error) {
			key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			return signer.Sign(base, key, time.Now(), responseurl.SignOptions{})
		},
		WebhookSecret: []byte(secret),
		AllowPrivate:  true,
		Progress:      func(_ wire.RequestID, text string) { w.progress <- text },
		Log:           slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Backoff:       time.Microsecond,
	}
	if change != nil {
		change(&config, w)
	}
	if w.Delivery, err = delivery.New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() {
		defer close(w.ended)
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-w.ended
		checkClean(t, log.String())
	})
	return w
}

func checkClean(t *testing.T, text string) {
	t.Helper()
	for _, bad := range []string{"X-Amz-Signature=", "hunter2"} {
		if strings.Contains(strings.ReplaceAll(text, "X-Amz-Signature=REDACTED", ""), bad) {
			t.Errorf("%s is in %s", bad, text)
		}
	}
}

// next returns the next outcome, after checking it for secrets.
func (w *world) next(t *testing.T) reported {
	t.Helper()
	select {
	case r := <-w.outcomes:
		checkClean(t, fmt.Sprintf("%+v", r.Outcome))
		return r
	case <-t.Context().Done():
		t.Fatal("no outcome")
	}
	return reported{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// refusedAtOnce returns a request that is refused without leaving the process.
func refusedAtOnce(id string, stack store.StackKey) store.Request {
	return request(id, stack, "acs:fc:x")
}

func TestNewChecksConfig(t *testing.T) {
	full := delivery.Config{
		Table:         &table{},
		Node:          func() store.Incarnation { return 1 },
		Report:        func(context.Context, wire.RequestID, delivery.Outcome) error { return nil },
		ResponseURL:   func(store.Request) (string, error) { return "", nil },
		WebhookSecret: []byte(secret),
	}
	if _, err := delivery.New(full); err != nil {
		t.Errorf("full config: %v", err)
	}
	tests := map[string]func(*delivery.Config){
		"no table":        func(c *delivery.Config) { c.Table = nil },
		"no node":         func(c *delivery.Config) { c.Node = nil },
		"no report":       func(c *delivery.Config) { c.Report = nil },
		"no URL":          func(c *delivery.Config) { c.ResponseURL = nil },
		"short secret":    func(c *delivery.Config) { c.WebhookSecret = []byte("short") },
		"negative number": func(c *delivery.Config) { c.Queue = -1 },
	}
	for name, change := range tests {
		c := full
		change(&c)
		if _, err := delivery.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestStartClaimsReadyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *delivery.Config, w *world) {
			other := refusedAtOnce("other", 1)
			other.Owner = 2
			w.table.rows = []store.Request{refusedAtOnce("mine", 1), other}
		})
		if got := w.next(t); got.ID != "mine" {
			t.Errorf("reported %s, want mine", got.ID)
		}
		time.Sleep(time.Minute) // in the bubble's time: several reads of the table
		synctest.Wait()
		if len(w.outcomes) > 0 {
			t.Errorf("reported %+v too", <-w.outcomes)
		}
	})
}

func TestTickFindsUnreportedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		synctest.Wait()
		w.table.add(refusedAtOnce("late", 1))
		began := time.Now()
		w.next(t)
		if took := time.Since(began); took > delivery.DefaultPoll {
			t.Errorf("took %s", took)
		}
	})
}

func TestOverflowIsDeliveredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		w := start(t, func(c *delivery.Config, _ *world) { c.Queue, c.Sends = 8, 4 })
		var rows []store.Request
		for i := range n {
			rows = append(rows, refusedAtOnce(fmt.Sprint(i), store.StackKey(i%7+1)))
		}
		w.table.add(rows...)
		began := time.Now()
		w.Dispatch(rows)
		seen := map[wire.RequestID]int{}
		for range n {
			seen[w.next(t).ID]++
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("took %s: it waited for the tick, though there was room", took)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(seen) != n || len(w.outcomes) > 0 {
			t.Errorf("%d of %d requests were reported, %d once more", len(seen), n, len(w.outcomes))
		}
	})
}

func TestDispatchOfASettledRequestIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil)
		r := refusedAtOnce("a", 1)
		w.Dispatch([]store.Request{r, r})
		w.next(t)
		synctest.Wait()
		w.Dispatch([]store.Request{r}) // the commit's own dispatch, after a read of the table
		synctest.Wait()
		if len(w.outcomes) > 0 {
			t.Error("it was delivered twice")
		}
	})
}

func TestTakenOverRequestsAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := store.Incarnation(1)
		w := start(t, func(c *delivery.Config, _ *world) { c.Node = func() store.Incarnation { return node } })
		synctest.Wait()
		w.Dispatch([]store.Request{refusedAtOnce("a", 1)})
		w.next(t)
		synctest.Wait()
		node = 2 // the node was declared dead, rejoined, and took over its own rows
		old := refusedAtOnce("b", 1)
		again := refusedAtOnce("a", 1)
		again.Owner = 2
		w.Dispatch([]store.Request{old, again})
		if got := w.next(t); got.ID != "a" {
			t.Errorf("reported %s, want a again", got.ID)
		}
		synctest.Wait()
		if len(w.outcomes) > 0 {
			t.Errorf("reported %+v", <-w.outcomes)
		}
	})
}

func TestReportIsRepeated(t *testing.T) {
	tests := map[string]struct {
		err  error
		want int
	}{
		"until it succeeds":     {nil, 6},
		"not on a closed store": {fmt.Errorf("report: %w", store.ErrClosed), 6},
		"not for a deleted row": {fmt.Errorf("report: %w", store.ErrNotFound), 6},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				done := make(chan struct{})
				w := start(t, func(c *delivery.Config, _ *world) {
					c.Backoff = 0
					c.Report = func(context.Context, wire.RequestID, delivery.Outcome) error {
						if calls++; calls < test.want {
							return fmt.Errorf("the database is away")
						}
						if calls == test.want {
							close(done)
						}
						return test.err
					}
				})
				w.Dispatch([]store.Request{refusedAtOnce("a", 1)})
				<-done
				time.Sleep(time.Hour)
				synctest.Wait()
				if calls != test.want {
					t.Errorf("%d reports, want %d", calls, test.want)
				}
			})
		})
	}
}

func TestRunEndsIfReportsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := make(chan struct{}, 1)
		w := start(t, func(c *delivery.Config, _ *world) {
			c.Backoff = 0
			c.Report = func(context.Context, wire.RequestID, delivery.Outcome) error {
				select {
				case tried <- struct{}{}:
				default:
				}
				return fmt.Errorf("the database is away")
			}
		})
		w.Dispatch([]store.Request{refusedAtOnce("a", 1)})
		<-tried
		began := time.Now()
		w.stop()
		<-w.ended
		if took := time.Since(began); took != delivery.DefaultDrain {
			t.Errorf("Run ended after %s, want the drain's %s", took, delivery.DefaultDrain)
		}
	})
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		change func(*store.Request)
		want   delivery.Refused
	}{
		"a token of Alibaba Cloud": {
			func(r *store.Request) { r.Body.Token = value.Str("acs:fc:cn-hangzhou:1:services/s/functions/f") },
			delivery.Refused{Text: `no local provider named "acs:fc:cn-hangzhou:1:services/s/functions/f", and it is a service token of Alibaba Cloud ` +
				"ROS, whose templates have ROSTemplateFormatVersion: this stack is CloudFormation's"},
		},
		"a dialect": {
			func(r *store.Request) { r.Body.Dialect = "heat" },
			delivery.Refused{Text: `requests of the dialect "heat" cannot be delivered by this version`},
		},
		"a name": {
			func(r *store.Request) { r.Body.Token = value.Str("Thing") },
			delivery.Refused{Text: `no local provider named "Thing", and it is not a Lambda function, an SNS topic or an http(s) URL: ` +
				"add it to pintle.yaml under providers, or use --provider Thing=./path"},
		},
		"too large": {
			func(r *store.Request) {
				r.Body.Token = value.Str("http://127.0.0.1:1/")
				r.Body.Properties = value.Object(value.Member{Key: "P", Value: value.Str(strings.Repeat("x", wire.MaxRequest))})
			},
			delivery.Refused{Text: "the request is 262767 bytes long, 262144 are allowed: the properties of Thing are too large"},
		},
		"a type": {
			func(r *store.Request) { r.Body.Token, r.Type = value.Str("http://127.0.0.1:1/"), "Poke" },
			delivery.Refused{Text: `requests of the type "Poke" cannot be delivered`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			r := request("a", 1, "x")
			test.change(&r)
			w.Dispatch([]store.Request{r})
			if diff := cmp.Diff(reported{"a", test.want}, w.next(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
