package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/internal/store"
)

// identities is a handler that makes a resource whose ID says whether the invocation's ID is the request's.
const identities = `
import json, urllib.request
def handler(event, context):
    if "Records" in event:
        event = json.loads(event["Records"][0]["Sns"]["Message"])
    same = context.aws_request_id == event["RequestId"]
    answer = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer.update(Status="SUCCESS", PhysicalResourceId="same" if same else "another")
    body = json.dumps(answer).encode()
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], body, {"Content-Type": ""}, method="PUT")).read()
`

// The ID of an invocation is never that of the request, whatever leads the request to the handler.
func TestIdentity(t *testing.T) {
	require.Tool(t, "python3")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "h.py"), []byte(identities), 0o600); err != nil {
		t.Fatal(err)
	}
	n := serving(t, Config{Cloud: true})
	d, err := Define(dir, project.Provider{Name: "P", Target: "h.py"}, nil)
	if err == nil {
		err = n.Define(t.Context(), "P", d)
	}
	if err != nil {
		t.Fatal(err)
	}
	template := `Resources:
  Direct: {Type: Custom::R, Properties: {ServiceToken: "arn:aws:lambda:us-east-1:111111111111:function:P", ServiceTimeout: 60}}
  Topic: {Type: Custom::R, Properties: {ServiceToken: "arn:aws:sns:us-east-1:111111111111:P", ServiceTimeout: 60}}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.13
      Handler: index.handler
      Role: "arn:aws:iam::000000000000:role/r"
      Code:
        ZipFile: |
` + strings.ReplaceAll(identities, "\n", "\n          ") + `
  Inline: {Type: Custom::R, Properties: {ServiceToken: {"Fn::GetAtt": [Function, Arn]}, ServiceTimeout: 60}}
`
	name := store.StackName{Account: n.account, Region: "us-east-1", Name: "s"}
	started, err := n.engine.Create(t.Context(), engine.CreateStack{Template: template, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	ref := engine.Ref{Account: name.Account, Region: name.Region, Stack: string(started.StackID), ByID: true}
	settled(t, n, ref)
	s, err := n.engine.Find(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := n.engine.Resources(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range resources {
		if r.Logical != "Direct" && r.Logical != "Topic" && r.Logical != "Inline" {
			continue
		}
		found++
		if r.PhysicalID != "another" {
			t.Errorf("%s: %s, %s", r.Logical, r.PhysicalID, r.Reason)
		}
	}
	if found != 3 {
		t.Errorf("got %+v", resources)
	}
}
