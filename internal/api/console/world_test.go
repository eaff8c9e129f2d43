package console_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "000000000000"
	region  = "eu-west-1"
	token   = "arn:aws:sns:eu-west-1:84969EXAMPLE:CRTest"
)

// world is an engine with a console on a local server. The test answers for the providers.
type world struct {
	t       *testing.T
	ctx     context.Context
	engine  *engine.Engine
	store   store.Store
	console *console.Console
	url     string
	stop    context.CancelFunc
	ended   chan error
	log     locked

	mu      sync.Mutex
	now     time.Time
	inbox   []store.Request
	actions []console.Action
}

// locked is a log that goroutines share.
type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *locked) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *locked) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// keysFile has the keys of an operator, a viewer, a user without a role, and a user of another account.
const keysFile = `[one]
aws_access_key_id = AKIAOPERATOR
aws_secret_access_key = operators-own-secret
pintle_console = operator
[two]
aws_access_key_id = AKIAVIEWER
aws_secret_access_key = viewers-own-secret
pintle_console = viewer
[three]
aws_access_key_id = AKIAPLAIN
aws_secret_access_key = plain-keys-own-secret
[four]
aws_access_key_id = AKIAOTHER
aws_secret_access_key = others-own-secret
aws_account_id = 111111111111
pintle_console = operator
`

func newWorld(t *testing.T, change func(*console.Config, *server.Config)) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), ended: make(chan error, 1), now: time.Now()}
	var err error
	w.store, err = memory.New(memory.Config{})
	w.must(err)
	keys, err := sigv4.Parse([]byte(keysFile))
	w.must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.url = "http://" + listener.Addr().String()
	base, err := url.Parse(w.url + "/" + server.ResponsePath)
	w.must(err)
	signer, err := responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{base}})
	w.must(err)
	w.engine, err = engine.Open(w.ctx, engine.Config{Store: w.store, Alone: true, Dispatch: w.deliver})
	w.must(err)
	log := slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	pages := console.Config{
		Engine: w.engine, Rows: w.store, Key: []byte("sixteen bytes or more"), Keys: keys.Lookup, Version: "test", Log: log,
		Look: time.Millisecond, Now: w.clock,
		Record: func(_ context.Context, a console.Action) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.actions = append(w.actions, a)
		},
		Progress: func(wire.RequestID) string { return "its provider starts" },
		Logs: func(context.Context, wire.RequestID) ([]string, error) {
			return []string{"a line that it <printed>"}, nil
		},
	}
	door := server.Config{Engine: w.engine, Store: w.store, Signer: signer, Dev: true, Listener: listener, Log: log}
	if change != nil {
		change(&pages, &door)
	}
	w.console, err = console.New(pages)
	w.must(err)
	door.Console = w.console
	s, err := server.New(door)
	w.must(err)
	ctx, stop := context.WithCancel(w.ctx)
	w.stop = stop
	go func() { w.ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-w.ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) deliver(ready []store.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inbox = append(w.inbox, ready...)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// resource returns the JSON of a custom resource.
func resource(properties string, attributes ...string) string {
	if properties != "" {
		properties = ", " + properties
	}
	return `{"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `"` + properties + `}` +
		strings.Join(append([]string{""}, attributes...), ", ") + `}`
}

// resources returns a template with resources, given as pairs of name and JSON.
func resources(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf("%q: %s", pairs[i], pairs[i+1]))
	}
	return `{"Resources": {` + strings.Join(list, ", ") + `}}`
}

func nameOf(name string) store.StackName {
	return store.StackName{Account: account, Region: region, Name: name}
}

func refOf(name string) engine.Ref { return engine.Ref{Account: account, Region: region, Stack: name} }

func (w *world) create(name, template string, options engine.Options) store.Stack {
	w.t.Helper()
	_, err := w.engine.Create(w.ctx, engine.CreateStack{Name: nameOf(name), Template: template, Options: options})
	w.must(err)
	return w.stack(name)
}

func (w *world) update(name, template string, options engine.Options) {
	w.t.Helper()
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: refOf(name), Template: template, Options: options})
	w.must(err)
}

// stack returns a live stack.
func (w *world) stack(name string) store.Stack {
	w.t.Helper()
	stack, err := w.store.LiveStack(w.ctx, nameOf(name))
	w.must(err)
	return stack
}

func (w *world) status(name string) string {
	w.t.Helper()
	stack := w.stack(name)
	return engine.CloudFormation.StackStatus(stack.Kind, stack.Phase)
}

// take returns the next request for a resource and marks it as delivered.
func (w *world) take(logical string) store.Request {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, r := range w.inbox {
		if string(r.Logical) == logical {
			w.inbox = append(w.inbox[:i:i], w.inbox[i+1:]...)
			w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Accepted}))
			return r
		}
	}
	w.t.Fatalf("nothing was asked of %s; the inbox has %d requests", logical, len(w.inbox))
	return store.Request{}
}

// answer answers a request with members of a response.
func (w *world) answer(r store.Request, members string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"StackId": %q, "RequestId": %q, "LogicalResourceId": %q, %s}`, r.Body.StackID, r.ID, r.Logical, members)
	w.must(w.engine.Answer(w.ctx, r.ID, []byte(body), 0))
}

func (w *world) succeed(logical, id string) {
	w.t.Helper()
	w.answer(w.take(logical), `"Status": "SUCCESS", "PhysicalResourceId": "`+id+`"`)
}

func (w *world) fail(logical, id, reason string) {
	w.t.Helper()
	w.answer(w.take(logical), `"Status": "FAILED", "PhysicalResourceId": "`+id+`", "Reason": "`+reason+`"`)
}

// audit returns the texts of a stack's audit list, newest first.
func (w *world) audit(stack store.Stack) string {
	w.t.Helper()
	rows, err := w.store.Audit(w.ctx, stack.Key, 100)
	w.must(err)
	var texts []string
	for _, row := range rows {
		texts = append(texts, row.Text)
	}
	return strings.Join(texts, "\n")
}

// recorded returns the names of the recorded actions, in order, with ! before rejected ones.
func (w *world) recorded() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, a := range w.actions {
		name := a.Name
		if a.Refused != "" {
			name = "!" + name
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// browser is a client with cookies that follows redirects.
type browser struct {
	*world
	client *http.Client
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &browser{w, &http.Client{Jar: jar}}
}

// as returns a browser with a session that a link began.
func (w *world) as(role console.Role) *browser {
	w.t.Helper()
	path, err := w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: role})
	w.must(err)
	b := w.browser()
	if code, body := b.get(path); code != 200 || !strings.Contains(body, "somebody ("+string(role)+")") {
		w.t.Fatalf("sign-in: %d\n%s", code, body)
	}
	return b
}

// with returns a browser with the session of an access key.
func (w *world) with(id, secret string) *browser {
	w.t.Helper()
	b := w.browser()
	if code, body := b.post("/console/sign-in", url.Values{"key": {id}, "secret": {secret}}); code != 200 || !strings.Contains(body, id) {
		w.t.Fatalf("sign-in: %d\n%s", code, body)
	}
	return b
}

func (b *browser) send(method, path, form string, header http.Header) (int, http.Header, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, method, b.url+path, strings.NewReader(form))
	b.must(err)
	for name, values := range header {
		r.Header[name] = values
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	reply, err := b.client.Do(r)
	b.must(err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	b.must(err)
	return reply.StatusCode, reply.Header, string(text)
}

func (b *browser) get(path string) (int, string) {
	b.t.Helper()
	code, _, body := b.send(http.MethodGet, path, "", nil)
	return code, body
}

// page returns a page, which must exist.
func (b *browser) page(path string) string {
	b.t.Helper()
	code, body := b.get(path)
	if code != 200 {
		b.t.Fatalf("%s: %d\n%s", path, code, body)
	}
	return body
}

func (b *browser) post(path string, form url.Values) (int, string) {
	b.t.Helper()
	code, _, body := b.send(http.MethodPost, path, form.Encode(), http.Header{"Origin": {b.url}})
	return code, body
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token returns the token of the session's forms.
func (b *browser) token() string {
	b.t.Helper()
	found := tokenField.FindStringSubmatch(b.page("/console/"))
	if found == nil {
		b.t.Fatal("the page has no form")
	}
	return html.UnescapeString(found[1])
}

// act posts a form with the session's token.
func (b *browser) act(path string, pairs ...string) (int, string) {
	b.t.Helper()
	form := url.Values{"token": {b.token()}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return b.post(path, form)
}

// done is act for an action that must succeed.
func (b *browser) done(path string, pairs ...string) string {
	b.t.Helper()
	code, body := b.act(path, pairs...)
	if code != 200 || !strings.Contains(body, `class="notice"`) {
		b.t.Fatalf("%s: %d\n%s", path, code, body)
	}
	return body
}

func pathOf(stack store.Stack, parts ...string) string {
	return "/console/stacks/" + strings.Join(append([]string{url.PathEscape(string(stack.ID))}, parts...), "/")
}

func wants(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %q:\n%s", what, part, text)
		}
	}
}

func lacks(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s has %q:\n%s", what, part, text)
		}
	}
}
