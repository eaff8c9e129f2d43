package aws

import (
	"context"
	"errors"
	"regexp"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

var parameterTable = resources.Table{
	Name:       "AWS::SSM::Parameter",
	Identifier: "Name",
	Texts:      "AllowedPattern DataType Description Name Policies Tier Type Value",
	Objects:    "Tags",
	Required:   "Type Value", Replaces: "Name", Attributes: "Type Value",
	Unreadable: "AllowedPattern Description Policies Tags Tier",
	Named:      "Name", Longest: 2048, Letters: parameterLetters,
}

// Bounds of a value, in characters, by tiers. Source: Systems Manager, PutParameter.
const (
	standardValue = 4096
	advancedValue = 8192
)

// parameter is AWS::SSM::Parameter. The store of parameters does not say who has put one, so that is on record. What the CDK's
// bootstrap stack has is there from the start, and becomes that stack's.
type parameter struct{ Config }

// Create implements [resources.Maker].
func (t parameter) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name := c.Text("Name")
	if name == "" {
		name = "CFN-" + string(c.Logical) + "-" + native.Suffix(c.Request)
	}
	of, err := t.parameterOf(c, name)
	if err != nil {
		return native.Result{}, err
	}
	record, err := t.claim(ctx, c, name)
	if err != nil {
		return c.Failed(ctx, name, name, err, resources.Holding(t.Catalog.Records, c.Place, c.RecordName(name)))
	}
	_, err = t.Parameters.Put(ctx, of, name == ssm.Bootstrap)
	if errors.Is(err, store.ErrExists) && record.Version > 1 { // this request may have put it before
		var there store.Parameter
		if there, err = t.Parameters.Parameter(ctx, c.Place, name, 0); err == nil && !same(there, of) {
			err = store.ErrExists
		}
	}
	if errors.Is(err, store.ErrExists) {
		// What is on record is dropped now: a Delete would take away the parameter that is another's.
		return native.Result{}, errors.Join(c.Taken(name, ""), resources.Drop(ctx, c, t.Catalog.Records, c.Place, c.RecordName(name)))
	}
	if err != nil {
		return resources.Result(name), err
	}
	return parameterResult(c, name), nil
}

// claim puts on record that the resource has made the parameter. An older record whose parameter is gone, because a client has
// deleted it, is nobody's.
func (t parameter) claim(ctx context.Context, c *resources.Call, name string) (registry.Item[registry.Record], error) {
	record := registry.Item[registry.Record]{Place: c.Place, Name: c.RecordName(name), Of: registry.Record{Made: t.Now().UTC()}}
	made, err := resources.Put(ctx, c, t.Catalog.Records, record)
	if !errors.Is(err, registry.ErrExists) {
		return made, err
	}
	if _, missing := t.Parameters.Parameter(ctx, c.Place, name, 0); !errors.Is(missing, store.ErrNotFound) {
		return made, errors.Join(missing, err)
	}
	stale, missing := t.Catalog.Records.Get(ctx, c.Place, record.Name)
	if missing != nil {
		return made, missing
	}
	if t.Now().Sub(stale.Of.Made) < t.Patience {
		return made, err // it may be about to be put
	}
	stale.Holder, stale.Of = c.Holder(), record.Of
	return t.Catalog.Records.Put(ctx, stale)
}

// Update implements [resources.Maker].
func (t parameter) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := t.parameterOf(c, c.Physical())
	if err != nil {
		return native.Result{}, err
	}
	there, err := t.Parameters.Parameter(ctx, c.Place, c.Physical(), 0)
	if errors.Is(err, store.ErrNotFound) {
		return native.Result{}, c.Lost()
	}
	if err == nil && !same(there, of) {
		_, err = t.Parameters.Put(ctx, of, true)
	}
	if err != nil {
		return native.Result{}, err
	}
	return parameterResult(c, c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t parameter) Remove(ctx context.Context, c *resources.Call) error {
	mine, err := resources.Own(ctx, c, t.Catalog.Records, c.Place, c.RecordName(c.Physical()))
	if err != nil || !mine {
		return err
	}
	if err := t.Parameters.Delete(ctx, c.Place, c.Physical()); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return resources.Drop(ctx, c, t.Catalog.Records, c.Place, c.RecordName(c.Physical()))
}

// same reports whether a parameter is what is asked for.
func same(there, asked store.Parameter) bool {
	return there.Type == asked.Type && there.Value == asked.Value && there.Description == asked.Description && there.Pattern == asked.Pattern
}

// parameterResult has the value as it is declared, so one that is secret stays so.
func parameterResult(c *resources.Call, name string) native.Result {
	r := resources.Result(name)
	r.Attributes = value.Object(value.Member{Key: "Type", Value: c.At("Type")}, value.Member{Key: "Value", Value: c.At("Value")})
	return r
}

func (t parameter) parameterOf(c *resources.Call, name string) (store.Parameter, error) {
	p := store.Parameter{
		ParameterKey: store.ParameterKey{Account: c.Place.Account, Region: c.Place.Region, Name: name},
		Type:         store.ParameterType(c.Text("Type")), Value: c.Text("Value"), Description: c.Text("Description"),
		Pattern: c.Text("AllowedPattern"), Modified: t.Now().UTC(),
	}
	if p.Type != store.ParameterString && p.Type != store.ParameterList {
		return p, resources.Reason("Property validation failure: [Value of property {/Type} must be String or StringList]")
	}
	longest := standardValue
	if tier := c.Text("Tier"); tier == "Advanced" || tier == "Intelligent-Tiering" {
		longest = advancedValue
	}
	if length := utf8.RuneCountInString(p.Value); length == 0 || length > longest {
		return p, resources.Reasonf("Property validation failure: [Value of property {/Value} must have 1 to %d characters]", longest)
	}
	if p.Pattern != "" {
		pattern, err := regexp.Compile(p.Pattern)
		if err != nil {
			return p, resources.Reason("Value of property AllowedPattern must be a regular expression")
		}
		if !pattern.MatchString(p.Value) {
			return p, resources.Reason("Parameter value, cannot be validated against allowedPattern: " + p.Pattern)
		}
	}
	return p, nil
}
