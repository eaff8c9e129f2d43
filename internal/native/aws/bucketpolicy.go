package aws

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/objects"
	"github.com/pintle-dev/pintle/internal/value"
)

var bucketPolicyTable = table{
	name: "AWS::S3::BucketPolicy", texts: "Bucket", documents: "PolicyDocument",
	required: "Bucket PolicyDocument", replaces: "Bucket", named: "Bucket", longest: bucketName, letters: bucketForm,
}

// bucketPolicy is AWS::S3::BucketPolicy. Clients read it, and nobody heeds it. A bucket has only one, whose holder is among its
// settings, so that both change at once; what a client puts in its place is the holder's too.
type bucketPolicy struct{ Config }

// policyHolder is the name of that setting, which no client can ask for.
const policyHolder = "policy holder"

// create implements [maker].
func (t bucketPolicy) create(ctx context.Context, c *call) (native.Result, error) {
	name := c.text("Bucket")
	err := t.set(ctx, c, name, func(settings map[string]string) error {
		if settings[objects.SettingPolicy] != "" && settings[policyHolder] != c.holder() {
			return reason("The bucket policy already exists on bucket " + name + ".")
		}
		return nil
	})
	if errors.Is(err, objects.ErrNoBucket) {
		err = reason("The specified bucket does not exist")
	}
	if err != nil {
		return native.Result{}, err
	}
	return result(name), nil
}

// update implements [maker].
func (t bucketPolicy) update(ctx context.Context, c *call) (native.Result, error) {
	err := t.set(ctx, c, c.id(), func(settings map[string]string) error {
		if !c.made(settings[policyHolder]) {
			return c.lost()
		}
		return nil
	})
	if errors.Is(err, objects.ErrNoBucket) {
		err = c.lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return result(c.id()), nil
}

// remove implements [maker].
func (t bucketPolicy) remove(ctx context.Context, c *call) error {
	err := t.Objects.Change(ctx, c.id(), func(b *catalog.Bucket) error {
		if c.made(b.Settings[policyHolder]) {
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

// set makes the policy of a bucket the declared one, unless what there is fails the check.
func (t bucketPolicy) set(ctx context.Context, c *call, bucket string, check func(settings map[string]string) error) error {
	document, err := c.document("PolicyDocument")
	if err != nil {
		return err
	}
	return t.Objects.Change(ctx, bucket, func(b *catalog.Bucket) error {
		if b.Owner.Account != c.place.Account {
			return reason("Access Denied")
		}
		if err := check(b.Settings); err != nil {
			return err
		}
		if b.Settings == nil {
			b.Settings = map[string]string{}
		}
		b.Settings[objects.SettingPolicy], b.Settings[policyHolder] = document, c.holder()
		return nil
	})
}

// document returns the text of a property that is an object or its text.
func (c *call) document(property string) (string, error) {
	v := c.at(property)
	if v.Kind() == value.Map {
		return string(v.JSON()), nil
	}
	if !json.Valid([]byte(v.Text())) {
		return "", reason("Value of property " + property + " must be an object, or its text as JSON")
	}
	return v.Text(), nil
}
