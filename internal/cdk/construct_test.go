package cdk_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

var update = flag.Bool("update", false, "write the table of docs/cdk.md again")

// constructCase is a construct of testdata/constructs.
type constructCase struct {
	name string
	// failure is what cdk deploy prints with -c bad=true; empty if there is no such change.
	failure string
}

var constructCases = []constructCase{
	{name: "RestrictDefaultSecurityGroup"},
	{name: "VpcEndpointServiceDomainName"},
	{name: "OpenIdConnectProvider", failure: "Member must have length equal to 40"},
	{name: "DeleteExistingRecordSet"},
	{name: "CrossAccountZoneDelegation", failure: "Expected one hosted zone to match the given name but found 0"},
	{name: "DnsValidatedCertificate"},
	{name: "AutoDeleteImages"},
	{name: "TableReplicas"},
	{name: "UserPoolClientSecret"},
	{name: "UserPoolDomain"},
	{name: "OpenSearchAccessPolicy"},
	{name: "CustomLambdaDeploymentConfig"},
	{name: "CanaryCleanup"},
}

// The table of docs/cdk.md is between these lines.
const (
	tableBegins = "<!-- constructs: written by go test ./internal/cdk -run TestConstructs -update -->\n"
	tableEnds   = "<!-- end of constructs -->\n"
)

// TestConstructs deploys constructs whose custom resources call services about recorded resources. With -update it writes how long each
// command took into docs/cdk.md; nothing is asserted about that.
func TestConstructs(t *testing.T) {
	var rows []string
	a := newApp(t, "constructs")
	for _, c := range constructCases {
		t.Run(c.name, func(t *testing.T) {
			a.t, a.cloud.t = t, t
			context := func(more ...string) []string { return append([]string{"construct=" + c.name}, more...) }
			row := "| " + c.name
			timed := func(do func()) {
				began := time.Now()
				do()
				row += fmt.Sprintf(" | %.1f", time.Since(began).Seconds())
			}
			timed(func() { a.deploys(context()) })
			timed(func() {
				if out := a.does(context(), "deploy", "--all", "--require-approval", "never"); !strings.Contains(out, "no changes") {
					t.Errorf("cdk deploy again:\n%s", out)
				}
			})
			timed(func() { a.deploys(context("changed=true")) })
			a.cloud.stands(c.name, "UPDATE_COMPLETE")
			if c.name == "UserPoolClientSecret" {
				a.hidesClientSecret(c.name)
			}
			if c.failure == "" {
				row += " |"
			} else {
				timed(func() { a.fails(c.failure, context("bad=true")) })
				a.cloud.stands(c.name, "UPDATE_ROLLBACK_COMPLETE")
			}
			timed(func() { a.does(context(), "destroy", "--all", "--force") })
			a.cloud.gone(c.name)
			rows = append(rows, row+" |\n")
		})
	}
	a.t, a.cloud.t = t, t
	table := "| construct | deploy | no-op | change | failure | destroy |\n|---|---|---|---|---|---|\n" + strings.Join(rows, "")
	t.Logf("seconds:\n%s", table)
	if !*update || t.Failed() {
		return
	}
	page := filepath.Join("..", "..", "docs", "cdk.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegins)
	_, after, ended := strings.Cut(rest, tableEnds)
	if !found || !ended {
		t.Fatal("docs/cdk.md has no place for the table")
	}
	if err := os.WriteFile(page, []byte(before+tableBegins+"\n"+table+"\n"+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hidesClientSecret checks that the secret of a stack's user pool client is neither in the server's log nor in the stack's events.
func (a *app) hidesClientSecret(stack string) {
	a.t.Helper()
	out, err := a.cloud.cloudFormation().DescribeStackResources(a.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		a.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, r := range out.StackResources {
		ids[aws.ToString(r.ResourceType)] = aws.ToString(r.PhysicalResourceId)
	}
	described, err := a.cloud.call("cognito-idp", "describeUserPoolClient", map[string]any{
		"UserPoolId": ids["AWS::Cognito::UserPool"], "ClientId": ids["AWS::Cognito::UserPoolClient"],
	})
	secret := described["UserPoolClient.ClientSecret"]
	if err != nil || secret == "" {
		a.t.Fatalf("no client secret: %v", err)
	}
	if strings.Contains(a.cloud.output(), secret) {
		a.t.Error("the client secret is in the server's log")
	}
	events, err := a.cloud.cloudFormation().DescribeStackEvents(a.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range events.StackEvents {
		if strings.Contains(aws.ToString(e.ResourceProperties)+aws.ToString(e.ResourceStatusReason), secret) {
			a.t.Errorf("the client secret is in an event of %s", aws.ToString(e.LogicalResourceId))
		}
	}
}
