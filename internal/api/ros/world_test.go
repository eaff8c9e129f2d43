package ros_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/api/ros"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "0000123456789012"
	region  = "cn-hangzhou"
)

// object is a JSON object in a response.
type object = map[string]any

// world is the API in front of an engine with an in-memory store. Requests of the engine wait until the test answers
// for the provider.
type world struct {
	t       *testing.T
	store   store.Store
	engine  *engine.Engine
	service *rpc.Service

	// clock is the offset of the database's clock in nanoseconds.
	clock atomic.Int64

	mu    sync.Mutex
	inbox []store.Request
	// silent is the error of providers that are asked for what they declare.
	silent error
}

func newWorld(t *testing.T, change ...func(*ros.Config)) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	w.store, err = memory.New(memory.Config{Now: func() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) }})
	w.must(err)
	w.engine, err = engine.Open(t.Context(), engine.Config{Store: w.store, Alone: true, Dispatch: func(ready []store.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inbox = append(w.inbox, ready...)
	}, Reads: func(context.Context, wire.ServiceToken) (engine.DeclaredTypes, error) {
		return func(resourceType string) bool { return resourceType == "Custom::Readable" }, w.silent
	}})
	w.must(err)
	w.open(change...)
	return w
}

// open opens the API again, with changes to its configuration.
func (w *world) open(change ...func(*ros.Config)) {
	w.t.Helper()
	config := ros.Config{
		Engine: w.engine, Rows: w.store, Texts: fetch.New(fetch.Config{AllowPrivate: true}),
		Caller: func(context.Context) (ros.Caller, bool) { return ros.Caller{Account: account, ID: "42"}, true },
	}
	for _, f := range change {
		f(&config)
	}
	var err error
	w.service, err = ros.New(config)
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// ask calls an action with pairs of parameters, in the region of the tests, and returns the response.
func (w *world) ask(action string, pairs ...string) (int, object) {
	w.t.Helper()
	parameters := url.Values{"RegionId": {region}}
	for i := 0; i < len(pairs); i += 2 {
		parameters.Set(pairs[i], pairs[i+1])
	}
	recorder := httptest.NewRecorder()
	w.service.Serve(recorder, httptest.NewRequest("POST", "http://localhost/", nil), &rpc.Call{Action: action, Version: ros.Version, Parameters: parameters})
	var reply object
	w.must(json.Unmarshal(recorder.Body.Bytes(), &reply))
	return recorder.Code, reply
}

// call is ask for a call that must succeed.
func (w *world) call(action string, pairs ...string) object {
	w.t.Helper()
	status, reply := w.ask(action, pairs...)
	if _, coded := reply["Code"]; status != 200 || coded {
		w.t.Fatalf("%s: %d %v", action, status, reply)
	}
	return reply
}

// refused is ask for a call that must fail. It returns status, code and message.
func (w *world) refused(action string, pairs ...string) string {
	w.t.Helper()
	status, reply := w.ask(action, pairs...)
	return fmt.Sprintf("%d %v: %v", status, reply["Code"], reply["Message"])
}

// answer answers the next request with a status and additional members.
func (w *world) answer(status string, more string) store.Request {
	w.t.Helper()
	w.mu.Lock()
	if len(w.inbox) == 0 {
		w.t.Fatal("no request was handed over")
	}
	r := w.inbox[0]
	w.inbox = w.inbox[1:]
	w.mu.Unlock()
	w.must(w.engine.Report(w.t.Context(), r.ID, engine.Outcome{Kind: engine.Accepted}))
	body := fmt.Sprintf(`{"Status": %q, "StackId": %q, "RequestId": %q, "LogicalResourceId": %q, %s}`, status, r.Body.StackID, r.ID, r.Logical, more)
	w.must(w.engine.Answer(w.t.Context(), r.ID, []byte(body), 0))
	return r
}

// waiting returns the number of requests that wait for an answer.
func (w *world) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inbox)
}

// next returns the request that will be answered next.
func (w *world) next() store.Request {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.inbox) == 0 {
		w.t.Fatal("no request was handed over")
	}
	return w.inbox[0]
}

func (w *world) succeed(id string, data ...string) store.Request {
	w.t.Helper()
	more := fmt.Sprintf(`"PhysicalResourceId": %q`, id)
	if data != nil {
		more += `, "Data": ` + data[0]
	}
	return w.answer("SUCCESS", more)
}

func (w *world) fail(reason string) {
	w.t.Helper()
	w.answer("FAILED", fmt.Sprintf(`"Reason": %q`, reason))
}

// status returns the status of a stack.
func (w *world) status(id string) string {
	w.t.Helper()
	return w.call("GetStack", "StackId", id)["Status"].(string)
}

// plain returns a template with one resource.
func plain(parameters string) string {
	return `{"ROSTemplateFormatVersion": "2015-09-01", "Description": "A thing.", "Resources": {"A": ` + thing(parameters) + `}}`
}

func thing(parameters string) string {
	return `{"Type": "Custom::Thing", "Properties": {"ServiceToken": "web:http://localhost/", "Parameters": {` + parameters + `}}}`
}

// create creates a stack with the template plain, and waits until it is complete.
func (w *world) create(name, parameters string, more ...string) string {
	w.t.Helper()
	id := w.call("CreateStack", append([]string{"StackName", name, "TemplateBody", plain(parameters)}, more...)...)["StackId"].(string)
	w.succeed("a")
	return id
}

// names returns one member of each item of a list.
func names(list any, member string) string {
	var all []string
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, fmt.Sprint(item.(object)[member]))
	}
	return strings.Join(all, " ")
}

// byKey returns a list of keys and values as a map.
func byKey(list any, key, value string) object {
	made := object{}
	items, _ := list.([]any)
	for _, item := range items {
		made[item.(object)[key].(string)] = item.(object)[value]
	}
	return made
}

// broken is an engine that fails every lookup.
type broken struct{ ros.Engine }

func (broken) Find(context.Context, engine.Ref) (store.Stack, error) {
	return store.Stack{}, errors.New("the database is hunter2")
}
