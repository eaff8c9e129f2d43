package cdk_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/dev/ministacktest"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
)

// forwardedServices are the services whose types the tests forward. Buckets, functions and roles stay with Pintle.
var forwardedServices = []string{
	"ApiGateway", "CertificateManager", "Cognito", "DynamoDB", "EC2", "ECR", "Events", "KMS", "Kinesis", "Logs", "Route53", "SNS", "SQS", "SSM",
	"SecretsManager", "StepFunctions",
}

// forwardCase is an app of testdata/forward.
type forwardCase struct {
	name, has string
	// base and changed are as in [constructCase].
	base, changed string
	// moto is why the app cannot be created at moto, and motoDelete why it cannot be deleted there.
	moto, motoDelete string
}

// The reasons of apps that moto cannot create.
const (
	noRef         = "has no value of Ref: the endpoint probably does not support AWS::"
	internalError = "CreateStack failed: HTTP 500"
)

var forwardCases = []forwardCase{
	{name: "QueueAndFunction", has: "two queues, a function, a custom resource that sends messages", base: "Out=33$", changed: "Out=44$"},
	{name: "Network", has: "a VPC, its subnets and gateways, `restrictDefaultSecurityGroup`", base: "Out=sg-", changed: "Out=sg-",
		motoDelete: "has dependencies and cannot be deleted"},
	{name: "UserPool", has: "a user pool, a client, a custom resource that reads the client's secret", base: "Out=10$", changed: "Out=12$", moto: internalError},
	{name: "ZoneAndCertificate", has: "a hosted zone, a certificate, a record with `deleteExisting`", base: "Out=ns-", changed: "Out=ns-",
		moto: noRef + "Route53::HostedZone"},
	{name: "TableAndItem", has: "a table, custom resources that put and get an item", base: "Out=one$", changed: "Out=two$"},
	{name: "BucketAndQueue", has: "a bucket of Pintle with notifications to a queue", base: "QueueUrl=http", changed: "QueueUrl=http",
		moto: noRef + "SQS::QueuePolicy"},
	{name: "StateMachine", has: "a state machine, a custom resource that reads it", base: "Out=.*one", changed: "Out=.*two"},
	{name: "TopicAndSubscription", has: "a topic, a queue, a subscription, a custom resource that publishes", base: "Out=.*-", changed: "Out=.*-",
		moto: noRef + "SQS::QueuePolicy"},
	{name: "Parameter", has: "a parameter, a custom resource that reads it", base: "Out=one$", changed: "Out=two$"},
	{name: "Secret", has: "a secret with the value of a NoEcho parameter", base: "Out=arn:aws:secretsmanager:", changed: "Out=arn:aws:secretsmanager:",
		moto: noRef + "SecretsManager::Secret"},
	{name: "LogGroups", has: "a log group, a metric filter, `LogRetention`", base: "Out=arn:aws:logs:", changed: "Out=arn:aws:logs:", moto: noRef + "Logs::MetricFilter"},
	{name: "NestedStacks", has: "two nested stacks with the same logical IDs", base: "Out=33 33$", changed: "Out=44 44$"},
	{name: "StreamAndKey", has: "a key, an alias, a stream, a custom resource that reads the key", base: "StreamArn=arn:aws:kinesis:",
		changed: "StreamArn=arn:aws:kinesis:", moto: "kms DescribeKey: UnknownError"},
	{name: "RestApi", has: "a REST API, its deployment and stage", base: "Out=Api$", changed: "Out=Api$", moto: internalError},
	{name: "RuleAndQueue", has: "a rule, a queue, a custom resource that reads the rule", base: `Out=.*"one"`, changed: `Out=.*"two"`, moto: noRef + "SQS::QueuePolicy"},
	{name: "Repository", has: "a repository with `autoDeleteImages`", base: "Out=.*dkr", changed: "Out=.*dkr", moto: "Invalid parameter at 'repositoryName'"},
}

// row is the row of an app in docs/forward.md.
func (c forwardCase) row() string {
	moto := "works"
	switch {
	case c.moto != "":
		moto = "fails: `" + c.moto + "`"
	case c.motoDelete != "":
		moto = "its deletion fails: `" + c.motoDelete + "`"
	}
	return fmt.Sprintf("| %s | %s | works | %s |", c.name, c.has, moto)
}

// newForwarding returns the apps of testdata/forward with a server that forwards types to an endpoint. Local functions
// call the endpoint too.
func newForwarding(t *testing.T, endpoint, tools string) *life {
	t.Helper()
	var forwarded []string
	for _, service := range forwardedServices {
		forwarded = append(forwarded, "AWS::"+service+"::*")
	}
	a := &app{t: t, source: absolute(t, "testdata/forward/app.js"), dir: t.TempDir(), tools: tools}
	environment := []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_ENDPOINT_URL=" + endpoint}
	for _, service := range []string{"CLOUDWATCH_LOGS", "EVENTBRIDGE", "SECRETS_MANAGER", "SFN", "SNS", "SSM"} {
		environment = append(environment, "AWS_ENDPOINT_URL_"+service+"="+endpoint)
	}
	a.cloud = newCloudIn(t, environment, "--forward", strings.Join(forwarded, ",")+"="+endpoint)
	l := &life{app: a, ids: map[string]string{}, seconds: map[string][]float64{}}
	for _, c := range forwardCases {
		l.cases = append(l.cases, constructCase{name: c.name, base: c.base, changed: c.changed, failure: "Forwarded to " + hostOf(endpoint) + ": "})
	}
	return l
}

func hostOf(url string) string { return strings.TrimPrefix(url, "http://") }

// TestForwardToMinistack takes apps whose stacks mix custom resources and forwarded resources through the life of a
// stack: deploy, change, a failing change, destroy. Only log groups that the CDK retains are left at the endpoint.
func TestForwardToMinistack(t *testing.T) {
	tools := requireCDK(t)
	t.Parallel()
	endpoint := ministacktest.New(t)
	before := countAt(t, endpoint)
	l := newForwarding(t, endpoint, tools)
	l.synthesizes("base", "changed", "failing")
	l.creates()
	l.changes()
	l.rollsBack()
	l.ends()
	if strings.Contains(l.cloud.output(), "correct-horse") {
		t.Error("the log has the value of a NoEcho parameter")
	}
	if diff := cmp.Diff(before, countAt(t, endpoint)); diff != "" {
		t.Errorf("resources at the endpoint before and after (-before +after):\n%s", diff)
	}
	for _, name := range innerStacks(t, endpoint) {
		if !strings.Contains(name, "LogGr") {
			t.Errorf("the endpoint still has the stack %s", name)
		}
	}
	checkForwardTable(t, measureForward(t, l.cloud, endpoint))
}

// TestForwardToMoto creates and deletes apps whose stacks mix custom resources and forwarded resources. Moto reports
// resources complete that it did not create. These apps must fail with a reason.
func TestForwardToMoto(t *testing.T) {
	tools := requireCDK(t)
	t.Parallel()
	endpoint := mototest.NewAs(t, ministacktest.Account)
	l := newForwarding(t, endpoint, tools)
	l.synthesizes("base")
	l.assembly = l.assemblyOf("base")
	var works, fails, deletes []string
	for _, c := range forwardCases {
		switch {
		case c.moto != "":
			fails = append(fails, c.name)
		case c.motoDelete == "":
			deletes = append(deletes, c.name)
			fallthrough
		default:
			works = append(works, c.name)
		}
	}
	arguments := func(command string, names []string, more ...string) []string {
		return slices.Concat([]string{command}, names, []string{"--concurrency", strconv.Itoa(concurrency)}, more)
	}
	l.does(nil, arguments("deploy", works, "--require-approval", "never")...)
	l.does(nil, arguments("deploy", fails, "--require-approval", "never", "--method=prepare-change-set", "--change-set-name", "new")...)
	client := l.cloud.cloudFormation()
	for _, name := range fails {
		input := &cloudformation.ExecuteChangeSetInput{StackName: &name, ChangeSetName: aws.String("new")}
		if _, err := client.ExecuteChangeSet(t.Context(), input); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range forwardCases {
		l.ids[c.name] = aws.ToString(l.stack(c.name).StackId)
		if c.moto == "" {
			l.cloud.stands(c.name, "CREATE_COMPLETE")
			continue
		}
		l.cloud.until(c.name+" is rolled back", func() bool {
			status, _ := l.cloud.status(c.name)
			return !strings.HasSuffix(status, "_IN_PROGRESS")
		})
		l.cloud.stands(c.name, "ROLLBACK_COMPLETE")
		l.saysWhy(c.name, "CREATE_FAILED", c.moto)
	}
	l.does(nil, arguments("destroy", deletes, "--force")...)
	for _, c := range forwardCases {
		if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &c.name}); err != nil {
			t.Fatal(err)
		}
		l.cloud.until(c.name+" is deleted", func() bool {
			status, _ := l.cloud.status(c.name)
			return !strings.HasSuffix(status, "_IN_PROGRESS")
		})
		if c.motoDelete == "" {
			l.cloud.gone(c.name)
			continue
		}
		l.cloud.stands(c.name, "DELETE_FAILED")
		l.saysWhy(c.name, "DELETE_FAILED", c.motoDelete)
	}
}

// saysWhy checks that an event of a stack has a reason.
func (l *life) saysWhy(stack, status, reason string) {
	l.t.Helper()
	id := l.ids[stack]
	out, err := l.cloud.cloudFormation().DescribeStackEvents(l.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &id})
	if err != nil {
		l.t.Fatal(err)
	}
	var said []string
	for _, e := range out.StackEvents {
		if string(e.ResourceStatus) == status {
			said = append(said, aws.ToString(e.ResourceStatusReason))
		}
	}
	if !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, reason) }) {
		l.t.Errorf("the reasons of %s are %q, want one with %q", stack, said, reason)
	}
}

// listings are calls that list the resources of an endpoint.
var listings = []struct{ service, action, member string }{
	{"apigateway", "getRestApis", "items"}, {"acm", "listCertificates", "CertificateSummaryList"}, {"dynamodb", "listTables", "TableNames"},
	{"ec2", "describeVpcs", "Vpcs"}, {"ec2", "describeSubnets", "Subnets"}, {"ec2", "describeInternetGateways", "InternetGateways"},
	{"ec2", "describeRouteTables", "RouteTables"}, {"ec2", "describeSecurityGroups", "SecurityGroups"}, {"ecr", "describeRepositories", "repositories"},
	{"events", "listRules", "Rules"}, {"kinesis", "listStreams", "StreamNames"}, {"logs", "describeMetricFilters", "metricFilters"},
	{"route53", "listHostedZones", "HostedZones"}, {"secretsmanager", "listSecrets", "SecretList"}, {"sns", "listTopics", "Topics"},
	{"sns", "listSubscriptions", "Subscriptions"}, {"sqs", "listQueues", "QueueUrls"}, {"ssm", "describeParameters", "Parameters"},
	{"stepfunctions", "listStateMachines", "stateMachines"},
}

// countAt returns how many resources of each kind an endpoint has.
func countAt(t *testing.T, endpoint string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, of := range listings {
		list, _ := callAt(t, endpoint, of.service, of.action, nil)[of.member].([]any)
		count[of.service+" "+of.action] = len(list)
	}
	pools, _ := callAt(t, endpoint, "cognito-idp", "listUserPools", map[string]any{"MaxResults": 60})["UserPools"].([]any)
	count["user pools"] = len(pools)
	return count
}

// innerStacks returns the names of the stacks that exist at an endpoint.
func innerStacks(t *testing.T, endpoint string) []string {
	t.Helper()
	var names []string
	list, _ := callAt(t, endpoint, "cloudformation", "listStacks", nil)["StackSummaries"].([]any)
	for _, item := range list {
		if s, _ := item.(map[string]any); s["StackStatus"] != "DELETE_COMPLETE" {
			names = append(names, fmt.Sprint(s["StackName"], " ", s["StackStatus"]))
		}
	}
	return names
}

func callAt(t *testing.T, endpoint, service, action string, params map[string]any) map[string]any {
	t.Helper()
	client, err := awscall.New(awscall.Config{
		Region: region, Endpoint: endpoint, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.Call(t.Context(), service, action, params)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// measured is the number of resources in the stack that [measureForward] creates, and rounds how often.
const (
	measured = 20
	rounds   = 3
)

// measureForward creates the same stack through Pintle and in the endpoint's own CloudFormation, and returns a sentence
// with the median times per resource.
func measureForward(t *testing.T, c *cloud, endpoint string) string {
	t.Helper()
	resources := map[string]any{}
	for i := range measured {
		kind := []string{"AWS::SQS::Queue", "AWS::SNS::Topic"}[i%2]
		resources[fmt.Sprintf("R%d", i)] = map[string]any{"Type": kind}
	}
	body, err := json.Marshal(map[string]any{"Resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	median := func(url, stack string) time.Duration {
		client := cloudformation.New(cloudformation.Options{BaseEndpoint: &url, Region: region, HTTPClient: awshttp.Client(),
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
		var took []time.Duration
		for i := range rounds {
			name := fmt.Sprintf("%s%d", stack, i)
			began := time.Now()
			if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(string(body))}); err != nil {
				t.Fatal(err)
			}
			for {
				out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
				if err != nil {
					t.Fatal(err)
				}
				if status := out.Stacks[0].StackStatus; status == types.StackStatusCreateComplete {
					break
				} else if status != types.StackStatusCreateInProgress {
					t.Fatalf("%s is %s", name, status)
				}
			}
			took = append(took, time.Since(began))
			if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(took)
		return took[rounds/2] / measured
	}
	own, forwarded := median(endpoint, "Own"), median(c.url, "Forwarded")
	text := fmt.Sprintf("A stack of %d queues and topics takes %.1f ms a resource through Pintle, and %.1f ms in ministack's own CloudFormation (%.1f times).",
		measured, 1000*forwarded.Seconds(), 1000*own.Seconds(), forwarded.Seconds()/own.Seconds())
	t.Log(text)
	return text
}

// The table of docs/forward.md is between these lines.
const (
	forwardBegins = "<!-- apps: written by go test ./internal/dev/cdk -run TestForwardToMinistack -update -->\n"
	forwardEnds   = "<!-- end of apps -->\n"
)

// checkForwardTable writes the table of docs/forward.md with -update, and compares its rows.
func checkForwardTable(t *testing.T, measurement string) {
	t.Helper()
	page := filepath.Join("..", "..", "..", "docs", "forward.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), forwardBegins)
	table, after, ended := strings.Cut(rest, forwardEnds)
	if !found || !ended {
		t.Fatal("docs/forward.md has no place for the table")
	}
	var want []string
	for _, c := range forwardCases {
		want = append(want, c.row())
	}
	if *update && !t.Failed() {
		table = "\n| app | resources | ministack | moto |\n|---|---|---|---|\n" + strings.Join(want, "\n") + "\n\n" + measurement + "\n\n"
		if err := os.WriteFile(page, []byte(before+forwardBegins+table+forwardEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| app ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows of docs/forward.md (-want +got):\n%s", diff)
	}
}
