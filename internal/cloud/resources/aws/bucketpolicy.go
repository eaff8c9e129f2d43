package aws

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
)

var bucketPolicyTable = resources.Table{
	Name: "AWS::S3::BucketPolicy", Identifier: "Bucket", Texts: "Bucket", Documents: "PolicyDocument",
	Required: "Bucket PolicyDocument", Replaces: "Bucket", Named: "Bucket", Longest: bucketName, Letters: bucketForm,
}

// bucketPolicy is AWS::S3::BucketPolicy. Clients can read the policy, but Pintle does not enforce it. A bucket has
// only one policy. The holder is stored as a setting of the bucket, so that policy and holder change together. If a
// client replaces the policy, the holder stays.
type bucketPolicy struct{ Config }

// policyHolder is the name of that setting, which clients cannot read.
const policyHolder = "policy holder"

// Create implements [resources.Maker].
func (t bucketPolicy) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name := c.Text("Bucket")
	err := t.set(ctx, c, name, func(settings map[string]string) error {
		if settings[objects.SettingPolicy] != "" && settings[policyHolder] != c.Holder() {
			return resources.Reason("The bucket policy already exists on bucket " + name + ".")
		}
		return nil
	})
	if errors.Is(err, objects.ErrNoBucket) {
		err = resources.Reason("The specified bucket does not exist")
	}
	if err != nil {
		return native.Result{}, err
	}
	return resources.Result(name), nil
}

// Update implements [resources.Maker].
func (t bucketPolicy) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	err := t.set(ctx, c, c.Physical(), func(settings map[string]string) error {
		if !c.Made(settings[policyHolder]) {
			return c.Lost()
		}
		return nil
	})
	if errors.Is(err, objects.ErrNoBucket) {
		err = c.Lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return resources.Result(c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t bucketPolicy) Remove(ctx context.Context, c *resources.Call) error {
	err := t.Objects.Change(ctx, c.Physical(), func(b *registry.Bucket) error {
		if c.Made(b.Settings[policyHolder]) {
			delete(b.Settings, objects.SettingPolicy)
			delete(b.Settings, policyHolder)
		}
		return nil
	})
	if errors.Is(err, objects.ErrNoBucket) {
		return nil
	}
	return err
}

// set sets the declared policy on a bucket, unless check returns an error for the current settings.
func (t bucketPolicy) set(ctx context.Context, c *resources.Call, bucket string, check func(settings map[string]string) error) error {
	document, err := document(c, "PolicyDocument")
	if err != nil {
		return err
	}
	return t.Objects.Change(ctx, bucket, func(b *registry.Bucket) error {
		if b.Owner.Account != c.Place.Account {
			return resources.Reason("Access Denied")
		}
		if err := check(b.Settings); err != nil {
			return err
		}
		if b.Settings == nil {
			b.Settings = map[string]string{}
		}
		b.Settings[objects.SettingPolicy], b.Settings[policyHolder] = document, c.Holder()
		return nil
	})
}

// document returns the text of a property that is an object or JSON text.
func document(c *resources.Call, property string) (string, error) {
	v := c.At(property)
	if v.Kind() == value.Map {
		return string(v.JSON()), nil
	}
	if !json.Valid([]byte(v.Text())) {
		return "", resources.Reason("Value of property " + property + " must be an object, or its text as JSON")
	}
	return v.Text(), nil
}
