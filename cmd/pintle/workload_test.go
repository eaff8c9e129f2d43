package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// balancer spreads requests over servers in turn, and passes over one that takes no connection.
type balancer struct {
	*httptest.Server
	mu    sync.Mutex
	hosts []string
	next  int
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // a server that ends may close a connection just as it is used again
	b.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.Host = r.In.Host
		},
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			for _, host := range b.turn() {
				try := r.Clone(r.Context())
				try.URL.Host, try.Body = host, io.NopCloser(bytes.NewReader(body))
				var response *http.Response
				response, err = transport.RoundTrip(try)
				if refused := (*net.OpError)(nil); errors.As(err, &refused) && refused.Op == "dial" {
					continue
				}
				return response, err
			}
			return nil, err
		}),
		ErrorLog: log.New(io.Discard, "", 0), // the client sees errors of the proxy
	})
	t.Cleanup(b.Close)
	return b
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// turn returns the servers in the order in which they are to be tried.
func (b *balancer) turn() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	var order []string
	for i := range b.hosts {
		order = append(order, b.hosts[(b.next+i)%len(b.hosts)])
	}
	return order
}

func (b *balancer) add(t *testing.T, server *served) {
	t.Helper()
	u, err := url.Parse(server.url)
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts = append(b.hosts, u.Host)
}

// ledger is a provider with its own records: its requests, its answers, and which of its answers were
// acknowledged. It makes a new resource for each Create, so that a lost acknowledged answer
// shows.
type ledger struct {
	*httptest.Server
	t    *testing.T
	ctx  context.Context
	http *http.Client
	all  sync.WaitGroup
	tick atomic.Int64 // orders events

	acknowledged atomic.Int64

	mu      sync.Mutex
	asked   map[string]int     // how often, by RequestId
	things  map[string]*answer // by physical id
	deleted map[string]bool    // physical ids whose deletion was acknowledged
}

// answer is one that brought a thing to be. The times are those of ledger.tick; 0 is never.
type answer struct {
	request       string
	sent, settled int64
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{t: t, http: awshttp.Client(), asked: map[string]int{}, things: map[string]*answer{}, deleted: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	l.ctx = ctx
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a ask
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
		l.take(a)
	}))
	t.Cleanup(func() {
		l.Close()
		cancel()
		l.all.Wait()
	})
	return l
}

// ask is a request to the provider.
type ask struct {
	RequestType, RequestId, StackId, LogicalResourceId, PhysicalResourceId, ResponseURL string
}

func (l *ledger) take(a ask) {
	now := l.tick.Add(1)
	id := a.PhysicalResourceId
	l.mu.Lock()
	l.asked[a.RequestId]++
	if a.RequestType == "Create" {
		id = fmt.Sprintf("thing-%s-%d", a.LogicalResourceId, now)
		l.things[id] = &answer{request: a.RequestId, sent: now}
	}
	l.mu.Unlock()
	body, err := json.Marshal(map[string]string{
		"Status": "SUCCESS", "PhysicalResourceId": id, "StackId": a.StackId, "RequestId": a.RequestId, "LogicalResourceId": a.LogicalResourceId,
	})
	if err != nil {
		l.t.Error(err)
	}
	l.all.Go(func() {
		if !l.put(a.ResponseURL, body) {
			return
		}
		l.acknowledged.Add(1)
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.RequestType == "Create" {
			l.things[id].settled = l.tick.Add(1)
		} else {
			l.deleted[id] = true
		}
	})
}

// put sends an answer until it is acknowledged.
func (l *ledger) put(to string, body []byte) bool {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for ; ; <-again.C {
		put, err := http.NewRequestWithContext(l.ctx, http.MethodPut, to, bytes.NewReader(body))
		if err != nil {
			l.t.Error(err)
			return false
		}
		response, err := l.http.Do(put)
		switch {
		case l.ctx.Err() != nil:
			return false
		case err != nil:
			continue
		}
		_ = response.Body.Close() // only its status is needed
		switch {
		case response.StatusCode == http.StatusOK:
			return true
		case response.StatusCode < 500:
			l.t.Errorf("an answer was refused with %s", response.Status)
			return false
		}
	}
}

// kept reports whether a stack that holds this thing has kept all that was acknowledged: an answer to the same request may
// only stand in for one that was acknowledged if it was under way by then.
func (l *ledger) kept(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	holds := l.things[id]
	if holds == nil {
		return fmt.Errorf("the stack holds %s, which was never made", id)
	}
	for other, a := range l.things {
		if a.request == holds.request && a.settled != 0 && a.settled < holds.sent {
			return fmt.Errorf("the stack holds %s, and %s was acknowledged before that was made", id, other)
		}
	}
	return nil
}

// repeats returns how many requests came more than once.
func (l *ledger) repeats() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, times := range l.asked {
		if times > 1 {
			n++
		}
	}
	return n
}

// await waits until so many more answers were acknowledged.
func (l *ledger) await(more int64) {
	l.t.Helper()
	aim := l.acknowledged.Load() + more
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); l.acknowledged.Load() < aim; <-tick.C {
		if time.Now().After(deadline) {
			l.t.Fatalf("only %d answers were acknowledged of %d", l.acknowledged.Load(), aim)
		}
	}
}

// workload creates and deletes stacks until it is stopped, and reconciles each with the ledger.
type workload struct {
	t      *testing.T
	client *cloudformation.Client
	ledger *ledger
	stop   chan struct{}
	all    sync.WaitGroup

	operations, failed, lost, forgotten atomic.Int64
}

// load begins a workload of several stacks at a time, each of a few chains of resources.
func load(t *testing.T, l *ledger, at string, workers int) *workload {
	w := &workload{t: t, ledger: l, stop: make(chan struct{}), client: cloudformation.New(cloudformation.Options{
		BaseEndpoint: aws.String(at), Region: "us-east-1", HTTPClient: awshttp.Client(), RetryMaxAttempts: 20,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})}
	for worker := range workers {
		w.all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-w.stop:
					return
				default:
					w.live(fmt.Sprintf("stack-%d-%d", worker, n))
				}
			}
		})
	}
	return w
}

// end ends the workload: every operation that was begun is waited for.
func (w *workload) end() {
	close(w.stop)
	w.all.Wait()
}

// live is one stack's whole life.
func (w *workload) live(name string) {
	var resources []string
	for chain := range 2 {
		for n := range 3 {
			after := ""
			if n > 0 {
				after = fmt.Sprintf(`, "DependsOn": "R%d%d"`, chain, n-1)
			}
			resources = append(resources, fmt.Sprintf(`"R%d%d": {"Type": "Custom::Thing", "Properties": {"ServiceToken": %q}%s}`, chain, n, w.ledger.URL, after))
		}
	}
	ctx := context.Background()
	created, err := w.client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: aws.String(`{"Resources": {` + strings.Join(resources, ", ") + `}}`),
	})
	id := name
	var exists *types.AlreadyExistsException
	switch {
	case err == nil:
		id = aws.ToString(created.StackId)
	case !errors.As(err, &exists): // a repeated call got this error
		w.t.Errorf("create %s: %v", name, err)
		return
	}
	if !w.ends(id, types.StackStatusCreateComplete) {
		return
	}
	held, err := w.client.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &id})
	if err != nil || len(held.StackResources) != len(resources) {
		w.t.Errorf("describe %s: %d resources, error %v", name, len(held.StackResources), err)
		return
	}
	for _, resource := range held.StackResources {
		id = aws.ToString(resource.StackId)
		if err := w.ledger.kept(aws.ToString(resource.PhysicalResourceId)); err != nil {
			w.lost.Add(1)
			w.t.Error(err)
		}
	}
	if _, err := w.client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &id}); err != nil {
		w.t.Errorf("delete %s: %v", name, err)
		return
	}
	if !w.ends(id, types.StackStatusDeleteComplete) {
		return
	}
	for _, resource := range held.StackResources {
		w.ledger.mu.Lock()
		sent := w.ledger.deleted[aws.ToString(resource.PhysicalResourceId)]
		w.ledger.mu.Unlock()
		if !sent && !w.settles(aws.ToString(resource.PhysicalResourceId)) {
			w.forgotten.Add(1)
			w.t.Errorf("%s is gone, and the deletion of %s was never asked for", name, aws.ToString(resource.PhysicalResourceId))
		}
	}
}

// settles waits until the provider has heard that its word of a deletion was taken.
func (w *workload) settles(id string) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		w.ledger.mu.Lock()
		deleted := w.ledger.deleted[id]
		w.ledger.mu.Unlock()
		if deleted {
			return true
		}
	}
	return false
}

// ends waits until a stack's operation has finished, and reports whether it ended well.
func (w *workload) ends(id string, want types.StackStatus) bool {
	w.operations.Add(1)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); <-tick.C {
		out, err := w.client.DescribeStacks(context.Background(), &cloudformation.DescribeStacksInput{StackName: &id})
		if err != nil {
			last = err.Error()
			continue
		}
		status := out.Stacks[0].StackStatus
		if last = string(status); strings.HasSuffix(last, "_IN_PROGRESS") {
			continue
		}
		if status != want {
			w.failed.Add(1)
			w.t.Errorf("stack %s ended as %s: %s", id, status, aws.ToString(out.Stacks[0].StackStatusReason))
		}
		return status == want
	}
	w.forgotten.Add(1)
	w.t.Errorf("stack %s never became %s; it is %s", id, want, last)
	return false
}
