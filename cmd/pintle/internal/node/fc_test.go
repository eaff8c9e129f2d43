package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/internal/store"
)

// Handlers in the shape of public templates: they post the answer themselves, and say nothing when they fail.
const (
	fcPython = `
import json, os
from urllib import request
started = []
def start(context):
    started.append(context.request_id)
def handler(event, context):
    e = json.loads(event)
    if context.request_id == e["RequestId"]:
        raise ValueError("the ID of the invocation is that of the request")
    p = e.get("ResourceProperties")
    if p.get("Do") == "raise":
        raise ValueError("no such disk")
    if p.get("Do") == "exit":
        print("last words")
        os._exit(3)
    body = {"Status": "SUCCESS", "PhysicalResourceId": "MyCustomResourceId", "StackId": e["StackId"], "RequestId": e["RequestId"],
            "LogicalResourceId": e["LogicalResourceId"], "Data": {"z": p.get("X", 0) + p.get("Y", 0), "region": context.region, "n": len(started)}}
    r = request.Request(e["ResponseURL"], data=json.dumps(body).encode("utf-8"))
    r.add_header("Content-type", "application/json")
    request.urlopen(r).read()
`
	fcNode = `
exports.handler = (event, context, callback) => {
  const e = JSON.parse(event);
  if (context.requestId === e.RequestId) throw new Error('the ID of the invocation is that of the request');
  const p = e.ResourceProperties;
  const body = {Status: 'SUCCESS', PhysicalResourceId: 'node', StackId: e.StackId, RequestId: e.RequestId, LogicalResourceId: e.LogicalResourceId,
    Data: {z: p.X + p.Y, region: context.region}};
  fetch(e.ResponseURL, {method: 'POST', body: JSON.stringify(body), headers: {'Content-type': 'application/json', Date: new Date().toUTCString()}})
    .then((answer) => callback(answer.ok ? null : new Error('refused'), 'ignored'));
};
`
)

// settled waits until nothing is under way in a stack.
func settled(t *testing.T, n *Node, ref engine.Ref) string {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		s, err := n.engine.Find(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if status := engine.ROS.StackStatus(s.Kind, s.Phase); !strings.HasSuffix(status, "_IN_PROGRESS") {
			return status
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the stack is still at work")
		}
	}
}

// TestFunctionCompute makes the resources of a ROS stack by local functions of Function Compute. A failure of a function is reported at
// once, not after the Timeout.
func TestFunctionCompute(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	dir := t.TempDir()
	for name, code := range map[string]string{"disk.py": fcPython, "index.js": fcNode} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := Acquire(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(t.Context(), Config{Lock: lock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	for name, declared := range map[string]project.Provider{
		"disk": {Target: "disk.py", Initializer: "disk.start"}, "sum": {Target: "index.js"},
	} {
		declared.Name = name
		d, err := Define(dir, declared, nil)
		if err == nil {
			err = n.Define(t.Context(), name, d)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const head = "ROSTemplateFormatVersion: '2015-09-01'\nResources:\n"
	resource := func(name, token, parameters string) string {
		return "  " + name + ":\n    Type: Custom::Thing\n    Properties:\n      ServiceToken: " + token + "\n      Timeout: 43200\n      Parameters: " + parameters + "\n"
	}
	disk, sum := "acs:fc:cn-beijing:1:services/s/functions/disk", "acs:fc:cn-shanghai:1:functions/sum"
	create := func(name, body string) (ref engine.Ref, status string, resources []store.Instance) {
		t.Helper()
		in := engine.CreateStack{
			Dialect: engine.ROS, Template: head + body,
			Name: store.StackName{Account: "0000000000000000", Region: "cn-hangzhou", Name: name},
		}
		in.DisableRollback = true
		started, err := n.engine.Create(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		ref = engine.Ref{Account: "0000000000000000", Region: "cn-hangzhou", Stack: string(started.StackID), ByID: true}
		status = settled(t, n, ref)
		s, err := n.engine.Find(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if resources, err = n.engine.Resources(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return ref, status, resources
	}
	ref, status, resources := create("good", resource("A", disk, "{X: 1, Y: 2.5}")+resource("B", sum, "{X: 3, Y: 4}"))
	if status != "CREATE_COMPLETE" {
		t.Errorf("got %s", status)
	}
	made := map[string]string{}
	for _, r := range resources {
		made[string(r.Logical)] = string(r.PhysicalID) + " " + string(r.Body.Data.JSON())
	}
	want := map[string]string{"A": `MyCustomResourceId {"z":3.5,"region":"cn-beijing","n":1}`, "B": `node {"z":7,"region":"cn-shanghai"}`}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	if _, err := n.engine.Delete(t.Context(), engine.DeleteStack{Stack: ref}); err != nil {
		t.Fatal(err)
	}
	if status := settled(t, n, ref); status != "DELETE_COMPLETE" {
		t.Errorf("got %s", status)
	}
	for do, want := range map[string]string{"raise": "ValueError: no such disk", "exit": "exited with code 3 while it handled the event"} {
		_, status, resources := create("bad-"+do, resource("A", disk, "{Do: "+do+"}"))
		if status != "CREATE_FAILED" || len(resources) != 1 || !strings.Contains(resources[0].Reason, want) {
			t.Errorf("%s: got %s, %+v", do, status, resources)
		}
	}
}
