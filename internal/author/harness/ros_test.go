package harness_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

func rosRequest() wire.Request {
	return wire.Request{
		Dialect: wire.ROS, RequestType: wire.Create, ServiceToken: "acs:fc:cn-beijing:1234567890123456:functions/P", ResourceType: "Custom::Thing",
		StackID: "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", StackName: "web", ResourceOwnerID: "1234567890123456", CallerID: "1234567890123456",
		RegionID: "cn-beijing", RequestID: "B288A0BE-D927-4888-B0F7-B35EF84B6E6F", LogicalResourceID: "L[0]",
		ResourceProperties: json.RawMessage(`{"Key": "hunter22"}`),
	}
}

// A program of the SDK is a function of Function Compute here, without knowing it.
func TestROSProgram(t *testing.T) {
	for _, test := range []struct {
		behaviour       string
		status          wire.Status
		problem, reason string
	}{
		{"answer", wire.Success, "", ""},
		{"fail", wire.Failed, "", "there is no such thing"},
		{"exit", "", "exited with code 3 while it handled the event", ""},
	} {
		c := process(t, test.behaviour)
		c.Request = rosRequest()
		r := run(t, c)
		if r.Response.Status != test.status || r.Response.Reason != test.reason || len(r.Mismatches) > 0 {
			t.Errorf("%s: got %+v", test.behaviour, r)
		}
		if (r.Problem == nil) != (test.problem == "") || r.Problem != nil && !strings.Contains(r.Problem.Error(), test.problem) {
			t.Errorf("%s: problem %v", test.behaviour, r.Problem)
		}
		if test.status == wire.Success && string(r.Response.Data) != `{"Token":"","Type":"Create"}` {
			t.Errorf("%s: data %s", test.behaviour, r.Response.Data)
		}
	}
}

// TestROSHandlers runs handlers of public templates. Each posts its answer itself, and its return value does not matter.
func TestROSHandlers(t *testing.T) {
	const python = `
import json, os
from urllib import request
def handler(event, context):
    e = json.loads(event)
    print(e["ResponseURL"])
    if "ServiceToken" in e or sorted(e) != sorted(["RequestType", "ResponseURL", "IntranetResponseURL", "StackId", "StackName", "ResourceOwnerId",
            "CallerId", "RegionId", "RequestId", "LogicalResourceId", "ResourceType", "ResourceProperties"]):
        raise ValueError(sorted(e))
    body = {"Status": "SUCCESS", "PhysicalResourceId": "MyCustomResourceId", "StackId": e["StackId"], "RequestId": e["RequestId"],
            "LogicalResourceId": e["LogicalResourceId"], "Data": {"z": 3.5, "region": context.region, "function": os.environ["FC_FUNCTION_NAME"]}}
    r = request.Request(e["ResponseURL"], data=json.dumps(body).encode("utf-8"))
    r.add_header("Content-type", "application/json")
    return json.loads(request.urlopen(r).read())
`
	const node = `
exports.handler = async (event, context) => {
  const e = JSON.parse(event.toString());
  const body = {Status: 'SUCCESS', PhysicalResourceId: 'MyCustomResourceId', StackId: e.StackId, RequestId: e.RequestId,
    LogicalResourceId: e.LogicalResourceId, Data: {z: 3.5, region: context.region, function: context.function.name}};
  const answer = await fetch(e.ResponseURL, {method: 'POST', body: JSON.stringify(body), headers: {'Content-type': 'application/json'}});
  if (answer.status !== 200) throw new Error('refused: ' + answer.status);
};
`
	for tool, file := range map[string]string{"python3": "index.py", "node": "index.js"} {
		t.Run(tool, func(t *testing.T) {
			require.Tool(t, tool)
			path := filepath.Join(t.TempDir(), file)
			code := map[string]string{"index.py": python, "index.js": node}[file]
			if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			target, err := local.ParseTarget("", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("http_proxy", "http://127.0.0.1:1") // which is not to be asked for this machine
			var log bytes.Buffer
			r := run(t, harness.Config{
				Provider: local.Provider{Name: "P", Target: target}, Runtime: local.Config{CacheDir: t.TempDir()}, Request: rosRequest(),
				Log: func(line string) { log.WriteString(line + "\n") },
			})
			var data map[string]any
			if err := json.Unmarshal(r.Response.Data, &data); err != nil {
				t.Fatalf("%v: %+v\n%s", err, r, &log)
			}
			if diff := cmp.Diff(map[string]any{"z": 3.5, "region": "cn-beijing", "function": "P"}, data); diff != "" {
				t.Error(diff)
			}
			if r.Response.PhysicalResourceID != "MyCustomResourceId" || r.Problem != nil || len(r.Mismatches) > 0 {
				t.Errorf("got %+v", r)
			}
			if tool == "python3" && !strings.Contains(log.String(), "signature=REDACTED") {
				t.Errorf("the log: %s", &log)
			}
		})
	}
}

// The response URL is as strict as ROS's, and a reply may be the answer.
func TestROSResponseURL(t *testing.T) {
	var refused []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e wire.Request
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		if e.ServiceToken != "" || e.IntranetResponseURL != e.ResponseURL || e.Dialect != wire.ROS {
			t.Errorf("%+v", e)
		}
		for _, try := range [][2]string{
			{http.MethodPut, e.ResponseURL}, {http.MethodPost, strings.Replace(e.ResponseURL, "signature=", "signature=0", 1)}, {http.MethodPost, strings.Replace(e.ResponseURL, "/ros/", "/", 1)},
		} {
			request, err := http.NewRequestWithContext(t.Context(), try[0], try[1], strings.NewReader("{}"))
			if err != nil {
				t.Error(err)
				return
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			refused = append(refused, response.Status+" "+strings.TrimSpace(string(body)))
		}
		text, err := wire.ResponseTo(e, wire.Success).Encode()
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(bytes.Replace(text, []byte(`"StackId"`), []byte(`"PhysicalResourceId":"x","StackId"`), 1))
	}))
	defer server.Close()
	target, err := local.ParseTarget("", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, harness.Config{Provider: local.Provider{Name: "P", Target: target}, Request: rosRequest()})
	if r.Response.Status != wire.Success || r.Response.PhysicalResourceID != "x" || r.Problem != nil || len(r.Mismatches) > 0 {
		t.Errorf("got %+v", r)
	}
	want := []string{
		`405 Method Not Allowed {"Code":"MethodNotAllowed","Message":"ROS accepts answers with POST, unlike CloudFormation"}`,
		`403 Forbidden {"Code":"SignatureDoesNotMatch","Message":"this is not the response URL of the request"}`,
		`403 Forbidden {"Code":"SignatureDoesNotMatch","Message":"this is not the response URL of the request"}`,
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
}
