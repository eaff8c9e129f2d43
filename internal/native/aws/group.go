package aws

import (
	"context"
	"errors"
	"slices"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/native/cloud"
)

var groupTable = cloud.Table{
	Name:       "AWS::Logs::LogGroup",
	Identifier: "LogGroupName",
	Texts:      "KmsKeyId LogGroupClass LogGroupName",
	Numbers:    "RetentionInDays",
	Truths:     "BearerTokenAuthenticationEnabled DeletionProtectionEnabled",
	Lists:      "FieldIndexPolicies Tags",
	Documents:  "DataProtectionPolicy ResourcePolicyDocument",
	Replaces:   "LogGroupName", Attributes: "Arn",
	Named: "LogGroupName", Longest: groupName, Letters: groupLetters,
}

// groupName is how long the name of a log group may be. Source: CloudWatch Logs, CreateLogGroup.
const groupName = 512

// retentions are the days for which lines can be kept. Source: CloudWatch Logs, PutRetentionPolicy.
var retentions = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

// group is AWS::Logs::LogGroup. One that is there because a function logged to it becomes that of the stack that declares it.
type group struct{ Config }

// Create implements [cloud.Maker].
func (t group) Create(ctx context.Context, c *cloud.Call) (native.Result, error) {
	of, err := t.groupOf(c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.Name("LogGroupName", groupName)
	_, err = cloud.Put(ctx, c, t.Catalog.Groups, catalog.Item[catalog.LogGroup]{Place: c.Place, Name: name, Of: of})
	if errors.Is(err, catalog.ErrExists) {
		err = t.adopt(ctx, c, name, of)
	}
	if err != nil {
		return c.Failed(ctx, name, name, err, cloud.Holding(t.Catalog.Groups, c.Place, name))
	}
	return groupResult(c, name), nil
}

// adopt gives the call's resource a group that no client has created, or returns [catalog.ErrExists].
func (t group) adopt(ctx context.Context, c *cloud.Call, name string, of catalog.LogGroup) error {
	_, err := t.Catalog.Groups.Change(ctx, c.Place, name, func(i *catalog.Item[catalog.LogGroup]) error {
		if !i.Of.Implicit || i.Holder != "" {
			return catalog.ErrExists
		}
		of.Made = i.Of.Made
		i.Of, i.Holder = of, c.Holder()
		return nil
	})
	return err
}

// Update implements [cloud.Maker].
func (t group) Update(ctx context.Context, c *cloud.Call) (native.Result, error) {
	of, err := t.groupOf(c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = cloud.Change(ctx, c, t.Catalog.Groups, c.Place, c.Physical(), func(g *catalog.LogGroup) {
		of.Made = g.Made
		*g = of
	})
	if err != nil {
		return native.Result{}, err
	}
	return groupResult(c, c.Physical()), nil
}

// Remove implements [cloud.Maker].
func (t group) Remove(ctx context.Context, c *cloud.Call) error {
	if mine, err := cloud.Own(ctx, c, t.Catalog.Groups, c.Place, c.Physical()); err != nil || !mine {
		return err
	}
	if err := cloud.Drop(ctx, c, t.Catalog.Groups, c.Place, c.Physical()); err != nil {
		return err
	}
	return t.Logs.DeleteGroup(c.Place, c.Physical())
}

func groupResult(c *cloud.Call, name string) native.Result {
	return cloud.Result(name, "Arn", c.ARN("logs", "log-group:"+name+":*"))
}

func (t group) groupOf(c *cloud.Call) (catalog.LogGroup, error) {
	tags, err := c.Tags()
	if err != nil {
		return catalog.LogGroup{}, err
	}
	days := c.Number("RetentionInDays")
	if !c.At("RetentionInDays").IsNull() && !slices.Contains(retentions, days) {
		return catalog.LogGroup{}, cloud.Reasonf("Property validation failure: [Value of property {/RetentionInDays} must be one of %v]", retentions)
	}
	return catalog.LogGroup{Retention: days, Class: c.Text("LogGroupClass"), Made: t.Now().UTC(), Tags: tags}, nil
}
