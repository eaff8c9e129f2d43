package delivery_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func TestWebOutcomes(t *testing.T) {
	const answer = `{"Status":"SUCCESS","PhysicalResourceId":"p"}`
	long := `{"Status":"SUCCESS","Reason":"` + strings.Repeat("x", 8000) + `"}`
	status := func(codes ...int) func(int, http.ResponseWriter, *http.Request) {
		return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes)-1)]) }
	}
	body := func(text string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	tests := map[string]struct {
		serve func(n int, w http.ResponseWriter, r *http.Request)
		want  delivery.Outcome
		tries int
	}{
		"accepted":             {status(202), delivery.Accepted{}, 1},
		"answered":             {body(answer), delivery.Answered{Body: []byte(answer)}, 1},
		"answered with spaces": {body("\n " + answer), delivery.Answered{Body: []byte("\n " + answer)}, 1},
		"JSON but no answer":   {body(`{"status":"ok"}`), delivery.Accepted{}, 1},
		"garbage":              {body("\x00\xff{<html>"), delivery.Accepted{}, 1},
		"long page":            {body("<html>" + strings.Repeat("x", 8000)), delivery.Accepted{}, 1},
		"oversized answer":     {body(long), delivery.Answered{Body: []byte(long[:delivery.MaxAnswer])}, 1},
		"503 twice":            {status(503, 503, 200), delivery.Accepted{}, 3},
		"429 once":             {status(429, 200), delivery.Accepted{}, 2},
		"503 then gone":        {status(503, 410), delivery.Refused{Text: "POST URL/hook: 410 Gone", Delivered: true}, 2},
		"a connection cut":     {cutOnce, delivery.Accepted{}, 2},
		"an answer cut":        {halfAnAnswer(answer), delivery.Answered{Body: []byte(answer)}, 2},
		"not done": {body(notDone), delivery.Refused{Text: "POST URL/hook: the reply is a pintleWaiting, which only a process of this " +
			"server's may return: reply 202, and answer at the ResponseURL when it is done", Delivered: true}, 1},
		"another 3xx": {status(304), delivery.Refused{Text: "POST URL/hook: 304 Not Modified, and redirects are not followed: use the target URL", Delivered: true}, 1},
		"404": {
			func(_ int, w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such hook\x1b[0m", 404) },
			delivery.Refused{Text: "POST URL/hook: 404 Not Found: no such hook[0m", Delivered: true}, 1,
		},
		"redirect": {
			func(_ int, w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) },
			delivery.Refused{Text: "POST URL/hook: 307 Temporary Redirect, and redirects are not followed: use the target URL", Delivered: true}, 1,
		},
		"a refusal that echoes the request": {
			func(_ int, w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(400)
				fmt.Fprint(w, "hunter2&more hunter2%26more hunter2\\u0026more ", strings.Repeat("-", 160))
				_, _ = io.Copy(w, r.Body)
			},
			delivery.Refused{Text: "POST URL/hook: 400 Bad Request: ***** ***** ***** " + strings.Repeat("-", 160) + `{"RequestType":"Create…`, Delivered: true}, 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				test.serve(int(tries.Add(1)-1), w, r)
			}))
			defer server.Close()
			w := start(t, nil)
			w.Dispatch([]store.Request{request("a", 1, server.URL+"/hook?key=k")})
			got := w.next(t)
			if refused, ok := got.Outcome.(delivery.Refused); ok {
				refused.Text = strings.ReplaceAll(refused.Text, server.URL, "URL")
				got.Outcome = refused
			}
			if diff := cmp.Diff(reported{"a", test.want}, got); diff != "" {
				t.Error(diff)
			}
			if int(tries.Load()) != test.tries {
				t.Errorf("%d tries, want %d", tries.Load(), test.tries)
			}
		})
	}
}

func cutOnce(n int, _ http.ResponseWriter, _ *http.Request) {
	if n == 0 {
		panic(http.ErrAbortHandler)
	}
}

func halfAnAnswer(answer string) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			fmt.Fprint(w, answer[:10])
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, answer)
	}
}

func TestWebRequest(t *testing.T) {
	type captured struct {
		header http.Header
		body   []byte
	}
	got := make(chan captured, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- captured{r.Header, body}
	}))
	defer server.Close()
	now := time.Unix(1614265330, 0)
	w := start(t, func(c *delivery.Config, _ *world) { c.Now = func() time.Time { return now } })
	r := request("a", 1, server.URL)
	r.Type = wire.Update
	r.Body.PhysicalID = "p-1"
	r.Body.Trace = parent
	r.Body.OldProperties = value.Object(value.Member{Key: "Size", Value: value.Str("1")})
	w.Dispatch([]store.Request{r})
	w.next(t)
	c := <-got

	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("a.1614265330." + string(c.body)))
	want := map[string]string{
		"Content-Type":      "application/json",
		"Traceparent":       r.Body.Trace,
		"Webhook-Id":        "a",
		"Webhook-Timestamp": "1614265330",
		"Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}
	for key, value := range want {
		if c.header.Get(key) != value {
			t.Errorf("%s is %q, want %q", key, c.header.Get(key), value)
		}
	}
	sent, err := wire.ParseRequest(c.body)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := url.Parse(sent.ResponseURL); err != nil || u.Query().Get("X-Amz-Signature") == "" {
		t.Errorf("the response URL is not signed: %v", err)
	}
	sent.ResponseURL = ""
	if diff := cmp.Diff(wire.Request{
		RequestType:           wire.Update,
		ServiceToken:          wire.ServiceToken(server.URL),
		StackID:               stackID,
		RequestID:             "a",
		LogicalResourceID:     "Thing",
		PhysicalResourceID:    "p-1",
		ResourceType:          "Custom::Thing",
		ResourceProperties:    []byte(`{"ServiceToken":"` + server.URL + `","Password":"hunter2&more"}`),
		OldResourceProperties: []byte(`{"Size":"1"}`),
	}, sent); diff != "" {
		t.Error(diff)
	}
	order := []string{"RequestType", "ServiceToken", "ResponseURL", "StackId", "RequestId", "LogicalResourceId",
		"PhysicalResourceId", "ResourceType", "ResourceProperties", "OldResourceProperties"}
	at := -1
	for _, key := range order {
		i := strings.Index(string(c.body), `"`+key+`":`)
		if i < at {
			t.Errorf("%s is out of order", key)
		}
		at = i
	}
}

func TestWebSilenceEndsWithTheRequest(t *testing.T) {
	for _, fidelity := range []bool{false, true} {
		server := hanging(t, nil)
		w := start(t, func(c *delivery.Config, _ *world) { c.FidelityAWS = fidelity })
		r := request("a", 1, server.URL)
		r.Body.Timeout = 100 * time.Millisecond
		w.Dispatch([]store.Request{r})
		want := statusreason.TimedOut("a")
		if !fidelity {
			want += " (POST " + server.URL + ": no response within 100ms)"
		}
		if diff := cmp.Diff(reported{"a", delivery.Refused{Text: want, Delivered: true}}, w.next(t)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStopLeavesAHangingRequestReady(t *testing.T) {
	arrived := make(chan struct{}, 1)
	server := hanging(t, arrived)
	w := start(t, func(c *delivery.Config, _ *world) { c.Drain = time.Millisecond })
	r := request("a", 1, server.URL)
	w.table.add(r)
	w.Dispatch([]store.Request{r})
	<-arrived
	w.stop()
	<-w.ended
	if len(w.outcomes) != 0 || len(w.table.rows) != 1 {
		t.Errorf("%d reports, %d rows", len(w.outcomes), len(w.table.rows))
	}
}

func TestStopWaitsForSends(t *testing.T) {
	arrived, stopping := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-stopping
	}))
	defer server.Close()
	w := start(t, func(c *delivery.Config, _ *world) { c.Drain = time.Hour })
	w.Dispatch([]store.Request{request("a", 1, server.URL)})
	<-arrived
	w.stop()
	close(stopping)
	<-w.ended
	if diff := cmp.Diff(reported{"a", delivery.Accepted{}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}

// hanging sends no response until its client disconnects.
func hanging(t *testing.T, arrived chan struct{}) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client disconnects
		if arrived != nil {
			arrived <- struct{}{}
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server
}

func TestHungProvidersDoNotDelayOthers(t *testing.T) {
	hung := hanging(t, nil)
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer quick.Close()
	w := start(t, func(c *delivery.Config, _ *world) { c.Sends, c.Drain = 8, time.Millisecond })
	var rows []store.Request
	for i := range 100 {
		rows = append(rows, request(fmt.Sprint("hung", i), 1, hung.URL))
	}
	w.Dispatch(append(rows, request("quick", 2, quick.URL)))
	if got := w.next(t); got.ID != "quick" {
		t.Errorf("reported %s first", got.ID)
	}
}

func TestOverflowOverRealConnections(t *testing.T) {
	const n = 300
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("webhook-id")]++
	}))
	defer server.Close()
	w := start(t, func(c *delivery.Config, _ *world) { c.Queue, c.Sends = 16, 8 })
	var rows []store.Request
	for i := range n {
		rows = append(rows, request(fmt.Sprint(i), store.StackKey(i%3+1), server.URL))
	}
	w.table.add(rows...)
	w.Dispatch(rows)
	for range n {
		if got := w.next(t); got.Outcome != (delivery.Accepted{}) {
			t.Fatalf("%+v", got)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was sent %d times", id, times)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d were sent", len(seen), n)
	}
}

func TestConnectionRefused(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // no program listens there now
	w := start(t, func(c *delivery.Config, _ *world) { c.RetryFor = 50 * time.Millisecond })
	w.Dispatch([]store.Request{request("a", 1, server.URL+"/hook")})
	got, ok := w.next(t).Outcome.(delivery.Refused)
	if !ok || got.Delivered || !strings.Contains(got.Text, "connection refused") || !strings.Contains(got.Text, " tries in ") {
		t.Errorf("%+v", got)
	}
	if text := <-w.progress; !strings.HasSuffix(text, "connection refused, retrying, 0 s left") {
		t.Errorf("progress %q", text)
	}
}

func TestPlainServerBehindHTTPS(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	target := strings.Replace(server.URL, "http://", "https://", 1)
	w := start(t, nil)
	w.Dispatch([]store.Request{request("a", 1, target)})
	want := delivery.Refused{Text: "POST " + target + ": http: server gave HTTP response to HTTPS client"}
	if diff := cmp.Diff(reported{"a", want}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}

func TestUntrustedCertificate(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log the refused connection
	server.StartTLS()
	defer server.Close()
	w := start(t, nil)
	w.Dispatch([]store.Request{request("a", 1, server.URL)})
	got, ok := w.next(t).Outcome.(delivery.Refused)
	if !ok || got.Delivered || !strings.Contains(got.Text, "certificate") {
		t.Errorf("%+v", got)
	}
}

func TestGuardedTargets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error("it was reached") }))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, target := range []string{server.URL, "http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://0.0.0.0" + port} {
		w := start(t, func(c *delivery.Config, _ *world) { c.AllowPrivate = false })
		w.Dispatch([]store.Request{request("a", 1, target)})
		got, ok := w.next(t).Outcome.(delivery.Refused)
		if !ok || got.Delivered || !strings.Contains(got.Text, "is not a public address") {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

func TestMappedURLIsNotGuarded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	w := start(t, func(c *delivery.Config, _ *world) {
		c.AllowPrivate = false
		c.Local = delivery.NewLocal(nil, func(token wire.ServiceToken) (delivery.Provider, bool) {
			return delivery.Provider{Name: "Thing", URL: server.URL}, token == "arn:aws:sns:eu-west-1:84969EXAMPLE:Thing"
		})
	})
	w.Dispatch([]store.Request{request("a", 1, "arn:aws:sns:eu-west-1:84969EXAMPLE:Thing")})
	if diff := cmp.Diff(reported{"a", delivery.Accepted{}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}

func TestSecretURLIsNotShown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	w := start(t, nil)
	r := request("a", 1, server.URL+"/hunter2")
	r.Body.Properties = value.Object(value.Member{Key: "ServiceToken", Value: value.SecretStr(server.URL + "/hunter2")})
	w.Dispatch([]store.Request{r})
	want := delivery.Refused{Text: "POST *****: 404 Not Found: 404 page not found", Delivered: true}
	if diff := cmp.Diff(reported{"a", want}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}
