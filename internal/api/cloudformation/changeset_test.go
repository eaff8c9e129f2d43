package cloudformation_test

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
)

const changeTemplate = `{"Parameters": {"Size": {"Type": "String"}, "Secret": {"Type": "String", "NoEcho": true}},
"Resources": {
  "R": {"Type": "Custom::Thing", "UpdateReplacePolicy": "Retain", "Properties": {"ServiceToken": "` + token + `",
    "Size": {"Ref": "Size"}, "Secret": {"Ref": "Secret"}, "Many": {"a": 1, "b": 2}}},
  "Dependant": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `", "Of": {"Ref": "R"}}},
  "Old": {"Type": "Custom::Thing", "DeletionPolicy": "Retain", "Properties": {"ServiceToken": "` + token + `"}}
}}`

// TestChangeSets tests all operations on the change sets of a stack.
func TestChangeSets(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	created, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("make"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: str(changeTemplate),
		Description: str("the first"), ClientToken: str("once"), IncludeNestedStacks: aws.Bool(true), Tags: []types.Tag{{Key: str("k"), Value: str("v")}},
		Capabilities: []types.Capability{types.CapabilityCapabilityIam}, OnStackFailure: types.OnStackFailureDelete,
		Parameters: []types.Parameter{{ParameterKey: str("Size"), ParameterValue: str("L")}, {ParameterKey: str("Secret"), ParameterValue: str("hush")}},
	})
	w.must(err)

	// The stack exists but is empty.
	stack := w.describe("s")
	if stack.StackStatus != types.StackStatusReviewInProgress || aws.ToString(stack.StackStatusReason) != "User Initiated" ||
		stack.ChangeSetId != nil || stack.LastUpdatedTime != nil || stack.Description != nil || stack.Parameters != nil || len(stack.Tags) > 0 {
		t.Errorf("a stack in review: %+v", stack)
	}
	listed, err := w.client.ListStacks(ctx, &sdk.ListStacksInput{StackStatusFilter: []types.StackStatus{types.StackStatusReviewInProgress}})
	w.must(err)
	if len(listed.StackSummaries) != 1 {
		t.Errorf("%d stacks in review", len(listed.StackSummaries))
	}
	events, err := w.client.DescribeStackEvents(ctx, &sdk.DescribeStackEventsInput{StackName: str("s")})
	w.must(err)
	if len(events.StackEvents) != 1 || events.StackEvents[0].ResourceStatus != "REVIEW_IN_PROGRESS" {
		t.Errorf("events: %+v", events.StackEvents)
	}
	if resources, err := w.client.DescribeStackResources(ctx, &sdk.DescribeStackResourcesInput{StackName: str("s")}); err != nil || len(resources.StackResources) > 0 {
		t.Errorf("resources: %+v (%v)", resources, err)
	}

	set, err := w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: created.Id})
	w.must(err)
	if set.Status != types.ChangeSetStatusCreateComplete || set.ExecutionStatus != types.ExecutionStatusAvailable || set.StatusReason != nil ||
		*set.ChangeSetName != "make" || *set.ChangeSetId != *created.Id || *set.StackId != *created.StackId || *set.StackName != "s" ||
		*set.Description != "the first" || !*set.IncludeNestedStacks || set.OnStackFailure != types.OnStackFailureDelete ||
		set.CreationTime == nil || len(set.Capabilities) != 1 || len(set.Tags) != 1 {
		t.Errorf("described: %+v", set)
	}
	if diff := cmp.Diff("Size=L Secret=****", parametersOf(set.Parameters)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Add Dependant", "Add Old", "Add R"}, changesOf(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := w.client.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: str("s"), ChangeSetName: str("make")})
	w.must(err)
	if *text.TemplateBody != changeTemplate {
		t.Errorf("template: %s", *text.TemplateBody)
	}
	hooks, err := w.client.DescribeChangeSetHooks(ctx, &sdk.DescribeChangeSetHooksInput{ChangeSetName: created.Id})
	w.must(err)
	if hooks.Status != types.ChangeSetHooksStatusPlanned || len(hooks.Hooks) > 0 || *hooks.StackName != "s" {
		t.Errorf("hooks: %+v", hooks)
	}

	_, err = w.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: str("make"), StackName: str("s"), ClientRequestToken: str("go")})
	w.must(err)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	if stack = w.describe("s"); stack.StackStatus != types.StackStatusCreateComplete || aws.ToString(stack.ChangeSetId) != *created.Id ||
		stack.LastUpdatedTime == nil || len(stack.Capabilities) != 1 || parametersOf(stack.Parameters) != "Size=L Secret=****" {
		t.Errorf("a stack that a change set made: %+v", stack)
	}
	set, err = w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: str("make"), StackName: created.StackId})
	w.must(err)
	if set.Status != types.ChangeSetStatusCreateComplete || set.ExecutionStatus != types.ExecutionStatusExecuteComplete {
		t.Errorf("executed: %s %s", set.Status, set.ExecutionStatus)
	}

	// An update, with its values shown on request.
	after := strings.NewReplacer(`"a": 1, "b": 2`, `"a": 3, "b": 4`, `"Old"`, `"New"`).Replace(changeTemplate)
	_, err = w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("change"), TemplateBody: &after,
		Parameters: []types.Parameter{{ParameterKey: str("Size"), ParameterValue: str("XL")}, {ParameterKey: str("Secret"), ParameterValue: str("psst")}},
	})
	w.must(err)
	describe := func(values bool) []string {
		t.Helper()
		set, err := w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: str("change"), StackName: str("s"), IncludePropertyValues: &values})
		w.must(err)
		return changesOf(set)
	}
	want := []string{
		"Modify Dependant id-of-Dependant Conditional Properties",
		"  Properties.Of Conditionally Dynamic ResourceReference R",
		"Add New",
		"Remove Old id-of-Old Retain",
		"Modify R id-of-R Conditional Properties",
		"  Properties.Size Conditionally Static ParameterReference Size",
		"  Properties.Size Conditionally Dynamic DirectModification",
		"  Properties.Secret Conditionally Static ParameterReference Secret",
		"  Properties.Secret Conditionally Dynamic DirectModification",
		"  Properties.Many Conditionally Static DirectModification",
	}
	if diff := cmp.Diff(want, describe(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = []string{
		"Modify Dependant id-of-Dependant Conditional Properties",
		`  before {"Properties":{"ServiceToken":"` + token + `","Of":"` + template.Unknown + `"}}`,
		`  after {"Properties":{"ServiceToken":"` + token + `","Of":"` + template.Unknown + `"}}`,
		"  Properties.Of Conditionally Dynamic ResourceReference R /Properties/Of Modify id-of-R > " + template.Unknown,
		"Add New",
		`  after {"Properties":{"ServiceToken":"` + token + `"}}`,
		"Remove Old id-of-Old Retain",
		`  before {"Properties":{"ServiceToken":"` + token + `"}}`,
		"Modify R id-of-R Conditional Properties",
		`  before {"Properties":{"ServiceToken":"` + token + `","Size":"L","Secret":"****","Many":{"a":"1","b":"2"}}}`,
		`  after {"Properties":{"ServiceToken":"` + token + `","Size":"XL","Secret":"****","Many":{"a":"3","b":"4"}}}`,
		"  Properties.Size Conditionally Static ParameterReference Size /Properties/Size Modify L > XL",
		"  Properties.Size Conditionally Dynamic DirectModification /Properties/Size Modify L > XL",
		"  Properties.Secret Conditionally Static ParameterReference Secret /Properties/Secret Modify **** > ****",
		"  Properties.Secret Conditionally Dynamic DirectModification /Properties/Secret Modify **** > ****",
		"  Properties.Many Conditionally Static DirectModification /Properties/Many/a Modify 1 > 3",
		"  Properties.Many Conditionally Static DirectModification /Properties/Many/b Modify 2 > 4",
	}
	if diff := cmp.Diff(want, describe(true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if summaries := w.summaries("s"); summaries != "change CREATE_COMPLETE AVAILABLE" {
		t.Errorf("listed: %s", summaries)
	}

	// A change set without changes fails and can only be deleted.
	_, err = w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("same"), UsePreviousTemplate: aws.Bool(true),
		Parameters: []types.Parameter{{ParameterKey: str("Size"), UsePreviousValue: aws.Bool(true)}, {ParameterKey: str("Secret"), UsePreviousValue: aws.Bool(true)}},
	})
	w.must(err)
	set, err = w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: str("same"), StackName: str("s")})
	w.must(err)
	if set.Status != types.ChangeSetStatusFailed || set.ExecutionStatus != types.ExecutionStatusUnavailable ||
		aws.ToString(set.StatusReason) != "The submitted information didn't contain changes. Submit different information to create a change set." {
		t.Errorf("without changes: %s %s %s", set.Status, set.ExecutionStatus, aws.ToString(set.StatusReason))
	}
	if got, want := w.refusal("Action=ExecuteChangeSet&StackName=s&ChangeSetName=same"),
		"400 InvalidChangeSetStatus: ChangeSet ["+*set.ChangeSetId+"] cannot be executed in its current status of [FAILED]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for range 2 { // the second time it does not exist
		_, err = w.client.DeleteChangeSet(ctx, &sdk.DeleteChangeSetInput{ChangeSetName: str("same"), StackName: str("s")})
		w.must(err)
	}
	if got := w.refusal("Action=DescribeChangeSet&StackName=s&ChangeSetName=same"); got != "404 ChangeSetNotFound: ChangeSet [same] does not exist" {
		t.Error(got)
	}
	_, err = w.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: str("change"), StackName: str("s"), DisableRollback: aws.Bool(false)})
	w.must(err)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	if stack = w.describe("s"); stack.StackStatus != types.StackStatusUpdateComplete {
		t.Errorf("updated: %s", stack.StackStatus)
	}
	if summaries := w.summaries("s"); summaries != "" {
		t.Errorf("listed: %s", summaries)
	}
}

// TestChangeSetEvents checks the events of a change set, and that an EXPRESS one is not rolled back.
func TestChangeSetEvents(t *testing.T) {
	w := newWorld(t)
	w.mustPost("Action=CreateChangeSet&StackName=s&ChangeSetType=CREATE&ChangeSetName=c&DeploymentConfig.Mode=EXPRESS&TemplateBody=" + escape(fixed))
	events := func(form string) string {
		t.Helper()
		var reply struct {
			Events []struct{ OperationType, ResourceStatus string } `xml:"DescribeEventsResult>OperationEvents>member"`
		}
		w.must(xml.Unmarshal([]byte(w.mustPost("Action=DescribeEvents&"+form)), &reply))
		var list []string
		for _, e := range reply.Events {
			list = append(list, e.OperationType+" "+e.ResourceStatus)
		}
		return strings.Join(list, ", ")
	}
	if got := events("StackName=s"); got != "CREATE_CHANGESET REVIEW_IN_PROGRESS" {
		t.Errorf("a stack in review: %s", got)
	}
	if got := events("StackName=s&ChangeSetName=c"); got != "" {
		t.Errorf("a set that was not executed: %s", got)
	}
	w.mustPost("Action=ExecuteChangeSet&StackName=s&ChangeSetName=c")
	w.provide(`"Status": "FAILED", "PhysicalResourceId": "id-of-%s", "Reason": "no"`)
	if got, want := events("StackName=s&ChangeSetName=c"), "CREATE_STACK CREATE_FAILED, CREATE_STACK CREATE_FAILED, "+
		"CREATE_STACK CREATE_IN_PROGRESS, CREATE_STACK CREATE_IN_PROGRESS"; got != want {
		t.Errorf("an executed set: %s, want %s", got, want)
	}
	if got := w.summaries("s"); got != "" {
		t.Error(got)
	}
}

// TestChangeSetNameAgain is the call sequence of aws-actions/aws-cloudformation-github-deploy: every deployment creates
// a change set with the same name, waits for it, executes it, and deletes it only if it failed. Source: recorded
// answers of CloudFormation, D1.
func TestChangeSetNameAgain(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	change := func(kind types.ChangeSetType, size string) string {
		t.Helper()
		out, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
			StackName: str("s"), ChangeSetName: str("s-CS"), ChangeSetType: kind, TemplateBody: str(`{"Resources": {"R": ` + resource(`"Size": "`+size+`"`) + `}}`),
		})
		w.must(err)
		return *out.Id
	}
	deploy := func(id string, want types.ExecutionStatus, answers ...string) {
		t.Helper()
		_, err := w.client.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: str("s-CS"), StackName: str("s")})
		w.must(err)
		for _, members := range answers {
			requests := w.take()
			for _, r := range requests {
				w.answer(r, members)
			}
		}
		for _, ref := range []*sdk.DescribeChangeSetInput{{ChangeSetName: &id}, {ChangeSetName: str("s-CS"), StackName: str("s")}} {
			set, err := w.client.DescribeChangeSet(ctx, ref)
			w.must(err)
			if *set.ChangeSetId != id || set.ExecutionStatus != want {
				t.Errorf("%s is %s, want %s to be %s", *set.ChangeSetId, set.ExecutionStatus, id, want)
			}
		}
		if listed := w.summaries("s"); listed != "" {
			t.Errorf("listed: %s", listed)
		}
	}
	const done, failed = `"Status": "SUCCESS", "PhysicalResourceId": "r"`, `"Status": "FAILED", "PhysicalResourceId": "r", "Reason": "no"`
	ids := []string{change(types.ChangeSetTypeCreate, "S")}
	deploy(ids[0], types.ExecutionStatusExecuteComplete, done)
	ids = append(ids, change(types.ChangeSetTypeUpdate, "M"))
	deploy(ids[1], types.ExecutionStatusExecuteComplete, done)
	ids = append(ids, change(types.ChangeSetTypeUpdate, "L")) // a deployment that fails and is rolled back
	deploy(ids[2], types.ExecutionStatusExecuteFailed, failed, done)

	// Without changes, the action deletes the failed change set, or keeps it with no-delete-failed-changeset. Then the
	// next one is refused.
	same := change(types.ChangeSetTypeUpdate, "M")
	if got := w.refusal("Action=CreateChangeSet&StackName=s&ChangeSetName=s-CS&UsePreviousTemplate=true"); !strings.HasPrefix(got, "400 AlreadyExistsException") {
		t.Errorf("a name that a failed change set holds: %s", got)
	}
	_, err := w.client.DeleteChangeSet(ctx, &sdk.DeleteChangeSetInput{ChangeSetName: &same})
	w.must(err)
	ids = append(ids, change(types.ChangeSetTypeUpdate, "XL"))
	deploy(ids[3], types.ExecutionStatusExecuteComplete, done)

	// Every executed change set stays readable by its ARN, even after the stack is deleted.
	_, err = w.client.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: str("s")})
	w.must(err)
	w.provide(done)
	for _, id := range ids {
		set, err := w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: &id})
		w.must(err)
		if *set.ChangeSetName != "s-CS" || *set.StackName != "s" {
			t.Errorf("%s: %s of %s", id, *set.ChangeSetName, *set.StackName)
		}
	}
}

// TestChangeSetPages checks the pages of a long list of changes.
func TestChangeSetPages(t *testing.T) {
	w := newWorld(t)
	var members []string
	for i := range 205 {
		members = append(members, fmt.Sprintf(`"R%03d": %s`, i, resource("")))
	}
	_, err := w.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeCreate,
		TemplateBody: str(`{"Resources": {` + strings.Join(members, ", ") + `}}`),
	})
	w.must(err)
	var sizes []int
	var token *string
	seen := map[string]bool{}
	for {
		page, err := w.client.DescribeChangeSet(t.Context(), &sdk.DescribeChangeSetInput{ChangeSetName: str("c"), StackName: str("s"), NextToken: token})
		w.must(err)
		sizes = append(sizes, len(page.Changes))
		for _, c := range page.Changes {
			seen[*c.ResourceChange.LogicalResourceId] = true
		}
		if token = page.NextToken; token == nil {
			break
		}
	}
	if diff := cmp.Diff([]int{100, 100, 5}, sizes); diff != "" || len(seen) != 205 {
		t.Errorf("%d changes in pages of %v", len(seen), sizes)
	}
	if got := w.refusal("Action=DescribeChangeSet&StackName=s&ChangeSetName=c&NextToken=x"); got !=
		"400 ValidationError: NextToken is not one that this list gave out: start again without it." {
		t.Error(got)
	}
	if _, err = w.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: str("s")}); err != nil {
		t.Fatal(err)
	}
	if got := w.refusal("Action=DescribeStacks&StackName=s"); got != "400 ValidationError: Stack with id s does not exist" {
		t.Errorf("a stack in review that was deleted: %s", got)
	}
}

// TestChangeSetMessages checks the error texts.
func TestChangeSetMessages(t *testing.T) {
	w := newWorld(t)
	id := w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	other := escape(`{"Resources": {"R": ` + resource(`"K": 1`) + `}}`)
	w.mustPost("Action=CreateChangeSet&StackName=live&ChangeSetName=taken&TemplateBody=" + other)
	const invalid = "400 ValidationError: "
	body := "&TemplateBody=" + other
	for form, want := range map[string]string{
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c":         invalid + "Either Template URL or Template Body must be specified.",
		"Action=CreateChangeSet&StackName=ghost&ChangeSetName=c" + body: invalid + "Stack [ghost] does not exist",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&ChangeSetType=CREATE" + body: invalid +
			"Stack [live] already exists and cannot be created again with the changeSet [c].",
		"Action=CreateChangeSet&ChangeSetName=c&ChangeSetType=CREATE&StackName=" + id + body: invalid +
			"Stack [" + id + "] already exists and cannot be created again with the changeSet [c].",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=taken" + body: "400 AlreadyExistsException: ChangeSet [taken] already exists",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=taken&UsePreviousTemplate=true&Description=d": "400 AlreadyExistsException: " +
			"ChangeSet taken cannot be created due to a mismatch with existing attribute Description",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&UsePreviousTemplate=true" + body: invalid +
			"You cannot specify both usePreviousTemplate and Template Body/Template URL.",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=a_b" + body: invalid + "1 validation error detected: Value 'a_b' at 'changeSetName' " +
			"failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*",
		"Action=CreateChangeSet&ChangeSetType=CREATE&ChangeSetName=c&StackName=" + strings.Repeat("n", 129) + body: invalid +
			"1 validation error detected: Value '" + strings.Repeat("n", 129) + "' at 'stackName' failed to satisfy constraint: " +
			"Member must have length less than or equal to 128",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&OnStackFailure=ROLLBACK&DeploymentConfig.DisableRollback=false" + body: invalid +
			"You must specify either OnStackFailure or DisableRollback, but not both",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&ResourceTypes.member.1=AWS::*" + body: invalid +
			"Resource type Custom::Thing is not allowed by parameter ResourceTypes [AWS::*]",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&ChangeSetType=IMPORT" + body: invalid + "Must Provide at least one resource to import",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&ChangeSetType=IMPORT&ResourcesToImport.member.1.ResourceType=T" +
			"&ResourcesToImport.member.1.LogicalResourceId=R" + body: invalid + "1 validation error detected: Value null at " +
			"'resourcesToImport.1.member.resourceIdentifier' failed to satisfy constraint: Member must not be null",
		"Action=CreateChangeSet&StackName=live&ChangeSetName=c&ResourcesToImport.member.1.ResourceType=T&ResourcesToImport.member.1.LogicalResourceId=R" +
			"&ResourcesToImport.member.1.ResourceIdentifier.entry.1.key=K&ResourcesToImport.member.1.ResourceIdentifier.entry.1.value=v" + body: invalid +
			"ResourcesToImport is for change sets of type IMPORT only. Use ImportExistingResources to import resources while a stack is created or updated.",
		"Action=CreateChangeSet&StackName=new&ChangeSetName=c&ChangeSetType=CREATE&DeploymentMode=REVERT_DRIFT" + body: invalid + "DeploymentMode REVERT_DRIFT is not supported for change sets of type CREATE: a new stack has no drift",
		"Action=DescribeChangeSet&ChangeSetName=c":                        invalid + "StackName must be specified if ChangeSetName is not specified as an ARN.",
		"Action=DeleteChangeSet&ChangeSetName=c":                          invalid + "StackName must be specified if ChangeSetName is not specified as an ARN.",
		"Action=ExecuteChangeSet&ChangeSetName=c":                         invalid + "StackName must be specified if ChangeSetName is not specified as an ARN.",
		"Action=DescribeChangeSet&ChangeSetName=c&StackName=ghost":        invalid + "Stack [ghost] does not exist",
		"Action=DeleteChangeSet&ChangeSetName=c&StackName=ghost":          invalid + "Stack [ghost] does not exist",
		"Action=ExecuteChangeSet&ChangeSetName=c&StackName=ghost":         invalid + "Stack [ghost] does not exist",
		"Action=ListChangeSets&StackName=ghost":                           invalid + "Stack [ghost] does not exist",
		"Action=ListChangeSets&StackName=live&NextToken=x":                invalid + "NextToken is not one that this list gave out: start again without it.",
		"Action=ExecuteChangeSet&ChangeSetName=c&StackName=live":          "404 ChangeSetNotFound: ChangeSet [c] does not exist",
		"Action=DescribeChangeSetHooks&ChangeSetName=c&StackName=live":    "404 ChangeSetNotFound: ChangeSet [c] does not exist",
		"Action=DescribeChangeSet&ChangeSetName=arn:aws:cloudformation:x": "404 ChangeSetNotFound: ChangeSet [arn:aws:cloudformation:x] does not exist",
	} {
		if got := w.refusal(form); got != want {
			t.Errorf("%.120s:\n got %s\nwant %s", form, got, want)
		}
	}
}

// TestChangeSetShapes checks which empty elements are present in the XML and which are not.
func TestChangeSetShapes(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	w.mustPost("Action=CreateChangeSet&StackName=live&ChangeSetName=c&Tags.member.1.Key=k&Tags.member.1.Value=v&TemplateBody=" + escape(fixed))
	described := w.mustPost("Action=DescribeChangeSet&StackName=live&ChangeSetName=c")
	for _, want := range []string{
		"<NotificationARNs/>", "<RollbackConfiguration/>", "<Capabilities/>", "<Changes/>", "<IncludeNestedStacks>false</IncludeNestedStacks>",
	} {
		if !strings.Contains(described, want) {
			t.Errorf("there is no %s in %s", want, described)
		}
	}
	for _, missing := range []string{"<Parameters", "<StatusReason", "<Description", "<NextToken", "<OnStackFailure"} {
		if strings.Contains(described, missing) {
			t.Errorf("there is %s in %s", missing, described)
		}
	}
	w.mustPost("Action=CreateChangeSet&StackName=new&ChangeSetType=CREATE&ChangeSetName=c&TemplateBody=" + escape(fixed))
	if got := w.mustPost("Action=DescribeChangeSet&StackName=new&ChangeSetName=c"); !strings.Contains(got, "<Scope/><Details/>") {
		t.Errorf("what is added has no scope and no details: %s", got)
	}
	for _, action := range []string{"ExecuteChangeSet", "DeleteChangeSet"} {
		if got := w.mustPost("Action=" + action + "&StackName=live&ChangeSetName=c"); !strings.Contains(got, "<"+action+"Result/>") {
			t.Errorf("%s: %s", action, got)
		}
	}
}

func (w *world) mustPost(form string) string {
	w.t.Helper()
	status, body := w.post(form)
	if status != 200 {
		w.t.Fatalf("%s: %d %s", form, status, body)
	}
	return body
}

func (w *world) describe(name string) types.Stack {
	w.t.Helper()
	out, err := w.client.DescribeStacks(w.t.Context(), &sdk.DescribeStacksInput{StackName: &name})
	w.must(err)
	return out.Stacks[0]
}

// TestCreateOverReview creates a stack whose name a change set has reserved. Source: recorded answers of
// CloudFormation, D11.
func TestCreateOverReview(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	set, err := w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{
		StackName: str("s"), ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: str(fixed),
	})
	w.must(err)
	id := w.create(&sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: str(fixed), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	stack := w.describe("s")
	if stack.StackStatus != types.StackStatusCreateComplete || id != *set.StackId || *stack.StackId != id {
		t.Errorf("%s %s, in review it was %s", stack.StackStatus, id, *set.StackId)
	}
	old, err := w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: set.Id})
	w.must(err)
	if old.ExecutionStatus != types.ExecutionStatusObsolete {
		t.Errorf("the change set is %s", old.ExecutionStatus)
	}

	// An update without capabilities keeps those of the stack. Source: the same, D5.
	_, err = w.client.UpdateStack(ctx, &sdk.UpdateStackInput{
		StackName: str("s"), TemplateBody: str(strings.Replace(fixed, "{", `{"Outputs": {"O": {"Value": "v"}}, `, 1)),
	})
	w.must(err)
	if stack := w.describe("s"); len(stack.Capabilities) != 1 {
		t.Errorf("capabilities after an update: %v", stack.Capabilities)
	}
}

func (w *world) summaries(stack string) string {
	w.t.Helper()
	out, err := w.client.ListChangeSets(w.t.Context(), &sdk.ListChangeSetsInput{StackName: &stack})
	w.must(err)
	var list []string
	for _, s := range out.Summaries {
		list = append(list, fmt.Sprint(*s.ChangeSetName, " ", s.Status, " ", s.ExecutionStatus))
	}
	return strings.Join(list, ", ")
}

func parametersOf(list []types.Parameter) string {
	var texts []string
	for _, p := range list {
		texts = append(texts, *p.ParameterKey+"="+*p.ParameterValue)
	}
	return strings.Join(texts, " ")
}

// changesOf formats the changes of a set, one line each, with their details below.
func changesOf(set *sdk.DescribeChangeSetOutput) []string {
	var lines []string
	for _, c := range set.Changes {
		r := c.ResourceChange
		line := fmt.Sprint(r.Action, " ", *r.LogicalResourceId)
		for _, more := range []string{aws.ToString(r.PhysicalResourceId), string(r.PolicyAction), string(r.Replacement), strings.Trim(fmt.Sprint(r.Scope), "[]")} {
			if more != "" {
				line += " " + more
			}
		}
		lines = append(lines, line)
		if r.BeforeContext != nil {
			lines = append(lines, "  before "+*r.BeforeContext)
		}
		if r.AfterContext != nil {
			lines = append(lines, "  after "+*r.AfterContext)
		}
		for _, d := range r.Details {
			line := fmt.Sprint("  ", d.Target.Attribute, ".", aws.ToString(d.Target.Name), " ", d.Target.RequiresRecreation, " ", d.Evaluation, " ", d.ChangeSource)
			if d.CausingEntity != nil {
				line += " " + *d.CausingEntity
			}
			if d.Target.Path != nil {
				line += fmt.Sprint(" ", *d.Target.Path, " ", d.Target.AttributeChangeType, " ", aws.ToString(d.Target.BeforeValue), " > ", aws.ToString(d.Target.AfterValue))
			}
			lines = append(lines, line)
		}
	}
	return lines
}
