package aws

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Existing implements [resources.Importer].
func (t function) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	there, err := t.Catalog.Functions.Get(ctx, c.Place, c.Physical())
	if errors.Is(err, registry.ErrNotFound) || err == nil && (there.Of.Contract != registry.ContractLambda || strings.Contains(there.Name, ":")) {
		err = resources.Reason("Function not found: " + c.ARN("lambda", "function:"+c.Physical()))
	}
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer]. It also adopts the versions that have no resource.
func (t function) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	there, err := t.Catalog.Functions.Get(ctx, c.Place, c.Physical())
	if err != nil {
		return native.Result{}, err
	}
	for n := 1; n <= there.Of.Last; n++ {
		_, err := resources.Adopt(ctx, c, t.Catalog.Functions, c.Place, there.Name+":"+strconv.Itoa(n))
		if err != nil && !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrExists) {
			return native.Result{}, err
		}
	}
	if _, err := resources.Adopt(ctx, c, t.Catalog.Functions, c.Place, there.Name); err != nil {
		return native.Result{}, err
	}
	return functionResult(c, there.Name), nil
}

// Existing implements [resources.Importer].
func (t version) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	name := versionNamed(c)
	if name == c.Physical() || !strings.Contains(name, ":") {
		return "", "", registry.ErrNotFound
	}
	there, err := t.Catalog.Functions.Get(ctx, c.Place, name)
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t version) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := resources.Adopt(ctx, c, t.Catalog.Functions, c.Place, versionNamed(c))
	return versionResult(c.Physical()), err
}

// Existing implements [resources.Importer].
func (t layer) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	name := layerNamed(c)
	if !strings.Contains(name, ":") {
		return "", "", registry.ErrNotFound
	}
	there, err := t.Catalog.Layers.Get(ctx, c.Place, name)
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t layer) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := resources.Adopt(ctx, c, t.Catalog.Layers, c.Place, layerNamed(c))
	return resources.Result(c.Physical(), "LayerVersionArn", c.Physical()), err
}

// layerNamed returns the name of a layer version, NAME:NUMBER.
func layerNamed(c *resources.Call) string {
	return strings.TrimPrefix(c.Physical(), c.ARN("lambda", "layer:"))
}

// Existing implements [resources.Importer].
func (t topic) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	if !strings.HasPrefix(c.Physical(), c.ARN("sns", "")) {
		return "", "", resources.Reason("Topic does not exist")
	}
	there, err := t.Catalog.Topics.Get(ctx, c.Place, topicNamed(c))
	if errors.Is(err, registry.ErrNotFound) {
		err = resources.Reason("Topic does not exist")
	}
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t topic) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := resources.Adopt(ctx, c, t.Catalog.Topics, c.Place, topicNamed(c))
	return topicResult(c.Physical()), err
}

// Existing implements [resources.Importer].
func (t subscription) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	place, name := subscriptionNamed(c)
	if place.Account != c.Place.Account {
		return "", "", registry.ErrNotFound
	}
	there, err := t.Catalog.Subscriptions.Get(ctx, place, name)
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t subscription) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	place, name := subscriptionNamed(c)
	_, err := resources.Adopt(ctx, c, t.Catalog.Subscriptions, place, name)
	return resources.Result(c.Physical(), "Arn", c.Physical()), err
}

// Existing implements [resources.Importer]. A rule is identified by its ARN, and its physical ID is its name.
func (t rule) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	name := strings.TrimPrefix(c.Physical(), c.ARN("events", "rule/"))
	there, err := t.Catalog.Rules.Get(ctx, registry.Global, registry.RuleName(c.Place, name))
	return name, there.Owner, err
}

// Adopt implements [resources.Importer].
func (t rule) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := resources.Adopt(ctx, c, t.Catalog.Rules, registry.Global, registry.RuleName(c.Place, c.Physical()))
	return ruleResult(c, c.Physical()), err
}

// Existing implements [resources.Importer].
func (t machine) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	if !strings.HasPrefix(c.Physical(), machineARN(c, "")) {
		return "", "", registry.ErrNotFound
	}
	there, err := t.Catalog.Machines.Get(ctx, c.Place, machineNamed(c))
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t machine) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := t.Catalog.Machines.Change(ctx, c.Place, machineNamed(c), func(there *registry.Item[registry.Machine]) error {
		if !c.MayAdopt(there.Owner) {
			return registry.ErrExists
		}
		stack, _, _ := strings.Cut(c.Heir(), "|")
		there.Owner, there.Of.Stack = c.Heir(), wire.StackID(stack)
		return nil
	})
	return machineResult(c, machineNamed(c)), err
}

// Existing implements [resources.Importer].
func (t group) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	there, err := t.Catalog.Groups.Get(ctx, c.Place, c.Physical())
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t group) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := t.Catalog.Groups.Change(ctx, c.Place, c.Physical(), func(there *registry.Item[registry.LogGroup]) error {
		if !c.MayAdopt(there.Owner) {
			return registry.ErrExists
		}
		there.Owner, there.Of.Implicit = c.Heir(), false
		return nil
	})
	return groupResult(c, c.Physical()), err
}

// Existing implements [resources.Importer].
func (t bucket) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	there, err := t.Catalog.Buckets.Get(ctx, registry.Global, c.Physical())
	if errors.Is(err, registry.ErrNotFound) || err == nil && there.Of.Owner.Account != c.Place.Account {
		err = resources.Reason("Bucket not found")
	} else if err == nil && there.Of.Owner.Region != c.Place.Region {
		err = resources.Reasonf("Bucket %s is in the region %s: import it into a stack of that region", there.Name, there.Of.Owner.Region)
	}
	return c.Physical(), there.Owner, err
}

// Adopt implements [resources.Importer].
func (t bucket) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	_, err := resources.Adopt(ctx, c, t.Catalog.Buckets, registry.Global, c.Physical())
	return bucketResult(c, c.Physical()), err
}

// Existing implements [resources.Importer].
func (t bucketPolicy) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	there, err := t.Catalog.Buckets.Get(ctx, registry.Global, c.Physical())
	if err == nil && (there.Of.Settings[objects.SettingPolicy] == "" || there.Of.Owner.Account != c.Place.Account) {
		err = registry.ErrNotFound
	}
	return c.Physical(), there.Of.Settings[policyHolder], err
}

// Adopt implements [resources.Importer].
func (t bucketPolicy) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	err := t.Objects.Change(ctx, c.Physical(), func(b *registry.Bucket) error {
		switch {
		case b.Settings[objects.SettingPolicy] == "":
			return registry.ErrNotFound
		case !c.MayAdopt(b.Settings[policyHolder]):
			return registry.ErrExists
		}
		b.Settings[policyHolder] = c.Heir()
		return nil
	})
	if errors.Is(err, objects.ErrNoBucket) {
		err = registry.ErrNotFound
	}
	return resources.Result(c.Physical()), err
}

// Existing implements [resources.Importer]. If a stack created the parameter, a record has the holder.
func (t parameter) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	if _, err := t.Parameters.Parameter(ctx, c.Place, c.Physical(), 0); err != nil {
		return "", "", err
	}
	record, err := t.Catalog.Records.Get(ctx, c.Place, c.RecordName(c.Physical()))
	if errors.Is(err, registry.ErrNotFound) {
		err = nil
	}
	return c.Physical(), record.Owner, err
}

// Adopt implements [resources.Importer].
func (t parameter) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	there, err := t.Parameters.Parameter(ctx, c.Place, c.Physical(), 0)
	if err != nil {
		return native.Result{}, err
	}
	name := c.RecordName(c.Physical())
	_, err = resources.Adopt(ctx, c, t.Catalog.Records, c.Place, name)
	switch {
	case c.Type == store.TypeDisown && err == nil && c.Heir() == "": // a client's parameter has no record
		err = resources.IgnoreMissing(t.Catalog.Records.Delete(ctx, c.Place, name, 0))
	case c.Type == store.TypeImport && errors.Is(err, registry.ErrNotFound): // unowned, perhaps since another import was undone
		_, err = t.Catalog.Records.Put(ctx, registry.Item[registry.Record]{
			Scope: c.Place, Name: name, Owner: c.Holder(), Of: registry.Record{Made: t.Now().UTC()},
		})
	}
	r := resources.Result(c.Physical(), "Type", string(there.Type))
	text := value.Str(there.Value)
	if there.Type == store.ParameterSecure {
		text = value.SecretStr(there.Value)
	}
	r.Attributes = r.Attributes.With("Value", text)
	return r, err
}

// Existing implements [resources.Importer].
func (t secret) Existing(ctx context.Context, c *resources.Call) (id, holder string, err error) {
	there, err := t.Secrets.Find(ctx, c.Place, c.Physical())
	if err == nil && !there.Of.Due.IsZero() {
		err = registry.ErrNotFound
	}
	if err != nil {
		return "", "", unknownSecret(err)
	}
	return string(secretResult(there).PhysicalID), there.Owner, nil
}

// Adopt implements [resources.Importer].
func (t secret) Adopt(ctx context.Context, c *resources.Call) (native.Result, error) {
	there, err := t.Secrets.Find(ctx, c.Place, c.Physical())
	if err == nil {
		_, err = resources.Adopt(ctx, c, t.Catalog.Secrets, there.Scope, there.Name)
	}
	if err != nil {
		return native.Result{}, unknownSecret(err)
	}
	return secretResult(there), nil
}

// unknownSecret returns the error of a lookup: [registry.ErrNotFound], or the reason why the text does not identify a
// secret.
func unknownSecret(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return err
	}
	return secretError(err)
}
