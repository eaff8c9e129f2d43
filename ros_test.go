package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

const rosSignature = "10841498499ba1c4b07547a542c3a8718235f983"

// ros returns an event in the dialect of ROS.
func (w *world) ros(kind RequestType, id PhysicalID, properties, old string) wire.Request {
	r := w.event(kind, id, properties, old)
	r.Dialect, r.StackID, r.StackName, r.RegionID = wire.ROS, "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", "web", "cn-hangzhou"
	r.ResourceOwnerID, r.CallerID, r.LogicalResourceID = "1234567890123456", "2345678901234567", "Disk[0]"
	r.ResponseURL = "https://ros.test/cb?stackid=" + string(r.StackID) + "&signature=" + rosSignature
	return r
}

// brief formats a response in one line, without its data.
func brief(r wire.Response) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", r.Status, r.PhysicalResourceID, r.Reason), ": ")
}

func newROSWorld(t *testing.T, c ROSConfig, handlers ...Handler) *world {
	t.Helper()
	w := newWorld(t, handlers...)
	var err error
	if w.Server.ros, err = c.withDefaults(); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestROSPhysicalIDs(t *testing.T) {
	var calls []string
	handler := HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
		var p struct {
			ID  PhysicalID
			Err string
		}
		if err := r.Decode(&p); err != nil {
			return Answer{}, err
		}
		calls = append(calls, fmt.Sprint(r.Type, " ", r.ID))
		if p.Err == "gone" {
			return Answer{ID: p.ID}, ErrGone
		}
		if p.Err != "" {
			return Answer{ID: p.ID}, errors.New(p.Err)
		}
		return Answer{ID: p.ID, Reason: "well"}, nil
	})
	for _, tt := range []struct {
		name     string
		requests [][3]string // kind, ID, properties
		want     []string    // answers
		calls    string
	}{
		{"chosen", [][3]string{{"Create", "", `{"ID":"a"}`}, {"Update", "a", `{}`}, {"Delete", "a", `{}`}},
			[]string{"SUCCESS a", "SUCCESS a", "SUCCESS a"}, "Create ; Update a; Delete a"},
		{"not chosen", [][3]string{{"Create", "", `{}`}}, []string{"SUCCESS r-1"}, "Create "},
		{"255 bytes", [][3]string{{"Create", "", `{"ID":"` + strings.Repeat("x", 255) + `"}`}}, []string{"SUCCESS " + strings.Repeat("x", 255)}, "Create "},
		{"256 bytes", [][3]string{{"Create", "", `{"ID":"` + strings.Repeat("x", 256) + `"}`}}, []string{"FAILED r-1: the physical ID from the handler is 256 bytes long, 255 are allowed"}, "Create "},
		{"256 bytes, rolled back", [][3]string{{"Create", "", `{"ID":"` + strings.Repeat("x", 256) + `"}`}, {"Delete", "", `{}`}},
			[]string{"FAILED r-1: the physical ID from the handler is 256 bytes long", "SUCCESS Pintle::CreateFailed"}, "Create ; Delete " + strings.Repeat("x", 256)},
		{"a character that ROS does not take", [][3]string{{"Create", "", `{"ID":"a\uffff"}`}}, []string{"FAILED r-1: the physical ID from the handler holds"}, "Create "},
		{"empty reason", [][3]string{{"Create", "", `{"Err":"\u0001"}`}}, []string{"FAILED Pintle::CreateFailed: the handler failed"}, "Create "},
		{"another ID from an Update", [][3]string{{"Update", "a", `{"ID":"b"}`}}, []string{`FAILED a: ROS cannot replace a resource in an Update, so an Update must answer with the ID that it was given; the handler answered "b" to the Update of "a"`}, "Update a"},
		{"another ID from a Delete", [][3]string{{"Delete", "a", `{"ID":"b"}`}}, []string{`FAILED a: a Delete cannot change the physical ID`}, "Delete a"},
		{"a failed Update", [][3]string{{"Update", "a", `{"Err":"no"}`}}, []string{"FAILED a: no"}, "Update a"},
		{"created nothing", [][3]string{{"Create", "", `{"Err":"no"}`}, {"Delete", "", `{}`}, {"Delete", string(CreateFailed), `{}`}, {"Update", string(CreateFailed), `{}`}},
			[]string{"FAILED Pintle::CreateFailed: no", "SUCCESS Pintle::CreateFailed", "SUCCESS Pintle::CreateFailed", "FAILED Pintle::CreateFailed: the Update names no resource"}, "Create "},
		{"created a resource", [][3]string{{"Create", "", `{"Err":"no","ID":"a"}`}, {"Delete", "", `{}`}, {"Delete", "", `{"again":1}`}},
			[]string{"FAILED a: no", "SUCCESS a", "SUCCESS Pintle::CreateFailed"}, "Create ; Delete a"},
		{"created a resource that cannot be deleted", [][3]string{{"Create", "", `{"Err":"no","ID":"a"}`}, {"Delete", "", `{"Err":"stuck"}`}, {"Delete", "", `{}`}},
			[]string{"FAILED a: no", "FAILED a: stuck", "SUCCESS a"}, "Create ; Delete a; Delete a"},
		{"created a resource that was deleted", [][3]string{{"Create", "", `{"Err":"no","ID":"a"}`}, {"Delete", "", `{"Err":"gone"}`}},
			[]string{"FAILED a: no", "SUCCESS a"}, "Create ; Delete a"},
		{"Update after a Create", [][3]string{{"Create", "", `{"ID":"a"}`}, {"Update", "", `{}`}}, []string{"SUCCESS a", "SUCCESS a"}, "Create ; Update a"},
		{"Update without an ID", [][3]string{{"Update", "", `{}`}, {"Delete", "", `{}`}},
			[]string{"FAILED Pintle::CreateFailed: the Update names no resource", "SUCCESS Pintle::CreateFailed"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls = nil
			w := newROSWorld(t, ROSConfig{}, handler)
			for i, request := range tt.requests {
				r := w.ros(RequestType(request[0]), PhysicalID(request[1]), request[2], "")
				for range 2 { // the second delivery gets the same answer
					a := w.deliver(t, r)
					if got := brief(a); !strings.HasPrefix(got, tt.want[i]) || a.Status == wire.Failed == (a.Reason == "") {
						t.Errorf("%d: %s, want %s", i+1, got, tt.want[i])
					}
				}
			}
			if got := strings.Join(calls, "; "); got != tt.calls {
				t.Errorf("calls: %s, want %s", got, tt.calls)
			}
			if strings.Contains(w.log.String(), rosSignature) || !strings.Contains(w.log.String(), "8acc3dcd") {
				t.Errorf("the log shows the signature, or lacks the stack:\n%s", &w.log)
			}
		})
	}
}

// rosDisk is a provider with the difficult cases of ROS.
type rosDisk struct {
	calls []string
	gone  bool
	id    PhysicalID
	key   string
}

type rosDiskProperties struct {
	Zone, Kind string `pintle:"immutable"`
	Size       int    `pintle:"min=1"`
	On         bool
}

type rosDiskAttributes struct {
	Size int
	Key  Secret `json:",omitzero"`
}

func (d *rosDisk) Create(_ context.Context, r *CreateRequest[rosDiskProperties]) (Response[rosDiskAttributes], error) {
	d.calls = append(d.calls, "Create")
	return Response[rosDiskAttributes]{ID: d.id, Attributes: rosDiskAttributes{r.Properties.Size, NewSecret(d.key)}}, nil
}

func (d *rosDisk) Update(_ context.Context, r *UpdateRequest[rosDiskProperties]) (Response[rosDiskAttributes], error) {
	d.calls = append(d.calls, fmt.Sprintf("Update %s %v", r.Properties.Zone, r.Properties.On))
	if d.gone {
		return Response[rosDiskAttributes]{}, ErrGone
	}
	return Response[rosDiskAttributes]{Attributes: rosDiskAttributes{Size: r.Properties.Size}}, nil
}

func (d *rosDisk) Delete(_ context.Context, r *DeleteRequest[rosDiskProperties]) error {
	d.calls = append(d.calls, "Delete "+string(r.ID))
	return nil
}

// If an Update returns another ID, the reason is the one for ROS, and the other resource is not polled.
func TestROSUpdateReturnsOtherID(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		u := &updating{answer: Response[map[string]string]{ID: "new", Replaces: replaces}}
		w := newROSWorld(t, ROSConfig{}, New(u))
		got := brief(w.deliver(t, w.ros(Update, "old", "{}", "{}")))
		if !strings.HasPrefix(got, "FAILED old: ROS cannot replace a resource in an Update") || u.polled != "" {
			t.Errorf("replaces %v: %s, polled %q", replaces, got, u.polled)
		}
	}
}

// The Delete after a failed Create may arrive days later and without an ID.
func TestROSDeleteLate(t *testing.T) {
	var calls []string
	w := newROSWorld(t, ROSConfig{}, HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
		calls = append(calls, fmt.Sprint(r.Type, " ", r.ID))
		if r.Type == Create {
			return Answer{ID: "half"}, errors.New("no")
		}
		return Answer{}, nil
	}))
	w.deliver(t, w.ros(Create, "", "{}", ""))
	_ = w.clock.Sleep(t.Context(), 49*time.Hour)
	if got := brief(w.deliver(t, w.ros(Delete, "", "{}", ""))); got != "SUCCESS half" {
		t.Error(got)
	}
	if got := strings.Join(calls, "; "); got != "Create ; Delete half" {
		t.Errorf("calls: %s", got)
	}
}

func TestROSNeverReplaces(t *testing.T) {
	d := &rosDisk{id: "disk-1"}
	w := newROSWorld(t, ROSConfig{}, New(d))
	one, two := `{"Zone":"a","Kind":"x","Size":1,"On":true}`, `{"Zone":"b","Kind":"y","Size":2,"On":false}`
	if a := w.deliver(t, w.ros(Create, "", one, "")); brief(a) != "SUCCESS disk-1" || string(a.Data) != `{"Size":1}` {
		t.Errorf("%s %s", brief(a), a.Data)
	}
	want := "FAILED disk-1: Kind, Zone are immutable, and ROS cannot replace a resource in an Update; nothing was changed. " +
		"To have the resource deleted and created again, update the stack with ReplacementOption=Enabled and TaintResources.1=Disk[0], " +
		"or give the resource another name in the template"
	if got := brief(w.deliver(t, w.ros(Update, "disk-1", two, one))); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// Its rollback has nothing to undo.
	if got := brief(w.deliver(t, w.ros(Update, "disk-1", one, two))); got != "SUCCESS disk-1" {
		t.Error(got)
	}
	if got := strings.Join(d.calls, "; "); got != "Create; Update a true" {
		t.Errorf("calls: %s", got)
	}
	// An Update creates a missing resource again if the new one can have the same ID.
	d.gone, d.calls = true, nil
	if got := brief(w.deliver(t, w.ros(Update, "disk-1", `{"Zone":"a","Kind":"x","Size":3}`, one))); got != "SUCCESS disk-1" {
		t.Error(got)
	}
	d.id = "disk-2"
	if got := brief(w.deliver(t, w.ros(Update, "disk-1", `{"Zone":"a","Kind":"x","Size":4}`, one))); !strings.HasPrefix(got, `FAILED disk-1: "disk-1" does not exist any more, and ROS does not accept "disk-2"`) {
		t.Error(got)
	}
	if got := strings.Join(d.calls, "; "); got != "Update a false; Create; Update a false; Create; Delete disk-2" {
		t.Errorf("calls: %s", got)
	}
}

// An answer in one dialect is not reused in the other, whose readers may see secrets in clear text.
func TestDialectsDoNotShareAnswers(t *testing.T) {
	n := 0
	w := newROSWorld(t, ROSConfig{}, HandlerFunc(func(context.Context, *Request) (Answer, error) {
		n++
		return Answer{ID: PhysicalID(fmt.Sprint("a-", n)), NoEcho: n == 1, Attributes: map[string]any{"Key": fmt.Sprint("key-", n)}}, nil
	}))
	forged := w.ros(Create, "", "{}", "")
	real := forged
	real.Dialect, real.ServiceToken, real.StackName, real.RegionID, real.ResourceOwnerID, real.CallerID = wire.CloudFormation, "arn:aws:sns:us-east-1:1:t", "", "", "", ""
	if a := w.deliver(t, real); !a.NoEcho || brief(a) != "SUCCESS a-1" {
		t.Errorf("%s, NoEcho %t", brief(a), a.NoEcho)
	}
	if a := w.deliver(t, forged); brief(a) != "SUCCESS a-2" || strings.Contains(string(a.Data), "key-1") {
		t.Errorf("%s %s", brief(a), a.Data)
	}
}

// A service may quote the URL of the call in its error, with a secret under any name.
func TestROSErrorHidesTheURL(t *testing.T) {
	const ticket = "0123456789abcdef0123"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"Code":"Forbidden","Message":"no such ticket: `+ticket+`"}`)
	}))
	defer server.Close()
	var log bytes.Buffer
	s, err := NewServer(ServerConfig{
		Handlers: []Handler{HandlerFunc(func(context.Context, *Request) (Answer, error) { return Answer{}, nil })},
		Logger:   slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.sender.client.CloseIdleConnections()
	r := (&world{}).ros(Create, "", "{}", "")
	r.ResponseURL = server.URL + "/cb?ticket=" + ticket
	event, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	err = s.ServeEvent(t.Context(), event)
	if err == nil || strings.Contains(err.Error(), ticket) || !strings.Contains(err.Error(), "no such ticket") || strings.Contains(log.String(), ticket) {
		t.Errorf("%v\n%s", err, &log)
	}
}

// always is a provider whose answers always contain a secret.
type always struct{ *rosDisk }

type alwaysAttributes struct{ Key Secret }

func (p always) Create(context.Context, *CreateRequest[rosDiskProperties]) (Response[alwaysAttributes], error) {
	p.calls = append(p.calls, "Create")
	return Response[alwaysAttributes]{Attributes: alwaysAttributes{NewSecret("hunter2")}}, nil
}

func (p always) Update(context.Context, *UpdateRequest[rosDiskProperties]) (Response[alwaysAttributes], error) {
	p.calls = append(p.calls, "Update")
	return Response[alwaysAttributes]{}, nil
}

func TestROSSecrets(t *testing.T) {
	d := &rosDisk{id: "disk-1", key: "hunter2"}
	for _, tt := range []struct {
		name, want string
		plain      bool
		handler    Handler
		calls      int
	}{
		{"refused before anything is done", "FAILED Pintle::CreateFailed: the attributes hold secrets, and ROS has no NoEcho", false, New(always{d}), 0},
		{"refused when it is there", "FAILED disk-1: the attributes hold secrets, and ROS has no NoEcho", false, New(d), 1},
		{"shown", "SUCCESS disk-1", true, New(d), 1},
		{"a NoEcho answer", "FAILED a: the attributes hold secrets", false, HandlerFunc(func(context.Context, *Request) (Answer, error) {
			return Answer{ID: "a", NoEcho: true, Attributes: map[string]any{"x": "hunter2"}}, nil
		}), 0},
		{"a NoEcho answer without attributes", "SUCCESS a", false, HandlerFunc(func(context.Context, *Request) (Answer, error) {
			return Answer{ID: "a", NoEcho: true}, nil
		}), 0},
	} {
		d.calls = nil
		w := newROSWorld(t, ROSConfig{PlainSecrets: tt.plain}, tt.handler)
		a := w.deliver(t, w.ros(Create, "", `{"Size":1}`, ""))
		if got := brief(a); !strings.HasPrefix(got, tt.want) || len(d.calls) != tt.calls {
			t.Errorf("%s: %s after %v", tt.name, got, d.calls)
		}
		if sent := strings.Contains(string(a.Data), "hunter2"); sent != tt.plain || a.NoEcho {
			t.Errorf("%s: data %s, NoEcho %t", tt.name, a.Data, a.NoEcho)
		}
		if strings.Contains(w.log.String(), "hunter2") || tt.plain != strings.Contains(w.log.String(), "shows them to everyone with access to the stack\"") && tt.plain {
			t.Errorf("%s: log\n%s", tt.name, &w.log)
		}
	}
	w := newROSWorld(t, ROSConfig{}, New(always{d}))
	if got := brief(w.deliver(t, w.ros(Delete, "disk-1", `{"Size":1}`, ""))); got != "SUCCESS disk-1" {
		t.Errorf("a Delete has nothing to show: %s", got)
	}
}

func TestROSRequestIsKnownToTheHandler(t *testing.T) {
	var got Request
	w := newROSWorld(t, ROSConfig{}, HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
		got = *r
		return Answer{Attributes: map[string]any{"n": json.Number("1.50"), "left": r.deadline.Sub(r.time().Now()) > 10*time.Minute}}, nil
	}))
	a := w.deliver(t, w.ros(Create, "", `{"N":1.50,"B":true,"ServiceTimeout":5}`, ""))
	if string(a.Data) != `{"left":true,"n":1.50}` {
		t.Errorf("data %s", a.Data)
	}
	if got.Dialect != wire.ROS || got.StackName != "web" || got.Region != "cn-hangzhou" || got.Account != "1234567890123456" ||
		got.Caller != "2345678901234567" || string(got.RawProperties) != `{"N":1.50,"B":true,"ServiceTimeout":5}` {
		t.Errorf("%+v", got)
	}
	name := got.Name()
	if !strings.HasPrefix(name, "web-Disk-0-") || len(name) != len("web-Disk-0-123456789012") {
		t.Errorf("name %s", name)
	}
	got.StackName = strings.Repeat("長", 80)
	if long := got.Name(); len(long) > 200 || !strings.HasSuffix(long, name[len(name)-12:]) {
		t.Errorf("name %s", long)
	}
	event := w.event(Create, "", "{}", "")
	if r := newRequest(event, nil); r.StackName != "web" || r.Region != "us-east-1" || r.Account != "123456789012" || r.Dialect != wire.CloudFormation {
		t.Errorf("%+v", r)
	}
}

func TestROSAnswerIsPosted(t *testing.T) {
	var tries []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if _, err := http.ParseTime(r.Header.Get("Date")); err != nil {
			t.Error(err)
		}
		tries = append(tries, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Content-Type"), " ", len(body) > 0))
		if r.URL.Path == "/late" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"Code":"Expired","Message":"too late at /cb?signature=`+rosSignature+`"}`)
		} else if len(tries) == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	var log bytes.Buffer
	for _, tt := range []struct {
		config                 ROSConfig
		public, intranet, want string
	}{
		{ROSConfig{}, "/public", "/intranet", "/public"},
		{ROSConfig{Intranet: true}, "/public", "/intranet", "/intranet"},
		{ROSConfig{}, "", "/intranet", "/intranet"},
		{ROSConfig{Intranet: true}, "/public", "", "/public"},
		{ROSConfig{}, "/late", "", ""},
		{ROSConfig{}, "", "", ""},
	} {
		tries = nil
		s, err := NewServer(ServerConfig{
			Handlers: []Handler{HandlerFunc(func(context.Context, *Request) (Answer, error) { return Answer{}, nil })},
			ROS:      tt.config,
			Logger:   slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{}
		r := w.ros(Create, "", "{}", "")
		r.ResponseURL, r.IntranetResponseURL = "", ""
		if tt.public != "" {
			r.ResponseURL = server.URL + tt.public + "?signature=" + rosSignature
		}
		if tt.intranet != "" {
			r.IntranetResponseURL = server.URL + tt.intranet + "?signature=" + rosSignature
		}
		event, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		err = s.ServeEvent(t.Context(), event)
		s.sender.client.CloseIdleConnections()
		switch {
		case tt.want != "":
			one := "POST " + tt.want + " application/json true"
			if got := strings.Join(tries, ", "); got != one+", "+one || err != nil {
				t.Errorf("%+v: %s, %v", tt, got, err)
			}
		case tt.public == "/late":
			if err == nil || !strings.Contains(err.Error(), "403 Forbidden Expired: too late at /cb?signature=REDACTED") {
				t.Errorf("%+v: %v", tt, err)
			}
		case err == nil || !strings.Contains(err.Error(), "no response URL"):
			t.Errorf("%+v: %v", tt, err)
		}
	}
	if strings.Contains(log.String(), rosSignature) {
		t.Errorf("the log shows the signature:\n%s", &log)
	}
}

func TestROSConfig(t *testing.T) {
	for name, value := range map[string]string{
		"PINTLE_ROS_SIGN_KEY": "k1 k2", "PINTLE_ROS_SIGN_HEADERS": "X-A", "PINTLE_ROS_URL": "https://a.test", "PINTLE_ROS_SYNC": "1",
		"PINTLE_ROS_INTRANET": "true", "PINTLE_ROS_PLAIN_SECRETS": "false", "PINTLE_ROS_TIMEOUT": "90", "FC_SERVER_PORT": "",
		"FC_CUSTOM_LISTEN_PORT": "9000", "FC_RUNTIME_API": "h:1", "PINTLE_PROVIDER_QUEUE": "https://1.mns.cn-hangzhou.aliyuncs.com/queues/q",
	} {
		t.Setenv(name, value)
	}
	c, err := runConfig(nil, io.Discard)
	if err != nil || strings.Join(c.ROS.SignKeys, ",") != "k1,k2" || c.ROS.SignHeaders[0] != "X-A" || c.ROS.URL != "https://a.test" || !c.ROS.Sync ||
		!c.ROS.Intranet || c.ROS.PlainSecrets || c.ROS.Timeout != 90*time.Second || c.FCPort != "9000" || c.FCRuntimeAPI != "h:1" || c.Queue == "" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, bad := range map[string]string{
		"PINTLE_ROS_SYNC": "yes", "PINTLE_ROS_TIMEOUT": "-1s", "PINTLE_ROS_URL": "a.test", "PINTLE_ROS_SIGN_KEY": strings.Repeat("k", 129),
		"PINTLE_PROVIDER_QUEUE": "http://1.mns.cn-hangzhou.aliyuncs.com/queues/q",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, bad)
			c, err := runConfig(nil, io.Discard)
			if err == nil {
				_, err = c.ROS.withDefaults()
			}
			if err == nil && c.Queue != "" {
				_, err = parseQueueURL(c.Queue)
			}
			if err == nil || strings.Contains(err.Error(), "kkk") {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := (ROSConfig{Timeout: 13 * time.Hour}).withDefaults(); err == nil {
		t.Error("13 hours: no error")
	}
	for _, bad := range []string{"x", "https://h/queues/", "https://h/queues/a/b", "https://h/topics/a", "https://u:p@h/queues/a", "https://h/queues/a?b=c", "http://localhost/queues/a"} {
		if _, err := parseQueueURL(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestUnwrapMNS(t *testing.T) {
	const request = `{"RequestType":"Create","TopicName":"t","Message":"m","data":{"messageBody":"x"}}`
	quoted, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"raw", request, request},
		{"base64", "eyJSZXF1ZXN0VHlwZSI6IkNyZWF0ZSJ9", `{"RequestType":"Create"}`},
		{"a topic, in JSON", `{"TopicOwner":"1","TopicName":"t","Message":` + string(quoted) + `}`, request},
		{"a topic, in XML", `<?xml version="1.0" encoding="utf-8"?><Notification xmlns="http://mns.aliyuncs.com/doc/v1/"><TopicOwner>1</TopicOwner>` +
			`<TopicName>t</TopicName><Message>{"RequestType":"Create","A":"&amp;&lt;"}</Message></Notification>`, `{"RequestType":"Create","A":"&<"}`},
		{"a topic, in base64", `{"TopicName":"t","Message":"eyJSZXF1ZXN0VHlwZSI6IkNyZWF0ZSJ9"}`, `{"RequestType":"Create"}`},
		{"the trigger of a queue", `{"id":"1","data":{"messageBody":` + string(quoted) + `}}`, request},
		{"the trigger of a queue, parsed", `{"data":{"messageBody":{"RequestType":"Create"}}}`, `{"RequestType":"Create"}`},
		{"the trigger of a queue, in base64", `{"data":{"messageBody":"eyJSZXF1ZXN0VHlwZSI6IkNyZWF0ZSJ9"}}`, `{"RequestType":"Create"}`},
		{"plain text", `hello, world`, `hello, world`},
		{"XML of others", `<a/>`, `<a/>`},
		{"empty", ``, ``},
	} {
		if got := string(unwrapMNS([]byte(tt.text))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func FuzzUnwrapMNS(f *testing.F) {
	f.Add([]byte(`{"TopicName":"t","Message":"eyJSZXF1ZXN0VHlwZSI6IkNyZWF0ZSJ9"}`))
	f.Add([]byte(`<Notification><Message>{}</Message></Notification>`))
	f.Add([]byte(`{"data":{"messageBody":{"a":1}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := unwrapMNS(text); len(got) > len(text)+3 { // an escape of one character never grows
			t.Errorf("%q became %q", text, got)
		}
	})
}

// A wait that is handed over is answered by POST, and a later Delete without an ID finds the resource. A reply in place
// cannot wait.
func TestROSWaits(t *testing.T) {
	s, kept := &lasting{ready: doneAfter(3)}, &shelf{}
	w := newLasting(t, s, kept)
	w.Server.ros.PlainSecrets = true
	hand(t, w, w.ros(Create, "", lastingProps, ""))
	for kept.settle(t, w) {
	}
	if len(w.answers) != 1 || brief(w.answers[0]) != "SUCCESS slow-1" || w.answers[0].Dialect != wire.ROS {
		t.Errorf("answers %v", w.answers)
	}
	s.ready = doneAfter(1000)
	hand(t, w, w.ros(Create, "", lastingProps, ""))
	if got := brief(w.deliver(t, w.ros(Delete, "", lastingProps, ""))); got != "SUCCESS slow-2" || fmt.Sprint(s.deleted) != "[slow-2]" {
		t.Errorf("%s, deleted %v", got, s.deleted)
	}
	w.Server.web.unsigned = true
	r := w.ros(Create, "", lastingProps, "")
	document, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	reply := httptest.NewRecorder()
	before := kept.began
	w.ServeHTTP(reply, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://provider.test/sync", bytes.NewReader(document)))
	if reply.Code != http.StatusOK || !strings.Contains(reply.Body.String(), `"Status":"FAILED","Reason":"Operation timed out`) || kept.began != before {
		t.Errorf("%d %s after %d waits", reply.Code, reply.Body, kept.began-before)
	}
}
