// Command goclients plays the life of a stack with the libraries that Alibaba Cloud's clients in Go are made of:
//
//	goclients CLIENT ENDPOINT PROVIDER
//
// CLIENT is go, the core of the SDKs of today (darabonba-openapi, signature V3), or go-v1, the core of the aliyun CLI and of the first
// SDK (alibaba-cloud-sdk-go, signature V1). The calls are those of the generated SDK of ROS and of the CLI. PROVIDER is a service token.
// The key is in the environment, KEY_ID and KEY_SECRET. An unexpected reply ends the command with an error.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	region  = "cn-hangzhou"
	version = "2019-09-10"
)

// object is a JSON object of a reply, or parameters of a call.
type object = map[string]any

// caller calls an action. The error of a call that the service refuses is a *refusal.
type caller func(action string, parameters object) (object, error)

// refusal is how a client reports an error of the service.
type refusal struct {
	code, message string
	status        int
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.status, r.code, r.message) }

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: goclients CLIENT ENDPOINT PROVIDER")
		os.Exit(2)
	}
	if err := play(os.Args[1], strings.TrimPrefix(os.Args[2], "http://"), os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func connect(client, host, secret string) (caller, error) {
	switch client {
	case "go":
		return connectV3(host, secret)
	case "go-v1":
		return connectV1(host, secret)
	}
	return nil, fmt.Errorf("the client %q is not known", client)
}

// life is one stack and the client that it is driven with.
type life struct {
	call  caller
	stack string
	err   error
}

// do calls an action that has to succeed.
func (l *life) do(action string, parameters object) object {
	if l.err != nil {
		return nil
	}
	reply, err := l.call(action, parameters)
	if err != nil {
		l.err = fmt.Errorf("%s: %w", action, err)
	}
	return reply
}

// refused calls an action that has to fail, and returns the message.
func (l *life) refused(call caller, status int, code, action string, parameters object) string {
	if l.err != nil {
		return ""
	}
	reply, err := call(action, parameters)
	r, ok := err.(*refusal) //nolint:errorlint // a caller does not wrap it
	switch {
	case err == nil:
		l.err = fmt.Errorf("%s succeeded with %v, want %d %s", action, reply, status, code)
	case !ok || r.code != code || r.status != status:
		l.err = fmt.Errorf("%s failed with %w, want %d %s", action, err, status, code)
	default:
		return r.message
	}
	return ""
}

// same checks a value of a reply.
func (l *life) same(what string, got, want any) {
	if l.err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
		l.err = fmt.Errorf("%s is %v, want %v", what, got, want)
	}
}

// settled waits for the end of the stack's operation.
func (l *life) settled(want string) object {
	for range 600 {
		stack := l.do("GetStack", object{"StackId": l.stack})
		status, _ := stack["Status"].(string)
		if l.err != nil || !strings.HasSuffix(status, "_IN_PROGRESS") {
			l.same("the status", status, want)
			return stack
		}
		time.Sleep(50 * time.Millisecond)
	}
	l.err = fmt.Errorf("the stack did not become %s", want)
	return nil
}

func play(client, host, provider string) error {
	call, err := connect(client, host, os.Getenv("KEY_SECRET"))
	if err != nil {
		return err
	}
	stranger, err := connect(client, host, "not the secret of the key")
	if err != nil {
		return err
	}
	const missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	l := &life{call: call}
	size := object{"Size": object{"Ref": "Size"}}
	given := []any{object{"ParameterKey": "Password", "ParameterValue": "p ä*~'()!"}}
	l.refused(stranger, 400, "SignatureDoesNotMatch", "ListStacks", object{})
	l.refused(call, 404, "StackNotFound", "GetStack", object{"StackId": missing})
	l.refused(call, 404, "ChangeSetNotFound", "GetChangeSet", object{"ChangeSetId": missing})
	l.refused(call, 400, "MissingParameter", "CreateStack", object{"StackName": "stack-" + client})
	body := template(provider, size)
	created := l.do("CreateStack", object{
		"StackName": "stack-" + client, "TemplateBody": body, "Parameters": given, "TimeoutInMinutes": 20, "DisableRollback": false,
		"ClientToken": "create-" + client,
	})
	l.stack, _ = created["StackId"].(string)
	stack := l.settled("CREATE_COMPLETE")
	l.same("the outputs", members(stack["Outputs"], "OutputKey", "OutputValue"), "[Answer=42.5]")
	l.same("the password", strings.Contains(members(stack["Parameters"], "ParameterKey", "ParameterValue"), "Password=******"), true)
	l.refused(call, 409, "StackExists", "CreateStack", object{"StackName": "stack-" + client, "TemplateBody": body, "Parameters": given})
	update := object{"StackId": l.stack, "TemplateBody": body, "Parameters": given}
	message := l.refused(call, 400, "NotSupported", "UpdateStack", update)
	l.same("no update", strings.Contains(message, "Update the completely same stack"), true)

	// Tags as Terraform sets them.
	tagging := object{"ResourceType": "stack", "ResourceId": []any{l.stack}}
	l.do("TagResources", with(tagging, "Tag", []any{object{"Key": "team", "Value": "x"}, object{"Key": "env", "Value": "dev"}}))
	l.do("UntagResources", with(tagging, "TagKey", []any{"env"}))
	l.same("the tags", members(l.do("ListTagResources", tagging)["TagResources"], "TagKey", "TagValue"), "[team=x]")

	l.do("UpdateStack", object{
		"StackId": l.stack, "TemplateBody": body, "UsePreviousParameters": true,
		"Parameters": []any{object{"ParameterKey": "Size", "ParameterValue": "2"}},
	})
	l.settled("UPDATE_COMPLETE")
	l.do("UpdateStack", object{"StackId": l.stack, "TemplateBody": template(provider, object{"Fail": true}), "UsePreviousParameters": true})
	l.settled("ROLLBACK_COMPLETE")
	set := l.do("CreateChangeSet", object{
		"ChangeSetName": "more", "StackId": l.stack, "TemplateBody": template(provider, object{"Size": 3}), "UsePreviousParameters": true,
	})
	shown := l.do("GetChangeSet", object{"ChangeSetId": set["ChangeSetId"]})
	l.same("the change set", shown["ExecutionStatus"], "AVAILABLE")
	l.do("ExecuteChangeSet", object{"ChangeSetId": set["ChangeSetId"]})
	l.settled("UPDATE_COMPLETE")
	l.same("the template", l.do("GetTemplate", object{"StackId": l.stack})["TemplateBody"], template(provider, object{"Size": 3}))
	listed := l.do("ListStacks", object{"StackName": []any{"stack-" + client}, "PageSize": 50})
	l.same("the stacks", members(listed["Stacks"], "StackName", "Status"), "[stack-"+client+"=UPDATE_COMPLETE]")
	resources := l.do("ListStackResources", object{"StackId": l.stack})
	l.same("the resources", members(resources["Resources"], "LogicalResourceId", "PhysicalResourceId"), "[Thing=thing-1]")
	events := l.do("ListStackEvents", object{"StackId": l.stack, "PageNumber": 1, "PageSize": 50})
	l.same("the events", strings.HasSuffix(members(events["Events"], "LogicalResourceId", "StatusReason"), "stack-"+client+"=Stack CREATE started]"), true)
	l.do("DeleteStack", object{"StackId": l.stack})
	l.settled("DELETE_COMPLETE")
	return l.err
}

func with(parameters object, name string, value any) object {
	made := object{name: value}
	for name, value := range parameters {
		made[name] = value
	}
	return made
}

// members returns two members of each item of a list, as one text.
func members(list any, key, value string) string {
	items, _ := list.([]any)
	pairs := []string{}
	for _, item := range items {
		m, _ := item.(object)
		pairs = append(pairs, fmt.Sprintf("%v=%v", m[key], m[value]))
	}
	return fmt.Sprint(pairs)
}

func template(provider string, parameters object) string {
	text, err := json.Marshal(object{
		"ROSTemplateFormatVersion": "2015-09-01",
		"Description":              "Ein Ding für *alle* ~ & a+b=c %",
		"Parameters":               object{"Size": object{"Type": "Number", "Default": 1}, "Password": object{"Type": "String", "NoEcho": true}},
		"Resources": object{"Thing": object{"Type": "Custom::Thing", "Properties": object{
			"ServiceToken": provider, "Timeout": 60, "Parameters": parameters,
		}}},
		"Outputs": object{"Answer": object{"Value": object{"Fn::GetAtt": []any{"Thing", "Answer"}}}},
	})
	if err != nil {
		panic(err) // maps of texts always marshal
	}
	return string(text)
}
