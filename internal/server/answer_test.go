package server_test

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestAnswers checks that every PUT of a provider is acknowledged, and that the stack reflects its meaning.
func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		body   func(store.Request) string
		reason string
	}{
		"garbage":           {func(store.Request) string { return "\x00\xff not JSON" }, "Invalid Response object"},
		"empty":             {func(store.Request) string { return "" }, "Invalid Response object"},
		"no id":             {func(r store.Request) string { return success(r, "") }, "Invalid PhysicalResourceId"},
		"too long":          {func(r store.Request) string { return success(r, "x") + strings.Repeat(" ", 1000_000) }, "Response object is too long"},
		"one byte too long": {func(r store.Request) string { return padded(r, wire.MaxResponse+1) }, "Response object is too long"},
		"the limit":         {func(r store.Request) string { return padded(r, wire.MaxResponse) }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			r := w.create("s")
			if status, _, body := w.put(w.responseURL(r), test.body(r)); status != 200 || body != "" {
				t.Errorf("answered %d %s", status, body)
			}
			rows, err := w.store.Instances(t.Context(), r.Stack)
			w.must(err)
			if got := rows[0].Reason; test.reason != "" && !strings.Contains(reasons(w, r.Stack), test.reason) {
				t.Errorf("reason %q, want %q in\n%s", got, test.reason, reasons(w, r.Stack))
			}
			if got := w.status("s"); (got == "CREATE_COMPLETE") != (test.reason == "") {
				t.Errorf("the stack is %s", got)
			}
		})
	}
}

func padded(r store.Request, size int) string {
	body := success(r, "x")
	return body + strings.Repeat(" ", size-len(body))
}

func reasons(w *world, stack store.StackKey) string {
	w.t.Helper()
	rows, err := w.store.Events(w.t.Context(), stack, store.EventCursor{}, 100)
	w.must(err)
	var all strings.Builder
	for _, row := range rows {
		for _, e := range row.Events {
			all.WriteString(e.Reason + "\n")
		}
	}
	return all.String()
}

// TestRefusedAnswers checks that requests to URLs that were not issued never reach the engine.
func TestRefusedAnswers(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	good := w.responseURL(r)
	unknown := r
	unknown.ID = "00000000-0000-0000-0000-000000000000"
	key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
	expired, err := w.signer.Sign(w.base, key, time.Now().Add(-3*time.Hour), responseurl.SignOptions{})
	w.must(err)
	plain, _, _ := strings.Cut(good, "?")
	tests := map[string]struct {
		method, url string
		status      int
		code        string
	}{
		"wrong signature":   {http.MethodPut, strings.Replace(good, "X-Amz-Signature=", "X-Amz-Signature=0", 1), 403, "SignatureDoesNotMatch"},
		"no signature":      {http.MethodPut, plain, 403, "AccessDenied"},
		"other resource":    {http.MethodPut, strings.Replace(good, "%7CR%7C", "%7CX%7C", 1), 403, "SignatureDoesNotMatch"},
		"expired":           {http.MethodPut, expired, 403, "AccessDenied"},
		"malformed":         {http.MethodPut, good + "&X-Amz-Date=1", 400, "AuthorizationQueryParametersError"},
		"posted":            {http.MethodPost, good, 403, "SignatureDoesNotMatch"},
		"fetched":           {http.MethodGet, good, 405, "MethodNotAllowed"},
		"preflight request": {http.MethodOptions, good, 405, "MethodNotAllowed"},
		"request not known": {http.MethodPut, w.responseURL(unknown), 404, "NoSuchKey"},
		"encoded again":     {http.MethodPut, strings.Replace(good, "?", "%3F", 1), 403, "AccessDenied"},
		"no key":            {http.MethodPut, w.base.String() + "/", 403, "AccessDenied"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status, header, body := w.send(test.method, test.url, success(r, "x"), nil)
			var reply struct {
				XMLName xml.Name `xml:"Error"`
				Code    string
				Message string
			}
			if err := xml.Unmarshal([]byte(body), &reply); err != nil {
				t.Fatalf("%d %s: %v", status, body, err)
			}
			if status != test.status || reply.Code != test.code || reply.Message == "" || header.Get("Content-Type") != "application/xml" {
				t.Errorf("%d %s, want %d %s", status, body, test.status, test.code)
			}
		})
	}
	if got := w.status("s"); got != "CREATE_IN_PROGRESS" {
		t.Errorf("the stack is %s", got)
	}
	_, signature, _ := strings.Cut(good, "X-Amz-Signature=")
	if strings.Contains(w.log.String(), signature) {
		t.Error("a signature is in the log")
	}
}

// TestEncodings checks equivalent spellings of the URL by clients, and hosts changed by proxies.
func TestEncodings(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	target := strings.ReplaceAll(strings.ReplaceAll(w.responseURL(r), "%7C", "|"), "%3A", ":")
	status, _, body := w.send(http.MethodPut, target, success(r, "x"), http.Header{"Content-Type": {"application/json"}, "Host": {"pintle.example"}})
	if status != 200 || w.status("s") != "CREATE_COMPLETE" {
		t.Errorf("%d %s", status, body)
	}
}

// TestPublicPath checks response URLs with a path behind a proxy that strips it or not.
func TestPublicPath(t *testing.T) {
	for _, strip := range []bool{false, true} {
		w := newWorld(t, func(w *world, c *server.Config) {
			public, err := url.Parse("https://tools.example/pintle/")
			w.must(err)
			c.PublicURL = public
			w.base = public.JoinPath(server.ResponsePath)
			w.signer, err = responseurl.NewSigner(responseurl.SignerConfig{KeyID: "PINTLE", Secret: "correct horse battery staple", Bases: []*url.URL{w.base}})
			w.must(err)
			c.Signer = w.signer
		})
		r := w.create("s")
		target := strings.Replace(w.responseURL(r), "https://tools.example", w.url, 1)
		if strip {
			target = strings.Replace(target, "/pintle/", "/", 1)
		}
		if status, _, body := w.put(target, success(r, "x")); status != 200 || w.status("s") != "CREATE_COMPLETE" {
			t.Errorf("stripped %v: %d %s", strip, status, body)
		}
	}
}

// TestWithoutLength checks that a PUT without a length, such as a manual probe of the URL, is not an answer.
func TestWithoutLength(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	target, err := url.Parse(w.responseURL(r))
	w.must(err)
	for _, version := range []string{"1.1", "1.0"} {
		conn, err := net.Dial("tcp", target.Host)
		w.must(err)
		defer conn.Close()
		fmt.Fprintf(conn, "PUT %s HTTP/%s\r\nHost: %s\r\n\r\n", target.RequestURI(), version, target.Host)
		reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
		w.must(err)
		text, _ := io.ReadAll(reply.Body)
		reply.Body.Close()
		if reply.StatusCode != 411 || !strings.Contains(string(text), "MissingContentLength") || w.status("s") != "CREATE_IN_PROGRESS" {
			t.Errorf("HTTP/%s: %d %s, the stack is %s", version, reply.StatusCode, text, w.status("s"))
		}
	}
	// A chunked body has no length, but its end is known.
	body := success(r, "x")
	conn, err := net.Dial("tcp", target.Host)
	w.must(err)
	defer conn.Close()
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		target.RequestURI(), target.Host, len(body), body)
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	w.must(err)
	defer reply.Body.Close()
	if reply.StatusCode != 200 || w.status("s") != "CREATE_COMPLETE" {
		t.Errorf("in chunks: %d, the stack is %s", reply.StatusCode, w.status("s"))
	}
}

// TestTruncated checks that an incomplete body is not an answer.
func TestTruncated(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	target, err := url.Parse(w.responseURL(r))
	w.must(err)
	conn, err := net.Dial("tcp", target.Host)
	w.must(err)
	defer conn.Close()
	body := success(r, "x")
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", target.RequestURI(), target.Host, len(body)+1, body)
	w.must(conn.(*net.TCPConn).CloseWrite())
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	w.must(err)
	text, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	if reply.StatusCode != 400 || !strings.Contains(string(text), "IncompleteBody") || w.status("s") != "CREATE_IN_PROGRESS" {
		t.Errorf("%d %s, the stack is %s", reply.StatusCode, text, w.status("s"))
	}
}

// broken is a store whose decisions fail on request.
type broken struct {
	store.Store
	fail chan error // one error for each decision to fail
}

func (b *broken) Apply(ctx context.Context, target store.Target, decide store.Decide) error {
	select {
	case err := <-b.fail:
		return err
	default:
		return b.Store.Apply(ctx, target, decide)
	}
}

// TestNotRecorded checks that an answer that could not be made durable is not acknowledged, and can be sent again.
func TestNotRecorded(t *testing.T) {
	fail := make(chan error, 1)
	w := newWorld(t, func(w *world, _ *server.Config) { w.store = &broken{w.store, fail} })
	r := w.create("s")
	fail <- errors.New("disk full")
	status, header, body := w.put(w.responseURL(r), success(r, "x"))
	if status != 503 || header.Get("Retry-After") == "" || strings.Contains(body, "disk full") {
		t.Errorf("%d %v %s", status, header, body)
	}
	if !strings.Contains(w.log.String(), "disk full") {
		t.Error("the log does not tell why")
	}
	if status, _, body := w.put(w.responseURL(r), success(r, "x")); status != 200 || w.status("s") != "CREATE_COMPLETE" {
		t.Errorf("again: %d %s", status, body)
	}
}
