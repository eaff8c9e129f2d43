package lambda_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/wire"
)

// hangzhou is the scope of Function Compute functions.
var hangzhou = registry.Scope{Account: "0000000000000000", Region: "cn-hangzhou"}

// fc returns a Function Compute function.
func fc(name, runtime string) registry.Item[registry.Function] {
	return registry.Item[registry.Function]{Scope: hangzhou, Name: name, Of: registry.Function{
		Contract: registry.ContractFC, Runtime: runtime, Handler: "index.handler", Timeout: 30,
	}}
}

// reported is a handler's report of its call.
type reported struct {
	Type, Function, Service, Region, Account, Word, Key string
	Sum                                                 int
}

// TestFunctionsOfFunctionCompute checks that handlers get bytes and the name of their function, and nothing of
// Lambda. A function of a service differs from one with the same name without a service.
func TestFunctionsOfFunctionCompute(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	w := newWorld(t, nil)
	python := fc("services/tools/functions/add", "python3.10")
	python.Of.Environment = map[string]string{"WORD": "python"}
	_, err := w.Create(t.Context(), python, inline(`import json, os

def handler(event, context):
    e = json.loads(event)
    return json.dumps({"Type": type(event).__name__, "Sum": e["X"] + e["Y"], "Function": context.function.name,
        "Service": context.service.name, "Region": context.region, "Account": context.account_id,
        "Word": os.environ["WORD"], "Key": os.environ.get("AWS_ACCESS_KEY_ID", "")})
`))
	if err != nil {
		t.Fatal(err)
	}
	node := fc("functions/add", "nodejs20")
	node.Of.Environment = map[string]string{"WORD": "node"}
	_, err = w.Create(t.Context(), node, inline(`exports.handler = async (event, context) => {
  const e = JSON.parse(event.toString());
  return JSON.stringify({Type: Buffer.isBuffer(event) ? "Buffer" : typeof event, Sum: e.X + e.Y, Function: context.function.name,
    Service: process.env.FC_SERVICE_NAME || "", Region: context.region, Account: context.accountId,
    Word: process.env.WORD, Key: process.env.AWS_ACCESS_KEY_ID || ""});
};
`))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]reported{
		"acs:fc:cn-hangzhou:0000000000000000:services/tools/functions/add": {
			Type: "bytes", Sum: 3, Function: "add", Service: "tools", Region: "cn-hangzhou", Account: "0000000000000000", Word: "python",
		},
		"acs:fc:cn-hangzhou:0000000000000000:services/tools.LATEST/functions/add": {
			Type: "bytes", Sum: 3, Function: "add", Service: "tools", Region: "cn-hangzhou", Account: "0000000000000000", Word: "python",
		},
		"acs:fc:cn-hangzhou:0000000000000000:functions/add": {
			Type: "Buffer", Sum: 3, Function: "add", Region: "cn-hangzhou", Account: "0000000000000000", Word: "node",
		},
	} {
		if _, ok, err := w.Match(t.Context(), wire.ServiceToken(token)); err != nil || !ok {
			t.Errorf("%s: found %t, %v", token, ok, err)
		}
		reply, err := w.Invoke(t.Context(), lambda.Call{Function: token, Payload: []byte(`{"X": 1, "Y": 2}`)})
		if err != nil {
			t.Fatal(err)
		}
		var got reported
		if err := json.Unmarshal(reply.Payload, &got); err != nil || reply.FunctionError != "" {
			t.Fatalf("%s returned %s %s", token, reply.FunctionError, reply.Payload)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", token, diff)
		}
	}
}

// TestFunctionComputeAnswers checks that an inline handler of a ROS template posts its answer, and that its log
// belongs to the request.
func TestFunctionComputeAnswers(t *testing.T) {
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	got := make(chan map[string]any, 1)
	w.mux.HandleFunc("POST /ros/response", func(rw http.ResponseWriter, r *http.Request) {
		var answer map[string]any
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Date") == "" {
			t.Errorf("an answer with %v: %v", r.Header, err)
		}
		_, _ = io.WriteString(rw, "{}")
		got <- answer
	})
	_, err := w.Create(t.Context(), fc("functions/answers", "python3"), inline(`import json
import time
import urllib.request


def handler(event, context):
    asked = json.loads(event)
    given = asked["ResourceProperties"]
    print("asked for", asked["LogicalResourceId"])
    answer = {name: asked[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer.update(Status="SUCCESS", PhysicalResourceId="sum-1", Data={"Sum": given["X"] + given["Y"]})
    headers = {"Content-Type": "application/json", "Date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())}
    urllib.request.urlopen(urllib.request.Request(asked["ResponseURL"], json.dumps(answer).encode(), headers)).read()
`))
	if err != nil {
		t.Fatal(err)
	}
	request := `{"RequestType": "Create", "StackId": "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", "RequestId": "R-1", "LogicalResourceId": "Sum",
		"ResponseURL": "` + w.url + `/ros/response?signature=0123456789012345678901234567890123456789", "ResourceProperties": {"X": 1.5, "Y": 2}}`
	reply, err := w.Invoke(t.Context(), lambda.Call{Function: "acs:fc:cn-hangzhou:0000000000000000:functions/answers", Payload: []byte(request)})
	if err != nil || reply.FunctionError != "" {
		t.Fatalf("%v, %s", err, reply.Payload)
	}
	want := map[string]any{
		"StackId": "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", "RequestId": "R-1", "LogicalResourceId": "Sum", "Status": "SUCCESS",
		"PhysicalResourceId": "sum-1", "Data": map[string]any{"Sum": 3.5},
	}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	if all := strings.Join(w.logged(), "\n"); !strings.Contains(all, "R-1 ") || !strings.Contains(all, "asked for Sum") {
		t.Errorf("the log:\n%s", all)
	}
}

// TestFunctionComputeNames checks that invalid names match no function, and that changes and deletions apply to the
// next call.
func TestFunctionComputeNames(t *testing.T) {
	require.Tool(t, "python3")
	w := newWorld(t, nil)
	const arn = "acs:fc:cn-hangzhou:0000000000000000:functions/f"
	call := func() (string, error) {
		reply, err := w.Invoke(t.Context(), lambda.Call{Function: arn})
		return string(reply.Payload) + reply.FunctionError, err
	}
	if _, err := call(); !errors.Is(err, lambda.ErrNotFound) || err.Error() != "Function not found: "+arn {
		t.Errorf("called before it is made: %v", err)
	}
	text := func(word string) registry.Code {
		return inline("def handler(event, context):\n    return '" + word + "'\n")
	}
	f := fc("functions/f", "python3.9")
	f.Owner = "me"
	if _, err := w.Create(t.Context(), f, text("first")); err != nil {
		t.Fatal(err)
	}
	if got, err := call(); err != nil || !strings.Contains(got, "first") {
		t.Errorf("it returned %s, %v", got, err)
	}
	second := text("second")
	if _, err := w.Update(t.Context(), f, &second); err != nil {
		t.Fatal(err)
	}
	if got, err := call(); err != nil || !strings.Contains(got, "second") {
		t.Errorf("changed it returned %s, %v", got, err)
	}
	for _, other := range []string{
		"acs:fc:cn-hangzhou:0000000000000000:services/s/functions/f", "acs:fc:cn-hangzhou:0000000000000001:functions/f",
		"acs:fc:cn-beijing:0000000000000000:functions/f", "acs:fc:cn-hangzhou:0000000000000000:functions/g",
		"acs:mns:cn-hangzhou:0000000000000000:queues/f", "arn:aws:lambda:cn-hangzhou:000000000000:function:f", "web:http://localhost/f",
	} {
		if name, ok, err := w.Match(t.Context(), wire.ServiceToken(other)); ok || err != nil {
			t.Errorf("%s is %s, %v", other, name, err)
		}
	}
	if _, err := w.Get(t.Context(), home, "functions/f"); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("it is in another place too: %v", err)
	}
	if err := w.Delete(t.Context(), hangzhou, "functions/f"); err != nil {
		t.Fatal(err)
	}
	if _, err := call(); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("called after it is deleted: %v", err)
	}
	for _, bad := range []string{"f", "functions/", "functions/a/b", "services//functions/f", "services/s/functions/9", "functions/a:1"} {
		f.Name = bad
		if _, err := w.Create(t.Context(), f, text("x")); err == nil {
			t.Errorf("%s is taken for a name", bad)
		}
	}
	lambda := f
	lambda.Name, lambda.Of.Contract = "functions/f", registry.ContractLambda
	if _, err := w.Create(t.Context(), lambda, text("x")); err == nil {
		t.Error("a function of Lambda has a name of the other kind")
	}
}
