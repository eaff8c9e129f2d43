package cloudformation_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

// noStreams contains empty log groups.
type noStreams struct{}

func (noStreams) DeleteGroup(registry.Scope, string) error { return nil }

// natives is the API in front of an engine with native types for parameters, secrets and records.
type natives struct {
	*testing.T
	client  *sdk.Client
	own     *ssm.Own
	secrets *secretsmanager.Secrets
	catalog *registry.Catalog
}

func newNatives(t *testing.T) *natives {
	t.Helper()
	n := &natives{T: t}
	rows, err := memory.New(memory.Config{})
	n.must(err)
	n.catalog, n.own = registry.New(rows), ssm.NewOwn(rows)
	n.secrets = secretsmanager.New(n.catalog.Secrets, nil)
	registry, err := native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "http://127.0.0.1:1/", nil },
		More:      aws.Types(aws.Config{Parameters: n.own, Secrets: n.secrets, Logs: noStreams{}, Catalog: n.catalog}),
	})
	n.must(err)
	var carrier atomic.Pointer[delivery.Delivery]
	e, err := engine.Open(t.Context(), engine.Config{Store: rows, Alone: true, Native: registry, Dispatch: func(ready []store.Request) {
		if d := carrier.Load(); d != nil {
			d.Dispatch(ready)
		}
	}})
	n.must(err)
	reader, err := ssm.New(ssm.Config{Parameters: n.own, Secrets: ssm.NewOwnSecrets(n.secrets, nil), ResolveNative: true})
	n.must(err)
	d, err := delivery.New(delivery.Config{
		Table: rows, Node: e.Node, Native: registry, References: ssm.NewHidden(reader, rows), WebhookSecret: make([]byte, 24),
		ResponseURL: func(store.Request) (string, error) { return "http://127.0.0.1:1/", nil },
		Report: func(ctx context.Context, id wire.RequestID, outcome delivery.Outcome) error {
			reported := engine.Outcome{Delivered: true}
			switch o := outcome.(type) {
			case delivery.Provided:
				reported.Kind, reported.Result, reported.Text = engine.Provided, o.Result, o.Failure
			case delivery.Refused:
				reported.Kind, reported.Text = engine.Refused, o.Text
			default:
				t.Errorf("outcome %+v", o)
			}
			return e.Report(ctx, id, reported)
		},
	})
	n.must(err)
	carrier.Store(d)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = d.Run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	service, err := cloudformation.New(cloudformation.Config{
		Engine: e, Rows: rows, Patience: time.Minute, Drift: drift.New(registry, rows, nil),
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: account, Region: region}, true
		},
	})
	n.must(err)
	server := httptest.NewServer(http.Handler(service))
	t.Cleanup(server.Close)
	n.client = sdk.New(sdk.Options{
		BaseEndpoint: &server.URL, Region: region, RetryMaxAttempts: 1, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	return n
}

func (n *natives) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// create creates a stack and returns its final state.
func (n *natives) create(name, template string) types.Stack {
	n.Helper()
	_, err := n.client.CreateStack(n.Context(), &sdk.CreateStackInput{
		StackName: &name, TemplateBody: &template, Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	n.must(err)
	return n.settled(name)
}

// settled waits for the end of an operation, by DescribeStacks.
func (n *natives) settled(name string) types.Stack {
	n.Helper()
	stacks, err := n.client.DescribeStacks(n.Context(), &sdk.DescribeStacksInput{StackName: &name})
	n.must(err)
	return stacks.Stacks[0]
}

func (n *natives) reasons(name string) string {
	n.Helper()
	events, err := n.client.DescribeStackEvents(n.Context(), &sdk.DescribeStackEventsInput{StackName: &name})
	n.must(err)
	var list []string
	for _, e := range events.StackEvents {
		if e.ResourceStatusReason != nil {
			list = append(list, *e.ResourceStatusReason)
		}
	}
	return strings.Join(list, "\n")
}

func (n *natives) value(name string) string {
	n.Helper()
	p, err := n.own.Parameter(n.Context(), registry.Scope{Account: account, Region: region}, name, 0)
	n.must(err)
	return p.Value
}

// TestRecordedD2References checks that references to secrets are resolved in properties of native types, and masked in
// all output.
func TestRecordedD2References(t *testing.T) {
	n := newNatives(t)
	text := `{"password": "hunter2", "port": 5432}`
	home := registry.Scope{Account: account, Region: region}
	made, err := n.secrets.Create(t.Context(), secretsmanager.NewSecret{Place: home, Name: "db", Value: secretsmanager.Value{Text: &text}})
	n.must(err)
	parameter := func(name, value string) string {
		return `{"Type": "AWS::SSM::Parameter", "Properties": {"Name": "` + name + `", "Type": "String", "Value": ` + value + `}}`
	}
	resources := `"A": ` + parameter("/a", `"x={{resolve:secretsmanager:db:SecretString:password}};{{resolve:secretsmanager:db:SecretString:port}}"`) + `,
		"B": ` + parameter("/b", `{"Fn::Join": [":", ["{{resolve", "secretsmanager", "`+secretsmanager.ARN(made)+`", "SecretString", "password", "AWSCURRENT", "}}"]]}`) + `,
		"C": ` + parameter("/c", `"{{resolve:secretsmanager:db:SecretString:password::`+made.Of.Versions[0].ID+`}}"`)
	stack := n.create("s", `{"Resources": {`+resources+`}, "Outputs": {"V": {"Value": {"Fn::GetAtt": ["A", "Value"]}}}}`)
	if stack.StackStatus != types.StackStatusCreateComplete {
		t.Fatalf("%s\n%s", stack.StackStatus, n.reasons("s"))
	}
	if got := n.value("/a") + " " + n.value("/b") + " " + n.value("/c"); got != "x=hunter2;5432 hunter2 hunter2" {
		t.Errorf("the parameters are %s", got)
	}
	if got := *stack.Outputs[0].OutputValue; got != "*****" {
		t.Errorf("the output is %s", got)
	}
	if strings.Contains(n.reasons("s"), "hunter2") {
		t.Error("an event has the secret")
	}
}

// TestRecordedD2Refusals checks that a name must not be a secret, and that the value of a reference must exist and be
// valid.
func TestRecordedD2Refusals(t *testing.T) {
	n := newNatives(t)
	text := `{"name": "hunter2"}`
	_, err := n.secrets.Create(t.Context(), secretsmanager.NewSecret{Place: registry.Scope{Account: account, Region: region}, Name: "db", Value: secretsmanager.Value{Text: &text}})
	n.must(err)
	for name, of := range map[string]struct{ resource, want string }{
		"missing": {
			`{"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "{{resolve:secretsmanager:none}}"}}`,
			"Could not resolve the dynamic reference {{resolve:secretsmanager:none}}: Secrets Manager can't find the specified secret.",
		},
		"key": {
			`{"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "{{resolve:secretsmanager:db:SecretString:other}}"}}`,
			"Could not find a value associated with JSONKey in SecretString: it has no other",
		},
		"name": {
			`{"Type": "AWS::SecretsManager::Secret", "Properties": {"Name": "{{resolve:secretsmanager:db:SecretString:name}}"}}`,
			"Value of property Name must not be a secret: names are shown",
		},
		"number": {
			`{"Type": "AWS::SecretsManager::Secret", "Properties": {"GenerateSecretString": {"PasswordLength": "{{resolve:secretsmanager:db:SecretString:name}}"}}}`,
			"Value of property PasswordLength must be of type Integer",
		},
	} {
		stack := n.create(name, `{"Resources": {"R": `+of.resource+`}}`)
		if reasons := n.reasons(name); stack.StackStatus != types.StackStatusRollbackComplete || !strings.Contains(reasons, of.want) || strings.Contains(reasons, "hunter2") {
			t.Errorf("%s: %s\n%s", name, stack.StackStatus, reasons)
		}
	}
}

// TestRecordedD2Secure checks that ssm-secure is refused at the call where CloudFormation does not support it. Source
// of the text: aws/serverless-application-model issue 1528, lumigo-io/lumigo-cdk-constructs issue 62.
func TestRecordedD2Secure(t *testing.T) {
	n := newNatives(t)
	function := func(value string) string {
		return `{"Type": "AWS::Lambda::Function", "Properties": {"Role": "r", "Code": {"ZipFile": "x"}, "Environment": {"Variables": {"KEY": ` + value + `}}}}`
	}
	body := `{"Resources": {
		"A": ` + function(`"{{resolve:ssm-secure:/k}}"`) + `, "B": ` + function(`{"Fn::Sub": "a {{resolve:ssm-secure:/k:1}}"}`) + `,
		"C": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "v", "Tags": {"a": ["{{resolve:ssm-secure:/k}}"]}}}}}`
	n.create("live", `{"Resources": {"C": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "v"}}}}`)
	const variable = "AWS::Lambda::Function/Properties/Environment/Variables/KEY"
	want := "ValidationError: SSM Secure reference is not supported in: [" + variable + "," + variable + ",AWS::SSM::Parameter/Properties/Tags/a]"
	for call, send := range map[string]func() error{
		"CreateStack": func() error {
			_, err := n.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("s"), TemplateBody: &body})
			return err
		},
		"UpdateStack": func() error {
			_, err := n.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("live"), TemplateBody: &body})
			return err
		},
		"CreateChangeSet": func() error {
			_, err := n.client.CreateChangeSet(t.Context(), &sdk.CreateChangeSetInput{
				StackName: str("s"), ChangeSetName: str("c"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: &body,
			})
			return err
		},
	} {
		if err := send(); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got  %v\nwant %s", call, err, want)
		}
	}
	// A reference that only functions produce is found when the engine reaches the resource.
	stack := n.create("t", `{"Resources": {"C": {"Type": "AWS::SSM::Parameter",
		"Properties": {"Type": "String", "Value": {"Fn::Join": ["", ["{{resolve:ssm-", "secure:/k}}"]]}}}}}`)
	if reasons := n.reasons("t"); stack.StackStatus != types.StackStatusRollbackComplete ||
		!strings.Contains(reasons, "SSM Secure reference is not supported in: [AWS::SSM::Parameter/Properties/Value]") {
		t.Errorf("%s\n%s", stack.StackStatus, reasons)
	}
}
