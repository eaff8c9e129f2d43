package cloudformation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// unmakable returns a resource whose Create fails, after that of another one.
func unmakable(name, after string) map[string]any {
	return map[string]any{"Type": "AWS::SSM::Parameter", "DependsOn": after, "Properties": map[string]any{
		"Name": name, "Type": "String", "Value": "1", "AllowedPattern": "^x$",
	}}
}

// importExisting creates a change set with ImportExistingResources.
func (n *natives) importExisting(stack, name string, kind types.ChangeSetType, d declared) *sdk.DescribeChangeSetOutput {
	n.Helper()
	set, err := n.planned(&sdk.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: &name, ChangeSetType: kind, TemplateBody: d.body(), ImportExistingResources: aws.Bool(true),
	})
	n.must(err)
	return set
}

// settles executes a change set and checks the final status of the stack.
func (n *natives) settles(stack string, set *sdk.DescribeChangeSetOutput, want types.StackStatus) {
	n.Helper()
	n.executes(set)
	if got := n.settled(stack); got.StackStatus != want {
		n.Fatalf("%s\n%s", got.StackStatus, n.reasons(stack))
	}
}

func (n *natives) drops(name string) {
	n.Helper()
	n.must(n.own.Delete(n.Context(), registry.Scope{Account: account, Region: region}, name))
}

// creates creates a stack with a template.
func (n *natives) creates(stack string, d declared) {
	n.Helper()
	_, err := n.client.CreateStack(n.Context(), &sdk.CreateStackInput{StackName: &stack, TemplateBody: d.body()})
	n.must(err)
	if got := n.settled(stack); got.StackStatus != types.StackStatusCreateComplete {
		n.Fatalf("%s\n%s", got.StackStatus, n.reasons(stack))
	}
}

// TestImportAgain checks that change sets after a rolled-back import plan from the stack's current state, not from that
// import.
func TestImportAgain(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "kept")
	n.puts("/b", "kept")
	before := declared{"C": parameterResource("/c", "1")}
	n.creates("s", before)
	both := before.with("A", parameterResource("/a", "1", "Retain")).with("B", parameterResource("/b", "1", "Retain"))
	listed := []types.ResourceToImport{named("AWS::SSM::Parameter", "A", "Name", "/a"), named("AWS::SSM::Parameter", "B", "Name", "/b")}
	set, err := n.importing("s", both, listed...)
	n.must(err)
	n.drops("/b")
	n.settles("s", set, types.StackStatusImportRollbackComplete)

	set, err = n.planned(&sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("plain"), TemplateBody: before.with("A", parameterResource("/other", "1")).body(),
	})
	n.must(err)
	if diff := cmp.Diff([]string{"Add A"}, changeOf(set)); diff != "" {
		t.Error(diff)
	}
	n.puts("/b", "kept")
	set, err = n.importing("s", both, listed...)
	n.must(err)
	if diff := cmp.Diff([]string{"Import A /a", "Import B /b"}, changeOf(set)); diff != "" {
		t.Error(diff)
	}
	n.settles("s", set, types.StackStatusImportComplete)
}

// TestImportExistingResourcesAgain fixes a change set whose update was rolled back because of another resource. The
// fixed one imports.
func TestImportExistingResourcesAgain(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "kept")
	before := declared{"C": parameterResource("/c", "1")}
	n.creates("s", before)
	with := before.with("A", parameterResource("/a", "1", "Retain"))
	set := n.importExisting("s", "one", types.ChangeSetTypeUpdate, with.with("B", unmakable("/b", "A")))
	n.settles("s", set, types.StackStatusUpdateRollbackComplete)
	set = n.importExisting("s", "two", types.ChangeSetTypeUpdate, with)
	list, err := n.client.ListChangeSets(t.Context(), &sdk.ListChangeSetsInput{StackName: str("s")})
	n.must(err)
	if len(list.Summaries) != 1 || !aws.ToBool(list.Summaries[0].ImportExistingResources) {
		t.Errorf("ListChangeSets: %+v", list.Summaries)
	}
	if diff := cmp.Diff([]string{"Import A /a"}, changeOf(set)); diff != "" {
		t.Error(diff)
	}
	n.settles("s", set, types.StackStatusUpdateComplete)
}

// TestImportIsAlwaysRolledBack checks that an import cannot disable the rollback or delete the stack on failure.
func TestImportIsAlwaysRolledBack(t *testing.T) {
	n := newNatives(t)
	n.puts("/a", "1")
	for _, failure := range []types.OnStackFailure{types.OnStackFailureDelete, types.OnStackFailureDoNothing} {
		_, err := n.planned(&sdk.CreateChangeSetInput{
			StackName: str("new"), ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeImport, OnStackFailure: failure,
			TemplateBody:      declared{"A": parameterResource("/a", "1", "Retain")}.body(),
			ResourcesToImport: []types.ResourceToImport{named("AWS::SSM::Parameter", "A", "Name", "/a")},
		})
		if err == nil || !strings.Contains(err.Error(), "OnStackFailure "+string(failure)+" is not for change sets of type IMPORT") {
			t.Errorf("%s: %v", failure, err)
		}
	}
}

// TestImportAfterFailureWithoutRollback checks that a change set imports the resources that the previous one could not, and
// that UpdateStack does not.
func TestImportAfterFailureWithoutRollback(t *testing.T) {
	n := newNatives(t)
	for _, stack := range []string{"plain", "set", "lost"} {
		name := "/" + stack
		n.puts(name, "kept")
		d := declared{"A": parameterResource(name, "1", "Retain")}
		set, err := n.planned(&sdk.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: d.body(),
			ImportExistingResources: aws.Bool(true), OnStackFailure: types.OnStackFailureDoNothing,
		})
		n.must(err)
		n.drops(name)
		n.settles(stack, set, types.StackStatusCreateFailed)
		n.puts(name, "kept")
		if stack == "plain" {
			_, err := n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: &stack, TemplateBody: d.body(), DisableRollback: aws.Bool(true)})
			n.must(err)
			if got := n.settled(stack); got.StackStatus != types.StackStatusUpdateFailed || !strings.Contains(n.reasons(stack), "already exists") {
				t.Errorf("%s\n%s", got.StackStatus, n.reasons(stack))
			}
			continue
		}
		if stack == "lost" { // the resource was imported, but the answer was lost
			id := *n.settled(stack).StackId
			_, err := n.catalog.Records.Put(t.Context(), registry.Item[registry.Record]{
				Scope: registry.Scope{Account: account, Region: region}, Name: "AWS::SSM::Parameter/" + name, Owner: id + "|A|request",
			})
			n.must(err)
		}
		set, err = n.planned(&sdk.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: str("again"), ChangeSetType: types.ChangeSetTypeUpdate, TemplateBody: d.body(),
			ImportExistingResources: aws.Bool(true), OnStackFailure: types.OnStackFailureDoNothing,
		})
		n.must(err)
		if diff := cmp.Diff([]string{"Import A " + name}, changeOf(set)); diff != "" {
			t.Error(diff, aws.ToString(set.StatusReason))
			continue
		}
		n.settles(stack, set, types.StackStatusUpdateComplete)
	}
}

// TestPoliciesOfImportedResources checks that the policies of an imported resource apply outside rollbacks.
func TestPoliciesOfImportedResources(t *testing.T) {
	n := newNatives(t)
	for _, stack := range []string{"deleted", "removed"} {
		name := "/" + stack
		n.puts(name, "kept")
		before := declared{"C": parameterResource(name+"/c", "1")}
		n.creates(stack, before)
		set, err := n.planned(&sdk.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: str("c"), ImportExistingResources: aws.Bool(true), OnStackFailure: types.OnStackFailureDoNothing,
			TemplateBody: before.with("A", parameterResource(name, "1", "Retain")).with("B", unmakable(name+"/b", "A")).body(),
		})
		n.must(err)
		n.settles(stack, set, types.StackStatusUpdateFailed)
		id := *n.settled(stack).StackId
		if stack == "deleted" {
			_, err = n.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: &stack})
		} else {
			_, err = n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: &stack, TemplateBody: before.body(), DisableRollback: aws.Bool(true)})
		}
		n.must(err)
		n.settled(id)
		if events := n.events(id); !slices.Contains(events, "A DELETE_SKIPPED") {
			t.Errorf("%s:\n%s", stack, strings.Join(events, "\n"))
		}
		if got := n.parameter(name); got != "kept" {
			t.Errorf("%s: the value is %q", stack, got)
		}
	}
}

// TestImportOfResourceWithFalseCondition rejects a listed resource whose condition is false.
func TestImportOfResourceWithFalseCondition(t *testing.T) {
	n := newNatives(t)
	_, err := n.planned(&sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeImport,
		TemplateBody: str(`{"Conditions": {"No": {"Fn::Equals": ["a", "b"]}}, "Resources": {
			"W": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
			"A": {"Type": "AWS::SSM::Parameter", "Condition": "No", "DeletionPolicy": "Retain",
				"Properties": {"Name": "/a", "Type": "String", "Value": "v"}}}}`),
		ResourcesToImport: []types.ResourceToImport{named("AWS::SSM::Parameter", "A", "Name", "/a")},
	})
	if err == nil || !strings.Contains(err.Error(), "The logical resource ids [A] provided in ResourceToImport do not exist in the template.") {
		t.Error(err)
	}
}
