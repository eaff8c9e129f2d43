package cloudformation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
)

// declared is a template of resources by logical ID.
type declared map[string]any

func (d declared) body() *string {
	text, err := json.Marshal(map[string]any{"Resources": d})
	if err != nil {
		panic(err)
	}
	return aws.String(string(text))
}

// with returns the template with one more resource.
func (d declared) with(logical string, resource any) declared {
	more := maps.Clone(d)
	more[logical] = resource
	return more
}

func parameterResource(name, text string, more ...string) map[string]any {
	r := map[string]any{"Type": "AWS::SSM::Parameter", "Properties": map[string]any{"Name": name, "Type": "String", "Value": text}}
	for _, policy := range more {
		r["DeletionPolicy"] = policy
	}
	return r
}

// puts creates a parameter like a client.
func (n *natives) puts(name, text string) {
	n.Helper()
	_, err := n.own.Put(n.Context(), store.Parameter{
		ParameterKey: store.ParameterKey{Account: account, Region: region, Name: name}, Type: store.ParameterString, Value: text,
	}, true)
	n.must(err)
}

func (n *natives) parameter(name string) string {
	n.Helper()
	p, err := n.own.Parameter(n.Context(), registry.Scope{Account: account, Region: region}, name, 0)
	if errors.Is(err, store.ErrNotFound) {
		return ""
	}
	n.must(err)
	return p.Value
}

// importing creates a change set of type IMPORT.
func (n *natives) importing(stack string, d declared, listed ...types.ResourceToImport) (*sdk.DescribeChangeSetOutput, error) {
	n.Helper()
	return n.planned(&sdk.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: str("import"), ChangeSetType: types.ChangeSetTypeImport,
		TemplateBody: d.body(), ResourcesToImport: listed,
	})
}

func (n *natives) planned(in *sdk.CreateChangeSetInput) (*sdk.DescribeChangeSetOutput, error) {
	n.Helper()
	made, err := n.client.CreateChangeSet(n.Context(), in)
	if err != nil {
		return nil, err
	}
	set, err := n.client.DescribeChangeSet(n.Context(), &sdk.DescribeChangeSetInput{ChangeSetName: made.Id})
	n.must(err)
	return set, nil
}

func (n *natives) executes(set *sdk.DescribeChangeSetOutput) {
	n.Helper()
	_, err := n.client.ExecuteChangeSet(n.Context(), &sdk.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId})
	n.must(err)
}

func named(resourceType, logical, key, text string) types.ResourceToImport {
	return types.ResourceToImport{ResourceType: &resourceType, LogicalResourceId: &logical, ResourceIdentifier: map[string]string{key: text}}
}

// events returns the events of a stack's last operation, oldest first.
func (n *natives) events(stack string) []string {
	n.Helper()
	page, err := n.client.DescribeStackEvents(n.Context(), &sdk.DescribeStackEventsInput{StackName: &stack})
	n.must(err)
	var lines []string
	for _, e := range page.StackEvents {
		line := aws.ToString(e.LogicalResourceId) + " " + string(e.ResourceStatus)
		if reason := aws.ToString(e.ResourceStatusReason); reason != "" {
			line += " " + reason
		}
		lines = append([]string{line}, lines...)
		if aws.ToString(e.ResourceStatusReason) == "User Initiated" && e.ResourceStatus != "REVIEW_IN_PROGRESS" {
			break
		}
	}
	return lines
}

func changeOf(set *sdk.DescribeChangeSetOutput) []string {
	var lines []string
	for _, c := range set.Changes {
		r := c.ResourceChange
		lines = append(lines, strings.TrimSpace(fmt.Sprint(r.Action, " ", *r.LogicalResourceId, " ", aws.ToString(r.PhysicalResourceId), " ", r.Replacement)))
	}
	return lines
}

// TestImport imports resources that clients created, into a new stack and into an existing one. Source: CloudFormation
// User Guide, "Import AWS resources into a CloudFormation stack"; events published by users.
func TestImport(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "kept")
	first := declared{"A": parameterResource("/a", "declared", "Retain")}
	set, err := n.importing("s", first, named("AWS::SSM::Parameter", "A", "Name", "/a"))
	n.must(err)
	if set.Status != types.ChangeSetStatusCreateComplete || set.ExecutionStatus != types.ExecutionStatusAvailable ||
		!strings.HasPrefix(aws.ToString(set.StatusReason), "Verify that resources") {
		t.Fatalf("%s %s %s", set.Status, set.ExecutionStatus, aws.ToString(set.StatusReason))
	}
	if diff := cmp.Diff([]string{"Import A /a"}, changeOf(set)); diff != "" {
		t.Error(diff)
	}
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusReviewInProgress {
		t.Errorf("before: %s", stack.StackStatus)
	}
	n.executes(set)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusImportComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, n.reasons("s"))
	}
	want := []string{
		"s IMPORT_IN_PROGRESS User Initiated", "A IMPORT_IN_PROGRESS Resource import started.", "A IMPORT_COMPLETE Resource import completed.",
		"A UPDATE_IN_PROGRESS Apply stack-level tags to imported resource if applicable.", "A UPDATE_COMPLETE", "s IMPORT_COMPLETE",
	}
	if diff := cmp.Diff(want, n.events("s")); diff != "" {
		t.Error(diff)
	}
	if got := n.parameter("/a"); got != "kept" {
		t.Errorf("an import changes the value to %q", got)
	}
	if _, _, found := n.drifts("s"); found["A"].StackResourceDriftStatus != types.StackResourceDriftStatusModified {
		t.Errorf("what is not as declared is %s", found["A"].StackResourceDriftStatus)
	}

	group := map[string]any{"Type": "AWS::Logs::LogGroup", "DeletionPolicy": "Delete", "Properties": map[string]any{"LogGroupName": "g"}}
	_, err = n.catalog.Groups.Put(t.Context(), registry.Item[registry.LogGroup]{Scope: registry.Scope{Account: account, Region: region}, Name: "g"})
	n.must(err)
	set, err = n.importing("s", first.with("G", group), named("AWS::Logs::LogGroup", "G", "LogGroupName", "g"))
	n.must(err)
	n.executes(set)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusImportComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, n.reasons("s"))
	}
	// An imported resource is updated, and deleted with its stack, like any other.
	_, err = n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{
		StackName: str("s"), TemplateBody: declared{"A": parameterResource("/a", "changed", "Delete"), "G": group}.body(),
	})
	n.must(err)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusUpdateComplete || n.parameter("/a") != "changed" {
		t.Fatalf("%s, the value is %q\n%s", stack.StackStatus, n.parameter("/a"), n.reasons("s"))
	}
	id := *n.settled("s").StackId
	_, err = n.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: str("s")})
	n.must(err)
	if stack := n.settled(id); stack.StackStatus != types.StackStatusDeleteComplete || n.parameter("/a") != "" {
		t.Errorf("%s, and there is a value %q", stack.StackStatus, n.parameter("/a"))
	}
	if _, err := n.catalog.Groups.Get(t.Context(), registry.Scope{Account: account, Region: region}, "g"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("the group is there: %v", err)
	}
}

// TestImportIsRolledBack releases a resource because another one can no longer be imported. It can be imported again.
func TestImportIsRolledBack(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "kept")
	n.puts("/b", "gone")
	both := declared{"A": parameterResource("/a", "1", "Delete"), "B": parameterResource("/b", "1", "Delete")}
	// B is imported after A.
	both["B"].(map[string]any)["DependsOn"] = "A"
	for _, stack := range []string{"new", "old"} {
		template, listed := both, []types.ResourceToImport{
			named("AWS::SSM::Parameter", "A", "Name", "/a"), named("AWS::SSM::Parameter", "B", "Name", "/b"),
		}
		if stack == "old" {
			n.puts("/b", "gone")
			before := declared{"C": parameterResource("/c", "1")}
			_, err := n.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: &stack, TemplateBody: before.body()})
			n.must(err)
			if got := n.settled(stack); got.StackStatus != types.StackStatusCreateComplete {
				t.Fatalf("%s\n%s", got.StackStatus, n.reasons(stack))
			}
			template = template.with("C", before["C"])
		}
		set, err := n.importing(stack, template, listed...)
		n.must(err)
		n.must(n.own.Delete(t.Context(), registry.Scope{Account: account, Region: region}, "/b"))
		n.executes(set)
		if got := n.settled(stack); got.StackStatus != types.StackStatusImportRollbackComplete {
			t.Fatalf("%s: %s\n%s", stack, got.StackStatus, n.reasons(stack))
		}
		if got := n.parameter("/a"); got != "kept" {
			t.Errorf("%s: the value of what was imported is %q", stack, got)
		}
		events := strings.Join(n.events(stack), "\n")
		for _, want := range []string{
			"\nB IMPORT_FAILED Resource of type 'AWS::SSM::Parameter' with identifier '/b' was not found.",
			"\n" + stack + " IMPORT_ROLLBACK_IN_PROGRESS The following resource(s) failed to import: [B].",
			"\nA IMPORT_ROLLBACK_IN_PROGRESS\nA IMPORT_ROLLBACK_COMPLETE\n" + stack + " IMPORT_ROLLBACK_COMPLETE",
		} {
			if !strings.Contains(events, want) {
				t.Errorf("%s: no %q in\n%s", stack, want, events)
			}
		}
	}
	_, err := n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("new"), TemplateBody: both.body()})
	if err == nil || !strings.Contains(err.Error(), "is in IMPORT_ROLLBACK_COMPLETE state and can not be updated") {
		t.Errorf("a stack whose first import failed: %v", err)
	}
	_, err = n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{
		StackName: str("old"), TemplateBody: declared{"C": parameterResource("/c", "2")}.body(),
	})
	n.must(err)
	if got := n.settled("old"); got.StackStatus != types.StackStatusUpdateComplete {
		t.Fatalf("%s\n%s", got.StackStatus, n.reasons("old"))
	}
	set, err := n.importing("old", declared{"C": parameterResource("/c", "2"), "Again": parameterResource("/a", "1", "Retain")},
		named("AWS::SSM::Parameter", "Again", "Name", "/a"))
	n.must(err)
	n.executes(set)
	if got := n.settled("old"); got.StackStatus != types.StackStatusImportComplete {
		t.Fatalf("%s\n%s", got.StackStatus, n.reasons("old"))
	}
}

// TestImportRefusals checks the errors of CreateChangeSet for impossible imports. Source: CloudFormation, as measured
// by others.
func TestImportRefusals(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "1")
	there := declared{"X": parameterResource("/x", "1")}
	_, err := n.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("s"), TemplateBody: there.body()})
	n.must(err)
	id := *n.settled("s").StackId
	whole := there.with("Q", parameterResource("/a", "1", "Retain"))
	const kind = "AWS::SSM::Parameter"
	q := named(kind, "Q", "Name", "/a")
	custom := map[string]any{"Type": "Custom::Thing", "DeletionPolicy": "Retain", "Properties": map[string]any{"ServiceToken": token}}
	for name, of := range map[string]struct {
		template declared
		listed   []types.ResourceToImport
		want     string
	}{
		"nothing listed": {whole, nil, "Must Provide at least one resource to import"},
		"twice":          {whole, []types.ResourceToImport{q, q}, "Every resource to import must have unique LogicalResourceId"},
		"not declared": {whole, []types.ResourceToImport{named(kind, "Missing", "Name", "/a")},
			"The logical resource ids [Missing] provided in ResourceToImport do not exist in the template."},
		"wrong key": {whole, []types.ResourceToImport{named(kind, "Q", "Value", "/a")},
			"Invalid resource identifier for resource type AWS::SSM::Parameter. Expected [Name]"},
		"other type": {whole, []types.ResourceToImport{named("AWS::IAM::Role", "Q", "RoleName", "r")},
			"Resource type of [Q] passed in ResourceToImport does not match with resource type defined in the template. " +
				"Resource type in ResourceToImport: AWS::IAM::Role; Resource type in Template: AWS::SSM::Parameter."},
		"nothing new": {there, []types.ResourceToImport{named(kind, "X", "Name", "/x")},
			"The template should contain at least one new resource to import."},
		"in the stack": {whole, []types.ResourceToImport{q, named(kind, "X", "Name", "/x")},
			"Resources [X] passed in ResourceToImport are already in a stack and cannot be imported."},
		"not listed": {whole.with("N", parameterResource("/n", "1", "Retain")), []types.ResourceToImport{q},
			"Resources [N] is missing from ResourceToImport list"},
		"modified": {whole.with("X", parameterResource("/x", "2")), []types.ResourceToImport{q},
			"You have modified resources [X] in your template that are not being imported. " +
				"Update, create or delete operations cannot be executed during import operations."},
		"removed": {declared{"Q": whole["Q"]}, []types.ResourceToImport{q},
			"You have modified resources [X] in your template that are not being imported. " +
				"Update, create or delete operations cannot be executed during import operations."},
		"no policy": {there.with("Q", parameterResource("/a", "1")), []types.ResourceToImport{q},
			"The following resources to import [Q] must have DeletionPolicy attribute specified in the template."},
		"custom resource": {there.with("Q", custom), []types.ResourceToImport{named("Custom::Thing", "Q", "Id", "a")},
			"The following resource types are not supported for resource import: Custom::Thing"},
	} {
		_, err := n.importing("s", of.template, of.listed...)
		api, ok := errors.AsType[smithy.APIError](err)
		if !ok || api.ErrorCode() != "ValidationError" || api.ErrorMessage() != of.want {
			t.Errorf("%s: %v, want %s", name, err, of.want)
		}
	}
	if _, err := n.importing("none", declared{"Q": parameterResource("/a", "1")}, q); err == nil {
		t.Error("a policy is missing in a new stack, and it is taken")
	}
	if _, err := n.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: str("none")}); err == nil {
		t.Error("a refused import leaves a stack")
	}
	_, err = n.planned(&sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: whole.body(),
		ResourcesToImport: []types.ResourceToImport{q}, RoleARN: str("arn:aws:iam::123456789012:role/r"),
		Tags: []types.Tag{{Key: str("k"), Value: str("v")}},
	})
	if err == nil || !strings.Contains(err.Error(), "As part of the import operation, you cannot modify or add [RoleArn, Tags]") {
		t.Errorf("tags and a role: %v", err)
	}

	// A resource that does not exist, or that another stack owns, makes the change set fail.
	for name, of := range map[string]struct{ resource, want string }{
		"missing": {"/ghost", "Resource of type 'AWS::SSM::Parameter' with identifier '/ghost' was not found."},
		"owned":   {"/x", "/x already exists in stack " + id},
	} {
		set, err := n.importing("other-"+name, declared{"Q": parameterResource(of.resource, "1", "Retain")}, named(kind, "Q", "Name", of.resource))
		n.must(err)
		if set.Status != types.ChangeSetStatusFailed || set.ExecutionStatus != types.ExecutionStatusUnavailable ||
			aws.ToString(set.StatusReason) != of.want || len(set.Changes) != 0 {
			t.Errorf("%s: %s %s %q, %d changes", name, set.Status, set.ExecutionStatus, aws.ToString(set.StatusReason), len(set.Changes))
		}
	}
}

// TestImportExistingResources imports the existing resources among those that a change set adds. Source: CloudFormation
// User Guide, "Import AWS resources into a CloudFormation stack automatically".
func TestImportExistingResources(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "kept")
	in := func(stack, name string, kind types.ChangeSetType, d declared) *sdk.CreateChangeSetInput {
		return &sdk.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: &name, ChangeSetType: kind, TemplateBody: d.body(), ImportExistingResources: aws.Bool(true),
		}
	}
	create := declared{"A": parameterResource("/a", "1"), "B": parameterResource("/b", "1")}
	set, err := n.planned(in("s", "one", types.ChangeSetTypeCreate, create))
	n.must(err)
	const lacking = "CloudFormation is attempting to import some resources because they already exist in your account. The resources must " +
		"have the DeletionPolicy attribute set to 'Retain' or 'RetainExceptOnCreate' in the template for successful import. " +
		"The affected resources are A ({Name=/a})"
	if set.Status != types.ChangeSetStatusFailed || aws.ToString(set.StatusReason) != lacking {
		t.Errorf("%s %s", set.Status, aws.ToString(set.StatusReason))
	}
	create["A"] = parameterResource("/a", "1", "RetainExceptOnCreate")
	set, err = n.planned(in("s", "two", types.ChangeSetTypeCreate, create))
	n.must(err)
	if diff := cmp.Diff([]string{"Import A /a", "Add B"}, changeOf(set)); diff != "" || !aws.ToBool(set.ImportExistingResources) {
		t.Error(diff, set.ImportExistingResources)
	}
	n.executes(set)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusCreateComplete || n.parameter("/a") != "kept" || n.parameter("/b") != "1" {
		t.Fatalf("%s\n%s", stack.StackStatus, n.reasons("s"))
	}
	// An update imports too. When it fails, it keeps the imported resources.
	n.puts("/c", "kept")
	update := create.with("C", parameterResource("/c", "1", "RetainExceptOnCreate")).with("D", map[string]any{
		"Type": "AWS::SSM::Parameter", "DependsOn": "C", "Properties": map[string]any{"Name": "/d", "Type": "String", "Value": "1", "AllowedPattern": "^x$"},
	})
	set, err = n.planned(in("s", "three", types.ChangeSetTypeUpdate, update))
	n.must(err)
	n.executes(set)
	if stack := n.settled("s"); stack.StackStatus != types.StackStatusUpdateRollbackComplete || n.parameter("/c") != "kept" {
		t.Fatalf("%s, the value is %q\n%s", stack.StackStatus, n.parameter("/c"), n.reasons("s"))
	}
	// A computed name is not looked up.
	computed := create.with("C", map[string]any{"Type": "AWS::SSM::Parameter", "DeletionPolicy": "Retain", "Properties": map[string]any{
		"Name": map[string]string{"Fn::Sub": "/c"}, "Type": "String", "Value": "1",
	}})
	set, err = n.planned(in("s", "four", types.ChangeSetTypeUpdate, computed))
	n.must(err)
	if diff := cmp.Diff([]string{"Add C"}, changeOf(set)); diff != "" {
		t.Error(diff)
	}
}

// TestImportIntoFailedStackWithoutRollback checks a failed stack that was not rolled back. It keeps its imported resources. Its
// rollback releases them, and an update keeps them.
func TestImportIntoFailedStackWithoutRollback(t *testing.T) {
	n := newNatives(t)
	for _, stack := range []string{"back", "again"} {
		name := "/" + stack
		n.puts(name, "kept")
		bad := map[string]any{"Type": "AWS::SSM::Parameter", "DependsOn": "A", "Properties": map[string]any{
			"Name": name + "/bad", "Type": "String", "Value": "1", "AllowedPattern": "^x$",
		}}
		d := declared{"A": parameterResource(name, "1", "RetainExceptOnCreate"), "B": bad}
		set, err := n.planned(&sdk.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: d.body(),
			ImportExistingResources: aws.Bool(true), OnStackFailure: types.OnStackFailureDoNothing,
		})
		n.must(err)
		n.executes(set)
		if got := n.settled(stack); got.StackStatus != types.StackStatusCreateFailed {
			t.Fatalf("%s\n%s", got.StackStatus, n.reasons(stack))
		}
		want := types.StackStatusRollbackComplete
		if stack == "back" {
			_, err = n.client.RollbackStack(t.Context(), &sdk.RollbackStackInput{StackName: &stack})
		} else {
			want = types.StackStatusUpdateComplete
			d["B"] = parameterResource(name+"/bad", "1")
			_, err = n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: &stack, TemplateBody: d.body(), DisableRollback: aws.Bool(true)})
		}
		n.must(err)
		if got := n.settled(stack); got.StackStatus != want || n.parameter(name) != "kept" {
			t.Errorf("%s, the value is %q\n%s", got.StackStatus, n.parameter(name), n.reasons(stack))
		}
	}
}

// TestResourceIdentifierSummaries checks the import data of GetTemplateSummary.
func TestResourceIdentifierSummaries(t *testing.T) {
	n := newNatives(t)
	d := declared{
		"A": parameterResource("/a", "1"), "B": parameterResource("/b", "1"),
		"G": map[string]any{"Type": "AWS::Logs::LogGroup"},
		"C": map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{"ServiceToken": token}},
	}
	out, err := n.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{TemplateBody: d.body()})
	n.must(err)
	got := map[string]string{}
	for _, s := range out.ResourceIdentifierSummaries {
		got[*s.ResourceType] = strings.Join(s.LogicalResourceIds, " ") + ": " + strings.Join(s.ResourceIdentifiers, " ")
	}
	want := map[string]string{"AWS::SSM::Parameter": "A B: Name", "AWS::Logs::LogGroup": "G: LogGroupName"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
