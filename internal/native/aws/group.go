package aws

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
)

var groupTable = table{
	name:      "AWS::Logs::LogGroup",
	texts:     "KmsKeyId LogGroupClass LogGroupName",
	numbers:   "RetentionInDays",
	truths:    "BearerTokenAuthenticationEnabled DeletionProtectionEnabled",
	lists:     "FieldIndexPolicies Tags",
	documents: "DataProtectionPolicy ResourcePolicyDocument",
	replaces:  "LogGroupName", attributes: "Arn",
	named: "LogGroupName", longest: groupName, letters: groupLetters,
}

// groupName is how long the name of a log group may be. Source: CloudWatch Logs, CreateLogGroup.
const groupName = 512

// retentions are the days for which lines can be kept. Source: CloudWatch Logs, PutRetentionPolicy.
var retentions = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

// group is AWS::Logs::LogGroup: a record that the API of CloudWatch Logs shows. No line is kept in it.
type group struct{ Config }

// create implements [maker].
func (t group) create(ctx context.Context, c *call) (native.Result, error) {
	of, err := t.groupOf(c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.name("LogGroupName", groupName)
	if _, err := put(ctx, c, t.Catalog.Groups, catalog.Item[catalog.LogGroup]{Place: c.place, Name: name, Of: of}); err != nil {
		return c.failed(ctx, name, name, err, holding(t.Catalog.Groups, c.place, name))
	}
	return groupResult(c, name), nil
}

// update implements [maker].
func (t group) update(ctx context.Context, c *call) (native.Result, error) {
	of, err := t.groupOf(c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = change(ctx, c, t.Catalog.Groups, c.place, c.id(), func(g *catalog.LogGroup) {
		of.Made = g.Made
		*g = of
	})
	if err != nil {
		return native.Result{}, err
	}
	return groupResult(c, c.id()), nil
}

// remove implements [maker].
func (t group) remove(ctx context.Context, c *call) error {
	return drop(ctx, c, t.Catalog.Groups, c.place, c.id())
}

func groupResult(c *call, name string) native.Result {
	return result(name, "Arn", c.arn("logs", "log-group:"+name+":*"))
}

func (t group) groupOf(c *call) (catalog.LogGroup, error) {
	tags, err := c.tags()
	if err != nil {
		return catalog.LogGroup{}, err
	}
	days := c.number("RetentionInDays")
	if !c.at("RetentionInDays").IsNull() && !slices.Contains(retentions, days) {
		return catalog.LogGroup{}, reasonf("Property validation failure: [Value of property {/RetentionInDays} must be one of %v]", retentions)
	}
	return catalog.LogGroup{Retention: days, Class: c.text("LogGroupClass"), Made: t.Now().UTC(), Tags: tags}, nil
}
