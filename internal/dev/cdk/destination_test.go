package cdk_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestDestinations tests AWS::Lambda::EventInvokeConfig: a function, a topic and the event bus get the records of
// asynchronous calls.
func TestDestinations(t *testing.T) {
	t.Parallel()
	require.Tool(t, "python3")
	c := newCloud(t)
	client := c.cloudFormation()
	const worker = `{"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "NAME", "Runtime": "python3.13", "Handler": "index.h",
		"Role": "arn:aws:iam::000000000000:role/r", "Code": {"ZipFile": "def h(e, c):\n  if e.get('fail'):\n    raise ValueError('no')\n  return {'did': e['name']}"}}}`
	const config = `{"Type": "AWS::Lambda::EventInvokeConfig", "Properties": {"FunctionName": {"Ref": "NAME"}, "Qualifier": "$LATEST",
		"MaximumRetryAttempts": 0, "DestinationConfig": {WHERE}}}`
	ledger := filepath.Join(c.dir, "records")
	of := func(name, where string) string {
		return `"` + name + `": ` + strings.ReplaceAll(worker, "NAME", name) + `, "` + name + `Config": ` +
			strings.NewReplacer("NAME", name, "WHERE", where).Replace(config)
	}
	template := `{"Resources": {
		"Writer": {"Type": "AWS::Lambda::Function", "Properties": {"Runtime": "python3.13", "Handler": "index.h",
			"Environment": {"Variables": {"LEDGER": "` + ledger + `"}}, "Role": "arn:aws:iam::000000000000:role/r",
			"Code": {"ZipFile": "import json, os\ndef h(e, c):\n  with open(os.environ['LEDGER'], 'a') as f:\n    f.write(json.dumps(e) + '\\n')"}}},
		"Topic": {"Type": "AWS::SNS::Topic"},
		"Subscription": {"Type": "AWS::SNS::Subscription", "Properties": {"TopicArn": {"Ref": "Topic"}, "Protocol": "lambda", "Endpoint": {"Fn::GetAtt": ["Writer", "Arn"]}}},
		"Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["lambda"], "detail-type": ["Lambda Function Invocation Result - Success"]},
			"Targets": [{"Id": "w", "Arn": {"Fn::GetAtt": ["Writer", "Arn"]}}]}},
		` + of("Plain", `"OnSuccess": {"Destination": {"Fn::GetAtt": ["Writer", "Arn"]}}`) + `,
		` + of("Failing", `"OnFailure": {"Destination": {"Ref": "Topic"}}`) + `,
		"LoopRule": {"Type": "AWS::Events::Rule", "Properties": {
			"EventPattern": {"source": ["lambda"], "detail": {"requestPayload": {"name": ["loop"]}}},
			"Targets": [{"Id": "l", "Arn": {"Fn::GetAtt": ["Looped", "Arn"]}, "Input": "{\"name\": \"loop\"}"}]}},
		` + of("Looped", `"OnSuccess": {"Destination": {"Fn::Sub": "arn:aws:events:${AWS::Region}:${AWS::AccountId}:event-bus/default"}}`) + `,
		` + of("Bussed", `"OnSuccess": {"Destination": {"Fn::Sub": "arn:aws:events:${AWS::Region}:${AWS::AccountId}:event-bus/default"}}`) + `
	}}`
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("Destinations"), TemplateBody: &template}); err != nil {
		t.Fatal(err)
	}
	stack := &cloudformation.DescribeStacksInput{StackName: aws.String("Destinations")}
	if err := cloudformation.NewStackCreateCompleteWaiter(client).Wait(t.Context(), stack, patience); err != nil {
		t.Fatal(err)
	}
	seen := 0
	next := func(name, payload string) (record map[string]any) {
		t.Helper()
		if _, err := c.call("Lambda", "invoke", map[string]any{"FunctionName": name, "InvocationType": "Event", "Payload": payload}); err != nil {
			t.Fatal(err)
		}
		c.until("the record of "+name+" is written", func() bool {
			text, err := os.ReadFile(ledger)
			lines := strings.SplitAfter(string(text), "\n")
			if err != nil || len(lines) < seen+2 { // the last one is empty
				return false
			}
			if err := json.Unmarshal([]byte(lines[seen]), &record); err != nil {
				t.Fatal(err)
			}
			return true
		})
		seen++
		return record
	}
	if got, _ := next("Plain", `{"name": "a"}`)["responsePayload"].(map[string]any); got["did"] != "a" {
		t.Errorf("the function gets %v", got)
	}
	notified, _ := next("Failing", `{"fail": true}`)["Records"].([]any)
	if len(notified) != 1 || !strings.Contains(notified[0].(map[string]any)["Sns"].(map[string]any)["Message"].(string), `"condition":"RetriesExhausted"`) {
		t.Errorf("the topic gets %v", notified)
	}
	event := next("Bussed", `{"name": "c"}`)
	detail, _ := event["detail"].(map[string]any)
	if got, _ := detail["responsePayload"].(map[string]any); got["did"] != "c" || event["source"] != "lambda" {
		t.Errorf("the rule's target gets %v", event)
	}

	// A rule that sends a function the same input for each of its results would loop forever.
	if _, err := c.call("Lambda", "invoke", map[string]any{"FunctionName": "Looped", "InvocationType": "Event", "Payload": `{"name": "loop"}`}); err != nil {
		t.Fatal(err)
	}
	c.until("the loop is stopped", func() bool { return strings.Contains(c.output(), "16 functions have led to this event") })

	got, err := c.call("Lambda", "getFunctionEventInvokeConfig", map[string]any{"FunctionName": "Plain"})
	if err != nil || got["MaximumRetryAttempts"] != "0" || !strings.HasSuffix(got["FunctionArn"], ":function:Plain:$LATEST") {
		t.Errorf("the configuration is %v, %v", got, err)
	}
	if _, err := c.call("Lambda", "updateFunctionEventInvokeConfig", map[string]any{"FunctionName": "Plain", "MaximumEventAgeInSeconds": 60}); err != nil {
		t.Error(err)
	}
	got, err = c.call("Lambda", "listFunctionEventInvokeConfigs", map[string]any{"FunctionName": "Plain"})
	if err != nil || got["FunctionEventInvokeConfigs.0.MaximumEventAgeInSeconds"] != "60" || got["FunctionEventInvokeConfigs.0.MaximumRetryAttempts"] != "0" {
		t.Errorf("the list is %v, %v", got, err)
	}
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("Destinations")}); err != nil {
		t.Fatal(err)
	}
	if err := cloudformation.NewStackDeleteCompleteWaiter(client).Wait(t.Context(), stack, patience); err != nil {
		t.Fatal(err)
	}
}
