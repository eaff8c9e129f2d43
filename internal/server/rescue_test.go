package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// own calls the operator API with any key.
func (w *world) own(method, path, body string) (int, string) {
	w.t.Helper()
	status, _, text := w.send(method, w.url+"/pintle/v1/"+path, body, http.Header{"Authorization": {anyKey("pintle")}})
	return status, strings.TrimSpace(text)
}

// TestRespond checks that an operator can answer for a provider, and that the audit log records the key ID.
func TestRespond(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	const path = "stacks/s/resources/R/response"
	for _, test := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no stack", "stacks/ghost/resources/R/response", `{"status": "SUCCESS"}`, 404, "stack ghost does not exist"},
		{"no resource", "stacks/s/resources/X/response", `{"status": "SUCCESS"}`, 400,
			"Stack s does not wait for resource X. It waits for Create of R (" + string(r.ID) + ")."},
		{"no JSON", path, `hunter2`, 400, "must be a JSON object"},
		{"two documents", path, `{"status": "SUCCESS"} {}`, 400, "must be a JSON object"},
		{"an unknown field", path, `{"status": "SUCCESS", "physicalID2": "hunter2"}`, 400, "must be a JSON object"},
		{"a wrong type", path, `{"status": "SUCCESS", "noEcho": "hunter2"}`, 400, "noEcho is of the wrong type"},
		{"no status", path, `{}`, 400, "status must be SUCCESS or FAILED"},
		{"no object", path, `{"status": "SUCCESS", "data": ["hunter2"]}`, 400, "The attributes are not a JSON object"},
		{"too long", path, `{"status": "SUCCESS", "data": {"a": "` + strings.Repeat("x", wire.MaxResponse) + `"}}`, 400, "Response object is too long"},
		{"far too long", path, `{"status": "SUCCESS", "data": {"a": "` + strings.Repeat("x", operator.MaxResponse) + `"}}`, 413, "far longer"},
	} {
		status, text := w.own(http.MethodPost, test.path, test.body)
		var described struct{ Error string }
		if err := json.Unmarshal([]byte(text), &described); err != nil || status != test.status || !strings.Contains(described.Error, test.want) ||
			strings.Contains(text, "hunter2") {
			t.Errorf("%s: %d %s (%v)", test.name, status, text, err)
		}
	}
	if got := w.status("s"); got != "CREATE_IN_PROGRESS" {
		t.Fatalf("a refused answer made it %s", got)
	}

	status, text := w.own(http.MethodPost, path, `{"status": "SUCCESS", "physicalId": "mine", "request": "`+string(r.ID)+`"}`)
	var done operator.Responded
	if err := json.Unmarshal([]byte(text), &done); err != nil || status != 200 {
		t.Fatalf("%d %s (%v)", status, text, err)
	}
	want := operator.Responded{
		Stack: r.Body.StackID, Logical: "R", Request: r.ID, Type: "Create", Status: wire.Success, PhysicalID: "mine", Origin: "given",
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.status("s"); got != "CREATE_COMPLETE" {
		t.Errorf("the stack is %s", got)
	}
	w.put(w.responseURL(r), success(r, "real"))
	_, text = w.own(http.MethodGet, "stacks/s/audit", "")
	for _, want := range []string{
		`answered by hand with SUCCESS, physical id \"mine\" (given), by access key AKID of account 000000000000`,
		`answer to a request that was settled before (answered by hand): SUCCESS, physical id \"real\"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit list lacks %s:\n%s", want, text)
		}
	}
}

// TestAbandonedResources checks that resources abandoned by a stack are listed with a remedy.
func TestAbandonedResources(t *testing.T) {
	w := newWorld(t, nil)
	r := w.create("s")
	w.put(w.responseURL(r), success(r, "x"))
	if _, text := w.own(http.MethodGet, "stacks/s/left", ""); text != `{"left":[]}` {
		t.Errorf("nothing was left: %s", text)
	}
	ref := engine.Ref{Account: "000000000000", Region: region, Stack: string(r.Body.StackID)}
	for _, force := range []bool{false, true} {
		_, err := w.engine.Delete(t.Context(), engine.DeleteStack{Stack: ref, Force: force})
		w.must(err)
		r = w.take()
		w.put(w.responseURL(r), strings.Replace(success(r, "x"), "SUCCESS", `FAILED", "Reason": "in use`, 1))
	}
	_, text := w.own(http.MethodGet, "stacks/"+strings.ReplaceAll(string(r.Body.StackID), "/", "%2F")+"/left", "")
	var left operator.LeftBehind
	if err := json.Unmarshal([]byte(text), &left); err != nil || len(left.Left) != 1 {
		t.Fatalf("%s (%v)", text, err)
	}
	got := left.Left[0]
	if !got.Orphan || got.Logical != "R" || got.PhysicalID != "x" || got.Resource != "Custom::Thing" || got.Since.IsZero() ||
		!strings.Contains(got.Reason, "Message returned: in use") || !strings.Contains(got.Advice, "may still exist") {
		t.Errorf("%+v", got)
	}
}
