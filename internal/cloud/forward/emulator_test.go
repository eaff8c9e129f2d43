package forward_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/ministacktest"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
	"github.com/pintle-dev/pintle/internal/engine"
)

// kind is a resource type with three sets of properties: the second one is an update in place of the first, and the
// third one replaces it. An empty set is not tried.
type kind struct {
	name, attribute         string
	first, inPlace, replace string
}

const role = `"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`

const table = `"BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "%[1]s", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "%[1]s", "KeyType": "HASH"}]`

var kinds = []kind{
	{"AWS::SQS::Queue", "Arn", `"QueueName": "q", "VisibilityTimeout": 30`, `"QueueName": "q", "VisibilityTimeout": 44`, `"QueueName": "q2", "VisibilityTimeout": 44`},
	{"AWS::SNS::Topic", "TopicName", `"TopicName": "t", "DisplayName": "a"`, `"TopicName": "t", "DisplayName": "b"`, `"TopicName": "t2", "DisplayName": "b"`},
	{"AWS::DynamoDB::Table", "Arn", fmt.Sprintf(table, "id"), `"DeletionProtectionEnabled": false, ` + fmt.Sprintf(table, "id"), `"TableName": "other", ` + fmt.Sprintf(table, "id")},
	{"AWS::S3::Bucket", "Arn", `"BucketName": "forwarded-a"`, `"BucketName": "forwarded-a", "VersioningConfiguration": {"Status": "Enabled"}`, `"BucketName": "forwarded-b"`},
	{"AWS::IAM::Role", "Arn", role + `, "Description": "a"`, role + `, "Description": "b"`, role + `, "RoleName": "other"`},
	{"AWS::EC2::VPC", "DefaultSecurityGroup", `"CidrBlock": "10.0.0.0/16"`, `"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": true`, `"CidrBlock": "10.1.0.0/16"`},
	{"AWS::KMS::Key", "Arn", `"Description": "a"`, `"Description": "b"`, ``},
	{"AWS::Events::Rule", "Arn", `"Name": "r", "ScheduleExpression": "rate(1 day)"`, `"Name": "r", "ScheduleExpression": "rate(2 days)"`, `"Name": "r2", "ScheduleExpression": "rate(2 days)"`},
	{"AWS::Logs::LogGroup", "Arn", `"LogGroupName": "g"`, `"LogGroupName": "g", "RetentionInDays": 7`, `"LogGroupName": "g2"`},
	{"AWS::ECR::Repository", "Arn", `"RepositoryName": "repo"`, `"RepositoryName": "repo", "ImageTagMutability": "IMMUTABLE"`, `"RepositoryName": "repo2"`},
	{"AWS::Route53::HostedZone", "", `"Name": "a.example"`, `"Name": "a.example", "HostedZoneConfig": {"Comment": "c"}`, `"Name": "b.example"`},
	{"AWS::ApiGateway::RestApi", "RootResourceId", `"Name": "api"`, `"Name": "api", "Description": "d"`, ``},
	{"AWS::StepFunctions::StateMachine", "Name", `"StateMachineName": "m", "RoleArn": "arn:aws:iam::000000000000:role/any", "DefinitionString": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"`,
		`"StateMachineName": "m", "RoleArn": "arn:aws:iam::000000000000:role/any", "DefinitionString": "{\"StartAt\": \"B\", \"States\": {\"B\": {\"Type\": \"Succeed\"}}}"`,
		`"StateMachineName": "m2", "RoleArn": "arn:aws:iam::000000000000:role/any", "DefinitionString": "{\"StartAt\": \"B\", \"States\": {\"B\": {\"Type\": \"Succeed\"}}}"`},
	{"AWS::Kinesis::Stream", "Arn", `"Name": "st", "ShardCount": 1`, `"Name": "st", "ShardCount": 2`, `"Name": "st2", "ShardCount": 2`},
	{"AWS::Cognito::UserPool", "Arn", `"UserPoolName": "p"`, `"UserPoolName": "p2"`, ``},
	{"AWS::SSM::Parameter", "", `"Name": "/p", "Type": "String", "Value": "a"`, `"Name": "/p", "Type": "String", "Value": "b"`, `"Name": "/p2", "Type": "String", "Value": "b"`},
	{"AWS::SecretsManager::Secret", "", `"Name": "sec", "SecretString": {"Ref": "Secret"}`, `"Name": "sec", "Description": "d", "SecretString": {"Ref": "Secret"}`, `"Name": "sec2", "SecretString": {"Ref": "Secret"}`},
}

// stackOf returns a template with one resource, whose Ref and attribute are outputs.
func (k *kind) stackOf(properties string) string {
	outputs := []string{`{"Ref": "R"}`}
	if k.attribute != "" {
		outputs = append(outputs, `{"Fn::GetAtt": ["R", "`+k.attribute+`"]}`)
	}
	return template(map[string]string{"R": `{"Type": "` + k.name + `", "Properties": {` + properties + `}}`}, outputs...)
}

// inner returns the names of the inner stacks that exist at an endpoint.
func inner(t *testing.T, url string) []string {
	t.Helper()
	out, err := client(t, url).Call(t.Context(), "cloudformation", "ListStacks", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	list, _ := out["StackSummaries"].([]any)
	for _, item := range list {
		s, _ := item.(map[string]any)
		if s["StackStatus"] != "DELETE_COMPLETE" {
			names = append(names, fmt.Sprint(s["StackName"], " ", s["StackStatus"]))
		}
	}
	return names
}

func client(t *testing.T, url string) *awscall.Client {
	t.Helper()
	c, err := awscall.New(awscall.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""), Endpoint: url})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func forwardedTypes() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// TestMinistack takes resources of many types through their life at ministack.
func TestMinistack(t *testing.T) {
	t.Parallel()
	url := ministacktest.New(t)
	w := newWorldAt(t, url, ministacktest.Account, append(forwardedTypes(), "AWS::Nothing::*")...)
	w.verify = true
	w.open()
	for i, k := range kinds {
		stack := fmt.Sprintf("s%d", i)
		w.wantStatus(stack, w.create(stack, k.stackOf(k.first)), "CREATE_COMPLETE")
		ref := w.outputs(stack)
		w.wantStatus(stack, w.update(stack, k.stackOf(k.inPlace)), "UPDATE_COMPLETE")
		if got := w.outputs(stack); got != ref {
			t.Errorf("%s: after an update in place %q, before %q", k.name, got, ref)
		}
		if k.replace != "" {
			w.wantStatus(stack, w.update(stack, k.stackOf(k.replace)), "UPDATE_COMPLETE")
			if got := w.outputs(stack); got == ref {
				t.Errorf("%s: %q was not replaced", k.name, ref)
			}
		}
		w.wantStatus(stack, w.delete(stack), "DELETE_COMPLETE")
	}
	w.wantRows(0)
	if left := inner(t, url); left != nil {
		t.Errorf("left at the endpoint: %q", left)
	}
	_, err := w.engine.Create(t.Context(), engine.CreateStack{
		Name: w.stackName("x"), Template: template(map[string]string{"R": `{"Type": "AWS::Nothing::Thing"}`}),
	})
	if err == nil || !strings.Contains(err.Error(), "does not provide these resource types: [AWS::Nothing::Thing]") {
		t.Errorf("error %v", err)
	}
	w.create("drift", template(map[string]string{"R": `{"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "q", "VisibilityTimeout": 30}}`}, `{"Ref": "R"}`))
	w.wantEvent("drift", "R CREATE_COMPLETE", "Warning: it has a custom name, QueueName. If a resource of that name existed at ")
	w.wantDrift("drift", "R IN_SYNC")
	c := client(t, url)
	_, err = c.Call(t.Context(), "sqs", "SetQueueAttributes", map[string]any{
		"QueueUrl": w.outputs("drift"), "Attributes": map[string]any{"VisibilityTimeout": "31"},
	})
	w.must(err)
	w.wantDrift("drift", "R MODIFIED", "NOT_EQUAL /VisibilityTimeout 30 31")
	_, err = c.Call(t.Context(), "sqs", "DeleteQueue", map[string]any{"QueueUrl": w.outputs("drift")})
	w.must(err)
	w.wantDrift("drift", "R DELETED")
	w.wantStatus("bad", w.create("bad", template(map[string]string{"R": `{"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 99999999}}`})), "ROLLBACK_COMPLETE")
	w.wantEvent("bad", "R CREATE_FAILED", "VisibilityTimeout")
}

// TestMoto creates and deletes resources at moto, and updates those that it handles.
func TestMoto(t *testing.T) {
	t.Parallel()
	url := mototest.New(t)
	w := newWorldAt(t, url, mototest.Account, forwardedTypes()...)
	w.verify = true
	w.open()
	// Moto does not create these: it reports them complete, or answers 500.
	never := []string{"AWS::SecretsManager::Secret", "AWS::Cognito::UserPool", "AWS::KMS::Key"}
	updates := []string{"AWS::SQS::Queue", "AWS::IAM::Role", "AWS::ECR::Repository", "AWS::StepFunctions::StateMachine", "AWS::Kinesis::Stream", "AWS::SSM::Parameter"}
	for i, k := range kinds {
		stack := fmt.Sprintf("s%d", i)
		status := w.create(stack, k.stackOf(k.first))
		if slices.Contains(never, k.name) {
			w.wantStatus(stack, status, "ROLLBACK_COMPLETE")
			w.wantEvent(stack, "R CREATE_FAILED", "Forwarded to "+strings.TrimPrefix(url, "http://"))
			continue
		}
		w.wantStatus(stack, status, "CREATE_COMPLETE")
		ref := w.outputs(stack)
		status = w.update(stack, k.stackOf(k.inPlace))
		if slices.Contains(updates, k.name) {
			w.wantStatus(stack, status, "UPDATE_COMPLETE")
		} else {
			w.wantStatus(stack, status, "UPDATE_ROLLBACK_COMPLETE")
			w.wantEvent(stack, "R UPDATE_FAILED", "moto does not update resources of type "+k.name)
		}
		if got := w.outputs(stack); got != ref {
			t.Errorf("%s: outputs are %q after an update, before %q", k.name, got, ref)
		}
		if k.replace != "" { // which takes no update of moto
			w.wantStatus(stack, w.update(stack, k.stackOf(k.replace)), "UPDATE_COMPLETE")
			if got := w.outputs(stack); got == ref {
				t.Errorf("%s: %q was not replaced", k.name, ref)
			}
		}
		w.wantStatus(stack, w.delete(stack), "DELETE_COMPLETE")
	}
	w.wantRows(0)
	if left := inner(t, url); left != nil {
		t.Errorf("left at the endpoint: %q", left)
	}
	w.create("drift", template(map[string]string{"R": `{"Type": "AWS::SQS::Queue"}`}))
	w.wantProblem(w.wantDrift("drift", "R NOT_CHECKED"), "moto does not detect drift")
}
