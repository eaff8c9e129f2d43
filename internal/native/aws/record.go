package aws

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
)

// recordType is a type of which resources are only recorded: nothing asks for them, or nothing heeds them.
type recordType struct {
	table
	// global says that names are taken in all regions of an account.
	global bool
	// id returns the physical id of what a Create makes.
	id func(c *call) string
	// attributes returns pairs of a name and a text for what is there; nil returns none.
	attributes func(c *call, id string, made catalog.Item[catalog.Record], changed time.Time) []string
}

// records are those types.
var records = []recordType{
	{table: roleTable, global: true, id: named("RoleName", 64), attributes: roleAttributes},
	{table: policyTable, id: named("", 128), attributes: idAttribute},
	{table: managedPolicyTable, global: true, id: managedPolicyARN, attributes: managedPolicyAttributes},
	{table: permissionTable, id: named("", 0), attributes: idAttribute},
	{table: topicPolicyTable, id: named("", 0), attributes: idAttribute},
	{table: repositoryTable, id: repositoryName, attributes: repositoryAttributes},
	{table: keyTable, id: keyID, attributes: keyAttributes},
	{table: aliasTable, id: func(c *call) string { return c.text("AliasName") }},
}

var permissionTable = table{
	name:     "AWS::Lambda::Permission",
	texts:    "Action EventSourceToken FunctionName FunctionUrlAuthType Principal PrincipalOrgID SourceAccount SourceArn",
	truths:   "InvokedViaFunctionUrl",
	required: "Action FunctionName Principal",
	replaces: "Action EventSourceToken FunctionName FunctionUrlAuthType InvokedViaFunctionUrl Principal PrincipalOrgID " +
		"SourceAccount SourceArn",
	attributes: "Id",
}

var topicPolicyTable = table{
	name: "AWS::SNS::TopicPolicy", lists: "Topics", documents: "PolicyDocument",
	required: "PolicyDocument Topics", attributes: "Id",
}

// named returns a maker of ids that are names, declared by a property or made up.
func named(property string, limit int) func(*call) string {
	return func(c *call) string { return c.name(property, limit) }
}

func idAttribute(_ *call, id string, _ catalog.Item[catalog.Record], _ time.Time) []string {
	return []string{"Id", id}
}

// recorder makes records.
type recorder struct {
	Config
	recordType
}

// create implements [maker].
func (t recorder) create(ctx context.Context, c *call) (native.Result, error) {
	id := t.id(c)
	item := catalog.Item[catalog.Record]{Place: t.place(c), Name: c.recordName(id), Of: t.recordOf(c)}
	made, err := put(ctx, c, t.Catalog.Records, item)
	if err != nil {
		return c.failed(ctx, id, id, err, holding(t.Catalog.Records, item.Place, item.Name))
	}
	return t.result(c, id, made, made.Of.Made), nil
}

// update implements [maker].
func (t recorder) update(ctx context.Context, c *call) (native.Result, error) {
	fresh := t.recordOf(c)
	made, err := change(ctx, c, t.Catalog.Records, t.place(c), c.recordName(c.id()), func(r *catalog.Record) {
		fresh.Made = r.Made
		*r = fresh
	})
	if err != nil {
		return native.Result{}, err
	}
	return t.result(c, c.id(), made, t.Now().UTC()), nil
}

// remove implements [maker].
func (t recorder) remove(ctx context.Context, c *call) error {
	return drop(ctx, c, t.Catalog.Records, t.place(c), c.recordName(c.id()))
}

// recordName is the name of the record of what is called id.
func (c *call) recordName(id string) string { return c.kind + "/" + id }

func (t recorder) place(c *call) catalog.Place {
	if t.global {
		return catalog.Place{Account: c.place.Account, Region: catalog.Everywhere.Region}
	}
	return c.place
}

func (t recorder) recordOf(c *call) catalog.Record {
	return catalog.Record{Properties: c.declared.JSON(), Made: t.Now().UTC()}
}

func (t recorder) result(c *call, id string, made catalog.Item[catalog.Record], changed time.Time) native.Result {
	if t.recordType.attributes == nil {
		return result(id)
	}
	return result(id, t.recordType.attributes(c, id, made, changed)...)
}
