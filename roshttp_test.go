package pintle_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

const (
	rosSignKey   = "sign-key-of-the-test"
	rosSignature = "10841498499ba1c4b07547a542c3a8718235f983"
)

// ros receives the answers of providers.
type ros struct {
	*httptest.Server
	posts chan string
}

func newROS(t *testing.T) *ros {
	c := &ros{posts: make(chan string, 10)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Date") == "" {
			t.Errorf("answered by %s with %v", r.Method, r.Header)
		}
		if r.URL.Query().Get("refuse") != "" {
			w.WriteHeader(http.StatusForbidden)
		}
		c.posts <- string(body)
	}))
	t.Cleanup(c.Close)
	return c
}

// request returns a request in JSON; more is appended to the query of its response URL.
func (c *ros) request(t *testing.T, kind wire.RequestType, id wire.PhysicalID, do, more string) string {
	t.Helper()
	text, err := wire.Request{
		Dialect: wire.ROS, RequestType: kind, ResponseURL: c.URL + "/cb?signature=" + rosSignature + more,
		StackID: "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", StackName: "web", RequestID: wire.RequestID(rand.Text()), LogicalResourceID: "Site",
		PhysicalResourceID: id, ResourceType: "Custom::Site", ResourceProperties: []byte(`{"Do":"` + do + `","N":7}`),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// answered waits for an answer that contains a text.
func (c *ros) answered(t *testing.T, name, want string) {
	t.Helper()
	if got := <-c.posts; !strings.Contains(got, want) {
		t.Errorf("%s: answered %s, want %s", name, got, want)
	}
}

func sign(t *testing.T, key, url, request string, at time.Time) string {
	t.Helper()
	signed, err := wire.ROSSigning{Key: key, URL: url, Headers: map[string]string{"X-A": "1"}}.Sign([]byte(request), at)
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

func TestROSOverHTTP(t *testing.T) {
	c := newROS(t)
	server, log := provide(t, pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.HandlerFunc(site)},
		ROS:      pintle.ROSConfig{SignKeys: []string{"an-older-key", rosSignKey}, SignHeaders: []string{"X-A"}},
	})
	behindTLS := "https" + strings.TrimPrefix(server.URL, "http")
	for _, tt := range []struct {
		name, path, body string
		edit             func(http.Header)
		status           int
		reply, answer    string // parts of them; "" means empty
	}{
		{"accepted", "/", sign(t, rosSignKey, server.URL, c.request(t, wire.Create, "", "", ""), time.Now()), nil, 200, "", `"Status":"SUCCESS","PhysicalResourceId":"site-1"`},
		{"another path", "/a?b=c", sign(t, rosSignKey, server.URL+"/a?b=c", c.request(t, wire.Create, "", "", ""), time.Now()), nil, 200, "", "SUCCESS"},
		{"behind TLS", "/", sign(t, rosSignKey, behindTLS+"/", c.request(t, wire.Create, "", "", ""), time.Now()), nil, 200, "", "SUCCESS"},
		{"an older key", "/", sign(t, "an-older-key", server.URL, c.request(t, wire.Create, "", "", ""), time.Now()), nil, 200, "", "SUCCESS"},
		{"failed", "/", sign(t, rosSignKey, server.URL, c.request(t, wire.Update, "site-1", "fail", ""), time.Now()), nil, 200, "", `"Status":"FAILED","Reason":"disk full"`},
		{"sync", "/x/sync", sign(t, rosSignKey, server.URL+"/x/sync", c.request(t, wire.Create, "", "", ""), time.Now()), nil, 200, `"Status":"SUCCESS","PhysicalResourceId":"site-1"`, ""},
		{"sync, failed", "/sync", sign(t, rosSignKey, server.URL+"/sync", c.request(t, wire.Delete, "site-1", "fail", ""), time.Now()), nil, 200, `"Status":"FAILED","Reason":"disk full"`, ""},
		{"no response URL", "/", sign(t, rosSignKey, server.URL, strings.Replace(c.request(t, wire.Create, "", "", ""), "ResponseURL", "X", 1), time.Now()), nil, 200, `"Status":"SUCCESS"`, ""},
		{"refused by ROS", "/", sign(t, rosSignKey, server.URL, c.request(t, wire.Create, "", "", "&refuse=1"), time.Now()), nil, 500, "403 Forbidden", "SUCCESS"},
		{"another key", "/", sign(t, "other", server.URL, c.request(t, wire.Create, "", "", ""), time.Now()), nil, 401, "does not fit", ""},
		{"another URL", "/", sign(t, rosSignKey, server.URL+"/other", c.request(t, wire.Create, "", "", ""), time.Now()), nil, 401, "does not fit", ""},
		{"another header", "/", sign(t, rosSignKey, server.URL, c.request(t, wire.Create, "", "", ""), time.Now()), func(h http.Header) { h.Set("X-A", "2") }, 401, "does not fit", ""},
		{"old", "/", sign(t, rosSignKey, server.URL, c.request(t, wire.Create, "", "", ""), time.Now().Add(-time.Hour)), nil, 401, "clock", ""},
		{"not signed", "/", c.request(t, wire.Create, "", "", ""), nil, 401, "HttpConfig", ""},
		{"a form", "/", "RequestType=Create", func(h http.Header) { h.Set("Content-Type", "application/x-www-form-urlencoded") }, 415, "HttpConfig", ""},
		{"no request", "/", sign(t, rosSignKey, server.URL, `{"CallerId":"1"}`, time.Now()), nil, 400, "RequestId is missing", ""},
		{"answerable", "/", sign(t, rosSignKey, server.URL, strings.Replace(c.request(t, wire.Create, "", "", ""), "Create", "Move", 1), time.Now()), nil, 200, "", `"Reason":"request is not valid: RequestType is \"Move\"`},
	} {
		status, reply := post(t, server.URL+tt.path, "", tt.body, func(h http.Header) {
			h.Set("X-A", "1")
			h.Set("Content-Type", "application/json")
			if tt.edit != nil {
				tt.edit(h)
			}
		})
		if status != tt.status || !strings.Contains(reply, tt.reply) || tt.reply == "" && reply != "" {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, reply, tt.status, tt.reply)
		}
		if tt.answer != "" {
			c.answered(t, tt.name, tt.answer)
		}
		if len(c.posts) > 0 {
			t.Errorf("%s: answered %s", tt.name, <-c.posts)
		}
	}
	// An engine may sign a request as a webhook.
	if status, reply := post(t, server.URL, webhookSecret, c.request(t, wire.Create, "", "", ""), nil); status != 200 || !strings.Contains(reply, "SUCCESS") {
		t.Errorf("as a webhook: %d %s", status, reply)
	}
	for _, secret := range []string{rosSignature, rosSignKey, "an-older-key", webhookSecret} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log shows %s:\n%s", secret, log)
		}
	}
}

func TestROSOverHTTPSettings(t *testing.T) {
	c := newROS(t)
	handlers := []pintle.Handler{pintle.HandlerFunc(site)}
	behind, _ := provide(t, pintle.ServerConfig{Handlers: handlers, ROS: pintle.ROSConfig{SignKeys: []string{rosSignKey}, URL: "https://outside.test/hook", Sync: true, SignHeaders: []string{"X-A"}}})
	withA := func(h http.Header) { h.Set("X-A", "1") }
	if status, reply := post(t, behind.URL, "", sign(t, rosSignKey, "https://outside.test/hook", c.request(t, wire.Create, "", "", ""), time.Now()), withA); status != 200 || !strings.Contains(reply, "SUCCESS") {
		t.Errorf("behind a proxy, sync: %d %s", status, reply)
	}
	if status, _ := post(t, behind.URL, "", sign(t, rosSignKey, behind.URL, c.request(t, wire.Create, "", "", ""), time.Now()), withA); status != 401 {
		t.Errorf("by its own URL: %d", status)
	}
	// Behind a proxy, the path of the request is not signed, so it does not make the reply the answer.
	elsewhere, _ := provide(t, pintle.ServerConfig{Handlers: handlers, ROS: pintle.ROSConfig{SignKeys: []string{rosSignKey}, URL: "https://outside.test/hook", SignHeaders: []string{"X-A"}}})
	if status, reply := post(t, elsewhere.URL+"/sync", "", sign(t, rosSignKey, "https://outside.test/hook", c.request(t, wire.Create, "", "", ""), time.Now()), withA); status != 200 || reply != "" {
		t.Errorf("behind a proxy, at another path: %d %s", status, reply)
	}
	c.answered(t, "behind a proxy, at another path", "SUCCESS")
	inPlace, _ := provide(t, pintle.ServerConfig{Handlers: handlers, ROS: pintle.ROSConfig{SignKeys: []string{rosSignKey}, URL: "https://outside.test/sync", SignHeaders: []string{"X-A"}}})
	if status, reply := post(t, inPlace.URL, "", sign(t, rosSignKey, "https://outside.test/sync", c.request(t, wire.Create, "", "", ""), time.Now()), withA); status != 200 || !strings.Contains(reply, "SUCCESS") {
		t.Errorf("behind a proxy, sync by its URL: %d %s", status, reply)
	}
	none, _ := provide(t, pintle.ServerConfig{Handlers: handlers})
	if status, reply := post(t, none.URL, "", sign(t, rosSignKey, none.URL, c.request(t, wire.Create, "", "", ""), time.Now()), nil); status != 401 || !strings.Contains(reply, "PINTLE_ROS_SIGN_KEY") {
		t.Errorf("without a key: %d %s", status, reply)
	}
	open, _ := provide(t, pintle.ServerConfig{Handlers: handlers, AllowUnsigned: true, Hold: -1})
	if status, reply := post(t, open.URL, "", c.request(t, wire.Create, "", "", ""), nil); status != 200 || reply != "" {
		t.Errorf("unsigned: %d %s", status, reply)
	}
	c.answered(t, "unsigned", "SUCCESS")
	for _, header := range []string{"Origin", "Sec-Fetch-Site"} {
		if status, reply := post(t, open.URL, "", c.request(t, wire.Create, "", "", ""), func(h http.Header) { h.Set(header, "null") }); status != 403 || !strings.Contains(reply, "browser") {
			t.Errorf("unsigned, from the page of somebody: %d %s", status, reply)
		}
	}
	// ROS requests that are signed as webhooks also have the timeout of ROS.
	var left time.Duration
	slow, _ := provide(t, pintle.ServerConfig{
		ROS: pintle.ROSConfig{Timeout: 3 * time.Hour},
		Handlers: []pintle.Handler{
			pintle.HandlerFunc(func(ctx context.Context, _ *pintle.Request) (pintle.Answer, error) {
				deadline, _ := ctx.Deadline()
				left = time.Until(deadline)
				return pintle.Answer{ID: "a"}, nil
			})},
	})
	if status, _ := post(t, slow.URL, webhookSecret, c.request(t, wire.Create, "", "", ""), nil); status != 200 || left < 2*time.Hour {
		t.Errorf("a webhook: %d, %v left", status, left)
	}
}

// functions is the runtime API of Function Compute.
type functions struct {
	*httptest.Server
	events  chan [2]string // kind and event
	results chan result
	waits   bool // like an engine that runs functions itself
}

func newFunctions(t *testing.T) *functions {
	f := &functions{events: make(chan [2]string), results: make(chan result, 10)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2020-11-11/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-f.events:
			w.Header().Set("x-fc-request-id", "i-1")
			w.Header().Set("x-fc-function-type", event[0])
			if f.waits {
				w.Header().Set(wire.HeaderWaits, wire.Waits)
			}
			w.Header().Set("x-fc-function-deadline", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			fmt.Fprint(w, event[1])
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2020-11-11/runtime/invocation/", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		f.results <- result{strings.TrimPrefix(r.URL.Path, "/2020-11-11/runtime/invocation/"), string(body)}
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// run runs providers until the returned function is called, which returns the error of Run.
func run(t *testing.T, c pintle.RunConfig) (stop func() error) {
	t.Helper()
	if c.Handlers == nil {
		c.Handlers = []pintle.Handler{pintle.HandlerFunc(site)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- pintle.Run(ctx, c) }()
	return func() error {
		cancel()
		return <-done
	}
}

func TestROSFunctionRuntimeAPI(t *testing.T) {
	c, f := newROS(t), newFunctions(t)
	stop := run(t, pintle.RunConfig{FCRuntimeAPI: strings.TrimPrefix(f.URL, "http://")})
	for _, tt := range []struct{ name, kind, event, path, body, answer string }{
		{"initializer", "1", "", "i-1/response", "{}", ""},
		{"request", "0", c.request(t, wire.Create, "", "", ""), "i-1/response", "{}", `"Status":"SUCCESS"`},
		{"failure", "", c.request(t, wire.Create, "", "fail", ""), "i-1/response", "{}", "disk full"},
		{"refused", "0", c.request(t, wire.Create, "", "", "&refuse=1"), "i-1/error", `"errorType":"Pintle.NotAnswered"`, "SUCCESS"},
		{"from a topic", "0", `{"TopicName":"t","Message":"` + base64.StdEncoding.EncodeToString([]byte(c.request(t, wire.Create, "", "", ""))) + `"}`, "i-1/response", "{}", "SUCCESS"},
		{"nonsense", "0", "[]", "i-1/error", "it is another JSON value", ""},
	} {
		f.events <- [2]string{tt.kind, tt.event}
		if got := <-f.results; got.path != tt.path || !strings.Contains(got.body, tt.body) {
			t.Errorf("%s: %v", tt.name, got)
		}
		if tt.answer != "" {
			c.answered(t, tt.name, tt.answer)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := run(t, pintle.RunConfig{FCRuntimeAPI: strings.TrimPrefix(c.URL, "http://")})(); err != nil && !strings.Contains(err.Error(), "runtime API") {
		t.Error(err)
	}
}

// resumed returns the next polling event for a request, from the reply to the last one.
func resumed(t *testing.T, of, reported string, try int) string {
	t.Helper()
	w, ok, err := wire.ParseWaiting([]byte(reported))
	if want := fmt.Sprintf("asked %d times", try); !ok || err != nil || !strings.HasPrefix(w.Reason, want) || w.PhysicalResourceID != "it" {
		t.Fatalf("the runtime received %s: %v", reported, err)
	}
	request, err := wire.ParseRequest([]byte(of))
	if err != nil {
		t.Fatal(err)
	}
	event, err := wire.Resume{Pending: w.Pending, Try: try, Request: request}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(event)
}

// An engine that runs functions itself keeps the wait, through either API of Function Compute.
func TestROSFunctionHostedWait(t *testing.T) {
	c, f := newROS(t), newFunctions(t)
	f.waits = true
	handlers := []pintle.Handler{pintle.New(lasting{})}
	running(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: handlers}, FCRuntimeAPI: strings.TrimPrefix(f.URL, "http://")})
	port := freePort(t)
	log := watched{make(chan string, 100)}
	stop := run(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{Handlers: handlers, Logger: slog.New(slog.NewTextHandler(log, nil))}, FCPort: port})
	for line := range log.lines {
		if strings.Contains(line, "listening") {
			break
		}
	}
	for name, hand := range map[string]func(event string) (reported string){
		"asks": func(event string) string {
			f.events <- [2]string{"0", event}
			return (<-f.results).body
		},
		"listens": func(event string) string {
			status, reply := post(t, "http://127.0.0.1:"+port+"/invoke", "", event, func(h http.Header) {
				h.Set("x-fc-control-path", "/invoke")
				h.Set(wire.HeaderWaits, wire.Waits)
			})
			if status != http.StatusOK {
				t.Errorf("status %d", status)
			}
			return reply
		},
	} {
		of := strings.Replace(c.request(t, wire.Create, "", "", ""), `,"N":7`, "", 1) // this provider does not know the property
		event := of
		for try := 1; try <= 2; try++ {
			event = resumed(t, of, hand(event), try)
		}
		if reported := hand(event); reported != "{}" {
			t.Errorf("%s: in the end the runtime received %s", name, reported)
		}
		c.answered(t, name, `"Status":"SUCCESS","PhysicalResourceId":"it"`)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// freePort returns a port that no process listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// watched is a log that sends each line to a channel.
type watched struct{ lines chan string }

func (w watched) Write(line []byte) (int, error) {
	select {
	case w.lines <- string(line):
	default:
	}
	return len(line), nil
}

func TestROSFunctionCustomRuntime(t *testing.T) {
	c := newROS(t)
	port := freePort(t)
	log := watched{make(chan string, 100)}
	stop := run(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		ROS:    pintle.ROSConfig{SignKeys: []string{rosSignKey}},
	}, FCPort: port})
	for line := range log.lines {
		if strings.Contains(line, "listening") {
			break
		}
	}
	url := "http://127.0.0.1:" + port
	for _, tt := range []struct {
		name, control, path, body string
		status                    int
		fcStatus, reply, answer   string
	}{
		{"initialize", "/initialize", "/initialize", "", 200, "200", "{}", ""},
		{"pre-stop", "/pre-stop", "/pre-stop", "", 200, "200", "{}", ""},
		{"event", "/invoke", "/invoke", c.request(t, wire.Create, "", "", ""), 200, "200", "{}", `"Status":"SUCCESS"`},
		{"refused", "/invoke", "/invoke", c.request(t, wire.Create, "", "", "&refuse=1"), 404, "404", "Pintle.NotAnswered", `"Status":"SUCCESS"`},
		{"not an event", "/http-invoke", "/invoke", c.request(t, wire.Create, "", "", ""), 401, "", "HttpConfig", ""},
		{"no path header", "", "/invoke", c.request(t, wire.Create, "", "", ""), 401, "", "HttpConfig", ""},
	} {
		var fcStatus string
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("x-fc-request-id", "i-1")
		request.Header.Set("x-fc-function-timeout", "60")
		if tt.control != "" {
			request.Header.Set("x-fc-control-path", tt.control)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := io.ReadAll(response.Body)
		response.Body.Close()
		fcStatus = response.Header.Get("x-fc-status")
		if err != nil || response.StatusCode != tt.status || fcStatus != tt.fcStatus || !strings.Contains(string(reply), tt.reply) {
			t.Errorf("%s: %d %q %s, %v", tt.name, response.StatusCode, fcStatus, reply, err)
		}
		if tt.answer != "" {
			c.answered(t, tt.name, tt.answer)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Error(err)
	}
	err := run(t, pintle.RunConfig{ServerConfig: pintle.ServerConfig{AllowUnsigned: true}, FCPort: port})()
	if err == nil || !strings.Contains(err.Error(), "not signed") {
		t.Errorf("unsigned: %v", err)
	}
}

// smq is a topic that pushes messages, and the bucket with its certificate.
type smq struct {
	key    *rsa.PrivateKey
	client *http.Client
}

func newSMQ(t *testing.T) *smq {
	t.Helper()
	s := &smq{}
	var err error
	if s.key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	const bucket, region = "mnstest.oss-cn-hangzhou.aliyuncs.com", "mns-cert.oss-cn-beijing.aliyuncs.com"
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "notify"}, DNSNames: []string{bucket, region},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	// As short as the one that SMQ has used.
	block, _ := pem.Decode([]byte(shortCertificate))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short.pem" {
			_ = pem.Encode(w, block)
			return
		}
		_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: s.key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	s.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "127.0.0.1:") { // the response URL
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			if address != bucket+":443" && address != region+":443" {
				return nil, fmt.Errorf("%s was dialled", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

func TestROSTopicPush(t *testing.T) {
	c, mns := newROS(t), newSMQ(t)
	server, _ := provide(t, pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.HandlerFunc(site)},
		Client:   mns.client,
		Topics:   []string{"acs:mns:cn-hangzhou:1234:/topics/Sites"},
	})
	good := c.request(t, wire.Create, "", "", "")
	for _, tt := range []struct {
		name, body string
		before     func(http.Header) // changes the header before it is signed
		after      func(http.Header)
		status     int
		reply      string
	}{
		{"raw", good, nil, nil, 200, ""},
		{"in JSON", `{"TopicOwner":"1234","TopicName":"Sites","Message":"` + base64.StdEncoding.EncodeToString([]byte(good)) + `"}`,
			enclosed("text/json;charset=utf-8"), nil, 200, ""},
		{"in XML", `<Notification><TopicOwner>1234</TopicOwner><TopicName>Sites</TopicName><Message>` + base64.StdEncoding.EncodeToString([]byte(good)) + `</Message></Notification>`,
			enclosed("text/xml;charset=utf-8"), nil, 200, ""},
		// The owner of another topic controls the body of a push in the simplified format, which is only the message.
		{"simplified format that imitates JSON", `{"TopicOwner":"1234","TopicName":"Sites","Message":"` + base64.StdEncoding.EncodeToString([]byte(good)) + `"}`,
			func(h http.Header) { h.Del("x-mns-topic-name"); h.Del("x-mns-topic-owner") }, nil, 403, "PINTLE_PROVIDER_TOPICS"},
		{"simplified format with a content type", `{"TopicOwner":"1234","TopicName":"Sites","Message":"` + base64.StdEncoding.EncodeToString([]byte(good)) + `"}`,
			func(h http.Header) { enclosed("text/xml")(h); h.Set("x-mns-message-id", "m-1") }, nil, 403, "PINTLE_PROVIDER_TOPICS"},
		{"plain, without an ID", `{"TopicOwner":"1234","TopicName":"Sites","Message":"` + base64.StdEncoding.EncodeToString([]byte(good)) + `"}`,
			enclosed("text/plain;charset=utf-8"), nil, 403, "PINTLE_PROVIDER_TOPICS"},
		{"the bucket of a region", good, certAt("https://mns-cert.oss-cn-beijing.aliyuncs.com/c.pem"), nil, 200, ""},
		{"imitation of a regional bucket", good, certAt("https://mns-cert.oss-cn-x.evil.aliyuncs.com/c.pem"), nil, 403, "bucket of SMQ"},
		{"MD5 in base64", good, func(h http.Header) {
			sum := md5.Sum([]byte(good))
			h.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		}, nil, 200, ""},
		{"another topic", good, func(h http.Header) { h.Set("x-mns-topic-name", "Other") }, nil, 403, "PINTLE_PROVIDER_TOPICS"},
		{"another owner", good, func(h http.Header) { h.Set("x-mns-topic-owner", "4321") }, nil, 403, "PINTLE_PROVIDER_TOPICS"},
		{"no owner", good, func(h http.Header) { h.Del("x-mns-topic-owner") }, nil, 403, "PINTLE_PROVIDER_TOPICS"},
		{"old", good, func(h http.Header) { h.Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)) }, nil, 403, "clock"},
		{"no date", good, func(h http.Header) { h.Del("Date") }, nil, 403, "clock"},
		{"another body", good + " ", func(h http.Header) {
			sum := md5.Sum([]byte(good))
			h.Set("Content-MD5", hex.EncodeToString(sum[:]))
		}, nil, 403, "Content-MD5"},
		{"no MD5", good, func(h http.Header) { h.Del("Content-MD5") }, nil, 403, "Content-MD5"},
		{"edited", good, nil, func(h http.Header) { h.Set("x-mns-message-id", "m-2") }, 403, "Authorization of the message does not fit"},
		{"not signed", good, nil, func(h http.Header) { h.Del("Authorization") }, 403, "Authorization of the message does not fit"},
		{"another bucket", good, certAt("https://mine.oss-cn-hangzhou.aliyuncs.com/c.pem"), nil, 403, "bucket of SMQ"},
		{"imitation of the host", good, certAt("https://mnstest.oss-cn-hangzhou.aliyuncs.com.evil.test/c.pem"), nil, 403, "bucket of SMQ"},
		{"a user", good, certAt("https://mnstest.oss-cn-hangzhou.aliyuncs.com@evil.test/c.pem"), nil, 403, "bucket of SMQ"},
		{"a short key", good, certAt("http://mnstest.oss-cn-hangzhou.aliyuncs.com/short.pem"), nil, 403, "no RSA key of 1024 bits"},
	} {
		status, reply := post(t, server.URL+"/push", "", tt.body, func(h http.Header) {
			sum := md5.Sum([]byte(tt.body))
			for name, value := range map[string]string{
				"x-mns-topic-owner": "1234", "x-mns-topic-name": "Sites", "x-mns-message-id": "m-1", "x-mns-version": "2015-06-06",
				"Content-MD5": strings.ToUpper(hex.EncodeToString(sum[:])), "Content-Type": "text/plain;charset=UTF-8",
				"Date": time.Now().UTC().Format(http.TimeFormat),
			} {
				h.Set(name, value)
			}
			certAt("https://mnstest.oss-cn-hangzhou.aliyuncs.com/x509_public_certificate.pem")(h)
			if tt.before != nil {
				tt.before(h)
			}
			h.Set("Authorization", mns.sign(t, h, "/push"))
			if tt.after != nil {
				tt.after(h)
			}
		})
		if status != tt.status || !strings.Contains(reply, tt.reply) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, reply, tt.status, tt.reply)
		}
		if tt.status == 200 {
			c.answered(t, tt.name, "SUCCESS")
		}
		if len(c.posts) > 0 {
			t.Errorf("%s: answered %s", tt.name, <-c.posts)
		}
	}
}

// enclosed moves the name of the topic from the headers to the body.
func enclosed(contentType string) func(http.Header) {
	return func(h http.Header) {
		h.Del("x-mns-topic-name")
		h.Del("x-mns-topic-owner")
		h.Del("x-mns-message-id")
		h.Set("Content-Type", contentType)
	}
}

func certAt(url string) func(http.Header) {
	return func(h http.Header) { h.Set("x-mns-signing-cert-url", base64.StdEncoding.EncodeToString([]byte(url))) }
}

// sign follows the text of SMQ's page about signatures of pushes.
func (s *smq) sign(t *testing.T, h http.Header, path string) string {
	t.Helper()
	var text bytes.Buffer
	fmt.Fprintf(&text, "POST\n%s\n%s\n%s\n", h.Get("Content-MD5"), strings.ToLower(h.Get("Content-Type")), h.Get("Date"))
	for _, name := range []string{"x-mns-message-id", "x-mns-signing-cert-url", "x-mns-topic-name", "x-mns-topic-owner", "x-mns-version"} {
		if h.Get(name) != "" {
			fmt.Fprintf(&text, "%s:%s\n", name, h.Get(name))
		}
	}
	text.WriteString(path)
	sum := sha1.Sum(text.Bytes())
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA1, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(signature)
}

// shortCertificate has a key of 512 bits.
const shortCertificate = `-----BEGIN CERTIFICATE-----
MIIBezCCASWgAwIBAgIUDLH8OzL1jlooraCigtsGjl7sepUwDQYJKoZIhvcNAQEL
BQAwETEPMA0GA1UEAwwGbm90aWZ5MCAXDTI2MTEyMTE5MjA0MloYDzIxMjYxMDI4
MTkyMDQyWjARMQ8wDQYDVQQDDAZub3RpZnkwXDANBgkqhkiG9w0BAQEFAANLADBI
AkEAzASOrAEHoY1xwA34fzyM6RD3UzgMaMm2U+WsuKhNZnv8k6g3K/glKSl9wDWh
9rfWxDTwEu+aFILtQh2XM9UTyQIDAQABo1MwUTAdBgNVHQ4EFgQUOKpC32l/a/xY
spUBAp4TXcuGmx0wHwYDVR0jBBgwFoAUOKpC32l/a/xYspUBAp4TXcuGmx0wDwYD
VR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAANBALMFcMcmd7/vA2b61PSojj+S
9kcD9aBshhbUYlflFx7/ItZ5hmudDIsWOoeoYlx8CdHa+0eLwN070aOW+Kktezc=
-----END CERTIFICATE-----
`
