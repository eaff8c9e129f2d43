package ros_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/ros"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const rich = `
ROSTemplateFormatVersion: '2015-09-01'
Description: A thing.
Parameters:
  Size: {Type: Number, Default: 7}
  Password: {Type: String, NoEcho: true}
  Names: {Type: CommaDelimitedList, Default: 'a,b'}
Resources:
  A:
    Type: Custom::Thing
    Metadata: {Kept: true}
    Properties:
      ServiceToken: web:http://localhost/
      Parameters: {Size: !Ref Size, Password: !Ref Password}
Outputs:
  Id: {Value: !Ref A, Description: The id.}
  All: {Value: !GetAtt [A, Outputs]}
  Number: {Value: !GetAtt [A, N]}
  Secret: {Value: !Ref Password}
`

var (
	uuid  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	clock = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`)
)

// TestLife checks a stack from its creation to the records after its deletion, as clients see it.
func TestLife(t *testing.T) {
	w := newWorld(t)
	id := w.call("CreateStack", "StackName", "s", "TemplateBody", rich, "Parameters.1.ParameterKey", "Password", "Parameters.1.ParameterValue", "hunter2",
		"Tags.1.Key", "team", "Tags.1.Value", "x", "DeletionProtection", "Enabled", "RamRoleName", "deployer")["StackId"].(string)
	if !uuid.MatchString(id) {
		t.Errorf("StackId %q", id)
	}
	if got := w.refused("UpdateStack", "StackId", id, "TemplateBody", plain("")); got != "409 ActionInProgress: Stack s already has an action (CREATE) in progress." {
		t.Error(got)
	}
	if r := w.succeed("thing-1", `{"N": 1.50, "L": [true]}`); r.Body.Caller != "42" || r.Body.Account != account {
		t.Errorf("caller %q, account %q", r.Body.Caller, r.Body.Account)
	}

	got := w.call("GetStack", "StackId", strings.ToUpper(id))
	if !clock.MatchString(got["CreateTime"].(string)) {
		t.Errorf("CreateTime %v", got["CreateTime"])
	}
	wantParameters := object{
		"Size": "7", "Password": "******", "Names": "a,b", "ALIYUN::StackName": "s", "ALIYUN::StackId": id, "ALIYUN::Region": region,
		"ALIYUN::AccountId": "42", "ALIYUN::TenantId": account, "ALIYUN::ResourceGroupId": "", "ALIYUN::NoValue": "None",
	}
	if diff := cmp.Diff(wantParameters, byKey(got["Parameters"], "ParameterKey", "ParameterValue")); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	wantOutputs := object{"Id": "thing-1", "All": object{"N": 1.5, "L": []any{true}}, "Number": 1.5, "Secret": "****"}
	if diff := cmp.Diff(wantOutputs, byKey(got["Outputs"], "OutputKey", "OutputValue")); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	want := object{
		"StackId": id, "StackName": "s", "Status": "CREATE_COMPLETE", "StatusReason": "Stack CREATE completed successfully",
		"Description": "A thing.", "TemplateDescription": "A thing.", "DisableRollback": false, "TimeoutInMinutes": 60.0,
		"DeletionProtection": "Enabled", "StackType": "ROS", "StackDriftStatus": "NOT_CHECKED", "ServiceManaged": false, "RegionId": region,
		"RamRoleName": "deployer", "NotificationURLs": []any{}, "Tags": []any{object{"Key": "team", "Value": "x"}},
		"ResourceProgress": object{"TotalResourceCount": 1.0, "SuccessResourceCount": 1.0, "FailedResourceCount": 0.0,
			"InProgressResourceCount": 0.0, "PendingResourceCount": 0.0, "InProgressResourceDetails": []any{}},
	}
	for _, varies := range []string{"RequestId", "CreateTime", "Parameters", "Outputs"} {
		delete(got, varies)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("GetStack (-want +got):\n%s", diff)
	}

	resource := w.call("GetStackResource", "StackId", id, "LogicalResourceId", "A", "ShowResourceAttributes", "true")
	if diff := cmp.Diff(object{"Outputs": object{"N": 1.5, "L": []any{true}}, "N": 1.5, "L": []any{true}},
		byKey(resource["ResourceAttributes"], "ResourceAttributeKey", "ResourceAttributeValue")); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if resource["PhysicalResourceId"] != "thing-1" || resource["Status"] != "CREATE_COMPLETE" || resource["ResourceType"] != "Custom::Thing" ||
		cmp.Diff(object{"Kept": true}, resource["Metadata"]) != "" {
		t.Errorf("%v", resource)
	}
	resource = w.call("GetStackResource", "StackId", id, "LogicalResourceId", "A", "ResourceAttributes.1", "N")
	if got := names(resource["ResourceAttributes"], "ResourceAttributeKey"); got != "N" {
		t.Error(got)
	}
	if got := w.refused("GetStackResource", "StackId", id, "LogicalResourceId", "B"); got != "404 ResourceNotFound: The Resource (B) could not be found in Stack s." {
		t.Error(got)
	}
	if got := names(w.call("ListStackResources", "StackId", id)["Resources"], "LogicalResourceId"); got != "A" {
		t.Error(got)
	}
	if got := w.call("GetTemplate", "StackId", id)["TemplateBody"]; got != rich {
		t.Errorf("template %q", got)
	}

	// An update that keeps its parameters, and one without changes.
	changed := strings.Replace(rich, "Size: !Ref Size", "Size: 8", 1)
	if got := w.refused("UpdateStack", "StackId", id, "TemplateBody", rich, "UsePreviousParameters", "true"); got != "400 NotSupported: Update the completely same stack is not supported." {
		t.Error(got)
	}
	dry := w.call("UpdateStack", "StackId", id, "TemplateBody", rich, "UsePreviousParameters", "true", "DryRun", "true")
	if dry["DryRunResult"] == nil || w.status(id) != "CREATE_COMPLETE" {
		t.Error(dry)
	}
	if got := w.refused("UpdateStack", "StackId", id, "TemplateBody", changed); got != "400 UserParameterMissing: The Parameter Password was not provided." {
		t.Error(got)
	}
	updated := w.call("UpdateStack", "StackId", id, "TemplateBody", changed, "UsePreviousParameters", "true")
	if updated["StackId"] != id || updated["DryRunResult"] != nil {
		t.Error(updated)
	}
	if r := w.succeed("thing-1", `{"N": 2}`); string(r.Body.Properties.JSON()) != `{"Size":8,"Password":"hunter2"}` {
		t.Errorf("%s", r.Body.Properties.JSON())
	}
	if got := w.call("GetStack", "StackId", id); got["Status"] != "UPDATE_COMPLETE" || !clock.MatchString(got["UpdateTime"].(string)) {
		t.Error(got["Status"], got["UpdateTime"])
	}

	// Delete the stack after disabling deletion protection.
	if got := w.refused("DeleteStack", "StackId", id); !strings.HasPrefix(got, "400 NotSupported: Delete of stack s with deletion protection") {
		t.Error(got)
	}
	w.call("SetDeletionProtection", "StackId", id, "DeletionProtection", "Disabled")
	if reply := w.call("DeleteStack", "StackId", id); len(reply) != 1 {
		t.Errorf("more than a RequestId: %v", reply)
	}
	w.succeed("thing-1")
	if got := w.status(id); got != "DELETE_COMPLETE" {
		t.Error(got)
	}
	events := w.call("ListStackEvents", "StackId", id, "PageSize", "50")
	all, _ := events["Events"].([]any)
	if len(all) != 12 || events["TotalCount"] != 12.0 || all[0].(object)["Status"] != "DELETE_COMPLETE" || all[11].(object)["Status"] != "CREATE_IN_PROGRESS" {
		t.Errorf("%v events: %v", events["TotalCount"], events)
	}
	if last := all[11].(object); last["ResourceType"] != "ALIYUN::ROS::Stack" || last["LogicalResourceId"] != "s" || last["PhysicalResourceId"] != id {
		t.Error(last)
	}
	if _, known := all[10].(object)["PhysicalResourceId"]; known {
		t.Errorf("an id that is not known yet: %v", all[10])
	}
	if got := names(w.call("ListStackEvents", "StackId", id, "PageSize", "2", "PageNumber", "2", "LogicalResourceId.1", "A")["Events"], "Status"); got != "UPDATE_COMPLETE UPDATE_IN_PROGRESS" {
		t.Error(got)
	}
	if got := names(w.call("ListStackEvents", "StackId", id, "Status.1", "UPDATE_COMPLETE")["Events"], "ResourceType"); got != "ALIYUN::ROS::Stack Custom::Thing" {
		t.Error(got)
	}
	for _, request := range []string{"GetStack", "ListStackEvents", "GetTemplate", "ListStackResources"} {
		if _, reply := w.ask(request, "StackId", id); strings.Contains(cmp.Diff(nil, reply), "hunter2") {
			t.Error(request, "tells a secret")
		}
	}
}

// TestCreateFails checks that a failed create is rolled back and reports the failure, and that a repeated request does
// not create a second stack.
func TestCreateFails(t *testing.T) {
	w := newWorld(t)
	arguments := []string{"StackName", "s", "TemplateBody", plain(`"N": 1`), "ClientToken", "token-1"}
	id := w.call("CreateStack", arguments...)["StackId"].(string)
	if again := w.call("CreateStack", arguments...)["StackId"]; again != id {
		t.Error("the same request made another stack")
	}
	if got := w.refused("CreateStack", "StackName", "s", "TemplateBody", plain("")); got != "409 StackExists: The Stack (s) already exists." {
		t.Error(got)
	}
	w.fail("no disk")
	w.succeed("a") // the Delete
	got := w.call("GetStack", "StackId", id)
	if got["Status"] != "CREATE_ROLLBACK_COMPLETE" {
		t.Error(got["Status"], got["StatusReason"])
	}
	if status := names(w.call("ListStackEvents", "StackId", id)["Events"], "Status"); !strings.Contains(status, "CREATE_FAILED") {
		t.Error(status)
	}
	id = w.call("CreateStack", "StackName", "t", "TemplateBody", plain(""), "DisableRollback", "true")["StackId"].(string)
	w.fail("no disk")
	got = w.call("GetStack", "StackId", id)
	info, _ := got["OperationInfo"].(object)
	if got["Status"] != "CREATE_FAILED" || info["LogicalResourceId"] != "A" || info["Action"] != "CREATE" || !strings.Contains(info["Message"].(string), "no disk") {
		t.Error(got)
	}
}

// TestNotificationURLs checks that each notification URL gets a message when an operation of the stack finishes.
func TestNotificationURLs(t *testing.T) {
	w := newWorld(t)
	id := w.call("CreateStack", "StackName", "s", "TemplateBody", rich, "NotificationURLs.1", "http://localhost:1/told?a=b",
		"Parameters.1.ParameterKey", "Password", "Parameters.1.ParameterValue", "hunter2")["StackId"].(string)
	if diff := cmp.Diff([]any{"http://localhost:1/told?a=b"}, w.call("GetStack", "StackId", id)["NotificationURLs"]); diff != "" {
		t.Error(diff)
	}
	w.succeed("thing-1", `{"N": 1.50}`)
	r := w.next()
	message, _ := r.Body.Properties.Get("Message")
	var reported object
	w.must(json.Unmarshal([]byte(message.Text()), &reported))
	outputs := byKey(reported["Outputs"], "OutputKey", "OutputValue")
	if r.Type != store.TypeNotification || r.Body.Token.Text() != "http://localhost:1/told?a=b" || len(w.inbox) != 1 || reported["StackId"] != id ||
		reported["StackName"] != "s" || reported["Status"] != "CREATE_COMPLETE" || outputs["Number"] != 1.5 || outputs["Secret"] == "hunter2" {
		t.Errorf("%s to %s: %v", r.Type, r.Body.Token.Text(), reported)
	}
}

// TestContinueCreateStack continues a failed create, with the failed resources or without them.
func TestContinueCreateStack(t *testing.T) {
	w := newWorld(t)
	two := `{"ROSTemplateFormatVersion": "2015-09-01", "Parameters": {"P": {"Type": "String"}, "Q": {"Type": "String"}}, "Resources": {"A": ` +
		thing("") + `, "B": ` + strings.Replace(thing(`"P": {"Ref": "P"}, "Q": {"Ref": "Q"}`), `{"Type"`, `{"DependsOn": "A", "Type"`, 1) + `}}`
	arguments := []string{"TemplateBody", two, "DisableRollback", "true", "Parameters.1.ParameterKey", "P", "Parameters.1.ParameterValue", "p",
		"Parameters.2.ParameterKey", "Q", "Parameters.2.ParameterValue", "q"}
	id := w.call("CreateStack", append(arguments, "StackName", "s")...)["StackId"].(string)
	w.succeed("a")
	if got := w.refused("ContinueCreateStack", "StackId", id); !strings.HasPrefix(got, "409 ActionInProgress: ") {
		t.Error(got)
	}
	w.fail("no disk")
	if got := w.status(id); got != "CREATE_FAILED" {
		t.Error(got)
	}
	if got := w.call("ContinueCreateStack", "StackId", id, "Parameters.1.ParameterKey", "P", "Parameters.1.ParameterValue", "p2")["StackId"]; got != id {
		t.Error(got)
	}
	if r := w.next(); r.Type == wire.Delete { // deletes the result of the first attempt
		w.succeed("b")
	}
	if r := w.succeed("b"); string(r.Body.Properties.JSON()) != `{"P":"p2","Q":"q"}` {
		t.Errorf("%s %s", r.Type, r.Body.Properties.JSON())
	}
	if got := w.status(id); got != "CREATE_COMPLETE" {
		t.Error(got)
	}
	if got := w.refused("ContinueCreateStack", "StackId", id); !strings.HasPrefix(got, "400 NotSupported: ") {
		t.Error(got)
	}

	id = w.call("CreateStack", append(arguments, "StackName", "t")...)["StackId"].(string)
	w.succeed("a")
	w.fail("no disk")
	w.call("ContinueCreateStack", "StackId", id, "Mode", "Ignore")
	for len(w.inbox) > 0 {
		w.succeed("b")
	}
	if got := w.status(id); got != "CREATE_COMPLETE" {
		t.Error(got)
	}
	if got := names(w.call("ListStackResources", "StackId", id)["Resources"], "Status"); got != "CREATE_COMPLETE CREATE_FAILED" {
		t.Error(got)
	}
}

// TestResourcesToCome checks that resources that have not begun are shown and counted from the start of the operation.
func TestResourcesToCome(t *testing.T) {
	w := newWorld(t)
	second := strings.Replace(thing(""), `{"Type"`, `{"DependsOn": "A", "Type"`, 1)
	two := `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": ` + thing("") + `, "B": ` + second + `}}`
	progress := func(id string) string {
		t.Helper()
		p := w.call("GetStack", "StackId", id)["ResourceProgress"].(object)
		return fmt.Sprint(p["TotalResourceCount"], p["SuccessResourceCount"], p["FailedResourceCount"], p["InProgressResourceCount"], p["PendingResourceCount"])
	}
	statuses := func(id string) string {
		t.Helper()
		list := w.call("ListStackResources", "StackId", id)["Resources"]
		return names(list, "LogicalResourceId") + ": " + names(list, "Status")
	}
	shows := func(id, resources, counts string) {
		t.Helper()
		if got := statuses(id); got != resources {
			t.Errorf("resources %s, want %s", got, resources)
		}
		if got := progress(id); got != counts {
			t.Errorf("progress %s, want %s", got, counts)
		}
	}
	id := w.call("CreateStack", "StackName", "s", "TemplateBody", two, "DisableRollback", "true")["StackId"].(string)
	shows(id, "A B: CREATE_IN_PROGRESS INIT_COMPLETE", "2 0 0 1 1")
	resource := w.call("GetStackResource", "StackId", id, "LogicalResourceId", "B", "ShowResourceAttributes", "true")
	delete(resource, "RequestId")
	if diff := cmp.Diff(object{
		"StackId": id, "StackName": "s", "LogicalResourceId": "B", "PhysicalResourceId": "", "ResourceType": "Custom::Thing",
		"Status": "INIT_COMPLETE", "StatusReason": "", "ResourceDriftStatus": "NOT_CHECKED", "Description": "",
	}, resource); diff != "" {
		t.Errorf("GetStackResource (-want +got):\n%s", diff)
	}
	w.fail("no disk")
	shows(id, "A B: CREATE_FAILED INIT_COMPLETE", "2 0 1 0 1")
	w.call("ContinueCreateStack", "StackId", id)
	if r := w.next(); r.Type == wire.Delete {
		w.succeed("a")
	}
	w.succeed("a")
	shows(id, "A B: CREATE_COMPLETE CREATE_IN_PROGRESS", "2 1 0 1 0")
	w.succeed("b")
	shows(id, "A B: CREATE_COMPLETE CREATE_COMPLETE", "2 2 0 0 0")

	id = w.create("t", `"N": 1`)
	w.call("UpdateStack", "StackId", id, "TemplateBody", strings.Replace(two, `"Parameters": {}`, `"Parameters": {"N": 2}`, 1))
	shows(id, "A B: UPDATE_IN_PROGRESS INIT_COMPLETE", "2 0 0 1 1")
	w.fail("not now")
	w.succeed("a")
	shows(id, "A: UPDATE_COMPLETE", "1 1 0 0 0")
}

// TestReplacement checks that a resource that cannot be updated is replaced only on request.
func TestReplacement(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", "")
	moved := strings.Replace(plain(""), "web:http://localhost/", "web:http://localhost/other", 1)
	preview := w.call("PreviewStack", "StackId", id, "TemplateBody", moved, "ReplacementOption", "Enabled")["Stack"].(object)
	if got := names(preview["Resources"], "Replacement"); got != "True" {
		t.Error(preview)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", moved)
	if got := w.status(id); got != "ROLLBACK_COMPLETE" {
		t.Error(got)
	}
	for _, how := range [][]string{{"TemplateBody", moved, "ReplacementOption", "Enabled"}, {"TaintResources.1", "A"}} {
		w.call("UpdateStack", append(how, "StackId", id)...)
		if r := w.succeed("a"); r.Type != wire.Delete {
			t.Errorf("%v: %s first", how, r.Type)
		}
		if r := w.succeed("b"); r.Type != wire.Create {
			t.Errorf("%v: then %s", how, r.Type)
		}
		if got := w.status(id); got != "UPDATE_COMPLETE" {
			t.Errorf("%v: %s", how, got)
		}
	}
}

func TestListStacks(t *testing.T) {
	w := newWorld(t)
	first := w.create("one", "", "Tags.1.Key", "team", "Tags.1.Value", "x")
	w.create("two", "", "Tags.1.Key", "team", "Tags.1.Value", "y")
	w.create("three", "")
	gone := w.create("gone", "")
	w.call("DeleteStack", "StackId", gone)
	w.succeed("a")
	for _, c := range []struct{ parameters, want string }{
		{"", "one three two"},
		{"StackName.1 t*", "three two"},
		{"StackName.1 t*e StackName.2 one", "one three"},
		{"StackName.1 o", ""},
		{"Status.1 CREATE_COMPLETE", "one three two"},
		{"Status.1 DELETE_COMPLETE", "gone"},
		{"Status.1 CHECK_FAILED", ""},
		{"StackId " + first, "one"},
		{"StackId " + gone, "gone"},
		{"Tag.1.Key team", "one two"},
		{"Tag.1.Key team Tag.1.Value y", "two"},
		{"RegionId cn-beijing", ""},
	} {
		got := w.call("ListStacks", strings.Fields(c.parameters)...)
		list := strings.Fields(names(got["Stacks"], "StackName")) // newest first, but some have the same time
		slices.Sort(list)
		if list := strings.Join(list, " "); list != c.want {
			t.Errorf("%s: %q, want %q", c.parameters, list, c.want)
		}
		if got["Stacks"] == nil {
			t.Errorf("%s: no list", c.parameters)
		}
	}
	seen := map[string]bool{}
	for number, want := range map[string]int{"1": 2, "2": 1, "3": 0} {
		items := w.call("ListStacks", "PageSize", "2", "PageNumber", number)["Stacks"].([]any)
		if len(items) != want {
			t.Errorf("page %s has %d stacks", number, len(items))
		}
		for _, item := range items {
			seen[item.(object)["StackName"].(string)] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("the pages have %v", seen)
	}
	if got := w.call("ListStacks", "PageSize", "2"); got["TotalCount"] != 3.0 || got["PageNumber"] != 1.0 || got["PageSize"] != 2.0 {
		t.Error(got)
	}
	tags := w.call("ListTagResources", "ResourceType", "stack", "ResourceId.1", first)
	if diff := cmp.Diff([]any{object{"ResourceId": first, "ResourceType": "stack", "TagKey": "team", "TagValue": "x"}}, tags["TagResources"]); diff != "" {
		t.Error(diff)
	}
}

func TestPolicy(t *testing.T) {
	w := newWorld(t)
	const denying = `{"Statement": [{"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}`
	id := w.create("s", "")
	if got := w.call("GetStackPolicy", "StackId", id)["StackPolicyBody"]; got != nil {
		t.Error(got)
	}
	w.call("SetStackPolicy", "StackId", id, "StackPolicyBody", denying)
	statement := w.call("GetStackPolicy", "StackId", id)["StackPolicyBody"].(object)["Statement"].([]any)[0]
	if statement.(object)["Effect"] != "Deny" {
		t.Error(statement)
	}
	if got := w.refused("SetStackPolicy", "StackId", id); got != "400 MissingParameter: One of the input parameters StackPolicyBody and StackPolicyURL should be specified." {
		t.Error(got)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 1`))
	if got := w.status(id); got != "ROLLBACK_COMPLETE" {
		t.Error(got)
	}
}

func TestPreviewStack(t *testing.T) {
	w := newWorld(t)
	stack := w.call("PreviewStack", "StackName", "s", "TemplateBody", plain(`"N": 1`))["Stack"].(object)
	resources := stack["Resources"].([]any)
	if names(resources, "LogicalResourceId") != "A" || names(resources, "Action") != "Add" {
		t.Error(resources)
	}
	if got := w.call("ListStacks")["TotalCount"]; got != 0.0 {
		t.Error(got)
	}
	id := w.create("s", `"N": 1`)
	stack = w.call("PreviewStack", "StackId", id, "TemplateBody", plain(`"N": 2`))["Stack"].(object)
	if resources := stack["Resources"]; names(resources, "Action") != "Modify" || names(resources, "PhysicalResourceId") != "a" || stack["StackId"] != id {
		t.Error(stack)
	}
}

func TestChangeSets(t *testing.T) {
	w := newWorld(t)
	made := w.call("CreateChangeSet", "ChangeSetName", "c", "ChangeSetType", "CREATE", "StackName", "s", "TemplateBody", plain(`"N": 1`), "TimeoutInMinutes", "20")
	id, set := made["StackId"].(string), made["ChangeSetId"].(string)
	if !uuid.MatchString(id) || !uuid.MatchString(set) || w.status(id) != "REVIEW_IN_PROGRESS" {
		t.Fatal(made, w.status(id))
	}
	got := w.call("GetChangeSet", "ChangeSetId", set, "ShowTemplate", "true")
	changes := got["Changes"].([]any)
	if got["ChangeSetType"] != "CREATE" || got["TemplateBody"] != plain(`"N": 1`) || len(changes) != 1 || changes[0].(object)["ResourceChange"].(object)["Action"] != "Add" {
		t.Error(got)
	}
	if got["TimeoutInMinutes"] != 20.0 || got["ExecutionStatus"] != "AVAILABLE" {
		t.Error(got)
	}
	w.call("ExecuteChangeSet", "ChangeSetId", set)
	if r := w.succeed("a"); r.Body.Caller != "42" {
		t.Errorf("caller %q", r.Body.Caller)
	}
	if got := w.call("GetStack", "StackId", id); got["Status"] != "CREATE_COMPLETE" || got["TimeoutInMinutes"] != 20.0 {
		t.Error(got)
	}
	set = w.call("CreateChangeSet", "ChangeSetName", "d", "StackId", id, "TemplateBody", plain(`"N": 2`))["ChangeSetId"].(string)
	if got := names(w.call("ListChangeSets", "StackId", id, "ChangeSetName.1", "d*")["ChangeSets"], "ChangeSetId"); got != set {
		t.Error(got)
	}
	w.call("DeleteChangeSet", "ChangeSetId", set)
	if got := w.refused("GetChangeSet", "ChangeSetId", set); !strings.HasPrefix(got, "404 ChangeSetNotFound: ") {
		t.Error(got)
	}
}

func TestCancelUpdateStack(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", `"N": 1`)
	if got := w.refused("CancelUpdateStack", "StackId", id); !strings.HasPrefix(got, "400 NotSupported: ") {
		t.Error(got)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 2`))
	w.call("CancelUpdateStack", "StackId", id, "CancelType", "Safe")
	w.succeed("a")
	w.succeed("a")
	if got := w.status(id); got != "ROLLBACK_COMPLETE" {
		t.Error(got)
	}
}

func TestRetain(t *testing.T) {
	w := newWorld(t)
	for _, how := range [][]string{{"RetainAllResources", "true"}, {"RetainResources.1", "A"}} {
		id := w.create("s", "")
		w.call("DeleteStack", append(how, "StackId", id)...)
		if got := w.status(id); got != "DELETE_COMPLETE" || len(w.inbox) > 0 {
			t.Errorf("%v: %s, %d requests", how, got, len(w.inbox))
		}
	}
}

func TestValidateTemplate(t *testing.T) {
	w := newWorld(t)
	got := w.call("ValidateTemplate", "TemplateBody", rich)
	if got["Description"] != "A thing." || names(got["Parameters"], "ParameterKey") != "Size Password Names" ||
		names(got["Parameters"], "NoEcho") != "false true false" || names(got["Outputs"], "OutputKey") != "Id All Number Secret" {
		t.Error(got)
	}
	if diff := cmp.Diff(object{"Resources": []any{"Custom::Thing"}, "DataSources": []any{}}, got["ResourceTypes"]); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", "")
	const none = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for _, c := range []struct {
		action string
		pairs  []string
		want   string
	}{
		{"GetStack", []string{"StackId", none}, "404 StackNotFound: The Stack (" + none + ") could not be found."},
		{"GetStack", []string{"StackId", "s"}, "404 StackNotFound: The Stack (s) could not be found."},
		{"GetStack", []string{"StackId", id, "RegionId", "cn-beijing"}, "404 StackNotFound: The Stack (" + id + ") could not be found."},
		{"GetStack", nil, "400 MissingParameter: The input parameter StackId should be specified."},
		{"GetStack", []string{"StackId", id, "RegionId", ""}, "400 MissingParameter: The input parameter RegionId should be specified."},
		{"DeleteStack", []string{"StackId", none}, "404 StackNotFound: The Stack (" + none + ") could not be found."},
		{"UpdateStack", []string{"StackId", none, "TemplateBody", plain("")}, "404 StackNotFound: The Stack (" + none + ") could not be found."},
		{"CreateStack", []string{"StackName", "t"}, "400 MissingParameter: One of the input parameters TemplateBody, TemplateURL, TemplateId and TemplateScratchId should be specified."},
		{"CreateStack", []string{"StackName", "t", "TemplateId", "x"}, "404 TemplateNotFound: The Tempalte (x) could not be found."}, //nolint:misspell // as the service has it
		{"CreateStack", []string{"StackName", "t", "TemplateBody", "x", "TemplateURL", "y"}, "400 InvalidParameter: The specified parameter TemplateBody is invalid, only one of TemplateBody, TemplateURL, TemplateId and TemplateScratchId can be given."},
		{"CreateStack", []string{"StackName", "t", "TemplateURL", "oss://none/t"}, "400 InvalidParameter: The specified parameter TemplateURL is invalid, there is no OSS bucket none of the caller on this server, and no other OSS is read."},
		{"CreateStack", []string{"StackName", "t", "TemplateURL", "ftp://none/t"}, "400 InvalidParameter: The specified parameter TemplateURL is invalid, it must be a supported URL."},
		{"CreateStack", []string{"StackName", "-t", "TemplateBody", plain("")}, "400 InvalidParameter: The specified parameter StackName is invalid, it must match the regular expression [a-zA-Z0-9][-_a-zA-Z0-9]*."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "TimeoutInMinutes", "9"}, "400 InvalidParameter: The specified parameter TimeoutInMinutes is invalid, it must be a whole number from 10 to 1440."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "NotificationURLs.1", "ftp://x"}, "400 InvalidParameter: The specified parameter NotificationURLs.1 is invalid, it must match the regular expression (?i:https?)://.*."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "NotificationURLs.1", "http://%zz"}, "400 InvalidParameter: The specified parameter NotificationURLs is invalid, one of them is not an http or https URL."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "ResourceGroupId", "rg 1"}, "400 InvalidParameter: The specified parameter ResourceGroupId is invalid, it must match the regular expression [-_a-zA-Z0-9]*."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "CreateOptions.1", "ManuallyPay"}, "400 NotSupported: CreateOptions ManuallyPay is not supported."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "Tags.1.Key", "acs:x"}, "400 InvalidParameter: The specified parameter Tags is invalid, neither the key nor the value of a tag can begin with aliyun or acs:."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "Parameters.1.ParameterKey", "P", "Parameters.1.ParameterValue", "x"},
			"400 UnknownUserParameter: The Parameter (P) was not defined in template."},
		{"CreateStack", []string{"StackName", "t", "TemplateBody", plain(""), "TemplateURL", ""}, ""},
		{"CreateChangeSet", []string{"ChangeSetName", "c", "TemplateBody", plain("")}, "400 MissingParameter: The input parameter StackId should be specified, for a change set of type UPDATE."},
		{"CreateChangeSet", []string{"ChangeSetName", "c", "ChangeSetType", "IMPORT"}, "400 NotSupported: ChangeSetType IMPORT is not supported."},
		{"GetChangeSet", []string{"ChangeSetId", none}, "404 ChangeSetNotFound: The ChangeSet " + none + " could not be found."},
		{"ExecuteChangeSet", []string{"ChangeSetId", none}, "404 ChangeSetNotFound: The ChangeSet " + none + " could not be found."},
		{"DeleteChangeSet", []string{"ChangeSetId", none}, "404 ChangeSetNotFound: The ChangeSet " + none + " could not be found."},
		{"GetTemplate", nil, "400 MissingParameter: One of the input parameters StackId, ChangeSetId and TemplateId should be specified."},
		{"ListTagResources", []string{"ResourceType", "stack"}, "400 MissingParameter: One of the input parameters ResourceIds,Tags should be specified."},
		{"NoSuchAction", nil, "404 InvalidAction.NotFound: Specified api is not found, please check your url and method."},
	} {
		if c.want == "" {
			w.call(c.action, c.pairs...)
			continue
		}
		if got := w.refused(c.action, c.pairs...); got != c.want {
			t.Errorf("%s %v:\n%s, want\n%s", c.action, c.pairs, got, c.want)
		}
	}
	status, reply := w.ask("ValidateTemplate", "TemplateBody", `{"ROSTemplateFormatVersion": "2015-09-02", "Resources": {}}`)
	if status != 400 || reply["Code"] != "InvalidTemplateVersion" {
		t.Error(status, reply)
	}
}

// TestFault checks that the client gets only a generic message about a server error.
func TestFault(t *testing.T) {
	w := newWorld(t, func(c *ros.Config) { c.Engine = broken{c.Engine} })
	if got := w.refused("GetStack", "StackId", "x"); got != "500 InternalError: Server error." {
		t.Error(got)
	}
}

func TestDescribeRegions(t *testing.T) {
	w := newWorld(t)
	if got := names(w.call("DescribeRegions")["Regions"], "RegionId"); !strings.Contains(got, region) {
		t.Error(got)
	}
}
