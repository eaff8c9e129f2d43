package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/wire"
)

type provider = operator.Provider

// TestOperator tests the operator API end to end.
func TestOperator(t *testing.T) {
	defined := map[string]string{}
	var asked wire.RequestID
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Hooks = operator.Hooks{
			Progress: func(id wire.RequestID) string { return "refused, retrying" },
			Logs: func(_ context.Context, id wire.RequestID) ([]string, error) {
				asked = id
				return []string{"one", "two"}, nil
			},
			Providers: func(context.Context) ([]provider, error) {
				return []provider{{Name: "CRTest", Target: "./provider", State: "idle"}}, nil
			},
			Schema: func(_ context.Context, name string) (json.RawMessage, error) {
				if name != "a/b" {
					return nil, &operator.Error{Status: 404, Message: "provider " + name + ": it is not known"}
				}
				return json.RawMessage(`{"resourceTypes":{}}`), nil
			},
			PutProvider: func(_ context.Context, name string, definition json.RawMessage) error {
				switch name {
				case "bad":
					return &operator.Error{Status: 400, Message: "there is no file ./x"}
				case "broken":
					return errors.New("disk full")
				}
				defined[name] = string(definition)
				return nil
			},
		}
	})
	get := func(method, path, body string) (int, string) {
		t.Helper()
		status, header, text := w.send(method, w.url+"/pintle/v1/"+path, body, http.Header{"Authorization": {anyKey("pintle")}})
		if header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %s", method, path, header.Get("Content-Type"))
		}
		return status, strings.TrimSpace(text)
	}
	r := w.create("s")

	status, body := get(http.MethodGet, "stacks/s/requests", "")
	var requests operator.Requests
	if err := json.Unmarshal([]byte(body), &requests); err != nil || status != 200 || len(requests.Requests) != 1 {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	got := requests.Requests[0]
	if left := *got.RemainingSeconds; left < 3500 || left > 3600 || !got.Due.After(got.Since.Add(time.Hour-time.Second)) {
		t.Errorf("due %v since %v, %d s left", got.Due, got.Since, left)
	}
	got.Since, got.Due, got.RemainingSeconds = time.Time{}, nil, nil
	want := operator.Request{ID: r.ID, Logical: "R", Type: "Create", State: "waiting", Resource: "Custom::Thing", Provider: "topic CRTest", Progress: "refused, retrying"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if strings.Contains(body, "ServiceToken") || strings.Contains(body, "X-Amz") {
		t.Errorf("it shows too much: %s", body)
	}

	w.put(w.responseURL(r), success(r, "x"))
	w.put(w.responseURL(r), success(r, "late"))
	id := string(r.Body.StackID)
	status, body = get(http.MethodGet, "stacks/"+url.PathEscape(id)+"/audit", "")
	var audit operator.Audits
	if err := json.Unmarshal([]byte(body), &audit); err != nil || status != 200 || len(audit.Audit) != 1 ||
		audit.Audit[0].Request != r.ID || !strings.Contains(audit.Audit[0].Text, `"late"`) {
		t.Errorf("%d %s (%v)", status, body, err)
	}

	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{http.MethodGet, "stacks/s/requests", "", 200, `{"requests":[]}`},
		{http.MethodGet, "stacks/ghost/requests", "", 404, `{"error":"stack ghost does not exist in account 000000000000, region eu-west-1"}`},
		{http.MethodGet, "stacks/s/logs?request=" + string(r.ID), "", 200, `{"lines":["one","two"]}`},
		{http.MethodGet, "stacks/s/logs", "", 200, `{"lines":[]}`},
		{http.MethodGet, "stacks/ghost/logs", "", 404, `{"error":"stack ghost does not exist in account 000000000000, region eu-west-1"}`},
		{http.MethodGet, "stacks/s/logs?request=x", "", 404, `{"error":"stack s has no request x"}`},
		{http.MethodPost, "stacks/new/preview", `{"template": "{\"Resources\": {\"A\": {\"Type\": \"Custom::T\", \"Properties\": {\"ServiceToken\": \"t\"}}}}", "tags": [{"key": "k", "value": "v"}]}`, 200,
			`{"kind":"create","changes":[{"action":"Add","logicalId":"A","type":"Custom::T","after":{"Properties":{"ServiceToken":"t"}}}]}`},
		{http.MethodPost, "stacks/new/preview", `{"template": "{}"}`, 400, `{"error":"Template format error: At least one Resources member must be defined."}`},
		{http.MethodPost, "stacks/new/preview", `{"template": 1, "parameters": [{"key": "p", "value": "hush"}]}`, 400,
			`{"error":"the request must be a JSON object with a template, parameters and tags"}`},
		{http.MethodPost, "stacks/a_b/preview", `{}`, 400,
			`{"error":"\"a_b\" cannot be the name of a stack: it has up to 128 letters, digits and hyphens and begins with a letter"}`},
		{http.MethodPost, "stacks/arn:aws:x/preview", `{"template": "{\"Resources\": {\"A\": {\"Type\": \"Custom::T\"}}}"}`, 400, `{"error":"Stack [arn:aws:x] does not exist"}`},
		{http.MethodPost, "stacks/new/preview", strings.Repeat(" ", operator.MaxPreview+1), 413, `{"error":"The request body is longer than 1048576 bytes."}`},
		{http.MethodGet, "providers", "", 200, `{"providers":[{"name":"CRTest","target":"./provider","state":"idle"}]}`},
		{http.MethodPut, "providers/a%2Fb", `{"run": "./x"}`, 200, `{}`},
		{http.MethodGet, "providers/a%2Fb/schema", "", 200, `{"resourceTypes":{}}`},
		{http.MethodGet, "providers/x/schema", "", 404, `{"error":"provider x: it is not known"}`},
		{http.MethodPut, "providers/bad", `{}`, 400, `{"error":"there is no file ./x"}`},
		{http.MethodPut, "providers/broken", `{}`, 500, `{"error":"internal failure: see the server's log"}`},
		{http.MethodPut, "providers/x", `[]`, 400, `{"error":"the definition must be a JSON object"}`},
		{http.MethodPut, "providers/x", `null`, 400, `{"error":"the definition must be a JSON object"}`},
		{http.MethodPut, "providers/x", `{"a": "` + strings.Repeat("x", operator.MaxDefinition) + `"}`, 413, `{"error":"the definition is longer than 65536 bytes"}`},
		{http.MethodPut, "providers/" + strings.Repeat("x", 3000), `{}`, 400, `{"error":"the provider's name is too long"}`},
	} {
		if status, body := get(test.method, test.path, test.body); status != test.status || body != test.want {
			t.Errorf("%s %.60s: %d %s\nwant %d %s", test.method, test.path, status, body, test.status, test.want)
		}
	}
	if diff := cmp.Diff(map[string]string{"a/b": `{"run": "./x"}`}, defined); diff != "" {
		t.Errorf("defined (-want +got):\n%s", diff)
	}
	if asked != r.ID {
		t.Errorf("logs were asked of %q", asked)
	}
	if !strings.Contains(w.log.String(), "disk full") {
		t.Error("the log does not report the failure")
	}
}

// TestOperatorWaits checks that a request whose provider is not done shows the provider's progress, but not the row
// that polls it.
func TestOperatorWaits(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.client().CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: aws.String(template("1"))})
	w.must(err)
	w.mu.Lock()
	r := w.inbox[0]
	w.mu.Unlock()
	for _, outcome := range []engine.Outcome{
		{Kind: engine.Accepted, Local: true}, {Kind: engine.Waiting, Text: "3 of 5 up", After: time.Hour, Pending: []byte(`"hunter2"`)},
	} {
		w.must(w.engine.Report(t.Context(), r.ID, outcome))
	}
	_, _, body := w.send(http.MethodGet, w.url+"/pintle/v1/stacks/s/requests", "", http.Header{"Authorization": {anyKey("pintle")}})
	if !strings.Contains(body, `"progress":"3 of 5 up"`) || strings.Contains(body, "hunter2") || strings.Contains(body, "IsComplete") {
		t.Errorf("it shows %s", body)
	}
}

// TestOperatorWithoutHooks checks the replies of a server without hooks.
func TestOperatorWithoutHooks(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	for _, test := range []struct{ method, path, want string }{
		{http.MethodGet, "providers", `{"providers":[]}`},
		{http.MethodGet, "stacks/s/logs?request=" + string(r.ID), `{"lines":[]}`},
		{http.MethodGet, "providers/x/schema", `{"error":"this server runs no providers"}`},
		{http.MethodPut, "providers/x", `{"error":"this server takes no providers: name them in its project file"}`},
	} {
		_, _, body := w.send(test.method, w.url+"/pintle/v1/"+test.path, "{}", http.Header{"Authorization": {anyKey("pintle")}})
		if strings.TrimSpace(body) != test.want {
			t.Errorf("%s: %s", test.path, body)
		}
	}
}
