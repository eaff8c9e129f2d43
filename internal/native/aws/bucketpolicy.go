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

// bucketPolicy is AWS::S3::BucketPolicy. Clients read it, and nobody heeds it. Whose it is is on record, for a bucket has only
// one.
type bucketPolicy struct{ Config }

// create implements [maker].
func (t bucketPolicy) create(ctx context.Context, c *call) (native.Result, error) {
	name := c.text("Bucket")
	document, err := c.document("PolicyDocument")
	if err != nil {
		return native.Result{}, err
	}
	exists := reason("The bucket policy already exists on bucket " + name + ".")
	record, err := put(ctx, c, t.Catalog.Records, catalog.Item[catalog.Record]{
		Place: catalog.Everywhere, Name: c.recordName(name), Of: catalog.Record{Made: t.Now().UTC()},
	})
	if errors.Is(err, catalog.ErrExists) {
		return native.Result{}, exists
	}
	if err == nil {
		err = t.set(ctx, name, func(settings map[string]string) error {
			if record.Version == 1 && settings[objects.SettingPolicy] != "" { // else it may be of this request, which is served again
				return exists
			}
			settings[objects.SettingPolicy] = document
			return nil
		})
	}
	if err != nil {
		// What is on record is dropped now: a Delete would take away the policy that is another's.
		return native.Result{}, errors.Join(err, drop(ctx, c, t.Catalog.Records, catalog.Everywhere, c.recordName(name)))
	}
	return result(name), nil
}

// update implements [maker].
func (t bucketPolicy) update(ctx context.Context, c *call) (native.Result, error) {
	document, err := c.document("PolicyDocument")
	if err != nil {
		return native.Result{}, err
	}
	err = t.set(ctx, c.id(), func(settings map[string]string) error {
		settings[objects.SettingPolicy] = document
		return nil
	})
	if err != nil {
		return native.Result{}, err
	}
	return result(c.id()), nil
}

// remove implements [maker].
func (t bucketPolicy) remove(ctx context.Context, c *call) error {
	mine, err := own(ctx, c, t.Catalog.Records, catalog.Everywhere, c.recordName(c.id()))
	if err != nil || !mine {
		return err
	}
	err = t.Objects.Change(ctx, c.id(), func(b *catalog.Bucket) error {
		delete(b.Settings, objects.SettingPolicy)
		return nil
	})
	if err != nil && !errors.Is(err, objects.ErrNoBucket) {
		return err
	}
	return drop(ctx, c, t.Catalog.Records, catalog.Everywhere, c.recordName(c.id()))
}

func (t bucketPolicy) set(ctx context.Context, name string, set func(settings map[string]string) error) error {
	err := t.Objects.Change(ctx, name, func(b *catalog.Bucket) error {
		if b.Settings == nil {
			b.Settings = map[string]string{}
		}
		return set(b.Settings)
	})
	if errors.Is(err, objects.ErrNoBucket) {
		return reason("The specified bucket does not exist")
	}
	return err
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
