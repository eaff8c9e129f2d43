package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
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

// TestOperatorUpdateCaller checks that a forced Update of a ROS stack has the same CallerId as a request of the ROS API with the
// same key, also if the key has a role.
func TestOperatorUpdateCaller(t *testing.T) {
	const secret = "a secret of a key"
	for _, role := range []string{"", "deployer"} {
		w := newWorld(t, func(w *world, c *server.Config) {
			takesROS(nil)(w, c)
			c.Dev = false
			c.Keys = func(id string) (sigv4.Key, bool) {
				return sigv4.Key{ID: id, Secret: secret, Account: "123456789012", Role: role}, id == "AKID"
			}
		})
		body := rosTemplate("acs:fc:cn-hangzhou:1:functions/f", "")
		if status, reply := w.ros(http.MethodPost, rosCall(http.MethodPost, "CreateStack", secret, "StackName", "s", "TemplateBody", body), nil); status != http.StatusOK {
			t.Fatalf("%d %v", status, reply)
		}
		created := w.take()
		status, _, text := w.send(http.MethodPost, w.rosURL(created, time.Now()), `{"Status": "SUCCESS", "PhysicalResourceId": "x", "Data": {"z": 1}}`, rosHeaders)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}

		in, err := json.Marshal(operator.UpdateRequest{PreviewRequest: operator.PreviewRequest{Template: body, Again: []wire.LogicalID{"R"}}})
		w.must(err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/pintle/v1/stacks/s/update?dialect=ros", bytes.NewReader(in))
		w.must(err)
		hash := sha256.Sum256(in)
		w.must(v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: secret}, request,
			hex.EncodeToString(hash[:]), "pintle", "cn-hangzhou", time.Now()))
		response, err := http.DefaultClient.Do(request)
		w.must(err)
		reply, err := io.ReadAll(response.Body)
		w.must(errors.Join(err, response.Body.Close()))
		if response.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", response.Status, reply)
		}
		sent := w.take()
		if sent.Type != wire.Update || sent.Body.Caller != created.Body.Caller || (sent.Body.Caller == sent.Body.Account) != (role == "") {
			t.Errorf("role %q: the %s has the caller %s of the account %s, and the Create %s", role, sent.Type, sent.Body.Caller, sent.Body.Account, created.Body.Caller)
		}
	}
}
