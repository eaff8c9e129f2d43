package cdk_test

import (
	"fmt"
	"slices"
	"testing"
)

// constructCase is a construct of testdata/constructs.
type constructCase struct {
	name string
	// base and changed are regular expressions for an output of the stack as KEY=VALUE. They are empty if it has no
	// output.
	base, changed string
	// failure is the reason of the failing change. If it is empty, the reason is that of the parameter in such a
	// change.
	failure string
}

var constructCases = []constructCase{
	{name: "Provider", base: "Out=Hello Ada", changed: "Out=Hello Blaise", failure: "Nobody cannot be greeted"},
	{name: "ProviderIsComplete", base: "Out=Hello Ada", changed: "Out=Hello Blaise", failure: "Nobody cannot be greeted"},
	{name: "CustomResourceProvider", base: "Out=Hello Ada", changed: "Out=Hello Blaise", failure: "Nobody cannot be greeted"},
	// The output is a parameter version. Rolling back the change creates another version.
	{name: "AwsCustomResource", base: "Out=1$", changed: "Out=[23]$", failure: "allowedPattern"},
	{name: "CfnJson"},
	{name: "CfnJsonStringify", base: `Out={"servers":\["ns-.*","ns-.*","ns-.*","ns-.*"\],"changed":false}`,
		changed: `Out={.*"changed":true}`},
	{name: "Trigger", failure: "the trigger fails"},
	{name: "CrossRegionReferences",
		base: "Role=arn:aws:iam::000000000000:role/", changed: "Second=arn:aws:iam::000000000000:role/"},
	{name: "EdgeFunction", base: "Out=arn:aws:lambda:us-east-1:000000000000:function:.*:1$",
		changed: "Out=arn:aws:lambda:us-east-1:.*:2$"},
	{name: "BucketDeployment", failure: "missing.zip"},
	{name: "BucketDeploymentInvalidation"},
	{name: "ProductStack"},
	{name: "AutoDeleteObjects"},
	{name: "AutoDeleteObjectsMixin"},
	{name: "BucketNotifications"},
	{name: "BucketNotificationsImported"},
	{name: "S3ObjectCopy"},
	{name: "AutoDeleteImages"},
	{name: "LogRetention"},
	{name: "LogGroupTarget"},
	{name: "OpenSearchLogging"},
	{name: "OpenSearchAccessPolicy"},
	{name: "ElasticsearchLogging"},
	{name: "ElasticsearchAccessPolicy"},
	{name: "RestrictDefaultSecurityGroup"},
	{name: "VpcEndpointServiceDomainName"},
	{name: "GlobalAcceleratorPeer"},
	{name: "DeleteExistingRecordSet"},
	{name: "CrossAccountZoneDelegationRecord", failure: "Expected one hosted zone to match the given name but found 0"},
	{name: "DnsValidatedCertificate", base: "Out=arn:aws:acm:eu-west-1:000000000000:certificate/",
		changed: "Out=arn:aws:acm:"},
	{name: "OpenIdConnectProvider", base: "Out=arn:aws:iam::000000000000:oidc-provider/issuer.example.com",
		changed: "Out=.*/issuer.example.com", failure: "Member must have length equal to 40"},
	{name: eksProvider, base: "Out=.*oidc-provider/localhost/id/one", changed: "Out=.*oidc-provider/localhost/id/two"},
	{name: "TableReplicas"},
	{name: "UserPoolClientSecret"},
	{name: "UserPoolDomain", base: "Out=.*cloudfront.net", changed: "Out=.*cloudfront.net"},
	{name: "CustomLambdaDeploymentConfig"},
	{name: "CanaryCleanup"},
	{name: "GluePartitionIndex"},
	{name: "EmrContainersStartJobRun"},
	{name: "DropSpam"},
	{name: "AwsApiTarget"},
	{name: "StepFunctionsTasks"},
	{name: "ContainerInstanceDrain"},
}

// eksProvider is the construct whose handler needs an issuer.
const eksProvider = "EksOpenIdConnectProvider"

// TestConstructs takes the aws-cdk-lib constructs with custom resources through the life of a stack, all of them with
// one command per step. With -update it writes the duration of each operation to docs/cdk.md. Durations are not
// checked.
func TestConstructs(t *testing.T) {
	l := life{
		app: newApp(t, "constructs"), cases: constructCases, ids: map[string]string{}, seconds: map[string][]float64{},
	}
	if authority, ok := issuer(t); ok {
		l.cloud.kill()
		l.cloud.env = []string{"NODE_EXTRA_CA_CERTS=" + authority}
		l.cloud.start()
	} else {
		l.cases = slices.DeleteFunc(slices.Clone(l.cases), func(c constructCase) bool { return c.name == eksProvider })
	}
	l.synthesizes("base", "changed", "failing")
	l.creates()
	l.staysTheSame()
	l.changes()
	l.hidesClientSecret("UserPoolClientSecret")
	l.rollsBack()
	l.ends()
	var rows []string
	for _, c := range l.cases {
		row := "| " + c.name
		for _, seconds := range l.seconds[c.name] {
			row += fmt.Sprintf(" | %.2f", seconds)
		}
		rows = append(rows, row+" |")
	}
	checkTable(t, rows)
}
