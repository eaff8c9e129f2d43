package cloudformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// readableResource returns a resource whose provider supports Read.
func readableResource(resourceType string) map[string]any {
	return map[string]any{"Type": resourceType, "DeletionPolicy": "Retain", "Properties": map[string]any{"ServiceToken": token, "Size": 5}}
}

// plansImport creates a change set of type IMPORT and describes it.
func (w *world) plansImport(stack string, d declared, listed ...types.ResourceToImport) *sdk.DescribeChangeSetOutput {
	w.t.Helper()
	made, err := w.client.CreateChangeSet(w.t.Context(), &sdk.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: str("import"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: d.body(), ResourcesToImport: listed,
	})
	w.must(err)
	set, err := w.client.DescribeChangeSet(w.t.Context(), &sdk.DescribeChangeSetInput{ChangeSetName: made.Id})
	w.must(err)
	return set
}

// imports executes a change set and answers the requests. It returns the requests and the events of resources.
func (w *world) imports(set *sdk.DescribeChangeSetOutput, answer string) (asked, events []string) {
	w.t.Helper()
	_, err := w.client.ExecuteChangeSet(w.t.Context(), &sdk.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId})
	w.must(err)
	for requests := w.take(); len(requests) > 0; requests = w.take() {
		for _, r := range requests {
			asked = append(asked, fmt.Sprintf("%s %s %s", r.Type, r.Logical, r.Body.PhysicalID))
			w.answer(r, answer)
		}
	}
	page, err := w.client.DescribeStackEvents(w.t.Context(), &sdk.DescribeStackEventsInput{StackName: set.StackId})
	w.must(err)
	for _, e := range page.StackEvents {
		if e.ResourceStatus != "REVIEW_IN_PROGRESS" {
			reason := aws.ToString(e.ResourceStatusReason)
			if i := strings.Index(reason, " (RequestId"); i > 0 {
				reason = reason[:i]
			}
			events = append([]string{strings.TrimSpace(fmt.Sprintf("%s %s %s", *e.LogicalResourceId, e.ResourceStatus, reason))}, events...)
		}
	}
	return asked, events
}

// TestImportOfCustomResource checks that the provider gets a Read, whose answer has the attributes. No resource is
// created.
func TestImportOfCustomResource(t *testing.T) {
	w := newReading(t)
	d := declared{"R": readableResource("Custom::Readable")}
	set := w.plansImport("s", d, named("Custom::Readable", "R", "PhysicalResourceId", "disk-1"))
	if set.Status != types.ChangeSetStatusCreateComplete || len(set.Changes) != 1 || set.Changes[0].ResourceChange.Action != types.ChangeActionImport ||
		aws.ToString(set.Changes[0].ResourceChange.PhysicalResourceId) != "disk-1" {
		t.Fatalf("%s %s %+v", set.Status, aws.ToString(set.StatusReason), set.Changes)
	}
	asked, events := w.imports(set, `"Status": "SUCCESS", "PhysicalResourceId": "disk-1", "Data": {"Path": "/dev/1"}, "PintleState": {"properties": {"Size": 6}}`)
	if diff := cmp.Diff([]string{"Import R disk-1"}, asked); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"s IMPORT_IN_PROGRESS User Initiated", "R IMPORT_IN_PROGRESS Resource import started.", "R IMPORT_COMPLETE Resource import completed.",
		"R UPDATE_IN_PROGRESS Apply stack-level tags to imported resource if applicable.", "R UPDATE_COMPLETE", "s IMPORT_COMPLETE",
	}, events); diff != "" {
		t.Error(diff)
	}
	// The attributes exist, and the next update is an ordinary one.
	_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: str(strings.Replace(
		strings.Replace(*d.body(), `"Size":5`, `"Size":7`, 1), `{"Resources"`, `{"Outputs": {"Path": {"Value": {"Fn::GetAtt": "R.Path"}}}, "Resources"`, 1))})
	w.must(err)
	for _, r := range w.take() {
		if old, _ := r.Body.OldProperties.Get("Size"); r.Type != "Update" || r.Body.PhysicalID != "disk-1" || old.Text() != "5" {
			t.Errorf("%s of %s, was %s", r.Type, r.Body.PhysicalID, old.Text())
		}
		w.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "disk-1", "Data": {"Path": "/dev/2"}`)
	}
	if stack := w.describe("s"); stack.StackStatus != types.StackStatusUpdateComplete || *stack.Outputs[0].OutputValue != "/dev/2" {
		t.Errorf("%s %v", stack.StackStatus, stack.Outputs)
	}
	// Another stack cannot import the resource.
	again := w.plansImport("other", d, named("Custom::Readable", "R", "PhysicalResourceId", "disk-1"))
	if again.Status != types.ChangeSetStatusFailed || !strings.Contains(*again.StatusReason, "disk-1 already exists in stack arn:") {
		t.Errorf("%s %s", again.Status, aws.ToString(again.StatusReason))
	}
}

// TestImportOfCustomResourceFails checks that a failed import releases the resource without a Delete.
func TestImportOfCustomResourceFails(t *testing.T) {
	for answer, reason := range map[string]string{
		`"Status": "SUCCESS", "PhysicalResourceId": "disk-1", "PintleState": {"gone": true}`: `Custom::Readable "disk-1" does not exist, as its provider reports`,
		`"Status": "SUCCESS", "PhysicalResourceId": "disk-1"`:                                "the provider answered SUCCESS without the state of the resource",
		`"Status": "SUCCESS", "PhysicalResourceId": "disk-2", "PintleState": {}`:             `the provider answered with the physical ID "disk-2" instead of "disk-1"`,
		`"Status": "FAILED", "PhysicalResourceId": "disk-1", "Reason": "no access"`:          "Received response status [FAILED] from custom resource. Message returned: no access",
	} {
		w := newReading(t)
		w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: str(fixed)})
		both := declared{"R": map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{"ServiceToken": token}}, "New": readableResource("Custom::Readable")}
		set := w.plansImport("s", both, named("Custom::Readable", "New", "PhysicalResourceId", "disk-1"))
		asked, events := w.imports(set, answer)
		if diff := cmp.Diff([]string{"Import New disk-1"}, asked); diff != "" {
			t.Errorf("%s: %s", answer, diff)
		}
		want := []string{
			"s IMPORT_IN_PROGRESS User Initiated", "New IMPORT_IN_PROGRESS Resource import started.", "New IMPORT_FAILED " + reason,
			"s IMPORT_ROLLBACK_IN_PROGRESS The following resource(s) failed to import: [New].", "New IMPORT_ROLLBACK_IN_PROGRESS",
			"New IMPORT_ROLLBACK_COMPLETE", "s IMPORT_ROLLBACK_COMPLETE",
		}
		if got := events[max(0, len(events)-len(want)):]; cmp.Diff(want, got) != "" {
			t.Errorf("%s: %s", answer, cmp.Diff(want, got))
		}
	}
}

// TestImportOfCustomResourceIsRefused checks providers without Read support, and invalid identifiers.
func TestImportOfCustomResourceIsRefused(t *testing.T) {
	w := newReading(t)
	set := w.plansImport("s", declared{"R": readableResource("Custom::Thing")}, named("Custom::Thing", "R", "PhysicalResourceId", "disk-1"))
	if set.Status != types.ChangeSetStatusFailed || !strings.Contains(aws.ToString(set.StatusReason), "no local provider with a Read is known for it") {
		t.Errorf("%s %s", set.Status, aws.ToString(set.StatusReason))
	}
	for want, r := range map[string]types.ResourceToImport{
		"Expected [PhysicalResourceId]": named("Custom::Readable", "R", "Name", "disk-1"),
		"a physical ID has 1 to 1024":   named("Custom::Readable", "R", "PhysicalResourceId", "disk\x01"),
	} {
		_, err := w.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
			StackName: str("s2"), ChangeSetName: str("import"), ChangeSetType: types.ChangeSetTypeImport,
			TemplateBody: declared{"R": readableResource("Custom::Readable")}.body(), ResourcesToImport: []types.ResourceToImport{r},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSummaryOfCustomResources checks that GetTemplateSummary asks each provider once which types it reads.
func TestSummaryOfCustomResources(t *testing.T) {
	w := newReading(t)
	d := declared{}
	for _, logical := range []string{"A", "B", "C"} {
		d[logical] = readableResource("Custom::Readable")
		d[logical+"Thing"] = readableResource("Custom::Thing")
	}
	d["Other"] = map[string]any{"Type": "Custom::Readable", "Properties": map[string]any{"ServiceToken": token + "-other"}}
	d["Unknown"] = map[string]any{"Type": "Custom::Readable", "Properties": map[string]any{"ServiceToken": map[string]any{"Ref": "AWS::Region"}}}
	out, err := w.client.GetTemplateSummary(t.Context(), &sdk.GetTemplateSummaryInput{TemplateBody: d.body()})
	w.must(err)
	want := []types.ResourceIdentifierSummary{{
		ResourceType: str("Custom::Readable"), LogicalResourceIds: []string{"A", "B", "C", "Other"}, ResourceIdentifiers: []string{"PhysicalResourceId"},
	}}
	if diff := cmp.Diff(want, out.ResourceIdentifierSummaries, cmpopts.IgnoreUnexported(types.ResourceIdentifierSummary{})); diff != "" {
		t.Error(diff)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.declared)
	if diff := cmp.Diff([]wire.ServiceToken{token, token + "-other"}, w.declared); diff != "" {
		t.Errorf("providers asked (-want +got):\n%s", diff)
	}
}

// TestImportAnsweredByHand checks that an operator can answer the Read of an import if the provider hangs.
func TestImportAnsweredByHand(t *testing.T) {
	w := newReading(t)
	set := w.plansImport("s", declared{"R": readableResource("Custom::Readable")}, named("Custom::Readable", "R", "PhysicalResourceId", "disk-1"))
	_, err := w.client.ExecuteChangeSet(t.Context(), &sdk.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId})
	w.must(err)
	for _, r := range w.take() {
		w.must(w.engine.Report(t.Context(), r.ID, engine.Outcome{Kind: engine.Accepted}))
	}
	_, err = w.engine.Respond(t.Context(), engine.Respond{
		Stack: engine.Ref{Account: account, Region: region, Stack: "s"}, Logical: "R", Status: wire.Success, PhysicalID: "disk-1", By: "test",
	})
	w.must(err)
	if status := w.describe("s").StackStatus; status != types.StackStatusImportComplete {
		t.Errorf("%s", status)
	}
}

// TestImportExistingCustomResources checks that ImportExistingResources creates custom resources, and names those that may exist.
func TestImportExistingCustomResources(t *testing.T) {
	w := newReading(t)
	d := declared{"Kept": readableResource("Custom::Readable"), "Plain": map[string]any{"Type": "Custom::Readable", "Properties": map[string]any{"ServiceToken": token}}}
	create := func(name string, existing bool) *sdk.DescribeChangeSetOutput {
		made, err := w.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
			StackName: str("s"), ChangeSetName: &name, ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: d.body(), ImportExistingResources: &existing,
		})
		w.must(err)
		set, err := w.client.DescribeChangeSet(t.Context(), &sdk.DescribeChangeSetInput{ChangeSetName: made.Id})
		w.must(err)
		return set
	}
	set := create("existing", true)
	want := "[INFO] ImportExistingResources does not look for custom resources, so these are created even if they exist: Kept. " +
		"To import one of them, use a change set of type IMPORT."
	if set.Status != types.ChangeSetStatusCreateComplete || aws.ToString(set.StatusReason) != want || len(set.Changes) != 2 {
		t.Errorf("%s %q, %d changes", set.Status, aws.ToString(set.StatusReason), len(set.Changes))
	}
	if set := create("plain", false); aws.ToString(set.StatusReason) != "" {
		t.Errorf("a change set without ImportExistingResources says %q", *set.StatusReason)
	}
	for range 10 { // more than are named
		d[fmt.Sprintf("Kept%d", len(d))] = readableResource("Custom::Readable")
	}
	if set := create("many", true); !strings.Contains(aws.ToString(set.StatusReason), ", 6 more. To import") {
		t.Errorf("%q", aws.ToString(set.StatusReason))
	}
}
