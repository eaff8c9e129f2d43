package cdk_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestTagsOfStacks reads the tags of CloudFormation and of the stack from resources through the service APIs. A
// change of only the stack's tags also updates the resources. Source: CloudFormation User Guide, resource tag;
// service API references.
func TestTagsOfStacks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	client := c.cloudFormation()
	template := aws.String(`{"Resources": {
			"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "tagged", "Tags": [{"Key": "own", "Value": "v"}]}},
			"Rule": {"Type": "AWS::Events::Rule", "Properties": {"Name": "tagged", "ScheduleExpression": "rate(1 day)"}},
			"Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"StateMachineName": "tagged", "RoleArn": "r",
				"Definition": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}}},
			"Parameter": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/tagged", "Type": "String", "Value": "v", "Tags": {"own": "v"}}},
			"Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "tagged", "AssumeRolePolicyDocument": {}}},
			"Repository": {"Type": "AWS::ECR::Repository", "Properties": {"RepositoryName": "tagged", "Tags": [{"Key": "own", "Value": "v"}]}},
			"Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": "tagged"}},
			"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "tagged"}},
			"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "tagged"}},
			"Function": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "tagged", "Runtime": "python3.13", "Handler": "index.h",
				"Role": "arn:aws:iam::000000000000:role/r", "Code": {"ZipFile": "h = 1"}}}
		}}`)
	tag := func(key, value string) types.Tag { return types.Tag{Key: aws.String(key), Value: aws.String(value)} }
	capabilities := []types.Capability{types.CapabilityCapabilityNamedIam}
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("Tagged"), Capabilities: capabilities, TemplateBody: template,
		Tags: []types.Tag{tag("team", "alpha"), tag("own", "of-stack"), tag("old", "gone")},
	})
	if err != nil {
		t.Fatal(err)
	}
	stack := &cloudformation.DescribeStacksInput{StackName: aws.String("Tagged")}
	if err := cloudformation.NewStackCreateCompleteWaiter(client).Wait(t.Context(), stack, patience); err != nil {
		t.Fatal(err)
	}
	arn := func(service, rest string) string {
		return fmt.Sprintf("arn:aws:%s:%s:000000000000:%s", service, region, rest)
	}
	if _, err := c.call("SSM", "addTagsToResource", map[string]any{
		"ResourceType": "Parameter", "ResourceId": "/tagged", "Tags": []any{map[string]any{"Key": "client", "Value": "kept"}},
	}); err != nil {
		t.Fatal(err)
	}
	calls := map[string]struct {
		service, action string
		parameters      map[string]any
	}{
		"Group":      {"CloudWatchLogs", "listTagsForResource", map[string]any{"resourceArn": arn("logs", "log-group:tagged")}},
		"Rule":       {"EventBridge", "listTagsForResource", map[string]any{"ResourceARN": arn("events", "rule/tagged")}},
		"Machine":    {"StepFunctions", "listTagsForResource", map[string]any{"resourceArn": arn("states", "stateMachine:tagged")}},
		"Parameter":  {"SSM", "listTagsForResource", map[string]any{"ResourceType": "Parameter", "ResourceId": "/tagged"}},
		"Secret":     {"SecretsManager", "describeSecret", map[string]any{"SecretId": "tagged"}},
		"Topic":      {"SNS", "listTagsForResource", map[string]any{"ResourceArn": arn("sns", "tagged")}},
		"Bucket":     {"S3", "getBucketTagging", map[string]any{"Bucket": "tagged"}},
		"Function":   {"Lambda", "listTags", map[string]any{"Resource": arn("lambda", "function:tagged")}},
		"Role":       {"IAM", "listRoleTags", map[string]any{"RoleName": "tagged"}},
		"Repository": {"ECR", "listTagsForResource", map[string]any{"resourceArn": arn("ecr", "repository/tagged")}},
	}
	check := func(present, absent []string) {
		t.Helper()
		for logical, of := range calls {
			out, err := c.call(of.service, of.action, of.parameters)
			if err != nil {
				t.Errorf("%s %s: %v", of.service, of.action, err)
				continue
			}
			texts := strings.Join(slices.Concat(slices.Collect(maps.Keys(out)), slices.Collect(maps.Values(out))), "\n")
			wanted := append([]string{
				"aws:cloudformation:stack-name", "aws:cloudformation:stack-id", "aws:cloudformation:logical-id", "Tagged", logical,
			}, present...)
			for _, want := range wanted {
				if !strings.Contains(texts, want) {
					t.Errorf("%s: no %s in the tags\n%s", logical, want, texts)
				}
			}
			without := absent
			if logical == "Group" || logical == "Parameter" || logical == "Repository" { // these have their own
				without = append(slices.Clone(absent), "of-stack")
			}
			for _, text := range without {
				if strings.Contains(texts, text) {
					t.Errorf("%s: %s in the tags\n%s", logical, text, texts)
				}
			}
		}
	}
	check([]string{"team", "alpha", "own", "old", "gone"}, nil)
	_, err = client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: aws.String("Tagged"), Capabilities: capabilities, UsePreviousTemplate: aws.Bool(true),
		Tags: []types.Tag{tag("team", "beta"), tag("own", "of-stack")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cloudformation.NewStackUpdateCompleteWaiter(client).Wait(t.Context(), stack, patience); err != nil {
		t.Fatal(err)
	}
	check([]string{"team", "beta", "own"}, []string{"alpha", "old", "gone"})
	out, err := c.call("SSM", "listTagsForResource", map[string]any{"ResourceType": "Parameter", "ResourceId": "/tagged"})
	if err != nil || !slices.Contains(slices.Collect(maps.Values(out)), "kept") {
		t.Errorf("the tags of the parameter are %v, %v: a client's is missing", out, err)
	}
	// Stack tags are not drift.
	drift, err := client.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: aws.String("Tagged")})
	if err != nil {
		t.Fatal(err)
	}
	var found *cloudformation.DescribeStackDriftDetectionStatusOutput
	c.until("drift is detected", func() bool {
		found, err = client.DescribeStackDriftDetectionStatus(t.Context(),
			&cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: drift.StackDriftDetectionId})
		return err != nil || found.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress
	})
	if err != nil || found.StackDriftStatus != types.StackDriftStatusInSync {
		t.Errorf("drift: %+v, %v", found, err)
	}
}
