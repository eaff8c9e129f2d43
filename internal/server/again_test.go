package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/wire"
)

// TestOperatorUpdate checks the update that sends a custom resource an Update although nothing changed.
func TestOperatorUpdate(t *testing.T) {
	var recorded []audit.Entry
	w := newWorld(t, func(_ *world, c *server.Config) { c.Audit = func(e audit.Entry) { recorded = append(recorded, e) } })
	post := func(path string, in any) (int, string) {
		t.Helper()
		body, err := json.Marshal(in)
		w.must(err)
		status, _, text := w.send(http.MethodPost, w.url+"/pintle/v1/"+path, string(body), http.Header{"Authorization": {anyKey("pintle")}})
		return status, strings.TrimSpace(text)
	}
	r := w.create("s")
	w.put(w.responseURL(r), success(r, "x"))
	recorded = nil

	in := operator.UpdateRequest{PreviewRequest: operator.PreviewRequest{Template: template("1")}}
	for _, test := range []struct {
		path  string
		again []wire.LogicalID
		want  string
	}{
		{"stacks/s/update", nil, `{"error":"\"again\" is missing: name custom resources, or use [\"*\"] for all"}`},
		{"stacks/s/update", []wire.LogicalID{"Q"}, `{"error":"No Update can be sent again: the template of stack s has no resource Q. The custom resources are R."}`},
		{"stacks/ghost/update", []wire.LogicalID{"R"}, `{"error":"Stack [ghost] does not exist"}`},
		{"stacks/a_b/update", []wire.LogicalID{"R"}, `{"error":"\"a_b\" cannot be the name of a stack: it has up to 128 letters, digits and hyphens and begins with a letter"}`},
	} {
		in.Again = test.again
		if status, body := post(test.path, in); status != http.StatusBadRequest || body != test.want {
			t.Errorf("%s %q: %d %s", test.path, test.again, status, body)
		}
	}

	in.Again = []wire.LogicalID{"*"}
	status, body := post("stacks/s/update", in)
	if want := `{"stackId":"` + string(r.Body.StackID) + `"}`; status != http.StatusOK || body != want {
		t.Fatalf("%d %s, want %s", status, body, want)
	}
	sent := w.take()
	if sent.Type != wire.Update || !sent.Body.Properties.Equal(sent.Body.OldProperties) {
		t.Errorf("sent is %s of %s, before %s", sent.Type, sent.Body.Properties.JSON(), sent.Body.OldProperties.JSON())
	}
	got := recorded[len(recorded)-1]
	want := audit.Entry{Endpoint: audit.EndpointOperator, Action: "UpdateAgain", Stack: "s", Outcome: audit.Granted, Status: http.StatusOK}
	if diff := cmp.Diff(want, audit.Entry{Endpoint: got.Endpoint, Action: got.Action, Stack: got.Stack, Outcome: got.Outcome, Status: got.Status}); diff != "" {
		t.Errorf("audit entry (-want +got):\n%s", diff)
	}
	if len(recorded) != 5 || recorded[0].Outcome != audit.Refused {
		t.Errorf("audit entries %+v", recorded)
	}
}
