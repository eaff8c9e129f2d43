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

// TestTagsOfStacks reads the tags of CloudFormation on what a stack makes by the calls of the services.
// Source: CloudFormation User Guide, resource tag; service API references.
func TestTagsOfStacks(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	client := c.cloudFormation()
	_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("Tagged"), Capabilities: []types.Capability{types.CapabilityCapabilityIam},
		TemplateBody: aws.String(`{"Resources": {
			"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "tagged", "Tags": [{"Key": "own", "Value": "v"}]}},
			"Rule": {"Type": "AWS::Events::Rule", "Properties": {"Name": "tagged", "ScheduleExpression": "rate(1 day)"}},
			"Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"StateMachineName": "tagged", "RoleArn": "r",
				"Definition": {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}}},
			"Parameter": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/tagged", "Type": "String", "Value": "v"}},
			"Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": "tagged"}},
			"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "tagged"}},
			"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "tagged"}},
			"Function": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "tagged", "Runtime": "python3.13", "Handler": "index.h",
				"Role": "arn:aws:iam::000000000000:role/r", "Code": {"ZipFile": "h = 1"}}}
		}}`),
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
	for logical, of := range map[string]struct {
		service, action string
		parameters      map[string]any
	}{
		"Group":     {"CloudWatchLogs", "listTagsForResource", map[string]any{"resourceArn": arn("logs", "log-group:tagged")}},
		"Rule":      {"EventBridge", "listTagsForResource", map[string]any{"ResourceARN": arn("events", "rule/tagged")}},
		"Machine":   {"StepFunctions", "listTagsForResource", map[string]any{"resourceArn": arn("states", "stateMachine:tagged")}},
		"Parameter": {"SSM", "listTagsForResource", map[string]any{"ResourceType": "Parameter", "ResourceId": "/tagged"}},
		"Secret":    {"SecretsManager", "describeSecret", map[string]any{"SecretId": "tagged"}},
		"Topic":     {"SNS", "listTagsForResource", map[string]any{"ResourceArn": arn("sns", "tagged")}},
		"Bucket":    {"S3", "getBucketTagging", map[string]any{"Bucket": "tagged"}},
		"Function":  {"Lambda", "listTags", map[string]any{"Resource": arn("lambda", "function:tagged")}},
	} {
		out, err := c.call(of.service, of.action, of.parameters)
		if err != nil {
			t.Errorf("%s %s: %v", of.service, of.action, err)
			continue
		}
		texts := strings.Join(slices.Concat(slices.Collect(maps.Keys(out)), slices.Collect(maps.Values(out))), "\n")
		for _, want := range []string{"aws:cloudformation:stack-name", "aws:cloudformation:stack-id", "aws:cloudformation:logical-id", "Tagged", logical} {
			if !strings.Contains(texts, want) {
				t.Errorf("%s: no %s in the tags\n%s", logical, want, texts)
			}
		}
	}
}
