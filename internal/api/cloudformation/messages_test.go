package cloudformation_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// TestMessages checks all error texts that clients compare, and all of Pintle's own.
func TestMessages(t *testing.T) {
	w := newWorld(t)
	id := w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	protected := w.create(&sdk.CreateStackInput{StackName: str("kept"), TemplateBody: &fixed, EnableTerminationProtection: new(true)})
	changing := w.create(&sdk.CreateStackInput{StackName: str("changing"), TemplateBody: &fixed})
	changed := `{"Resources": {"R": ` + resource(`"K": "v"`) + `}}`
	_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("changing"), TemplateBody: &changed})
	w.must(err)
	out, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName: str("busy"), TemplateBody: &fixed, ClientRequestToken: str("once"),
	})
	w.must(err)
	busy := *out.StackId
	const ghost = "arn:aws:cloudformation:eu-west-1:123456789012:stack/ghost/1"
	const elsewhere = "arn:aws:cloudformation:us-east-1:123456789012:stack/ghost/1"
	body := "&TemplateBody=" + escape(fixed)
	const named = "400 ValidationError: "
	pattern := func(value, pattern string) string {
		return named + "1 validation error detected: Value '" + value + "' at 'stackName' failed to satisfy constraint: " +
			"Member must satisfy regular expression pattern: " + pattern
	}
	const nameOrARN = "[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"
	unsupported := func(what string) string {
		return named + strings.Replace(what, " (", " is not supported by this version of Pintle (", 1) + ". Leave it out."
	}
	tags := ""
	for i := range 51 {
		tags += fmt.Sprintf("&Tags.member.%d.Key=k%d&Tags.member.%d.Value=v", i+1, i, i+1)
	}
	tests := []struct{ form, want string }{
		// Stacks that do not exist, with the name from the request.
		{"Action=DescribeStacks&StackName=ghost", named + "Stack with id ghost does not exist"},
		{"Action=DescribeStacks&StackName=" + ghost, named + "Stack with id " + ghost + " does not exist"},
		{"Action=DescribeStacks&StackName=" + elsewhere, named + "Stack with id " + elsewhere + " does not exist"},
		{"Action=GetTemplate&StackName=ghost", named + "Stack with id ghost does not exist"},
		{"Action=ListStackResources&StackName=ghost", named + "Stack with id ghost does not exist"},
		{"Action=DescribeStackEvents&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=DescribeStackEvents&StackName=" + ghost, named + "Stack [" + ghost + "] does not exist"},
		{"Action=UpdateStack&StackName=ghost" + body, named + "Stack [ghost] does not exist"},
		{"Action=UpdateStack&StackName=" + ghost + body, named + "Stack [" + ghost + "] does not exist"},
		{"Action=UpdateTerminationProtection&EnableTerminationProtection=true&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=DescribeStackResource&StackName=ghost&LogicalResourceId=R", named + "Stack 'ghost' does not exist"},
		{"Action=DescribeStackResources&StackName=ghost", named + "Stack 'ghost' does not exist"},
		{"Action=DescribeStackResources", named + "StackName is a required parameter."},
		{"Action=DescribeStackResources&PhysicalResourceId=x", unsupported("PhysicalResourceId (name the stack with StackName)")},
		{"Action=DescribeStackResource&StackName=live&LogicalResourceId=X", named + "Resource X does not exist for stack live"},
		{"Action=DescribeStackResource&LogicalResourceId=X&StackName=" + id, named + "Resource X does not exist for stack " + id},

		// States.
		{"Action=CreateStack&StackName=live" + body, "400 AlreadyExistsException: Stack [live] already exists"},
		{"Action=UpdateStack&StackName=busy" + body, named + "Stack:" + busy + " is in CREATE_IN_PROGRESS state and can not be updated."},
		{"Action=UpdateStack&ClientRequestToken=once&StackName=busy" + body,
			"400 TokenAlreadyExistsException: ClientRequestToken once was used for another operation on stack busy"},
		{"Action=DeleteStack&StackName=changing", "409 OperationInProgressException: Stack:" + changing +
			" is in UPDATE_IN_PROGRESS state and can not be deleted. Wait until its operation has finished."},
		{"Action=UpdateStack&StackName=live" + body, named + "No updates are to be performed."},
		{"Action=UpdateStack&StackName=" + id + "&UsePreviousTemplate=true", named + "No updates are to be performed."},
		{"Action=DeleteStack&StackName=kept", named + "Stack [kept] cannot be deleted while TerminationProtection is enabled"},
		{"Action=DeleteStack&StackName=" + protected, named + "Stack [kept] cannot be deleted while TerminationProtection is enabled"},

		{"Action=DeleteStack&StackName=live&RetainResources.member.1=R", named + "Invalid operation on stack [" + id + "]. When you " +
			"delete a stack, specify which resources to retain only when the stack is in the DELETE_FAILED state."},
		{"Action=DeleteStack&StackName=busy&DeletionMode=FORCE_DELETE_STACK", named + "Invalid operation on stack [" + busy + "]. You can " +
			"activate DeletionMode FORCE_DELETE_STACK in a delete stack operation only when the stack is in the DELETE_FAILED state."},
		{"Action=DeleteStack&StackName=live&DeletionMode=HARD", named + "1 validation error detected: Value 'HARD' at 'deletionMode' " +
			"failed to satisfy constraint: Member must satisfy enum value set: [STANDARD, FORCE_DELETE_STACK]"},

		{"Action=RollbackStack&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=RollbackStack&StackName=live", named + "RollbackStack cannot be called from current stack status"},
		{"Action=CreateStack&StackName=new&OnFailure=DO_NOTHING&DisableRollback=true" + body,
			named + "You must specify either OnFailure or DisableRollback, but not both"},
		{"Action=CancelUpdateStack&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=CancelUpdateStack&StackName=live", named + "CancelUpdateStack cannot be called from current stack status"},
		{"Action=ContinueUpdateRollback&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=ContinueUpdateRollback&StackName=live", named + "RollbackUpdatedStack cannot be called from current stack status"},
		{"Action=ContinueUpdateRollback&StackName=live&ResourcesToSkip.member.1=a_b", named + "1 validation error detected: Value '[a_b]' at " +
			"'resourcesToSkip' failed to satisfy constraint: Member must satisfy constraint: [Member must satisfy regular expression " +
			"pattern: [a-zA-Z0-9]+|[a-zA-Z][-a-zA-Z0-9]*\\.[a-zA-Z0-9]+]"},

		// Templates.
		{"Action=CreateStack&StackName=new", named + "Either Template URL or Template Body must be specified."},
		{"Action=UpdateStack&StackName=live", named + "Either Template URL or Template Body must be specified."},
		{"Action=ValidateTemplate", named + "Either Template URL or Template Body must be specified."},
		{"Action=CreateStack&StackName=new&TemplateURL=x" + body, named + "Either Template URL or Template Body must be specified, not both."},
		{"Action=UpdateStack&StackName=live&UsePreviousTemplate=true" + body,
			named + "You cannot specify both usePreviousTemplate and Template Body/Template URL."},
		{"Action=ValidateTemplate&TemplateURL=ftp://x", named + "TemplateURL must be a supported URL."},
		{"Action=GetTemplate", named + "StackName is required if ChangeSetName is not specified."},
		{"Action=GetTemplate&ChangeSetName=c", named + "StackName is a required parameter."},
		{"Action=GetTemplate&StackName=live&ChangeSetName=c", "404 ChangeSetNotFound: ChangeSet [c] does not exist"},
		{"Action=GetTemplate&StackName=live&TemplateStage=Raw", named + "1 validation error detected: Value 'Raw' at 'templateStage' " +
			"failed to satisfy constraint: Member must satisfy enum value set: [Original, Processed]"},
		{"Action=ValidateTemplate&TemplateBody=" + strings.Repeat("x", 51_201), named + "1 validation error detected: Value '" +
			strings.Repeat("x", 1024) + "...' at 'templateBody' failed to satisfy constraint: " +
			"Member must have length less than or equal to 51200"},

		// Names, tokens, tags, parameters.
		{"Action=CreateStack&StackName=a_b" + body, pattern("a_b", "[a-zA-Z][-a-zA-Z0-9]*")},
		{"Action=CreateStack&StackName=" + ghost + body, pattern(ghost, "[a-zA-Z][-a-zA-Z0-9]*")},
		{"Action=DescribeStacks&StackName=a_b", pattern("a_b", nameOrARN)},
		{"Action=CreateStack&StackName=" + strings.Repeat("n", 129) + body, named + "1 validation error detected: Value '" +
			strings.Repeat("n", 129) + "' at 'stackName' failed to satisfy constraint: Member must have length less than or equal to 128"},
		{"Action=DescribeStackEvents", named + "1 validation error detected: Value null at 'stackName' failed to satisfy constraint: Member must not be null"},
		{"Action=CreateStack&StackName=new&ClientRequestToken=-x" + body, named + "1 validation error detected: Value '-x' at " +
			"'clientRequestToken' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9][-a-zA-Z0-9]*"},
		{"Action=CreateStack&StackName=new" + body + tags, named + "1 validation error detected: Value 'a list of 51' at 'tags' " +
			"failed to satisfy constraint: Member must have length less than or equal to 50"},
		{"Action=CreateStack&StackName=new&Tags.member.1.Key=aws:x&Tags.member.1.Value=" + body,
			named + "aws: prefixed tag key names are not allowed for external use."},
		{"Action=CreateStack&StackName=new&Tags.member.1.Key=x&Tags.member.1.Value=&Tags.member.2.Key=x&Tags.member.2.Value=" + body,
			named + "Tags: the key x is given more than once"},
		{"Action=CreateStack&StackName=new&Parameters.member.1.ParameterKey=P&Parameters.member.1.ParameterValue=v" + body,
			named + "Parameters: [P] do not exist in the template"},
		{"Action=CreateStack&StackName=new&Parameters.member.1.ParameterKey=P" + body, named + "Parameters: [P] must have values"},
		{"Action=CreateStack&StackName=new&Parameters.member.1.ParameterKey=P&Parameters.member.1.ParameterValue=1&" +
			"Parameters.member.2.ParameterKey=P&Parameters.member.2.ParameterValue=2" + body, named + "Parameters: [P] is given more than once"},
		{"Action=ListStacks&StackStatusFilter.member.1=OK", ""},
		{"Action=ListStacks&NextToken=x", named + "NextToken is not one that this list gave out: start again without it."},

		// Stack policies.
		{"Action=CreateStack&StackName=new&StackPolicyBody={\"Id\":\"x\"}" + body,
			named + "Error validating stack policy: Invalid stack policy"},
		{"Action=UpdateStack&StackName=live&StackPolicyDuringUpdateBody={\"Id\":\"x\"}" + body,
			named + "Error validating stack policy: Invalid stack policy"},
		{"Action=SetStackPolicy&StackName=live&StackPolicyBody={}&StackPolicyURL=x", named + "You cannot specify both StackPolicyURL and StackPolicyBody"},
		{"Action=SetStackPolicy&StackName=live", named + "You must specify either StackPolicyBody or StackPolicyURL"},
		{"Action=SetStackPolicy&StackName=nobody&StackPolicyBody={\"Statement\":[]}", named + "Stack [nobody] does not exist"},
		{"Action=GetStackPolicy&StackName=nobody", named + "Stack [nobody] does not exist"},
		{"Action=EstimateTemplateCost" + body, "400 InvalidAction: The action EstimateTemplateCost is not supported by this version of " +
			"Pintle. What a custom resource costs is known to its provider only."},

		// Events of operations.
		{"Action=DescribeEvents", named + "One of ChangeSetName, OperationId or StackName must be specified"},
		{"Action=DescribeEvents&ChangeSetName=c", named + "One of ChangeSetName, OperationId or StackName must be specified. " +
			"StackName must be specified if ChangeSetName is not specified as an ARN."},
		{"Action=DescribeEvents&StackName=live&ChangeSetName=c", "404 ChangeSetNotFound: ChangeSet [c] does not exist"},
		{"Action=DescribeEvents&ChangeSetName=arn:aws:cloudformation:eu-west-1:1:changeSet/c/1",
			"404 ChangeSetNotFound: ChangeSet [arn:aws:cloudformation:eu-west-1:1:changeSet/c/1] does not exist"},
		{"Action=DescribeEvents&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=DescribeEvents&StackName=ghost&OperationId=" + *out.OperationId, named + "Stack [ghost] does not exist"},
		{"Action=DescribeEvents&OperationId=nobody", named + "Operation [nobody] does not exist"},
		{"Action=DescribeEvents&StackName=live&OperationId=" + *out.OperationId, named + "Operation [" + *out.OperationId + "] does not exist"},

		// Summaries.
		{"Action=GetTemplateSummary&StackName=ghost", named + "Stack with id ghost does not exist"},
		{"Action=GetTemplateSummary&StackName=" + ghost, named + "Stack with id " + ghost + " does not exist"},
		{"Action=GetTemplateSummary", named + "Either Template URL or Template Body must be specified. For the template of a stack, give StackName instead."},
		{"Action=GetTemplateSummary&StackName=live" + body, named + "You must specify only one of StackName, TemplateBody and TemplateURL."},
		{"Action=GetTemplateSummary&StackSetName=set", "404 StackSetNotFoundException: StackSet set not found: there are no stack sets in this version of Pintle."},
		{"Action=GetTemplateSummary&TemplateBody=" + escape(`{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}`),
			named + "Template format error: Unrecognized resource types: [AWS::SQS::Queue]"},

		// Exports and drift.
		{"Action=ListImports&ExportName=e", named + "Export 'e' is not imported by any stack."},
		{"Action=ListImports", named + "1 validation error detected: Value null at 'exportName' failed to satisfy constraint: Member must not be null"},
		{"Action=DescribeAccountLimits&NextToken=x", named + "NextToken is not one that this list gave out: start again without it."},
		{"Action=DetectStackDrift&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=DetectStackDrift&StackName=busy", named + "Stack:" + busy + " is in CREATE_IN_PROGRESS state and its drift can not be detected."},
		{"Action=DetectStackDrift&StackName=live&LogicalResourceIds.member.1=X", named + "Resource X does not exist for stack live"},
		{"Action=DetectStackResourceDrift&StackName=live&LogicalResourceId=X", named + "Resource X does not exist for stack live"},
		{"Action=DetectStackResourceDrift&StackName=live&LogicalResourceId=R", named + "Resource type Custom::Thing does not support " +
			"drift detection: only its provider knows what has become of R."},
		{"Action=DescribeStackDriftDetectionStatus&StackDriftDetectionId=x", named + "Drift detection [x] does not exist"},
		{"Action=DescribeStackResourceDrifts&StackName=ghost", named + "Stack [ghost] does not exist"},
		{"Action=DescribeStackResourceDrifts&StackName=live&NextToken=x", named + "NextToken is not one that this list gave out: start again without it."},

		// Resource types, and deployment modes.
		{"Action=CreateStack&StackName=new&ResourceTypes.member.1=AWS::*&ResourceTypes.member.2=Custom::Other" + body,
			named + "Resource type Custom::Thing is not allowed by parameter ResourceTypes [AWS::*, Custom::Other]"},
		{"Action=UpdateStack&StackName=live&UsePreviousTemplate=true&ResourceTypes.member.1=Custom::Thin",
			named + "Resource type Custom::Thing is not allowed by parameter ResourceTypes [Custom::Thin]"},
		{"Action=UpdateStack&StackName=live&UsePreviousTemplate=true&ResourceTypes.member.1=Custom::Thi*", named + "No updates are to be performed."},
		{"Action=UpdateStack&StackName=live&DeploymentConfig.Mode=FAST" + body, named + "1 validation error detected: Value 'FAST' at " +
			"'deploymentConfig.mode' failed to satisfy constraint: Member must satisfy enum value set: [STANDARD, EXPRESS]"},
		{"Action=UpdateStack&StackName=live&DisableRollback=true&DeploymentConfig.DisableRollback=false" + body,
			named + "DisableRollback and DeploymentConfig.DisableRollback contradict each other. Leave one out."},
		{"Action=CreateStack&StackName=new&OnFailure=DELETE&DeploymentConfig.DisableRollback=true" + body,
			named + "You must specify either OnFailure or DisableRollback, but not both"},
		{"Action=Juggle", "400 InvalidAction: Could not find operation Juggle for version 2010-05-15"},
	}
	for _, test := range tests {
		got := w.refusal(test.form)
		if test.want == "" { // the complete list is too long to repeat
			if !strings.HasPrefix(got, named) || !strings.Contains(got, "at 'stackStatusFilter'") || !strings.Contains(got, "IMPORT_ROLLBACK_COMPLETE") {
				t.Errorf("%.80s:\n got %s", test.form, got)
			}
			continue
		}
		if got != test.want && !(strings.HasSuffix(test.want, "[AWS::SQS::Queue]") && strings.HasPrefix(got, test.want)) { // the rest of the text is Pintle's own
			t.Errorf("%.100s:\n got %s\nwant %s", test.form, got, test.want)
		}
	}
	if stacks, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{}); err != nil || len(stacks.Stacks) != 4 {
		t.Errorf("refused requests left %d stacks, want the 4 that were made (%v)", len(stacks.Stacks), err)
	}
}

// TestSilence checks calls that must not return an error.
func TestSilence(t *testing.T) {
	w := newWorld(t)
	w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	for _, form := range []string{
		"Action=DeleteStack&StackName=ghost",
		"Action=DeleteStack&StackName=ghost&RetainResources.member.1=R&DeletionMode=FORCE_DELETE_STACK",
		"Action=DeleteStack&StackName=arn:aws:cloudformation:eu-west-1:123456789012:stack/ghost/1",
		"Action=DescribeStacks",
		"Action=CreateStack&StackName=empty&NotificationARNs=&ResourceTypes=&Tags=&Capabilities=&RollbackConfiguration=&RollbackConfiguration.MonitoringTimeInMinutes=0&StackPolicyBody=" +
			"&DeploymentConfig.Mode=STANDARD&RoleARN=arn:aws:iam::123456789012:role/cfn&DisableValidation=true&OnFailure=ROLLBACK&TemplateBody=" + escape(fixed),
	} {
		if status, body := w.post(form); status != 200 {
			t.Errorf("%s: %d %s", form, status, body)
		}
	}
}
