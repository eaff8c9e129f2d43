package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var eventConfigTable = resources.Table{
	Name:       "AWS::Lambda::EventInvokeConfig",
	Identifier: "FunctionName Qualifier",
	Texts:      "FunctionName Qualifier",
	Numbers:    "MaximumEventAgeInSeconds:60-21600 MaximumRetryAttempts:0-2",
	Objects:    "DestinationConfig",
	Required:   "FunctionName Qualifier", Replaces: "FunctionName Qualifier",
	Named: "FunctionName", Longest: 140, Letters: functionForm,
}

// eventConfig is AWS::Lambda::EventInvokeConfig. Its physical ID is the function name, a vertical bar and the
// qualifier.
type eventConfig struct{ Config }

// Create implements [resources.Maker].
func (t eventConfig) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	id := functionNamed(c.Text("FunctionName")) + "|" + c.Text("Qualifier")
	return t.put(ctx, c, id)
}

// Update implements [resources.Maker]. An earlier version only recorded the type, with other IDs, so the
// configuration may not exist yet.
func (t eventConfig) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	return t.put(ctx, c, c.Physical())
}

func (t eventConfig) put(ctx context.Context, c *resources.Call, id string) (native.Result, error) {
	r := eventConfigOf(c)
	of := registry.EventConfig{
		Age: c.Number("MaximumEventAgeInSeconds"), OnSuccess: c.Text("DestinationConfig", "OnSuccess", "Destination"),
		OnFailure: c.Text("DestinationConfig", "OnFailure", "Destination"),
	}
	if !c.At("MaximumRetryAttempts").IsNull() {
		retries := c.Number("MaximumRetryAttempts")
		of.Retries = &retries
	}
	holder := c.Holder()
	there, err := t.Functions.EventConfig(ctx, r)
	switch {
	case err == nil && c.Made(there.Owner):
		holder = there.Owner
	case err != nil && !errors.Is(err, registry.ErrNotFound):
		return native.Result{}, err
	}
	if _, err = t.Functions.PutEventConfig(ctx, r, holder, of); errors.Is(err, registry.ErrExists) {
		err = c.Taken(id, there.Owner)
	}
	if err != nil {
		return native.Result{}, err
	}
	return resources.Result(id), nil
}

// Remove implements [resources.Maker].
func (t eventConfig) Remove(ctx context.Context, c *resources.Call) error {
	r := eventConfigOf(c)
	there, err := t.Functions.EventConfig(ctx, r)
	if err != nil || !c.Made(there.Owner) {
		return resources.IgnoreMissing(err)
	}
	return resources.IgnoreMissing(t.Functions.RemoveEventConfig(ctx, r))
}

// eventConfigOf returns the function of the call. The ID from an earlier version that only recorded the type does not
// contain it.
func eventConfigOf(c *resources.Call) lambda.Reference {
	name, qualifier, ok := strings.Cut(c.Physical(), "|")
	if !ok {
		name, qualifier = functionNamed(c.Text("FunctionName")), c.Text("Qualifier")
	}
	return lambda.Reference{Scope: c.Place, Name: name, Qualifier: qualifier}
}

// Existing implements [resources.Importer].
func (t eventConfig) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	if !strings.Contains(c.Physical(), "|") {
		return "", "", registry.ErrNotFound
	}
	there, err := t.Functions.EventConfig(ctx, eventConfigOf(c))
	if errors.Is(err, registry.ErrNotFound) {
		err = resources.Reason(err.Error())
	}
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t eventConfig) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	r := eventConfigOf(c)
	_, err := resources.Adopt(ctx, c, t.Catalog.EventConfigs, c.Place, r.Name+":"+r.Qualifier)
	return resources.Result(c.Physical()), err
}
