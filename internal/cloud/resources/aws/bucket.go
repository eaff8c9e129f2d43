package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

var bucketTable = resources.Table{
	Name:       "AWS::S3::Bucket",
	Identifier: "BucketName",
	Texts:      "AbacStatus AccessControl BucketName BucketNamePrefix BucketNamespace",
	Truths:     "ObjectLockEnabled",
	Lists: "AnalyticsConfigurations IntelligentTieringConfigurations InventoryConfigurations MetricsConfigurations " +
		"Tags",
	Objects: "AccelerateConfiguration BucketEncryption CorsConfiguration LifecycleConfiguration LoggingConfiguration " +
		"MetadataConfiguration MetadataTableConfiguration NotificationConfiguration ObjectLockConfiguration OwnershipControls " +
		"PublicAccessBlockConfiguration ReplicationConfiguration VersioningConfiguration WebsiteConfiguration",
	Replaces:   "BucketName BucketNamePrefix BucketNamespace",
	Attributes: "Arn DomainName DualStackDomainName RegionalDomainName WebsiteURL",
	Named:      "BucketName",
}

// bucketName is the maximum length of a bucket name. Source: S3, bucket naming rules.
const bucketName = 63

// bucket is AWS::S3::Bucket. The CDK asset bucket exists from the start, and is taken over by the stack that declares
// it.
type bucket struct{ Config }

// Create implements [resources.Maker].
func (t bucket) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	of := registry.Bucket{Owner: c.Place}
	if err := bucketOf(c, &of); err != nil {
		return native.Result{}, err
	}
	name := c.Text("BucketName")
	if name == "" {
		name = strings.ToLower(native.MadeUpName(c.Request, bucketName))
	}
	events, err := t.notification(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	if err := notify(&of, events); err != nil {
		return native.Result{}, err
	}
	_, err = t.Objects.Make(ctx, registry.Item[registry.Bucket]{Scope: c.Place, Name: name, Owner: c.Holder(), Of: of})
	if err != nil {
		return c.Failed(ctx, name, name, err, resources.Holding(t.Catalog.Buckets, registry.Global, name))
	}
	t.Notifications.Test(ctx, name, c.Place, events)
	return bucketResult(c, name), nil
}

// Update implements [resources.Maker].
func (t bucket) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	// A configuration from a client, such as the CDK's handler, stays unless the declared one changes.
	changed := c.Changed("NotificationConfiguration")
	events, err := t.notification(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	err = t.Objects.Change(ctx, c.Physical(), func(b *registry.Bucket) error {
		if err := bucketOf(c, b); err != nil || !changed {
			return err
		}
		return notify(b, events)
	})
	if errors.Is(err, objects.ErrNoBucket) {
		err = c.Lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	if changed {
		t.Notifications.Test(ctx, c.Physical(), c.Place, events)
	}
	return bucketResult(c, c.Physical()), nil
}

// Remove implements [resources.Maker].
func (t bucket) Remove(ctx context.Context, c *resources.Call) error {
	if mine, err := resources.Own(ctx, c, t.Catalog.Buckets, registry.Global, c.Physical()); err != nil || !mine {
		return err
	}
	switch err := t.Objects.Remove(ctx, c.Place, c.Physical()); {
	case errors.Is(err, objects.ErrNoBucket):
		return nil
	case errors.Is(err, objects.ErrNotEmpty):
		return resources.Reason("The bucket you tried to delete is not empty")
	default:
		return err
	}
}

// bucketOf sets the declared properties that clients can see.
func bucketOf(c *resources.Call, b *registry.Bucket) (err error) {
	if b.Tags, err = c.Tags(); err != nil {
		return err
	}
	ownership := ""
	for _, rule := range c.At("OwnershipControls", "Rules").Items() { // there is at most one
		declared, _ := rule.Get("ObjectOwnership")
		var ok bool
		if ownership, ok = objects.Ownership(declared.Text()); !ok {
			return resources.Reason("Value of property ObjectOwnership must be BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter")
		}
	}
	if b.Settings == nil {
		b.Settings = map[string]string{}
	}
	for name, setting := range map[string]string{
		objects.SettingVersioning: c.Text("VersioningConfiguration", "Status"), objects.SettingOwnership: ownership,
	} {
		if delete(b.Settings, name); setting != "" {
			b.Settings[name] = setting
		}
	}
	return nil
}

// domain returns the domain of service names in the call's partition.
func domain(c *resources.Call) string {
	if c.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func bucketResult(c *resources.Call, name string) native.Result {
	region := c.Place.Region
	return resources.Result(name, "Arn", "arn:"+c.Partition+":s3:::"+name,
		"DomainName", name+".s3."+domain(c),
		"DualStackDomainName", name+".s3.dualstack."+region+"."+domain(c),
		"RegionalDomainName", name+".s3."+region+"."+domain(c),
		"WebsiteURL", "http://"+name+".s3-website"+websiteMark(region)+region+"."+domain(c))
}

// websiteMark returns the separator before the region in a website address: a hyphen in older regions, a dot in all
// others. Source: S3, website endpoints.
func websiteMark(region string) string {
	switch region {
	case "us-east-1", "us-west-1", "us-west-2", "us-gov-west-1", "ap-southeast-1", "ap-southeast-2", "ap-northeast-1", "eu-west-1", "sa-east-1":
		return "-"
	}
	return "."
}
