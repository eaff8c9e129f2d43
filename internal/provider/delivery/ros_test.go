package delivery_test

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	rosStack   = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	rosAccount = "0000123456789012"
)

// rosRequest returns a ready row of a ROS stack.
func rosRequest(kind wire.RequestType, token string) store.Request {
	r := store.Request{
		ID: "B288A0BE-D927-4888-B0F7-B35EF84B6E6F", Stack: 1, Logical: "A[0]", Type: kind, State: store.RequestReady, Owner: 1,
		Body: &store.RequestBody{
			Dialect: "ros", StackID: rosStack, StackName: "my-stack", Account: rosAccount, Caller: "987654321", Region: "cn-hangzhou",
			Token: value.Str(token), ResourceType: "Custom::Thing", Timeout: time.Minute,
			Properties: value.Object(
				value.Member{Key: "Year", Value: parseValue(`2024`)},
				value.Member{Key: "Rate", Value: parseValue(`1.50`)},
				value.Member{Key: "On", Value: parseValue(`true`)},
				value.Member{Key: "None", Value: parseValue(`null`)},
				value.Member{Key: "List", Value: parseValue(`[1,{"a":"b"}]`)},
				value.Member{Key: "Password", Value: value.SecretStr("hunter2&more")},
			),
		},
	}
	if kind != wire.Create {
		r.Body.PhysicalID = "example-1"
	}
	if kind == wire.Update {
		r.Body.OldProperties = value.Object(value.Member{Key: "Year", Value: parseValue(`2023`)})
	}
	return r
}

func parseValue(text string) value.Value {
	v, err := value.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

func object(members ...value.Member) value.Value { return value.Object(members...) }

func member(key, text string) value.Member { return value.Member{Key: key, Value: value.Str(text)} }

// startROS is start with ROS response URLs below a base, which defaults to loopback.
func startROS(t *testing.T, base string, change func(*delivery.Config, *world)) *world {
	t.Helper()
	if base == "" {
		base = "http://127.0.0.1:4600/ros/response"
	}
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := responseurl.NewROSSigner([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return start(t, func(c *delivery.Config, w *world) {
		c.ResponseURL = func(r store.Request) (string, error) {
			key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
			return signer.Sign(at, key, r.Body.StackName, time.Now(), time.Hour)
		}
		if change != nil {
			change(c, w)
		}
	})
}

// sent is a request that a provider behind a URL received.
type sent struct {
	header http.Header
	body   []byte
}

func capture(t *testing.T) (*httptest.Server, chan sent) {
	t.Helper()
	got := make(chan sent, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header, body}
	}))
	t.Cleanup(server.Close)
	return server, got
}

// TestROSInnerResponseURL checks that the URL is sent under both names if configured.
func TestROSInnerResponseURL(t *testing.T) {
	for _, both := range []bool{false, true} {
		server, got := capture(t)
		w := startROS(t, "", func(c *delivery.Config, _ *world) { c.ROSInnerURL = both })
		r := rosRequest(wire.Create, "web:"+server.URL+"/hook")
		w.Dispatch([]store.Request{r})
		w.next(t)
		var members map[string]string
		_ = json.Unmarshal((<-got).body, &members) // members that are not strings are ignored
		if inner, ok := members["InnerResponseURL"]; ok != both || both && inner != members["IntranetResponseURL"] {
			t.Errorf("asked for: %t; InnerResponseURL %q, IntranetResponseURL %q", both, inner, members["IntranetResponseURL"])
		}
	}
}

// TestROSDocuments checks that a request has exactly the members of its type, because some providers reject unknown
// ones. The JSON types of values under Parameters are preserved.
func TestROSDocuments(t *testing.T) {
	common := map[string]any{
		"StackId": rosStack, "StackName": "my-stack", "ResourceOwnerId": rosAccount, "CallerId": "987654321", "RegionId": "cn-hangzhou",
		"RequestId": "B288A0BE-D927-4888-B0F7-B35EF84B6E6F", "ResourceType": "Custom::Thing", "LogicalResourceId": "A[0]",
	}
	properties := `{"Year":2024,"Rate":1.50,"On":true,"None":null,"List":[1,{"a":"b"}],"Password":"hunter2&more"}`
	tests := map[string]struct {
		request store.Request
		id      any
		now     string
		old     string
	}{
		"create":                 {rosRequest(wire.Create, ""), nil, properties, ""},
		"update":                 {rosRequest(wire.Update, ""), "example-1", properties, `{"Year":2023}`},
		"delete":                 {rosRequest(wire.Delete, ""), "example-1", properties, ""},
		"delete of a failed one": {rosRequest(wire.Delete, ""), nil, properties, ""},
		"no parameters":          {rosRequest(wire.Create, ""), nil, `{}`, ""},
	}
	failed := tests["delete of a failed one"]
	failed.request.Body.PhysicalID = ""
	tests["no parameters"].request.Body.Properties = value.Object()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, got := capture(t)
			w := startROS(t, "", nil)
			r := test.request
			r.Body.Token = value.Str("web:" + server.URL + "/hook")
			w.Dispatch([]store.Request{r})
			if diff := cmp.Diff(reported{r.ID, delivery.Accepted{Once: r.Type == wire.Create}}, w.next(t)); diff != "" {
				t.Error(diff)
			}
			s := <-got
			var members map[string]json.RawMessage
			if err := json.Unmarshal(s.body, &members); err != nil {
				t.Fatal(err)
			}
			if now, old := string(members["ResourceProperties"]), string(members["OldResourceProperties"]); now != test.now || old != test.old {
				t.Errorf("properties %s, before %s", now, old)
			}
			texts := map[string]any{}
			for name, raw := range members {
				var text string
				if json.Unmarshal(raw, &text) == nil {
					texts[name] = text
				} else if !strings.HasSuffix(name, "ResourceProperties") {
					t.Errorf("%s is %s", name, raw)
				}
			}
			responseURL, intranet := texts["ResponseURL"].(string), texts["IntranetResponseURL"].(string)
			for _, at := range []string{responseURL, intranet} {
				if !strings.HasPrefix(at, "http://127.0.0.1:4600/ros/response?stackname=my-stack&stackid="+rosStack+"&resource=A%5B0%5D&requestid=") {
					t.Errorf("answered at %s", at)
				}
			}
			delete(texts, "ResponseURL")
			delete(texts, "IntranetResponseURL")
			want := map[string]any{"RequestType": string(r.Type)}
			for key, text := range common {
				want[key] = text
			}
			if test.id != nil {
				want["PhysicalResourceId"] = test.id
			}
			if diff := cmp.Diff(want, texts); diff != "" {
				t.Error(diff)
			}
			for name := range s.header {
				if strings.HasPrefix(strings.ToLower(name), "webhook-") {
					t.Errorf("ROS sends no header %s", name)
				}
			}
			if kind := s.header.Get("Content-Type"); kind != "application/json" {
				t.Errorf("Content-Type %q", kind)
			}
		})
	}
}

const rosAnswer = `{"Status":"SUCCESS","PhysicalResourceId":"p"}`

// TestROSWebOutcomes checks the outcomes of replies of providers behind URLs, and which requests are retried.
func TestROSWebOutcomes(t *testing.T) {
	status := func(codes ...int) func(int, http.ResponseWriter) {
		return func(n int, w http.ResponseWriter) { w.WriteHeader(codes[min(n, len(codes)-1)]) }
	}
	body := func(code int, text string) func(int, http.ResponseWriter) {
		return func(_ int, w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			w.WriteHeader(code)
			fmt.Fprint(w, text)
		}
	}
	cut := func(n int, w http.ResponseWriter) { cutOnce(n, w, nil) }
	refused := func(text string) delivery.Refused { return delivery.Refused{Text: text, Delivered: true} }
	const notAgain = ", and the provider may have got the request, which is not sent again: a Create is only if the service token says " +
		"idempotent, as in web[idempotent]:URL"
	const noDocument = "no response document, and a service token with sync takes the reply for the answer: reply with a JSON object that has a Status"
	long := `{"Status":"SUCCESS","Data":"` + strings.Repeat("x", 8000) + `"}`
	tests := map[string]struct {
		options string
		kind    wire.RequestType
		serve   func(n int, w http.ResponseWriter)
		want    delivery.Outcome
		tries   int
	}{
		"async, 200":                       {"", wire.Create, status(200), delivery.Accepted{Once: true}, 1},
		"async, 204":                       {"", wire.Delete, status(204), delivery.Accepted{}, 1},
		"async, an answer is not read":     {"", wire.Create, body(200, rosAnswer), delivery.Accepted{Once: true}, 1},
		"async, 400":                       {"", wire.Create, body(400, "no such hook"), refused("POST URL/hook: 400 Bad Request: no such hook"), 1},
		"async, 302":                       {"", wire.Create, status(302), refused("POST URL/hook: 302 Found, and redirects are not followed: use the target URL"), 1},
		"create, 500":                      {"", wire.Create, status(500, 200), refused("POST URL/hook: 500 Internal Server Error"), 1},
		"create, 503":                      {"", wire.Create, status(503, 200), refused("POST URL/hook: 503 Service Unavailable"), 1},
		"create, 429":                      {"", wire.Create, status(429, 200), refused("POST URL/hook: 429 Too Many Requests"), 1},
		"create, cut":                      {"", wire.Create, cut, refused("POST URL/hook: EOF" + notAgain), 1},
		"idempotent create, 500":           {"[idempotent]", wire.Create, status(500, 503, 200), delivery.Accepted{}, 3},
		"idempotent create, cut":           {"[idempotent]", wire.Create, cut, delivery.Accepted{}, 2},
		"idempotent create, 404":           {"[idempotent]", wire.Create, status(404, 200), refused("POST URL/hook: 404 Not Found"), 1},
		"update, 500":                      {"", wire.Update, status(500, 200), delivery.Accepted{}, 2},
		"update, cut":                      {"", wire.Update, cut, delivery.Accepted{}, 2},
		"delete, 500":                      {"", wire.Delete, status(500, 429, 200), delivery.Accepted{}, 3},
		"delete, cut":                      {"", wire.Delete, cut, delivery.Accepted{}, 2},
		"sync, an answer":                  {"[sync]", wire.Create, body(200, "\n "+rosAnswer), delivery.Answered{Body: []byte("\n " + rosAnswer)}, 1},
		"sync, 201":                        {"[sync]", wire.Create, body(201, rosAnswer), delivery.Answered{Body: []byte(rosAnswer)}, 1},
		"sync, JSON that is not an answer": {"[sync]", wire.Create, body(200, `{"ok":true}`), delivery.Answered{Body: []byte(`{"ok":true}`)}, 1},
		"sync, empty reply":                {"[sync]", wire.Create, status(200), refused("POST URL/hook: 200 OK with " + noDocument), 1},
		"sync, 202":                        {"[sync]", wire.Update, status(202), refused("POST URL/hook: 202 Accepted with " + noDocument), 1},
		"sync, a text":                     {"[sync]", wire.Create, body(200, "hunter2&more"), refused("POST URL/hook: 200 OK with " + noDocument + ", not with *****"), 1},
		"sync, too long":                   {"[sync]", wire.Create, body(200, long), delivery.Answered{Body: []byte(long[:4097]), Size: len(long)}, 1},
		"sync, an answer with 500":         {"[sync]", wire.Create, body(500, rosAnswer), refused("POST URL/hook: 500 Internal Server Error: " + rosAnswer), 1},
		"sync update, 500":                 {"[sync]", wire.Update, func(n int, w http.ResponseWriter) { body([]int{500, 200}[min(n, 1)], rosAnswer)(n, w) }, delivery.Answered{Body: []byte(rosAnswer)}, 2},
		"sync and idempotent create, cut":  {"[idempotent,sync]", wire.Create, func(n int, w http.ResponseWriter) { cut(n, w); fmt.Fprint(w, rosAnswer) }, delivery.Answered{Body: []byte(rosAnswer)}, 2},
		"sync create, cut":                 {"[sync]", wire.Create, cut, refused("POST URL/hook: EOF" + notAgain), 1},
		"sync create, cut within a reply":  {"[sync]", wire.Create, halfROSAnswer, refused("POST URL/hook: unexpected EOF" + notAgain), 1},
		"sync delete, cut within a reply":  {"[sync]", wire.Delete, halfROSAnswer, delivery.Answered{Body: []byte(rosAnswer)}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				test.serve(int(tries.Add(1)-1), w)
			}))
			defer server.Close()
			w := startROS(t, "", nil)
			r := rosRequest(test.kind, "web"+test.options+":"+server.URL+"/hook?key=k")
			w.Dispatch([]store.Request{r})
			got := w.next(t)
			if refused, ok := got.Outcome.(delivery.Refused); ok {
				refused.Text = strings.ReplaceAll(refused.Text, server.URL, "URL")
				got.Outcome = refused
			}
			if diff := cmp.Diff(reported{r.ID, test.want}, got); diff != "" {
				t.Error(diff)
			}
			if int(tries.Load()) != test.tries {
				t.Errorf("%d tries, want %d", tries.Load(), test.tries)
			}
		})
	}
}

func halfROSAnswer(n int, w http.ResponseWriter) {
	w.Header().Set("Content-Length", fmt.Sprint(len(rosAnswer)))
	if n == 0 {
		fmt.Fprint(w, rosAnswer[:10])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, rosAnswer)
}

// TestROSConnectionRefused checks that a request that was never sent may be retried, even a Create that is not
// idempotent.
func TestROSConnectionRefused(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // no program listens there now
	w := startROS(t, "", func(c *delivery.Config, _ *world) { c.RetryFor = 50 * time.Millisecond })
	w.Dispatch([]store.Request{rosRequest(wire.Create, "web:"+server.URL)})
	got, ok := w.next(t).Outcome.(delivery.Refused)
	if !ok || got.Delivered || !strings.Contains(got.Text, "connection refused (") || !strings.Contains(got.Text, " tries in ") {
		t.Errorf("%+v", got)
	}
}

func TestROSSyncSilence(t *testing.T) {
	server := hanging(t, nil)
	w := startROS(t, "", nil)
	r := rosRequest(wire.Create, "web[sync]:"+server.URL+"/hook")
	r.Body.Timeout = 100 * time.Millisecond
	w.Dispatch([]store.Request{r})
	want := delivery.Refused{Delivered: true, Text: "POST " + server.URL + "/hook: no response within 100ms, the time that ROS waits for the reply " +
		"of a provider whose service token says sync, regardless of Timeout: leave the option out, and answer at the ResponseURL"}
	if diff := cmp.Diff(reported{r.ID, want}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}

func TestROSSilence(t *testing.T) {
	server := hanging(t, nil)
	w := startROS(t, "", nil)
	r := rosRequest(wire.Create, "web:"+server.URL+"/hook")
	r.Body.Timeout = 100 * time.Millisecond
	w.Dispatch([]store.Request{r})
	want := delivery.Refused{Delivered: true, Text: "POST " + server.URL + "/hook: no response within 100ms"}
	if diff := cmp.Diff(reported{r.ID, want}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}

// TestROSResponseLimit checks the configurable limit of an answer.
func TestROSResponseLimit(t *testing.T) {
	long := `{"Status":"SUCCESS","Data":{"x":"` + strings.Repeat("x", 100_000) + `"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // so that the response has no Content-Length
		fmt.Fprint(w, long)
	}))
	defer server.Close()
	for limit, want := range map[int]delivery.Answered{
		0: {Body: []byte(long[:4097]), Size: 4097}, wire.MaxROSResponse: {Body: []byte(long)}, len(long): {Body: []byte(long)},
		len(long) - 1: {Body: []byte(long), Size: len(long)},
	} {
		w := startROS(t, "", func(c *delivery.Config, _ *world) { c.ROSResponse = limit })
		r := rosRequest(wire.Create, "web[sync]:"+server.URL)
		w.Dispatch([]store.Request{r})
		if diff := cmp.Diff(reported{r.ID, want}, w.next(t)); diff != "" {
			t.Errorf("%d: %.300s", limit, diff)
		}
	}
}

// TestROSSigned checks that with a SignKey the document is signed each time it is sent, over the headers and the URL.
func TestROSSigned(t *testing.T) {
	for _, kind := range []string{"", "application/json", "application/x-www-form-urlencoded"} {
		server, got := capture(t)
		w := startROS(t, "", nil)
		r := rosRequest(wire.Update, "web:"+server.URL+"/a%2Fb?x=1")
		r.Body.HTTPConfig = object(member("SignKey", "hunter2 key"), member("ContentType", kind),
			value.Member{Key: "Headers", Value: object(member("X-Team", "a b"), member("x-lower", "1"), value.Member{Key: "N", Value: parseValue("7")})})
		if kind == "" {
			r.Body.HTTPConfig = object(r.Body.HTTPConfig.Members()[0], r.Body.HTTPConfig.Members()[2])
		}
		w.Dispatch([]store.Request{r})
		w.next(t)
		s := <-got
		if want := kind; s.header.Get("Content-Type") != want && (want != "" || s.header.Get("Content-Type") != "application/json") {
			t.Errorf("%q: Content-Type %q", kind, s.header.Get("Content-Type"))
		}
		document := s.body
		if strings.HasSuffix(kind, "urlencoded") {
			document = fromForm(t, s.body)
		}
		signing := wire.ROSSigning{
			Key: "hunter2 key", ContentType: kind, URL: server.URL + "/a%2Fb?x=1",
			Headers: map[string]string{"X-Team": s.header.Get("X-Team"), "x-lower": s.header.Get("x-lower"), "N": s.header.Get("N")},
		}
		if err := signing.Verify(document, time.Now()); err != nil {
			t.Errorf("%q: %v\n%s", kind, err, document)
		}
		if signing.Headers["N"] != "7" || signing.Headers["X-Team"] != "a b" {
			t.Errorf("headers %v", s.header)
		}
		if _, err := wire.ParseRequest(document); err != nil {
			t.Error(err)
		}
	}
}

// fromForm converts a form to a JSON document. Values that are not strings are JSON in the form.
func fromForm(t *testing.T, body []byte) []byte {
	t.Helper()
	fields, err := url.ParseQuery(string(body))
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]any{}
	for name := range fields {
		text := fields.Get(name)
		members[name] = text
		if name == "Signature" || strings.HasSuffix(name, "ResourceProperties") {
			members[name] = json.RawMessage(text)
		}
	}
	if len(members) < 10 {
		t.Errorf("the form has %v", fields)
	}
	document, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestROSHTTPConfigRefused(t *testing.T) {
	header := func(name string, v value.Value) value.Value {
		return object(value.Member{Key: "Headers", Value: object(value.Member{Key: name, Value: v})})
	}
	tests := map[string]struct {
		config value.Value
		want   string
	}{
		"no map":         {value.Str("x"), "HttpConfig is not a map"},
		"a content type": {object(member("ContentType", "text/plain")), "HttpConfig.ContentType must be application/json or application/x-www-form-urlencoded"},
		"a long key":     {object(member("SignKey", strings.Repeat("k", 129))), "HttpConfig.SignKey has more than 128 characters"},
		"a list for key": {object(value.Member{Key: "SignKey", Value: parseValue("[1]")}), "HttpConfig.SignKey is not a string"},
		"no headers":     {object(member("Headers", "x")), "HttpConfig.Headers is not a map"},
		"a nested one":   {header("X", parseValue(`{}`)), `HttpConfig.Headers: "X" is not a string`},
		"no name":        {header("X Y", value.Str("1")), `HttpConfig.Headers: "X Y" is not a header name`},
		"two lines":      {header("X", value.Str("1\r\nhunter2: 2")), `HttpConfig.Headers: "X" holds control characters`},
		"length":         {header("content-length", value.Str("1")), `HttpConfig.Headers: "content-length" cannot be set here; the content type is HttpConfig.ContentType`},
		"a host":         {header("Host", value.Str("x")), `HttpConfig.Headers: "Host" cannot be set here; the content type is HttpConfig.ContentType`},
		"twice": {
			object(value.Member{Key: "Headers", Value: object(member("a", "1"), member("A", "2"))}), `HttpConfig.Headers: "A" is a duplicate (case-insensitive)`,
		},
		"too many":  {header("X", value.Str(strings.Repeat("x", 40_000))), "HttpConfig.Headers have 40001 bytes, 32768 are allowed"},
		"all wrong": {object(member("ContentType", "x"), member("Headers", "x")), "HttpConfig.ContentType must be application/json or application/x-www-form-urlencoded; HttpConfig.Headers is not a map"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := startROS(t, "", nil)
			r := rosRequest(wire.Create, "web:http://127.0.0.1:1/")
			r.Body.HTTPConfig = test.config
			w.Dispatch([]store.Request{r})
			if diff := cmp.Diff(reported{r.ID, delivery.Refused{Text: test.want}}, w.next(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestROSSecretsStay checks that the secrets of a request do not reach a text, even if the provider returns the
// request.
func TestROSSecretsStay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var document struct{ ResponseURL string }
		_ = json.Unmarshal(body, &document)
		w.WriteHeader(400)
		fmt.Fprint(w, r.Header.Get("Authorization"), " ", r.Header.Get("X-Hidden"), " open-", r.Header.Get("X-Open"), " the-key hunter2&more ")
		_, query, _ := strings.Cut(document.ResponseURL, "&expire=")
		fmt.Fprint(w, "?expire="+query)
	}))
	defer server.Close()
	w := startROS(t, "", nil)
	r := rosRequest(wire.Create, "web:"+server.URL)
	r.Body.HTTPConfig = object(member("SignKey", "the-key"), value.Member{Key: "Headers", Value: object(
		member("Authorization", "Bearer abc"), value.Member{Key: "X-Hidden", Value: value.SecretStr("hidden text")}, member("X-Open", "text"))})
	w.Dispatch([]store.Request{r})
	got, _ := w.next(t).Outcome.(delivery.Refused)
	if want := "POST " + server.URL + ": 400 Bad Request: ***** ***** open-text ***** ***** ?expire="; !strings.HasPrefix(got.Text, want) ||
		!strings.HasSuffix(got.Text, "&signature=REDACTED") {
		t.Errorf("%s", got.Text)
	}
}

// TestROSCreateIsPostedOnce checks that Go's HTTP client does not retry a Create either. A header from the resource
// could mark it as repeatable.
func TestROSCreateIsPostedOnce(t *testing.T) {
	var creates atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"Create"`) {
			creates.Add(1)
			panic(http.ErrAbortHandler) // closes the connection, which served the previous request
		}
	}))
	defer server.Close()
	w := startROS(t, "", nil)
	for _, kind := range []wire.RequestType{wire.Update, wire.Create} {
		r := rosRequest(kind, "web:"+server.URL)
		r.ID = wire.RequestID(kind)
		r.Body.HTTPConfig = object(value.Member{Key: "Headers", Value: object(member("Idempotency-Key", "once"))})
		w.Dispatch([]store.Request{r})
		outcome := w.next(t).Outcome
		if refused, _ := outcome.(delivery.Refused); kind == wire.Create && !strings.Contains(refused.Text, "which is not sent again") {
			t.Errorf("%+v", outcome)
		}
	}
	if n := creates.Load(); n != 1 {
		t.Errorf("the provider got %d Creates", n)
	}
}

// TestROSPartsOfSecretsStay checks that parts of secrets are redacted: texts often contain a header's token without its
// scheme, and a URL with its query.
func TestROSPartsOfSecretsStay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(403)
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		fmt.Fprint(w, "token ", token, " key ", r.Header.Get("X-Api-Key"), " at ", r.URL.RequestURI())
	}))
	defer server.Close()
	w := startROS(t, "", nil)
	r := rosRequest(wire.Create, "web:"+server.URL+"/hook?stage=test&access_token=opensesame")
	r.Body.HTTPConfig = object(value.Member{Key: "Headers", Value: object(member("Authorization", "Bearer abc12345"), member("X-Api-Key", "k-12"))})
	w.Dispatch([]store.Request{r})
	got, _ := w.next(t).Outcome.(delivery.Refused)
	want := "POST " + server.URL + "/hook: 403 Forbidden: token ***** key ***** at /hook?stage=test&access_token=*****"
	if got.Text != want {
		t.Errorf("\n got %s\nwant %s", got.Text, want)
	}
	r = rosRequest(wire.Create, "web:"+server.URL)
	r.ID, r.Body.HTTPConfig = "other", object(value.Member{Key: "Headers", Value: object(member("authorization", "basic dTpodXNoLXdvcmQ="))})
	w.Dispatch([]store.Request{r})
	if got, _ := w.next(t).Outcome.(delivery.Refused); strings.Contains(got.Text, "dTpo") {
		t.Error(got.Text)
	}
	for name, token := range map[string]string{"path": "web:" + server.URL + "/hunter2hunter2/x?a=hunter2", "no token": "acs:fc:hunter2",
		"cut": "acs:fc:hunter2" + strings.Repeat("x", 200)} {
		r = rosRequest(wire.Create, "")
		r.ID, r.Body.Token = wire.RequestID(name), value.SecretStr(token)
		w.Dispatch([]store.Request{r})
		if got, _ := w.next(t).Outcome.(delivery.Refused); got.Text == "" || strings.Contains(got.Text, "hunter2") {
			t.Error(got.Text)
		}
	}
}

func TestROSWebGuarded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error("it was reached") }))
	defer server.Close()
	w := startROS(t, "", func(c *delivery.Config, _ *world) { c.AllowPrivate = false })
	w.Dispatch([]store.Request{rosRequest(wire.Create, "web[sync]:"+server.URL)})
	if got, ok := w.next(t).Outcome.(delivery.Refused); !ok || got.Delivered || !strings.Contains(got.Text, "is not a public address") {
		t.Errorf("%+v", got)
	}
}

// TestROSTokens checks service tokens that ROS does not support.
func TestROSTokens(t *testing.T) {
	for token, want := range map[string]string{
		"https://example.com/hook": "in a template of ROS a service token that is a URL begins with web: or web[sync]:, as in web:https://example.com/hook",
		function:                   `no local provider named "` + function + `", and ROS knows no such service token: add it to pintle.yaml under providers, or use --provider ` + function + "=./path",
		"web[fast]:http://x":       `service token has the option "fast", it may have sync and idempotent`,
		"acs:fc:cn-hangzhou:1:x":   `service token is not a function, want acs:fc:REGION:ACCOUNT:functions/NAME or acs:fc:REGION:ACCOUNT:services/SERVICE/functions/NAME, got "acs:fc:cn-hangzhou:1:x"`,
	} {
		w := startROS(t, "", nil)
		r := rosRequest(wire.Create, token)
		w.Dispatch([]store.Request{r})
		if diff := cmp.Diff(reported{r.ID, delivery.Refused{Text: want}}, w.next(t)); diff != "" {
			t.Errorf("%s: %s", token, diff)
		}
	}
}

// TestROSReferences checks that a dynamic reference of AWS is ordinary text in ROS.
func TestROSReferences(t *testing.T) {
	server, got := capture(t)
	w := startROS(t, "", func(c *delivery.Config, _ *world) {
		c.References = &book{texts: map[string]string{"/site/color": "blue"}, known: map[wire.RequestID][]string{}}
	})
	r := rosRequest(wire.Create, "web:"+server.URL)
	r.Body.Properties = object(member("P", "{{resolve:ssm:/site/color}}"))
	w.Dispatch([]store.Request{r})
	w.next(t)
	if s := <-got; !strings.Contains(string(s.body), `{"P":"{{resolve:ssm:/site/color}}"}`) {
		t.Errorf("sent %s", s.body)
	}
}

// TestROSMappedURL checks that a URL which the operator mapped a token to is called like any of Pintle's providers.
func TestROSMappedURL(t *testing.T) {
	server, got := capture(t)
	w := startROS(t, "", func(c *delivery.Config, _ *world) {
		c.AllowPrivate = false
		c.Local = named{"acs:mns:cn-hangzhou:1:queues/q": {Name: "q", URL: server.URL}}
	})
	r := rosRequest(wire.Create, "acs:mns:cn-hangzhou:1:queues/q")
	w.Dispatch([]store.Request{r})
	if diff := cmp.Diff(reported{r.ID, delivery.Accepted{}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
	s := <-got
	request, err := wire.ParseRequest(s.body)
	if err != nil || request.Dialect != wire.ROS || !strings.HasPrefix(s.header.Get("Webhook-Signature"), "v1,") {
		t.Errorf("%v: %s %v", err, s.body, s.header)
	}
}

// TestROSStop checks that the next node does not repeat a request that a provider received before this node was
// stopped, unless it is idempotent.
func TestROSStop(t *testing.T) {
	tests := map[string]struct {
		kind    wire.RequestType
		options string
		ready   int
	}{
		"create":            {wire.Create, "", 0},
		"sync create":       {wire.Create, "[sync]", 0},
		"idempotent create": {wire.Create, "[idempotent]", 1},
		"update":            {wire.Update, "", 1},
		"delete":            {wire.Delete, "", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{}, 1)
			server := hanging(t, arrived)
			w := startROS(t, "", func(c *delivery.Config, w *world) {
				c.Drain = time.Millisecond
				report := c.Report
				c.Report = func(ctx context.Context, id wire.RequestID, o delivery.Outcome) error {
					if ctx.Err() != nil {
						return ctx.Err() // like a database
					}
					return report(ctx, id, o)
				}
			})
			r := rosRequest(test.kind, "web"+test.options+":"+server.URL)
			w.table.add(r)
			w.Dispatch([]store.Request{r})
			<-arrived
			w.stop()
			<-w.ended
			if len(w.table.rows) != test.ready || len(w.outcomes) != 1-test.ready {
				t.Errorf("%d reports, %d rows", len(w.outcomes), len(w.table.rows))
			}
			if test.ready == 0 {
				if diff := cmp.Diff(reported{r.ID, delivery.Accepted{Once: true}}, w.next(t)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestROSLocalEvents checks that a local process gets the same event as a function. For a queue or a topic, that is the
// event of its trigger.
func TestROSLocalEvents(t *testing.T) {
	events := make(chan []byte, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- body
	}))
	defer collector.Close()
	now := time.Date(2026, 11, 22, 4, 5, 6, 789e6, time.UTC)
	const message = "B288A0BED9274888B0F7B35EF84B6E6F"
	tests := map[string]struct {
		token string
		// envelope is the trigger's event, with REQUEST instead of the document.
		envelope string
	}{
		"function of 3.0": {token: "acs:fc:cn-beijing:1234567890123456:functions/Thing"},
		"function of 2.0": {token: "acs:fc:cn-beijing:1234567890123456:services/s/functions/Thing"},
		"a name":          {token: "Thing"},
		"queue": {"acs:mns:cn-beijing:1234567890123456:/queues/Thing", `{"id":"B288A0BE-D927-4888-B0F7-B35EF84B6E6F","source":"acs:mns",` +
			`"specversion":"1.0","type":"mns:Queue:SendMessage","datacontenttype":"application/json; charset=utf-8",` +
			`"subject":"acs:mns:cn-beijing:1234567890123456:queues/Thing","time":"2026-11-22T04:05:06.789Z","aliyunpublishtime":"2026-11-22T04:05:06.789Z",` +
			`"aliyuneventbusname":"default","data":{"requestId":"` + message[:24] + `","messageId":"` + message + `","messageBody":REQUEST}}`},
		"topic": {"acs:mns:cn-beijing:1234567890123456:topics/Thing", `{"TopicOwner":"1234567890123456","Message":REQUEST,"Subscriber":"1234567890123456",` +
			`"PublishTime":1795320306789,"SubscriptionName":"pintle","MessageMD5":"MD5","TopicName":"Thing","MessageId":"` + message + `"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := startLocal(t, "collects", collector.URL, func(c *delivery.Config, l *local.Config) {
				l.Providers[0].Contract = bootstrap.Lambda // collects uses the Runtime API of Lambda
				c.Now = func() time.Time { return now }
				c.ResponseURL = func(store.Request) (string, error) { return "http://127.0.0.1:1/?a=1&signature=00", nil }
			})
			r := rosRequest(wire.Create, test.token)
			w.Dispatch([]store.Request{r})
			if diff := cmp.Diff(reported{r.ID, delivery.Accepted{Local: true}}, w.next(t)); diff != "" {
				t.Error(diff)
			}
			event := <-events
			document := event
			if test.envelope != "" {
				var wrapped struct {
					Message string
					Data    struct{ MessageBody string }
				}
				if err := json.Unmarshal(event, &wrapped); err != nil {
					t.Fatal(err)
				}
				document = []byte(wrapped.Message + wrapped.Data.MessageBody)
				quoted, _, _ := strings.Cut(strings.SplitN(string(event), `{\"RequestType`, 2)[1], `}"`)
				quoted = `"{\"RequestType` + quoted + `}"`
				envelope := strings.ReplaceAll(test.envelope, "REQUEST", quoted)
				envelope = strings.ReplaceAll(envelope, `"MD5"`, fmt.Sprintf(`"%X"`, md5.Sum(document)))
				if diff := cmp.Diff(envelope, string(event)); diff != "" {
					t.Error(diff)
				}
			}
			request, err := wire.ParseRequest(document)
			if err != nil || request.Dialect != wire.ROS || request.ServiceToken != "" || request.IntranetResponseURL != "http://127.0.0.1:1/?a=1&signature=00" {
				t.Errorf("%v: %s", err, document)
			}
		})
	}
}

// TestROSMappedAnswer checks that a provider behind a mapped URL may answer in its response, within the same limit.
func TestROSMappedAnswer(t *testing.T) {
	long := `{"Status":"SUCCESS","Data":{"x":"` + strings.Repeat("x", 5000) + `"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(long)))
		fmt.Fprint(w, long)
	}))
	defer server.Close()
	for limit, want := range map[int]delivery.Answered{0: {Body: []byte(long[:4097]), Size: len(long)}, 5100: {Body: []byte(long)}} {
		w := startROS(t, "", func(c *delivery.Config, _ *world) {
			c.ROSResponse, c.Local = limit, named{"q": {Name: "q", URL: server.URL}}
		})
		r := rosRequest(wire.Create, "q")
		w.Dispatch([]store.Request{r})
		if diff := cmp.Diff(reported{r.ID, want}, w.next(t)); diff != "" {
			t.Errorf("%d: %.300s", limit, diff)
		}
	}
}

// TestROSNotification checks that a URL gets the result of a stack operation unchanged, and that the notification is
// retried.
func TestROSNotification(t *testing.T) {
	const message = `{"Outputs":[],"StackId":"8acc3dcd","StackName":"s","Status":"CREATE_COMPLETE"}`
	var tries atomic.Int64
	bodies := make(chan sent, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- sent{r.Header, body}
		if tries.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	mapped := named{"https://mapped.example/told": {Name: "told", URL: server.URL}}
	for _, token := range []string{server.URL + "/told", "https://mapped.example/told"} {
		w := startROS(t, "", func(c *delivery.Config, _ *world) { c.Local = mapped })
		r := rosRequest(store.TypeNotification, token)
		r.Body.PhysicalID, r.Body.Properties = "", object(member("Message", message))
		w.Dispatch([]store.Request{r})
		if diff := cmp.Diff(reported{r.ID, delivery.Accepted{}}, w.next(t)); diff != "" {
			t.Error(diff)
		}
	}
	if tries.Load() != 3 {
		t.Errorf("%d tries", tries.Load())
	}
	for range 3 {
		if s := <-bodies; string(s.body) != message || s.header.Get("Content-Type") != "application/json" {
			t.Errorf("told %s %v", s.body, s.header)
		}
	}
	w := startROS(t, "", func(c *delivery.Config, _ *world) { c.AllowPrivate = false })
	r := rosRequest(store.TypeNotification, server.URL)
	r.Body.Properties = object(member("Message", message))
	w.Dispatch([]store.Request{r})
	if got, ok := w.next(t).Outcome.(delivery.Refused); !ok || !strings.Contains(got.Text, "is not a public address") {
		t.Errorf("%+v", got)
	}
}
