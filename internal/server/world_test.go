package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/cloud/ssm/ssmapi"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	region = "eu-west-1"
	token  = "arn:aws:sns:eu-west-1:84969EXAMPLE:CRTest"
)

// world is a server on a local socket, with an engine on a memory store behind it. Requests from the engine wait
// until the test plays the provider.
type world struct {
	t      *testing.T
	store  store.Store
	engine *engine.Engine
	signer *responseurl.Signer
	types  *native.Registry
	server *server.Server
	base   *url.URL // of response URLs
	url    string
	log    lockedBuffer

	stop  context.CancelFunc
	ended chan error

	mu    sync.Mutex
	inbox []store.Request
	// dispatch, if set, gets requests instead of the inbox.
	dispatch func([]store.Request)
}

// lockedBuffer is a log that goroutines share.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newWorld starts a development server. change may be nil.
func newWorld(t *testing.T, change func(*world, *server.Config)) *world {
	t.Helper()
	w := &world{t: t, ended: make(chan error, 1)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.url = "http://" + listener.Addr().String()
	w.base, err = url.Parse(w.url + "/" + server.ResponsePath)
	w.must(err)
	w.signer, err = responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{w.base}})
	w.must(err)
	signals := w.base.JoinPath("..", server.SignalPath)
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{signals}})
	w.must(err)
	w.types, err = native.CloudFormation(native.Config{SignalURL: func(key responseurl.ResponseKey, region string) (string, error) {
		return signer.Sign(signals, key, time.Now(), responseurl.SignOptions{Region: region})
	}})
	w.must(err)
	w.store, err = memory.New(memory.Config{})
	w.must(err)
	own := registry.New(w.store)
	parameters, err := ssmapi.New(ssmapi.Config{
		Store: ssm.NewOwn(w.store), Tags: own.Tags, Records: own.Records, Partition: wire.Partition, Caller: sigv4.Caller,
	})
	w.must(err)
	config := server.Config{
		Signer: w.signer, Signals: signer, Dev: true, Listener: listener, Version: "test",
		Services: map[string]server.Service{"ssm": server.JSONService(parameters)},
		Log:      slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(w, &config)
	}
	reader, err := ssm.New(ssm.Config{Parameters: ssm.NewOwn(w.store)})
	w.must(err)
	w.engine, err = engine.Open(t.Context(), engine.Config{
		Store: w.store, Alone: true, Dispatch: w.deliver, Native: w.types, Stored: reader.Stored,
	})
	w.must(err)
	config.Engine, config.Store = w.engine, w.store
	w.server, err = server.New(config)
	w.must(err)
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() { w.ended <- w.server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		<-w.ended
	})
	return w
}

func (w *world) deliver(ready []store.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dispatch != nil {
		w.dispatch(ready)
		return
	}
	w.inbox = append(w.inbox, ready...)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// end stops the server and returns the error of Serve.
func (w *world) end() error {
	w.stop()
	err := <-w.ended
	w.ended <- err
	return err
}

// client returns the SDK's client, with any key.
func (w *world) client() *cloudformation.Client {
	return cloudformation.New(cloudformation.Options{
		BaseEndpoint: &w.url, Region: region, RetryMaxAttempts: 1, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
}

// create starts the creation of a stack with one resource and returns its request.
func (w *world) create(name string) store.Request {
	w.t.Helper()
	_, err := w.client().CreateStack(w.t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(template("1"))})
	w.must(err)
	return w.take()
}

// take returns the next dispatched request, and reports to the engine that the provider has accepted it.
func (w *world) take() store.Request {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.inbox) == 0 {
		w.t.Fatal("no request was handed over")
	}
	r := w.inbox[0]
	w.inbox = w.inbox[1:]
	w.must(w.engine.Report(w.t.Context(), r.ID, engine.Outcome{Kind: engine.Accepted}))
	return r
}

func template(size string) string {
	return `{"Resources": {"R": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `", "Size": "` + size + `"}}},
		"Outputs": {"Id": {"Value": {"Ref": "R"}}}}`
}

// responseURL returns the response URL of a request.
func (w *world) responseURL(r store.Request) string {
	w.t.Helper()
	key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
	signed, err := w.signer.Sign(w.base, key, time.Now(), responseurl.SignOptions{})
	w.must(err)
	return signed
}

func success(r store.Request, id string) string {
	return fmt.Sprintf(`{"Status": "SUCCESS", "StackId": %q, "RequestId": %q, "LogicalResourceId": %q, "PhysicalResourceId": %q}`,
		r.Body.StackID, r.ID, r.Logical, id)
}

// put answers like cfn-response: a PUT with an empty content type.
func (w *world) put(target, body string) (int, http.Header, string) {
	w.t.Helper()
	return w.send(http.MethodPut, target, body, http.Header{"Content-Type": {""}})
}

// send sends a request and reads the reply. A Host header sets the request's host.
func (w *world) send(method, target, body string, header http.Header) (int, http.Header, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	w.must(err)
	for name, values := range header {
		r.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	reply, err := http.DefaultClient.Do(r)
	w.must(err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	w.must(err)
	return reply.StatusCode, reply.Header, string(text)
}

// anyKey returns an Authorization header that a development server accepts: well-formed, but with an invalid
// signature.
func anyKey(service string) string {
	return "AWS4-HMAC-SHA256 Credential=AKID/20261121/" + region + "/" + service + "/aws4_request, SignedHeaders=host, Signature=" +
		strings.Repeat("0", 64)
}

// call posts a form with any key.
func (w *world) call(service, form string) (int, string) {
	w.t.Helper()
	status, _, body := w.send(http.MethodPost, w.url+"/", form, http.Header{
		"Authorization": {anyKey(service)}, "Content-Type": {"application/x-www-form-urlencoded"},
	})
	return status, body
}

// status returns a stack's status in the store.
func (w *world) status(name string) string {
	w.t.Helper()
	stack, err := w.engine.Find(w.t.Context(), engine.Ref{Account: "000000000000", Region: region, Stack: name})
	w.must(err)
	return engine.CloudFormation.StackStatus(stack.Kind, stack.Phase)
}
