package node

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// sums is a template in the form that those of Alibaba Cloud have: a service, a function whose code is in the template, and custom
// resources that it provides. A second function, of Function Compute 3.0, is in Node.
const sums = `ROSTemplateFormatVersion: '2015-09-01'
Parameters:
  X: {Type: Number, Default: 1}
  Spare: {Type: String, Default: spare}
  Word: {Type: String, Default: sum}
Resources:
  Role:
    Type: ALIYUN::RAM::Role
    Properties:
      RoleName: {"Fn::Join": ["-", [sums, {Ref: "ALIYUN::StackName"}]]}
      AssumeRolePolicyDocument:
        Version: '1'
        Statement: [{Action: "sts:AssumeRole", Effect: Allow, Principal: {Service: [fc.aliyuncs.com]}}]
  Service:
    Type: ALIYUN::FC::Service
    Properties: {ServiceName: tools, Role: {"Fn::GetAtt": [Role, Arn]}}
  Function:
    Type: ALIYUN::FC::Function
    Properties:
      ServiceName: {"Fn::GetAtt": [Service, ServiceName]}
      FunctionName: adder
      Handler: index.handler
      Runtime: python3
      Timeout: 60
      EnvironmentVariables: {WORD: {Ref: Word}}
      Code:
        SourceCode: |
          import json
          import os
          import time
          import urllib.request

          def handler(event, context):
              asked = json.loads(event)
              given = asked["ResourceProperties"]
              answer = {name: asked[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
              answer["Status"], answer["PhysicalResourceId"] = "SUCCESS", "sum"
              if asked["RequestType"] != "Delete":
                  answer["Data"] = {"Sum": given["X"] + given["Y"], "Word": os.environ["WORD"]}
              date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
              headers = {"Content-Type": "application/json", "Date": date}
              body = json.dumps(answer).encode()
              urllib.request.urlopen(urllib.request.Request(asked["ResponseURL"], body, headers)).read()
  Sum:
    Type: Custom::Sum
    Properties:
      ServiceToken: {"Fn::GetAtt": [Function, ARN]}
      Timeout: 60
      Parameters: {X: {Ref: X}, Y: 2.5}
  Newer:
    Type: ALIYUN::FC3::Function
    Properties:
      FunctionName: shouter
      Handler: index.handler
      Runtime: nodejs20
      Timeout: 60
      Code:
        SourceCode: |
          exports.handler = async (event) => {
            const asked = JSON.parse(event.toString());
            const {StackId, RequestId, LogicalResourceId, ResourceProperties} = asked;
            const answer = {StackId, RequestId, LogicalResourceId, Status: 'SUCCESS', PhysicalResourceId: 'shout'};
            if (asked.RequestType !== 'Delete') answer.Data = {Text: ResourceProperties.Text.toUpperCase()};
            const headers = {'Content-Type': 'application/json', Date: new Date().toUTCString()};
            const reply = await fetch(asked.ResponseURL, {method: 'POST', headers, body: JSON.stringify(answer)});
            if (!reply.ok) throw new Error('the answer was refused: ' + reply.status);
          };
  Shout:
    Type: Custom::Shout
    Properties:
      ServiceToken: {"Fn::GetAtt": [Newer, ARN]}
      Parameters: {Text: {"Fn::GetAtt": [Sum, Word]}}
  Unused:
    Type: ALIYUN::FC::Function
    Properties:
      ServiceName: {Ref: Service}
      FunctionName: {Ref: Spare}
      Handler: index.handler
      Runtime: python3
      Code: {SourceCode: "def handler(event, context): pass"}
  Queue:
    Type: ALIYUN::MNS::Queue
    Properties: {QueueName: jobs}
Outputs:
  Sum: {Value: {"Fn::GetAtt": [Sum, Sum]}}
  Shout: {Value: {"Fn::GetAtt": [Shout, Text]}}
  Function: {Value: {"Fn::GetAtt": [Function, ARN]}}
  Unused: {Value: {"Fn::GetAtt": [Unused, ARN]}}
  Queue: {Value: {"Fn::GetAtt": [Queue, ARN.WithSlash]}}
`

const tenant = "0000000000000000"

// running is a node with deployed stacks.
type running struct {
	*Node
	t    *testing.T
	stop func()
}

func open(t *testing.T, dir string, cloud bool) *running {
	t.Helper()
	lock, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(t.Context(), Config{Lock: lock, Role: Server, Dev: true, Cloud: cloud})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stopped := false
	r := &running{Node: n, t: t}
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(r.stop)
	return r
}

// settled waits until the stack is idle and returns it.
func (r *running) settled(ref engine.Ref) store.Stack {
	r.t.Helper()
	return r.until(ref, func(s store.Stack) bool { return s.Phase.Final() })
}

func (r *running) until(ref engine.Ref, is func(store.Stack) bool) store.Stack {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for give := time.After(2 * time.Minute); ; {
		s, err := r.engine.Find(r.t.Context(), ref)
		if err != nil {
			r.t.Fatal(err)
		}
		if is(s) {
			return s
		}
		select {
		case <-give:
			r.t.Fatalf("the stack stays %s\n%s", engine.ROS.StackStatus(s.Kind, s.Phase), strings.Join(r.reported(s), "\n"))
		case <-tick.C:
		}
	}
}

// reported returns the reasons in a stack's events.
func (r *running) reported(s store.Stack) []string {
	r.t.Helper()
	rows, err := r.store.Events(r.t.Context(), s.Key, store.EventCursor{}, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	var lines []string
	for _, row := range slices.Backward(rows) {
		for _, e := range row.Events {
			lines = append(lines, string(e.Logical)+" "+string(e.Verb)+" "+string(e.Progress)+" "+e.Reason)
		}
	}
	return lines
}

func (r *running) want(s store.Stack, status string, outputs map[string]string) {
	r.t.Helper()
	if got := engine.ROS.StackStatus(s.Kind, s.Phase); got != status {
		r.t.Fatalf("the stack is %s, want %s\n%s", got, status, strings.Join(r.reported(s), "\n"))
	}
	got := map[string]string{}
	for _, m := range s.OutputValues.Members() {
		got[m.Key] = m.Value.Text()
	}
	if diff := cmp.Diff(outputs, got); outputs != nil && diff != "" {
		r.t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func given(pairs ...string) engine.Options {
	var o engine.Options
	for i := 0; i < len(pairs); i += 2 {
		o.Parameters = append(o.Parameters, engine.Parameter{Key: pairs[i], Value: pairs[i+1]})
	}
	return o
}

// TestFunctionsInTemplatesOfROS deploys functions with the resources they provide, changes them, replaces one, and deletes all. A
// server without the local cloud waits for one that has it.
func TestFunctionsInTemplatesOfROS(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	dir := filepath.Join(t.TempDir(), "data")
	r := open(t, dir, true)
	started, err := r.engine.Create(t.Context(), engine.CreateStack{
		Name: store.StackName{Account: tenant, Region: "cn-hangzhou", Name: "sums"}, Template: sums, Dialect: engine.ROS,
	})
	if err != nil {
		t.Fatal(err)
	}
	ref := engine.Ref{Account: tenant, Region: "cn-hangzhou", Stack: string(started.StackID), ByID: true}
	outputs := map[string]string{
		"Sum": "3.5", "Shout": "SUM", "Function": "acs:fc:cn-hangzhou:" + tenant + ":services/tools/functions/adder",
		"Unused": "acs:fc:cn-hangzhou:" + tenant + ":services/tools/functions/spare", "Queue": "acs:mns:cn-hangzhou:" + tenant + ":/queues/jobs",
	}
	r.want(r.settled(ref), "CREATE_COMPLETE", outputs)

	update := func(replace bool, pairs ...string) store.Stack {
		t.Helper()
		_, err := r.engine.Update(t.Context(), engine.UpdateStack{Stack: ref, Template: sums, Options: given(pairs...), Replace: replace})
		if err != nil {
			t.Fatal(err)
		}
		return r.settled(ref)
	}
	// The function is changed in place, and is the changed one when the resource that it provides is.
	outputs["Sum"], outputs["Shout"] = "12.5", "TOTAL"
	r.want(update(false, "X", "10", "Word", "total"), "UPDATE_COMPLETE", outputs)

	// A name cannot be changed unless replacement is allowed.
	r.want(update(false, "X", "10", "Word", "total", "Spare", "other"), "ROLLBACK_COMPLETE", outputs)
	outputs["Unused"] = strings.ReplaceAll(outputs["Unused"], "spare", "other")
	r.want(update(true, "X", "10", "Word", "total", "Spare", "other"), "UPDATE_COMPLETE", outputs)
	place := registry.Scope{Account: tenant, Region: "cn-hangzhou"}
	if _, err := r.cloud.catalog.Functions.Get(t.Context(), place, "services/tools/functions/spare"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("the function that was replaced is there still: %v", err)
	}

	r.stop()
	without := open(t, dir, false)
	if _, err := without.engine.Delete(t.Context(), engine.DeleteStack{Stack: ref}); err != nil {
		t.Fatal(err)
	}
	without.waits(ref)
	without.stop()
	again := open(t, dir, true)
	again.want(again.settled(ref), "DELETE_COMPLETE", nil)
	left, err := again.cloud.catalog.Functions.List(t.Context(), place, "", 10)
	if err != nil || len(left) > 0 {
		t.Errorf("functions are left: %v %v", left, err)
	}
}

// waits waits until it is said of a request of the stack that the cloud is off, and sees that the stack is not deleted.
func (r *running) waits(ref engine.Ref) {
	r.t.Helper()
	r.until(ref, func(s store.Stack) bool {
		requests, err := r.store.Requests(r.t.Context(), s.Key)
		if err != nil {
			r.t.Fatal(err)
		}
		return slices.ContainsFunc(requests, func(q store.Request) bool {
			_, progress := r.notes.show(q.ID)
			return strings.Contains(progress, "--run-functions")
		})
	})
}
