package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/server"
)

// TestAdditionalService checks that an additional service gets the calls that are signed for it, with its own paths and timeout,
// and refuses calls in its own format.
func TestAdditionalService(t *testing.T) {
	var deadline time.Duration
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := sigv4.FromContext(r.Context())
		if until, ok := r.Context().Deadline(); ok {
			deadline = time.Until(until)
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Got", strings.Repeat("x", int(n>>20)))
		_, _ = io.WriteString(w, id.Service+" "+r.URL.Path)
	})
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
	form := func(w http.ResponseWriter, _ *http.Request, e *query.Error) {
		http.Error(w, "refused: "+e.Code, e.Status)
	}
	w := newWorld(t, func(_ *world, config *server.Config) {
		config.Services = map[string]server.Service{
			"lambda": {Handler: handler, Refuse: form, Paths: true, Timeout: time.Hour},
			"states": {Handler: handler, Refuse: form},
		}
		config.Bodies = map[string]int64{"lambda": 4 << 20}
		config.Unsigned = func(r *http.Request) http.Handler {
			if r.Method == http.MethodGet && r.URL.Path == "/page.pem" {
				return page
			}
			return nil
		}
	})
	key := func(service string) http.Header {
		return http.Header{"Authorization": {"AWS4-HMAC-SHA256 Credential=AKID/20261122/eu-west-1/" + service +
			"/aws4_request, SignedHeaders=host, Signature=" + strings.Repeat("0", 64)}}
	}
	for name, test := range map[string]struct {
		method, path, body string
		header             http.Header
		status             int
		want               string
	}{
		"a path":           {http.MethodPost, "/2015-03-31/functions/f/invocations", "{}", key("lambda"), 200, "lambda /2015-03-31/functions/f/invocations"},
		"long":             {http.MethodPost, "/x", strings.Repeat("x", 3<<20), key("lambda"), 200, "lambda /x"},
		"refused":          {http.MethodOptions, "/x", "", key("lambda"), 403, "refused: AccessDenied"},
		"only the root":    {http.MethodPost, "/x", "", key("states"), 404, "refused: NotFound"},
		"the root":         {http.MethodPost, "/", "", key("states"), 200, "states /"},
		"a page":           {http.MethodGet, "/page.pem", "", nil, 200, "a page"},
		"a page, posted":   {http.MethodPost, "/page.pem", "", nil, 403, "MissingAuthenticationToken"},
		"its errors, JSON": {http.MethodPost, "/", "{}", http.Header{"X-Amz-Target": {"DynamoDB.ListTables"}}, 403, `"__type":"MissingAuthenticationToken"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := w.send(test.method, w.url+test.path, test.body, test.header)
			if status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %.300s\nwant %d %s", status, body, test.status, test.want)
			}
		})
	}
	if _, _, body := w.send(http.MethodPost, w.url+"/x", "", key("lambda")); body != "lambda /x" || deadline < 50*time.Minute {
		t.Errorf("%q had %v", body, deadline)
	}
}
