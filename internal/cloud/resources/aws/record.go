package aws

import (
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
)

// records lists the resource types that Pintle only records: no client reads them, or no local service enforces them.
var records = []resources.RecordType{
	{Table: roleTable, Global: true, ID: named("RoleName", 64), Attributes: roleAttributes},
	{Table: policyTable, ID: named("", 128), Attributes: idAttribute},
	{Table: managedPolicyTable, Global: true, ID: managedPolicyARN, Attributes: managedPolicyAttributes},
	{Table: permissionTable, ID: named("", 0), Attributes: idAttribute},
	{Table: topicPolicyTable, ID: named("", 0), Attributes: idAttribute},
	{Table: repositoryTable, ID: repositoryName, Attributes: repositoryAttributes},
	{Table: keyTable, ID: keyID, Attributes: keyAttributes},
	{Table: queueTable, ID: queueURL, Attributes: queueAttributes, Earlier: earlierQueue},
	{Table: aliasTable, ID: func(c *resources.Call) string { return c.Text("AliasName") }},
	{Table: secretAttachmentTable, ID: ofSecret, Attributes: idAttribute},
	{Table: secretPolicyTable, ID: ofSecret, Attributes: idAttribute},
	{Table: rotationTable, ID: ofSecret, Attributes: idAttribute},
}

var permissionTable = resources.Table{
	Name:     "AWS::Lambda::Permission",
	Texts:    "Action EventSourceToken FunctionName FunctionUrlAuthType Principal PrincipalOrgID SourceAccount SourceArn",
	Truths:   "InvokedViaFunctionUrl",
	Required: "Action FunctionName Principal",
	Replaces: "Action EventSourceToken FunctionName FunctionUrlAuthType InvokedViaFunctionUrl Principal PrincipalOrgID " +
		"SourceAccount SourceArn",
	Attributes: "Id",
}

var topicPolicyTable = resources.Table{
	Name: "AWS::SNS::TopicPolicy", Identifier: "Id", Lists: "Topics", Documents: "PolicyDocument",
	Required: "PolicyDocument Topics", Attributes: "Id",
}

// named returns a func that returns the declared or a generated name as the ID.
func named(property string, limit int) func(*resources.Call) string {
	return func(c *resources.Call) string { return c.Name(property, limit) }
}

func idAttribute(_ *resources.Call, id string, _ registry.Item[registry.Record], _ time.Time) []string {
	return []string{"Id", id}
}
