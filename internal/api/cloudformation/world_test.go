package cloudformation_test

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "123456789012"
	region  = "eu-west-1"
	token   = "arn:aws:sns:eu-west-1:84969EXAMPLE:CRTest"
)

// world is the API in front of an engine with an in-memory store, on a local socket. Requests of the engine wait until
// the test answers for the provider.
type world struct {
	t      *testing.T
	store  store.Store
	engine *engine.Engine
	url    string
	client *sdk.Client

	mu    sync.Mutex
	inbox []store.Request
	// declared are the providers that were asked which types they read.
	declared []wire.ServiceToken
	// silent is the error of providers that cannot be asked, or nil.
	silent error
}

func newWorld(t *testing.T, change ...func(*world, *cloudformation.Config)) *world {
	t.Helper()
	w := &world{t: t}
	var err error
	w.store, err = memory.New(memory.Config{})
	w.must(err)
	w.engine, err = engine.Open(t.Context(), engine.Config{Store: w.store, Alone: true, Dispatch: func(ready []store.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inbox = append(w.inbox, ready...)
	}, Reads: func(_ context.Context, token wire.ServiceToken) (engine.DeclaredTypes, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.declared = append(w.declared, token)
		return func(resourceType string) bool { return resourceType == "Custom::Readable" }, w.silent
	}})
	w.must(err)
	config := cloudformation.Config{
		Engine: w.engine, Rows: w.store, Texts: fetch.New(fetch.Config{AllowPrivate: true}),
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: account, Region: region}, true
		},
	}
	for _, f := range change {
		f(w, &config)
	}
	service, err := cloudformation.New(config)
	w.must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	server := &http.Server{Handler: service}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	w.url = "http://" + listener.Addr().String()
	w.client = sdk.New(sdk.Options{
		BaseEndpoint: &w.url, Region: region, RetryMaxAttempts: 1, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// create creates a stack and answers for its providers until it is complete.
func (w *world) create(in *sdk.CreateStackInput) string {
	w.t.Helper()
	out, err := w.client.CreateStack(w.t.Context(), in)
	w.must(err)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	return *out.StackId
}

// take removes and returns the dispatched requests.
func (w *world) take() []store.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.inbox
	w.inbox = nil
	return taken
}

// provide answers requests until none are left. members are added to the copied members of the response, and %s in them
// is the logical ID.
func (w *world) provide(members string) {
	w.t.Helper()
	for requests := w.take(); len(requests) > 0; requests = w.take() {
		for _, r := range requests {
			w.answer(r, members)
		}
	}
}

func (w *world) answer(r store.Request, members string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"StackId": %q, "RequestId": %q, "LogicalResourceId": %q, %s}`,
		r.Body.StackID, r.ID, r.Logical, strings.ReplaceAll(members, "%s", string(r.Logical)))
	w.must(w.engine.Report(w.t.Context(), r.ID, engine.Outcome{Kind: engine.Accepted}))
	w.must(w.engine.Answer(w.t.Context(), r.ID, []byte(body), 0))
}

// post sends a form unchanged and returns the status and the body of the response.
func (w *world) post(form string) (int, string) {
	w.t.Helper()
	reply, err := http.Post(w.url, "application/x-www-form-urlencoded", strings.NewReader("Version=2010-05-15&"+form))
	w.must(err)
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	w.must(err)
	return reply.StatusCode, string(body)
}

// refusal sends a form and returns the error as "status code: message", or the body if the call succeeds.
func (w *world) refusal(form string) string {
	w.t.Helper()
	status, body := w.post(form)
	var reply struct {
		Error struct{ Code, Message string }
	}
	if xml.Unmarshal([]byte(body), &reply) != nil || reply.Error.Code == "" {
		return fmt.Sprintf("%d %s", status, body)
	}
	return fmt.Sprintf("%d %s: %s", status, reply.Error.Code, reply.Error.Message)
}

// resource returns the JSON of a custom resource. members are added to it.
func resource(properties string, members ...string) string {
	if properties != "" {
		properties = ", " + properties
	}
	more := ""
	for _, m := range members {
		more += ", " + m
	}
	return `{"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `"` + properties + `}` + more + `}`
}

func escape(text string) string { return url.QueryEscape(text) }

// fixed is a template of one resource.
var fixed = `{"Resources": {"R": ` + resource("") + `}}`

var str = aws.String
