package forward_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

const region = "us-east-1"

// world is an engine whose types of the service Test are forwarded to an endpoint. Requests from the engine wait in
// inbox until the test serves them.
type world struct {
	*crash
	t        *testing.T
	endpoint *forwardtest.Endpoint
	store    store.Store
	types    *native.Registry
	engine   *engine.Engine
	inbox    []store.Request
	ids      int
	config   forward.Config
	account  string
	verify   bool // the identity behind the endpoint
	unknown  engine.UnknownTypes
}

// crash is a process that dies at one of its steps: a write of a row or a call of the endpoint.
type crash struct {
	store.Store
	at     int  // the step at which it dies; 0 for never
	after  bool // it dies after the step has had its effect
	cancel context.CancelFunc

	mu    sync.Mutex
	steps int // so far
	dead  bool
}

var errDead = errors.New("the process is dead")

func (c *crash) step(do func() error) error {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return errDead
	}
	c.steps++
	dies := c.steps == c.at
	c.dead = dies
	c.mu.Unlock()
	if !dies {
		return do()
	}
	if c.after {
		_ = do() // the process does not see the result
	}
	if c.cancel != nil {
		c.cancel()
	}
	return errDead
}

func (c *crash) PutEntry(ctx context.Context, entry store.Entry) (version int64, err error) {
	err = c.step(func() (err error) {
		version, err = c.Store.PutEntry(ctx, entry)
		return err
	})
	return version, err
}

func (c *crash) DropEntry(ctx context.Context, key store.EntryKey, version int64) error {
	return c.step(func() error { return c.Store.DropEntry(ctx, key, version) })
}

// RoundTrip implements http.RoundTripper.
func (c *crash) RoundTrip(r *http.Request) (response *http.Response, err error) {
	err = c.step(func() (err error) {
		response, err = http.DefaultTransport.RoundTrip(r) //nolint:bodyclose // the caller closes it
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	endpoint := forwardtest.Start(t)
	w := newWorldAt(t, endpoint.URL, forwardtest.Account, "AWS::Test::*")
	w.endpoint = endpoint
	return w
}

// newWorldAt returns a world with another endpoint.
func newWorldAt(t *testing.T, url, account string, forwarded ...string) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: rows, crash: &crash{Store: rows}, account: account}
	w.config = forward.Config{
		Rules: []forward.Rule{{Types: forwarded, Endpoint: url}}, Catalog: registry.New(w.crash),
		Key: []byte("key"), Account: w.account, Backoff: time.Millisecond, RetryFor: 50 * time.Millisecond, Within: time.Minute,
		Client: func(_ context.Context, r forward.Rule, region string) (*awscall.Client, error) {
			return awscall.New(awscall.Config{
				Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), Endpoint: r.Endpoint, MaxAttempts: 1,
				HTTP: &http.Client{Transport: w.crash},
			})
		},
	}
	w.open()
	return w
}

// open opens the types and the engine with the current configuration.
func (w *world) open() {
	w.t.Helper()
	w.types = w.newTypes()
	var err error
	w.engine, err = engine.Open(w.t.Context(), engine.Config{
		Store: w.store, Alone: true, Native: w.types, UnknownTypes: w.unknown, CleanupPause: time.Millisecond,
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
		NewID: func() string {
			w.ids++
			return fmt.Sprintf("id-%d", w.ids)
		},
	})
	w.must(err)
}

func (w *world) newTypes() *native.Registry {
	w.t.Helper()
	f, err := forward.New(w.config)
	w.must(err)
	if w.verify {
		w.must(f.Verify(w.t.Context(), region))
	}
	types, err := native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "http://127.0.0.1:1/", nil }, Forward: f,
	})
	w.must(err)
	return types
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// thing is a resource of type AWS::Test::Thing as JSON. more follow its properties.
func thing(properties string, more ...string) string {
	return `{"Type": "AWS::Test::Thing", "Properties": {` + properties + `}` + strings.Join(append([]string{""}, more...), ", ") + `}`
}

// template returns a template with resources by logical ID, and outputs, all as JSON.
func template(resources map[string]string, outputs ...string) string {
	var members []string
	for id, text := range resources {
		members = append(members, `"`+id+`": `+text)
	}
	slices.Sort(members)
	text := `{"Parameters": {"Secret": {"Type": "String", "NoEcho": true, "Default": "hunter2&more"}}, "Resources": {` + strings.Join(members, ", ") + `}`
	if len(outputs) > 0 {
		var list []string
		for i, o := range outputs {
			list = append(list, fmt.Sprintf(`"O%d": {"Value": %s}`, i, o))
		}
		text += `, "Outputs": {` + strings.Join(list, ", ") + `}`
	}
	return text + `}`
}

// create creates a stack, serves its requests and returns its last status.
func (w *world) create(stack, text string, tags ...store.Tag) string {
	w.t.Helper()
	in := engine.CreateStack{
		Name: w.stackName(stack), Template: text, Options: options(tags),
	}
	_, err := w.engine.Create(w.t.Context(), in)
	if w.dead { // the client calls again
		w.dead, w.at = false, 0
		w.open()
		_, err = w.engine.Create(w.t.Context(), in)
	}
	w.must(err)
	return w.serveAll(stack)
}

func (w *world) update(stack, text string, tags ...store.Tag) string {
	w.t.Helper()
	_, err := w.engine.Update(w.t.Context(), engine.UpdateStack{Stack: w.ref(stack), Template: text, Options: options(tags)})
	w.must(err)
	return w.serveAll(stack)
}

func (w *world) delete(stack string) string {
	w.t.Helper()
	_, err := w.engine.Delete(w.t.Context(), engine.DeleteStack{Stack: w.ref(stack)})
	w.must(err)
	return w.serveAll(stack)
}

func (w *world) ref(stack string) engine.Ref {
	return engine.Ref{Account: w.account, Region: region, Stack: string(w.stack(stack).ID)}
}

// stack returns the newest stack with a name, deleted or not.
func (w *world) stack(name string) store.Stack {
	w.t.Helper()
	stacks, err := w.store.Stacks(w.t.Context(), w.account, region, true, 0, 100)
	w.must(err)
	for _, s := range stacks {
		if s.Name == name {
			return s
		}
	}
	w.t.Fatalf("there is no stack %s", name)
	return store.Stack{}
}

// serveAll serves requests, like package delivery, until none is left. A request during which the process dies is
// served again.
func (w *world) serveAll(stack string) string {
	w.t.Helper()
	for len(w.inbox) > 0 {
		r := w.inbox[0]
		w.inbox = w.inbox[1:]
		result, err := w.serve(&r)
		outcome := engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}
		if err != nil {
			outcome.Text = err.Error()
		}
		w.must(w.engine.Report(w.t.Context(), r.ID, outcome))
	}
	s := w.stack(stack)
	return engine.CloudFormation.StackStatus(s.Kind, s.Phase)
}

func (w *world) serve(r *store.Request) (native.Result, error) {
	for {
		ctx, cancel := context.WithCancel(w.t.Context())
		w.cancel = cancel
		result, err := w.types.Serve(ctx, r)
		cancel()
		if !w.dead {
			return result, err
		}
		w.dead, w.at = false, 0 // a new process
		w.types = w.newTypes()
	}
}

// events returns the events of a stack's resources, the oldest first: the resource, its status and the reason.
func (w *world) events(stack string) []string {
	w.t.Helper()
	rows, err := w.store.Events(w.t.Context(), w.stack(stack).Key, store.EventCursor{}, 1000)
	w.must(err)
	slices.Reverse(rows)
	var lines []string
	for _, row := range rows {
		for _, e := range row.Events {
			if e.Phase != "" {
				continue
			}
			line := string(e.Logical) + " " + engine.CloudFormation.ResourceStatus(e.Verb, e.Progress) + " " + string(e.Physical)
			if e.Reason != "" {
				line += ": " + e.Reason
			}
			if strings.Contains(line+e.Properties, "hunter2") {
				w.t.Errorf("an event has a secret: %s %s", line, e.Properties)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// wantEvent fails the test unless an event of the stack contains the texts.
func (w *world) wantEvent(stack string, texts ...string) {
	w.t.Helper()
	lines := w.events(stack)
	for _, line := range lines {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return
		}
	}
	w.t.Errorf("no event of %s has %q:\n%s", stack, texts, strings.Join(lines, "\n"))
}

// outputs returns the output values of a stack, in the order of their keys.
func (w *world) outputs(stack string) string {
	w.t.Helper()
	var list []string
	for _, m := range w.stack(stack).OutputValues.Members() {
		list = append(list, m.Value.Text())
	}
	return strings.Join(list, " ")
}

// wantStatus compares the status of a stack.
func (w *world) wantStatus(stack, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Fatalf("status %s, want %s:\n%s", got, want, strings.Join(w.events(stack), "\n"))
	}
}

// wantLive compares the resources that exist at the endpoint, and fails the test if stacks are left without one.
func (w *world) wantLive(ids ...string) {
	w.t.Helper()
	if got := w.endpoint.Live(); !slices.Equal(got, ids) {
		w.t.Errorf("the endpoint has the resources %q, want %q", got, ids)
	}
}

// wantMade compares how many resources were ever created.
func (w *world) wantMade(n int) {
	w.t.Helper()
	if got := len(w.endpoint.Ledger()); got != n {
		w.t.Errorf("%d resources were created, want %d: %+v", got, n, w.endpoint.Ledger())
	}
}

// wantRows compares the number of rows about inner stacks and their resources.
func (w *world) wantRows(n int) {
	w.t.Helper()
	rows, err := registry.New(w.store).Forwarded.List(w.t.Context(), registry.Scope{Account: w.account, Region: region}, "", 100)
	w.must(err)
	if len(rows) != n {
		w.t.Errorf("there are %d rows, want %d: %+v", len(rows), n, rows)
	}
}

func (w *world) stackName(name string) store.StackName {
	return store.StackName{Account: w.account, Region: region, Name: name}
}

func options(tags []store.Tag) engine.Options {
	return engine.Options{Tags: tags, Capabilities: []string{"CAPABILITY_NAMED_IAM"}}
}
