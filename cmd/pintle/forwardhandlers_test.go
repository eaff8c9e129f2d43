package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/ministacktest"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// forwardedHandler sends a message to a queue and reads it back, and calls services that Pintle has.
const forwardedHandler = `import json, os, urllib.request
import boto3

def handler(event, context):
    data, status, reason = {}, "SUCCESS", ""
    try:
        if event["RequestType"] != "Delete":
            sqs, url = boto3.client("sqs"), event["ResourceProperties"]["Queue"]
            name = url.rsplit("/", 1)[1]
            sqs.send_message(QueueUrl=url, MessageBody="hello")
            message = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1)["Messages"][0]
            got = message["Body"]
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            arn = sqs.get_queue_attributes(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
            data = {"Got": got, "Arn": arn, "Secret": str("the-secret-of-the-user" in os.environ.values())}
            if event["ResourceProperties"].get("Local"):
                data["Account"] = boto3.client("sts").get_caller_identity()["Account"]
                boto3.client("sns").publish(TopicArn=event["ResourceProperties"]["Topic"], Message="news")
                data["News"] = json.loads(sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"][0]["Body"])["Message"]
                data["Parameter"] = boto3.client("ssm").get_parameter(Name="/local")["Parameter"]["Value"]
    except Exception as e:
        status, reason = "FAILED", repr(e)
    body = json.dumps({"Status": status, "Reason": reason, "PhysicalResourceId": "p", "StackId": event["StackId"], "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"], "Data": data}).encode()
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], data=body, method="PUT", headers={"Content-Type": ""}))
`

// TestForwardHandlers runs a function of the template and a local provider in Python. Without an endpoint in their environment, both
// write to a forwarded queue, in the account of the stack, and the function also calls services that
// Pintle has. A topic of Pintle delivers to the queue.
func TestForwardHandlers(t *testing.T) {
	t.Parallel()
	require.Python(t, "boto3")
	const account = "123456789012"
	for name, start := range map[string]func() string{
		"ministack": func() string { return ministacktest.New(t) },
		"moto":      func() string { return mototest.NewAs(t, account) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, endpoint := t.TempDir(), start()
			write := func(name, text string) string {
				t.Helper()
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			credentials := write("credentials", "[default]\naws_access_key_id = OWNER\naws_secret_access_key = the secret of the owner\naws_account_id = "+account+"\n")
			s := beginIn(t, []string{"AWS_ACCESS_KEY_ID=" + account, "AWS_SECRET_ACCESS_KEY=the-secret-of-the-user"}, filepath.Join(dir, "data"),
				"--credentials", credentials, "--run-functions", "--provider", "Local="+write("provider.py", forwardedHandler),
				"--forward", "AWS::SQS::*="+endpoint)
			s.ready()
			code := strings.ReplaceAll("\n"+forwardedHandler, "\n", "\n          ")
			text := `Resources:
  Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: work}}
  Parameter: {Type: AWS::SSM::Parameter, Properties: {Name: /local, Type: String, Value: of-pintle}}
  Role: {Type: AWS::IAM::Role, Properties: {AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: []}}}
  Function:
    Type: AWS::Lambda::Function
    Properties:
      Handler: index.handler
      Runtime: python3.13
      Role: !GetAtt Role.Arn
      Timeout: 60
      Code:
        ZipFile: |` + code + `
  InFunction: {Type: Custom::Send, DependsOn: [Parameter, Subscription], Properties: {ServiceToken: !GetAtt Function.Arn, Queue: !Ref Queue, Local: "1", Topic: !Ref Topic}}
  Topic: {Type: AWS::SNS::Topic}
  Subscription: {Type: AWS::SNS::Subscription, Properties: {TopicArn: !Ref Topic, Protocol: sqs, Endpoint: !GetAtt Queue.Arn}}
  InProvider: {Type: Custom::Send, DependsOn: InFunction, Properties: {ServiceToken: Local, Queue: !Ref Queue}}
Outputs:
  Queue: {Value: !GetAtt Queue.Arn}
  Function: {Value: !Sub "${InFunction.Got} ${InFunction.Arn} ${InFunction.Account} ${InFunction.Parameter} ${InFunction.News} ${InFunction.Secret}"}
  Provider: {Value: !Sub "${InProvider.Got} ${InProvider.Arn}"}
`
			client := s.client()
			_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("s"), TemplateBody: &text,
				Capabilities: []types.Capability{types.CapabilityCapabilityIam}})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.settled("s"); got != types.StackStatusCreateComplete {
				t.Fatalf("status %s; log:\n%s", got, s.output())
			}
			out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, o := range out.Stacks[0].Outputs {
				got[*o.OutputKey] = *o.OutputValue
			}
			if !strings.Contains(got["Queue"], ":"+account+":") {
				t.Errorf("the queue is %s", got["Queue"])
			}
			if want := "hello " + got["Queue"] + " " + account + " of-pintle news False"; got["Function"] != want {
				t.Errorf("the function returned %q, want %q", got["Function"], want)
			}
			if want := "hello " + got["Queue"]; got["Provider"] != want {
				t.Errorf("the provider returned %q, want %q", got["Provider"], want)
			}
			if strings.Contains(s.output(), "the-secret-of-the-user") {
				t.Error("the log has the secret of a key")
			}
		})
	}
}
