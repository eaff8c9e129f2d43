package aws

import (
	"context"
	"errors"
	"slices"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var groupTable = resources.Table{
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

// groupName is the maximum length of a log group name. Source: CloudWatch Logs, CreateLogGroup.
const groupName = 512

// retentions are the valid retention periods in days. Source: CloudWatch Logs, PutRetentionPolicy.
var retentions = []int{
	1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
}

// group is AWS::Logs::LogGroup. A group that a function created by logging is taken over by the stack that declares
// it.
type group struct{ Config }

// Create implements [resources.Maker].
func (t group) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := t.groupOf(c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.Name("LogGroupName", groupName)
	_, err = resources.Put(ctx, c, t.Catalog.Groups, registry.Item[registry.LogGroup]{Scope: c.Place, Name: name, Of: of})
	if errors.Is(err, registry.ErrExists) {
		err = t.adopt(ctx, c, name, of)
	}
	if err != nil {
		return c.Failed(ctx, name, name, err, resources.Holding(t.Catalog.Groups, c.Place, name))
	}
	return groupResult(c, name), nil
}

// adopt takes over a group that no client created, or returns [registry.ErrExists].
func (t group) adopt(ctx context.Context, c *resources.Call, name string, of registry.LogGroup) error {
	_, err := t.Catalog.Groups.Change(ctx, c.Place, name, func(i *registry.Item[registry.LogGroup]) error {
		if !i.Of.Implicit || i.Owner != "" {
			return registry.ErrExists
		}
		of.Made = i.Of.Made
		i.Of, i.Owner = of, c.Holder()
		return nil
	})
	return err
}

// Update implements [resources.Maker].
func (t group) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := t.groupOf(c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = resources.Change(ctx, c, t.Catalog.Groups, c.Place, c.Physical(), func(g *registry.LogGroup) {
		of.Made = g.Made
		*g = of
	})
	if err != nil {
		return native.Result{}, err
	}
	return groupResult(c, c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t group) Remove(ctx context.Context, c *resources.Call) error {
	if mine, err := resources.Own(ctx, c, t.Catalog.Groups, c.Place, c.Physical()); err != nil || !mine {
		return err
	}
	if err := resources.Drop(ctx, c, t.Catalog.Groups, c.Place, c.Physical()); err != nil {
		return err
	}
	return t.Logs.DeleteGroup(c.Place, c.Physical())
}

func groupResult(c *resources.Call, name string) native.Result {
	return resources.Result(name, "Arn", c.ARN("logs", "log-group:"+name+":*"))
}

func (t group) groupOf(c *resources.Call) (registry.LogGroup, error) {
	tags, err := c.Tags()
	if err != nil {
		return registry.LogGroup{}, err
	}
	days := c.Number("RetentionInDays")
	if !c.At("RetentionInDays").IsNull() && !slices.Contains(retentions, days) {
		return registry.LogGroup{}, resources.Reasonf("Property validation failure: [Value of property {/RetentionInDays} must be one of %v]", retentions)
	}
	return registry.LogGroup{Retention: days, Class: c.Text("LogGroupClass"), Made: t.Now().UTC(), Tags: tags}, nil
}
