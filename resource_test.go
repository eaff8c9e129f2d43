package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// world is a server with a bucket in memory for its answers, and a clock that advances without waiting.
type world struct {
	*Server
	mu      sync.Mutex
	log     bytes.Buffer
	answers []wire.Response
	refuse  int // how many PUTs get a 503
	n       int
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	dialect := wire.CloudFormation
	if r.Method == http.MethodPost {
		dialect = wire.ROS
	}
	answer, err := dialect.ParseResponse(body)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	status := http.StatusOK
	if w.refuse > 0 {
		w.refuse--
		status = http.StatusServiceUnavailable
	} else {
		w.answers = append(w.answers, answer)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: r}, nil
}

// fastClock is a clock whose sleeps return immediately.
type fastClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fastClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fastClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return ctx.Err()
}

func (c *fastClock) WithDeadline(ctx context.Context, _ time.Time) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// clockStore gives its server a clock.
type clockStore struct {
	IdempotencyStore
	of clock.Clock
}

func (s clockStore) Clock() clock.Clock { return s.of }

func newClockStore() clockStore {
	now := &fastClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return clockStore{newMemoryStore(0, now), now}
}

func newWorld(t *testing.T, handlers ...Handler) *world {
	t.Helper()
	w := &world{}
	var err error
	w.Server, err = NewServer(ServerConfig{
		Handlers:    handlers,
		Client:      &http.Client{Transport: w},
		Idempotency: newClockStore(),
		Logger:      slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// event returns a request with a new ID.
func (w *world) event(kind RequestType, id PhysicalID, properties, old string) wire.Request {
	w.n++
	r := wire.Request{
		RequestType: kind, ResponseURL: "https://bucket.test/key?X-Amz-Signature=5ec2e7",
		StackID: wire.NewStackID("us-east-1", "123456789012", "web", "5f1a"), RequestID: wire.RequestID(fmt.Sprint("r-", w.n)),
		LogicalResourceID: "Disk", PhysicalResourceID: id, ResourceType: "Custom::Disk", ResourceProperties: json.RawMessage(properties),
	}
	if old != "" {
		r.OldResourceProperties = json.RawMessage(old)
	}
	return r
}

// deliver delivers a request and returns the answer.
func (w *world) deliver(t *testing.T, r wire.Request) wire.Response {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	before := len(w.answers)
	if err := w.ServeEvent(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if len(w.answers) != before+1 {
		t.Fatalf("%d answers to %v", len(w.answers)-before, r)
	}
	return w.answers[before]
}

func (w *world) ask(t *testing.T, kind RequestType, id PhysicalID, properties, old string) string {
	t.Helper()
	return short(w.deliver(t, w.event(kind, id, properties, old)))
}

// short formats a response in one line.
func short(r wire.Response) string {
	text := fmt.Sprintf("%s %s", r.Status, r.PhysicalResourceID)
	if r.Data != nil {
		text += " " + string(r.Data)
	}
	if r.NoEcho {
		text += " NoEcho"
	}
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	return text
}

type diskProperties struct {
	Zone  string `pintle:"required,immutable"`
	Size  int    `pintle:"min=1,default=10"`
	Key   Secret
	Fails string
}

type diskAttributes struct {
	Path string
	Key  *Secret `json:",omitempty"`
}

// disks is a provider of disks in memory, with sequential IDs.
type disks struct {
	n     int
	there map[PhysicalID]diskProperties
	calls []string
}

func (d *disks) call(method string, r Request, p diskProperties) error {
	d.calls = append(d.calls, strings.TrimSpace(fmt.Sprintf("%s %s %s%d", method, r.ID, p.Zone, p.Size)))
	if p.Fails == method {
		return fmt.Errorf("no %s of %s today", method, p.Key.Reveal())
	}
	return nil
}

func (d *disks) Create(_ context.Context, r *CreateRequest[diskProperties]) (Response[diskAttributes], error) {
	if err := d.call("Create", r.Request, r.Properties); err != nil {
		return Response[diskAttributes]{}, err
	}
	d.n++
	id := PhysicalID(fmt.Sprint("disk-", d.n))
	d.there[id] = r.Properties
	if r.Properties.Fails == "format" {
		return Response[diskAttributes]{ID: id}, errors.New("cannot format")
	}
	return Response[diskAttributes]{ID: id, Attributes: diskAttributes{Path: "/" + string(id)}}, nil
}

func (d *disks) Update(_ context.Context, r *UpdateRequest[diskProperties]) (Response[diskAttributes], error) {
	if err := d.call("Update", r.Request, r.Properties); err != nil {
		return Response[diskAttributes]{}, err
	}
	if _, ok := d.there[r.ID]; !ok {
		return Response[diskAttributes]{}, fmt.Errorf("look up %s: %w", r.ID, ErrGone)
	}
	d.there[r.ID] = r.Properties
	return Response[diskAttributes]{Attributes: diskAttributes{Path: "/" + string(r.ID)}}, nil
}

func (d *disks) Delete(_ context.Context, r *DeleteRequest[diskProperties]) error {
	if err := d.call("Delete", r.Request, r.Properties); err != nil {
		return err
	}
	if _, ok := d.there[r.ID]; !ok {
		return ErrGone
	}
	delete(d.there, r.ID)
	return nil
}

func newDisks() *disks { return &disks{there: map[PhysicalID]diskProperties{}} }

func TestResource(t *testing.T) {
	d := newDisks()
	w := newWorld(t, New(d))
	for _, tt := range []struct {
		name            string
		kind            RequestType
		id              PhysicalID
		properties, old string
		want            string
		calls           string
	}{
		{"create", Create, "", `{"Zone":"a","Size":"5"}`, "", `SUCCESS disk-1 {"Path":"/disk-1"}`, "Create  a5"},
		{"default", Update, "disk-1", `{"Zone":"a"}`, `{"Zone":"a","Size":"5"}`, `SUCCESS disk-1 {"Path":"/disk-1"}`, "Update disk-1 a10"},
		{"unknown property", Update, "disk-1", `{"Zone":"a","size":"7"}`, `{"Zone":"a"}`,
			"FAILED disk-1 (properties: size: is not known, did you mean Size?)", ""},
		{"replaced", Update, "disk-1", `{"Zone":"b"}`, `{"Zone":"a"}`, `SUCCESS disk-2 {"Path":"/disk-2"}`, "Create  b10"},
		{"cleaned up", Delete, "disk-1", `{"Zone":"a"}`, "", "SUCCESS disk-1", "Delete disk-1 a10"},
		{"again", Delete, "disk-1", `{"Zone":"a"}`, "", "SUCCESS disk-1", "Delete disk-1 a10"},
		{"update fails", Update, "disk-2", `{"Zone":"b","Fails":"Update","Key":"hunter2"}`, `{"Zone":"b"}`,
			"FAILED disk-2 (no Update of **** today)", "Update disk-2 b10"},
		{"old properties in a previous format", Update, "disk-2", `{"Zone":"b"}`, `{"Zone":"b","Colour":"red","Size":"0"}`,
			`SUCCESS disk-2 {"Path":"/disk-2"}`, "Update disk-2 b10"},
		{"old properties that cannot be read", Update, "disk-2", `{"Zone":"b"}`, `{"Zone":"b","Size":"big"}`,
			`SUCCESS disk-2 {"Path":"/disk-2"}`, "Update disk-2 b10"},
		{"old properties that cannot be read, and are immutable", Update, "disk-2", `{"Zone":"b"}`, `{"Zone":["b"]}`,
			"FAILED disk-2 (old properties: Zone: want a text; they were accepted once: give the provider a method Migrate that converts them)", ""},
		{"gone", Update, "disk-9", `{"Zone":"b"}`, `{"Zone":"b"}`, `SUCCESS disk-3 {"Path":"/disk-3"}`, "Update disk-9 b10, Create  b10"},
		{"create fails", Create, "", `{"Zone":"a","Fails":"Create"}`, "", "FAILED Pintle::CreateFailed (no Create of  today)", "Create  a10"},
		{"its delete", Delete, CreateFailed, `{"Zone":"a","Fails":"Create"}`, "", "SUCCESS Pintle::CreateFailed", ""},
		{"create fails after creating the resource", Create, "", `{"Zone":"a","Fails":"format"}`, "", "FAILED disk-4 (cannot format)", "Create  a10"},
		{"delete after this failure fails", Delete, "disk-4", `{"Zone":"a","Fails":"format"}`, "", "SUCCESS disk-4", "Delete disk-4 a10"},
		{"create refused", Create, "", `{"Size":"5"}`, "", "FAILED Pintle::CreateFailed (properties: Zone: is missing)", ""},
		{"delete after invalid properties", Delete, "disk-8", `{"Size":"0"}`, "", "SUCCESS disk-8", "Delete disk-8 0"},
	} {
		d.calls = nil
		if got := w.ask(t, tt.kind, tt.id, tt.properties, tt.old); got != tt.want || strings.Join(d.calls, ", ") != tt.calls {
			t.Errorf("%s: %s, %q\nwant %s, %q", tt.name, got, d.calls, tt.want, tt.calls)
		}
	}
	if len(d.there) != 2 { // disk-2, and disk-3 instead of disk-9
		t.Errorf("left: %v", slices.Sorted(maps.Keys(d.there)))
	}
	for _, secret := range []string{"hunter2", "5ec2e7"} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log shows %s:\n%s", secret, &w.log)
		}
	}
}

// A replacement that fails leaves nothing behind, and its rollback keeps the original resource.
func TestReplacementFails(t *testing.T) {
	for _, fails := range []string{"Create", "format"} {
		d := newDisks()
		w := newWorld(t, New(d))
		old, attempted := `{"Zone":"a"}`, `{"Zone":"b","Fails":"`+fails+`"}`
		w.ask(t, Create, "", old, "")
		if got := w.ask(t, Update, "disk-1", attempted, old); !strings.HasPrefix(got, "FAILED disk-1 (") {
			t.Errorf("%s: update: %s", fails, got)
		}
		if got, want := w.ask(t, Update, "disk-1", old, attempted), `SUCCESS disk-1 {"Path":"/disk-1"}`; got != want {
			t.Errorf("%s: rollback: %s, want %s", fails, got, want)
		}
		if len(d.there) != 1 || d.calls[len(d.calls)-1] != "Update disk-1 a10" {
			t.Errorf("%s: left %v after %q", fails, d.there, d.calls)
		}
		// The same change is again a change when it is repeated.
		if got, want := w.ask(t, Update, "disk-1", `{"Zone":"b"}`, old), "SUCCESS disk-"; !strings.HasPrefix(got, want) || strings.HasPrefix(got, "SUCCESS disk-1 ") {
			t.Errorf("%s: second attempt: %s", fails, got)
		}
	}
}

// The note of a failed replacement survives an outage of months: every attempt of the rollback finds it and renews it.
func TestReplacementIsRolledBackLate(t *testing.T) {
	d := newDisks()
	w := newWorld(t, New(d))
	old, attempted := `{"Zone":"a","Fails":"Update"}`, `{"Zone":"b","Fails":"Create"}`
	w.ask(t, Create, "", old, "")
	w.ask(t, Update, "disk-1", attempted, old)
	for _, pause := range []time.Duration{time.Minute, 25 * time.Hour, 300 * 24 * time.Hour, 300 * 24 * time.Hour} {
		_ = w.clock.Sleep(t.Context(), pause)
		if got, want := w.ask(t, Update, "disk-1", old, attempted), "FAILED disk-1 (no Update of  today)"; got != want {
			t.Errorf("after another %v: %s, want %s", pause, got, want)
		}
		if len(d.there) != 1 || d.calls[len(d.calls)-1] != "Update disk-1 a10" {
			t.Errorf("after another %v: left %v after %q", pause, d.there, d.calls)
		}
	}
}

func TestReplacementIsRolledBackAfterItWorked(t *testing.T) {
	d := newDisks()
	w := newWorld(t, New(d))
	w.ask(t, Create, "", `{"Zone":"a"}`, "")
	w.ask(t, Update, "disk-1", `{"Zone":"b"}`, `{"Zone":"a"}`)
	if got, want := w.ask(t, Update, "disk-2", `{"Zone":"a"}`, `{"Zone":"b"}`), `SUCCESS disk-3 {"Path":"/disk-3"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRollbackOfReplacementFails(t *testing.T) {
	d := newDisks()
	w := newWorld(t, New(stubborn{d}))
	w.ask(t, Create, "", `{"Zone":"a"}`, "")
	got := w.ask(t, Update, "disk-1", `{"Zone":"b","Fails":"format"}`, `{"Zone":"a"}`)
	if want := "FAILED disk-1 (cannot format; and disk-2, which it had made, is left behind: stuck)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

type stubborn struct{ *disks }

func (stubborn) Delete(context.Context, *DeleteRequest[diskProperties]) error {
	return errors.New("stuck")
}

func TestAlwaysDelete(t *testing.T) {
	d := newDisks()
	w := newWorld(t, AlwaysDelete(New(d)))
	if got, want := w.ask(t, Create, "", `{"Zone":"a","Fails":"Create"}`, ""), "FAILED r-1 (no Create of  today)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.ask(t, Delete, "r-1", `{"Zone":"a"}`, "")
	if d.calls[len(d.calls)-1] != "Delete r-1 a10" {
		t.Errorf("%q", d.calls)
	}
	// Properties that could not be read for the Create cannot be read for its Delete either, but that Create made no
	// resource.
	d.calls = nil
	if got, want := w.ask(t, Create, "", `{"Zone":"a","Size":"big"}`, ""), "FAILED r-3 (properties: Size: want a whole number, 1 or more)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for id, want := range map[PhysicalID]string{"r-3": "SUCCESS r-3", "disk-7": "FAILED disk-7 (properties: Size: want"} {
		if got := w.ask(t, Delete, id, `{"Zone":"a","Size":"big"}`, ""); !strings.HasPrefix(got, want) || len(d.calls) > 0 {
			t.Errorf("%s, %q, want %s", got, d.calls, want)
		}
	}
}

func TestSecretAttributes(t *testing.T) {
	key := NewSecret("swordfish")
	w := newWorld(t, New(vault{key}))
	if got, want := w.ask(t, Create, "", `{"Zone":"a"}`, ""), `SUCCESS r-1 {"Key":"swordfish","Path":"p"} NoEcho`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if strings.Contains(w.log.String(), "swordfish") {
		t.Errorf("the log shows it:\n%s", &w.log)
	}
	// The same applies to an untyped handler.
	w = newWorld(t, HandlerFunc(func(context.Context, *Request) (Answer, error) {
		return Answer{Attributes: map[string]any{"Key": key}, Reason: "made with swordfish"}, nil
	}))
	if got, want := w.ask(t, Create, "", `{}`, ""), `SUCCESS r-1 {"Key":"swordfish"} NoEcho (made with ****)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

type vault struct{ key Secret }

func (v vault) Create(_ context.Context, r *CreateRequest[diskProperties]) (Response[*diskAttributes], error) {
	r.Log().Info("made "+v.key.String(), "key", v.key, "properties", r.Properties)
	return Response[*diskAttributes]{Attributes: &diskAttributes{Path: "p", Key: &v.key}}, nil
}

func (v vault) Update(context.Context, *UpdateRequest[diskProperties]) (Response[*diskAttributes], error) {
	return Response[*diskAttributes]{}, nil
}

func (v vault) Delete(context.Context, *DeleteRequest[diskProperties]) error { return nil }

// slow is a provider whose operations are done at the third poll.
type slow struct {
	*disks
	key  Secret
	fail error
	got  []string
}

func (s *slow) Create(ctx context.Context, r *CreateRequest[diskProperties]) (Response[diskAttributes], error) {
	response, err := s.disks.Create(ctx, r)
	response.State = map[string]any{"Key": NewSecret("swordfish"), "Looks": 0}
	return response, err
}

func (s *slow) Poll(_ context.Context, r *PollRequest[diskProperties]) (Progress[diskAttributes], error) {
	s.got = append(s.got, fmt.Sprintf("%s %s %s", r.Type, r.ID, r.State))
	if s.fail != nil {
		return Progress[diskAttributes]{}, s.fail
	}
	if r.Type == Delete {
		return Progress[diskAttributes]{}, ErrGone
	}
	var state struct {
		Key   string
		Looks int
	}
	if err := r.DecodeState(&state); err != nil {
		return Progress[diskAttributes]{}, err
	}
	state.Looks++
	if state.Looks == r.Properties.Size {
		return Progress[diskAttributes]{Done: true, Attributes: diskAttributes{Key: &s.key}}, nil
	}
	return Progress[diskAttributes]{State: state, Reason: fmt.Sprintf("%d looked", state.Looks)}, nil
}

func TestReady(t *testing.T) {
	s := &slow{disks: newDisks(), key: NewSecret("swordfish")}
	w := newWorld(t, New(s))
	if got, want := w.ask(t, Create, "", `{"Zone":"a","Size":"3"}`, ""), `SUCCESS disk-1 {"Key":"swordfish","Path":"/disk-1"} NoEcho`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := []string{`Create disk-1 {"Key":"swordfish","Looks":0}`, `Create disk-1 {"Key":"swordfish","Looks":1}`, `Create disk-1 {"Key":"swordfish","Looks":2}`}
	if !reflect.DeepEqual(s.got, want) {
		t.Errorf("looks %q, want %q", s.got, want)
	}
	if got := w.ask(t, Delete, "disk-1", `{"Zone":"a","Size":"3"}`, ""); got != "SUCCESS disk-1" {
		t.Error(got)
	}
	// A resource that never becomes ready fails shortly before the function's deadline, and keeps its ID.
	s.got = nil
	got := w.ask(t, Create, "", `{"Zone":"a","Size":"1000000"}`, "")
	if !strings.HasPrefix(got, "FAILED disk-2 (Operation timed out: not ready after 14m") || len(s.got) < 20 || len(s.got) > 50 {
		t.Errorf("%s after %d looks", got, len(s.got))
	}
	s.fail = errors.New("it burns")
	if got, want := w.ask(t, Create, "", `{"Zone":"a"}`, ""), "FAILED disk-3 (Poll after Create: it burns)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if strings.Contains(w.log.String(), "swordfish") {
		t.Errorf("the log shows the state:\n%s", &w.log)
	}
}

// old is a provider whose properties had another format in an earlier version.
type old struct{ *disks }

func (old) Validate(_ context.Context, r *ValidateRequest[diskProperties]) error {
	p := r.Properties
	if p.Size == 13 {
		return errors.New("13 brings no luck")
	}
	return nil
}

func (old) Migrate(_ context.Context, r *MigrateRequest) error {
	properties := r.Properties
	if zone, ok := properties["Place"]; ok {
		properties["Zone"] = zone
		delete(properties, "Place")
	}
	if properties["Zone"] == "nowhere" {
		return errors.New("nowhere is no zone")
	}
	return nil
}

func TestMigrateAndValidate(t *testing.T) {
	d := newDisks()
	w := newWorld(t, New(old{d}))
	w.ask(t, Create, "", `{"Zone":"a"}`, "")
	for _, tt := range []struct{ kind, properties, old, want string }{
		{"Update", `{"Zone":"a","Size":"4"}`, `{"Place":"a"}`, `SUCCESS disk-1 {"Path":"/disk-1"}`}, // not a replacement
		{"Update", `{"Place":"a"}`, `{"Zone":"a","Size":"4"}`, `SUCCESS disk-1 {"Path":"/disk-1"}`}, // its rollback
		{"Update", `{"Zone":"a","Size":"13"}`, `{"Zone":"a"}`, `FAILED disk-1 (13 brings no luck)`},
		{"Update", `{"Zone":"nowhere"}`, `{"Zone":"a"}`, `FAILED disk-1 (Migrate: nowhere is no zone)`},
		{"Delete", `{"Place":"a","Size":"13"}`, "", "SUCCESS disk-1"},
	} {
		if got := w.ask(t, RequestType(tt.kind), "disk-1", tt.properties, tt.old); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.kind, tt.properties, got, tt.want)
		}
	}
	if len(d.there) != 0 {
		t.Errorf("left: %v", d.there)
	}
}

type wrongReady struct{ *disks }

func (wrongReady) Poll(context.Context, *PollRequest[diskProperties]) (bool, error) {
	return true, nil
}

type badTag struct{}

type badProperties struct {
	A string `pintle:"nonsense"`
}

func (badTag) Create(context.Context, *CreateRequest[badProperties]) (r Response[diskAttributes], err error) {
	return
}
func (badTag) Update(context.Context, *UpdateRequest[badProperties]) (r Response[diskAttributes], err error) {
	return
}
func (badTag) Delete(context.Context, *DeleteRequest[badProperties]) error { return nil }

func TestNewPanics(t *testing.T) {
	for want, make := range map[string]func(){
		"its method Poll has another signature than the package calls, want Poll(context.Context, *pintle.PollRequest": func() { New(wrongReady{}) },
		"provider <nil>: it is nil": func() { New[badProperties, diskAttributes](nil) },
		`provider pintle.badTag: properties: pintle.badProperties.A: tag pintle: "nonsense" is not known`: func() { New(badTag{}) },
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, want) {
					t.Errorf("panic: %s\nwant %s", p, want)
				}
			}()
			make()
		}()
	}
}

func TestRouter(t *testing.T) {
	say := func(text string) Handler {
		return HandlerFunc(func(context.Context, *Request) (Answer, error) { return Answer{ID: PhysicalID(text)}, nil })
	}
	w := newWorld(t, For("Custom::Disk", say("disk")), AlwaysDelete(For("Custom::Tape", say("tape"))))
	for resourceType, want := range map[string]string{
		"Custom::Disk": "SUCCESS disk", "Custom::Tape": "SUCCESS tape",
		"Custom::Disc": `FAILED Pintle::CreateFailed (this provider has no resource type "Custom::Disc", it has Custom::Disk, Custom::Tape; did you mean Custom::Disk?)`,
	} {
		r := w.event(Create, "", "{}", "")
		r.ResourceType = resourceType
		if got := short(w.deliver(t, r)); got != want {
			t.Errorf("%s: %s, want %s", resourceType, got, want)
		}
	}
	w = newWorld(t, For("Custom::Tape", say("tape")), say("rest"))
	if got := w.ask(t, Create, "", "{}", ""); got != "SUCCESS rest" {
		t.Error(got)
	}
	for want, handlers := range map[string][]Handler{
		"no handler":                       nil,
		"one is nil":                       {say("a"), nil},
		"the handler for Custom::A is nil": {For("Custom::A", nil)},
		"two handlers are for all":         {say("a"), say("b")},
		"two handlers are for Custom::A":   {For("Custom::A", say("a")), For("Custom::A", say("b"))},
	} {
		if _, err := NewServer(ServerConfig{Handlers: handlers}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestName(t *testing.T) {
	id := func(stack, logical string) *Request {
		return &Request{StackID: wire.NewStackID("us-east-1", "123456789012", stack, "5f1a"), LogicalID: wire.LogicalID(logical)}
	}
	a, replaced := id("web", "Disk"), id("web", "Disk")
	replaced.RequestID, replaced.ID = "r-2", "x"
	if a.Name() != replaced.Name() || !strings.HasPrefix(a.Name(), "web-Disk-") || len(a.Name()) != len("web-Disk-")+12 {
		t.Errorf("%s, %s", a.Name(), replaced.Name())
	}
	for _, other := range []*Request{id("web2", "Disk"), id("web", "Disk2"), {StackID: "8acc3dcd", LogicalID: "Disk"}} {
		if other.Name() == a.Name() {
			t.Errorf("%v has the same name", other)
		}
	}
}

func TestToken(t *testing.T) {
	a := &Request{StackID: "s", LogicalID: "l", RequestID: "r"}
	same := &Request{StackID: "s", LogicalID: "l", RequestID: "r", ID: "x"}
	other := &Request{StackID: "s", LogicalID: "l", RequestID: "r2"}
	if a.Token() != same.Token() || a.Token() == other.Token() || len(a.Token()) != 32 {
		t.Errorf("%s %s %s", a.Token(), same.Token(), other.Token())
	}
}
