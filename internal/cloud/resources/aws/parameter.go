package aws

import (
	"context"
	"errors"
	"maps"
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

// Maximum lengths of a value in characters, by tier. Source: Systems Manager, PutParameter.
const (
	standardValue = 4096
	advancedValue = 8192
)

// parameter is AWS::SSM::Parameter. The parameter store does not record which resource created a parameter, so the
// catalog does. The parameter of the CDK's bootstrap stack, [ssm.Bootstrap], exists from the start. That stack takes
// it over.
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
	if errors.Is(err, store.ErrExists) && record.Version > 1 { // an earlier attempt of this request may have put it
		var there store.Parameter
		if there, err = t.Parameters.Parameter(ctx, c.Place, name, 0); err == nil && !same(there, of) {
			err = store.ErrExists
		}
	}
	if errors.Is(err, store.ErrExists) {
		// Drop the record now. With it, a Delete would remove the parameter, which this resource does not own.
		return native.Result{}, errors.Join(c.Taken(name, ""), resources.Drop(ctx, c, t.Catalog.Records, c.Place, c.RecordName(name)))
	}
	if err == nil {
		err = t.tag(ctx, c, name)
	}
	if err != nil {
		return resources.Result(name), err
	}
	return parameterResult(c, name), nil
}

// tag replaces the tags from earlier requests with the wanted ones. The record has the tags that earlier requests set
// or may have set. Tags from clients stay.
func (t parameter) tag(ctx context.Context, c *resources.Call, name string) error {
	wanted, err := c.Tags()
	if err != nil {
		return err
	}
	given := map[string]string{}
	note := func(tags func() map[string]string) error {
		_, err := t.Catalog.Records.Change(ctx, c.Place, c.RecordName(name), func(record *registry.Item[registry.Record]) error {
			maps.Copy(given, record.Of.Tags)
			record.Of.Tags = tags()
			return nil
		})
		return resources.IgnoreMissing(err)
	}
	err = note(func() map[string]string { // record them first, in case of a crash
		maps.Copy(given, wanted)
		return maps.Clone(given)
	})
	if err != nil || len(given) == 0 {
		return err
	}
	if err := t.replaceTags(ctx, c, name, given, wanted); err != nil {
		return err
	}
	return note(func() map[string]string { return wanted })
}

// replaceTags removes tags of a parameter and adds others.
func (t parameter) replaceTags(ctx context.Context, c *resources.Call, name string, old, wanted map[string]string) error {
	change := func(there *registry.Item[registry.Tags]) error {
		tags := registry.Tags{}
		maps.Copy(tags, there.Of)
		for key := range old {
			delete(tags, key)
		}
		maps.Copy(tags, wanted)
		there.Of = tags
		return nil
	}
	key := registry.ParameterTags(name)
	for {
		_, err := t.Catalog.Tags.Change(ctx, c.Place, key, change)
		if !errors.Is(err, registry.ErrNotFound) {
			return err
		}
		made := registry.Item[registry.Tags]{Scope: c.Place, Name: key}
		if err := change(&made); err != nil {
			return err
		}
		if _, err = t.Catalog.Tags.Put(ctx, made); !errors.Is(err, registry.ErrExists) {
			return err
		}
	}
}

// claim records that the resource created the parameter. If a client deleted the parameter of an older record, that
// record has no owner. claim takes it over once the record is older than a request may take.
func (t parameter) claim(ctx context.Context, c *resources.Call, name string) (registry.Item[registry.Record], error) {
	record := registry.Item[registry.Record]{Scope: c.Place, Name: c.RecordName(name), Of: registry.Record{Made: t.Now().UTC()}}
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
	stale.Owner, stale.Of = c.Holder(), record.Of
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
	if err == nil {
		err = t.tag(ctx, c, c.Physical())
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
	if err := t.Catalog.Tags.Delete(ctx, c.Place, registry.ParameterTags(c.Physical()), 0); resources.IgnoreMissing(err) != nil {
		return err
	}
	return resources.Drop(ctx, c, t.Catalog.Records, c.Place, c.RecordName(c.Physical()))
}

// same reports whether a parameter has the requested properties.
func same(there, asked store.Parameter) bool {
	return there.Type == asked.Type && there.Value == asked.Value && there.Description == asked.Description && there.Pattern == asked.Pattern
}

// parameterResult returns the value as declared, so that a secret value stays secret.
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
