package aws

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var ruleTable = resources.Table{
	Name:       "AWS::Events::Rule",
	Identifier: "Arn",
	Texts:      "Description EventBusName Name RoleArn ScheduleExpression State",
	Lists:      "Tags Targets",
	Documents:  "EventPattern",
	Replaces:   "Name", Attributes: "Arn",
	Named: "Name",
}

// maxRuleName is the maximum length of a rule name. Source: EventBridge, PutRule.
const maxRuleName = 64

// rule is AWS::Events::Rule, on the default event bus.
type rule struct{ Config }

// Create implements [resources.Maker].
func (t rule) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name := c.Name("Name", maxRuleName)
	err := t.put(ctx, c, name, c.Holder())
	if err != nil {
		return c.Failed(ctx, name, name, err, resources.Holding(t.Catalog.Rules, registry.Global, registry.RuleName(c.Place, name)))
	}
	return ruleResult(c, name), nil
}

// Update implements [resources.Maker].
func (t rule) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	there, err := t.Catalog.Rules.Get(ctx, registry.Global, registry.RuleName(c.Place, c.Physical()))
	if errors.Is(err, registry.ErrNotFound) {
		return native.Result{}, c.Lost()
	}
	if err == nil {
		err = t.put(ctx, c, c.Physical(), there.Owner)
	}
	if err != nil {
		return native.Result{}, err
	}
	return ruleResult(c, c.Physical()), nil
}

// Remove implements [resources.Maker]. It removes the targets first, as the service requires. After an interruption,
// the next Delete finds the rule again.
func (t rule) Remove(ctx context.Context, c *resources.Call) error {
	mine, err := resources.Own(ctx, c, t.Catalog.Rules, registry.Global, registry.RuleName(c.Place, c.Physical()))
	if err != nil || !mine {
		return err
	}
	targets, err := t.Rules.Targets(ctx, c.Place, c.Physical())
	if err == nil {
		err = t.Rules.RemoveTargets(ctx, c.Place, c.Physical(), slices.Collect(maps.Keys(targets)))
	}
	if err == nil {
		err = t.Rules.Delete(ctx, c.Place, c.Physical())
	}
	return resources.IgnoreMissing(err)
}

// put creates or updates the rule of a holder and its targets.
func (t rule) put(ctx context.Context, c *resources.Call, name, holder string) error {
	if err := t.Rules.CheckBus(c.Place, c.Text("EventBusName")); err != nil {
		return err
	}
	tags, err := c.Tags()
	if err != nil {
		return err
	}
	wanted, err := targetsOf(c)
	if err != nil {
		return err
	}
	of := registry.Rule{
		Place: c.Place, Name: name, Schedule: c.Text("ScheduleExpression"), Description: c.Text("Description"), Role: c.Text("RoleArn"),
		Disabled: c.Text("State") == "DISABLED", Tags: tags,
	}
	if pattern := c.At("EventPattern"); pattern.IsScalar() {
		of.Pattern = pattern.Text()
	} else if !pattern.IsNull() {
		of.Pattern = string(pattern.JSON())
	}
	if _, err := t.Rules.Put(ctx, holder, of); err != nil {
		return err
	}
	there, err := t.Rules.Targets(ctx, c.Place, name)
	if err != nil {
		return err
	}
	maps.DeleteFunc(there, func(id string, _ registry.Target) bool {
		_, kept := wanted[id]
		return kept
	})
	if err := t.Rules.RemoveTargets(ctx, c.Place, name, slices.Collect(maps.Keys(there))); err != nil {
		return err
	}
	return t.Rules.PutTargets(ctx, c.Place, name, wanted)
}

// targetsOf reads the declared targets of a rule.
func targetsOf(c *resources.Call) (map[string]registry.Target, error) {
	targets := map[string]registry.Target{}
	for _, declared := range c.At("Targets").Items() {
		var in struct {
			ID, Arn, RoleArn, InputPath string

			Input            *string
			InputTransformer *struct {
				InputPathsMap map[string]string
				InputTemplate string
			}
		}
		var rest map[string]json.RawMessage
		text := declared.JSON()
		if json.Unmarshal(text, &in) != nil || json.Unmarshal(text, &rest) != nil || in.ID == "" || in.Arn == "" {
			return nil, c.Bad("Targets", "be a list of objects with the members Id and Arn, and texts for Input, InputPath and the members of InputTransformer")
		}
		if _, twice := targets[in.ID]; twice {
			return nil, c.Bad("Targets", "have a different Id for each target")
		}
		of := registry.Target{ARN: in.Arn, Role: in.RoleArn, Input: in.Input, InputPath: in.InputPath}
		if in.InputTransformer != nil {
			of.Transformer = &registry.Transformer{Paths: in.InputTransformer.InputPathsMap, Template: in.InputTransformer.InputTemplate}
		}
		for _, known := range []string{"Id", "Arn", "RoleArn", "InputPath", "Input", "InputTransformer"} {
			delete(rest, known)
		}
		if len(rest) > 0 {
			var err error
			if of.Rest, err = json.Marshal(rest); err != nil {
				return nil, err
			}
		}
		targets[in.ID] = of
	}
	return targets, nil
}

func ruleResult(c *resources.Call, name string) native.Result {
	return resources.Result(name, "Arn", c.ARN("events", "rule/"+name))
}
