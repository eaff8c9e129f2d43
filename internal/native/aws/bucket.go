package aws

import (
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/internal/objects"
)

var bucketTable = table{
	name:   "AWS::S3::Bucket",
	texts:  "AbacStatus AccessControl BucketName BucketNamePrefix BucketNamespace",
	truths: "ObjectLockEnabled",
	lists: "AnalyticsConfigurations IntelligentTieringConfigurations InventoryConfigurations MetricsConfigurations " +
		"Tags",
	objects: "AccelerateConfiguration BucketEncryption CorsConfiguration LifecycleConfiguration LoggingConfiguration " +
		"MetadataConfiguration MetadataTableConfiguration NotificationConfiguration ObjectLockConfiguration OwnershipControls " +
		"PublicAccessBlockConfiguration ReplicationConfiguration VersioningConfiguration WebsiteConfiguration",
	replaces:   "BucketName BucketNamePrefix BucketNamespace",
	attributes: "Arn DomainName DualStackDomainName RegionalDomainName WebsiteURL",
	named:      "BucketName",
}

// bucketName is how long the name of a bucket may be. Source: S3, bucket naming rules.
const bucketName = 63

// bucket is AWS::S3::Bucket. The bucket of the CDK's assets is there from the start, and becomes that of the stack that declares
// it.
type bucket struct{ Config }

// create implements [maker].
func (t bucket) create(ctx context.Context, c *call) (native.Result, error) {
	of := catalog.Bucket{Owner: c.place}
	if err := bucketOf(c, &of); err != nil {
		return native.Result{}, err
	}
	name := c.text("BucketName")
	if name == "" {
		name = strings.ToLower(native.MadeUpName(c.Request, bucketName))
	}
	_, err := t.Objects.Make(ctx, catalog.Item[catalog.Bucket]{Place: c.place, Name: name, Holder: c.holder(), Of: of})
	if err != nil {
		return c.failed(ctx, name, name, err, holding(t.Catalog.Buckets, catalog.Everywhere, name))
	}
	return bucketResult(c, name), nil
}

// update implements [maker].
func (t bucket) update(ctx context.Context, c *call) (native.Result, error) {
	err := t.Objects.Change(ctx, c.id(), func(b *catalog.Bucket) error { return bucketOf(c, b) })
	if errors.Is(err, objects.ErrNoBucket) {
		err = c.lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return bucketResult(c, c.id()), nil
}

// remove implements [maker].
func (t bucket) remove(ctx context.Context, c *call) error {
	if mine, err := own(ctx, c, t.Catalog.Buckets, catalog.Everywhere, c.id()); err != nil || !mine {
		return err
	}
	switch err := t.Objects.Remove(ctx, c.place, c.id()); {
	case errors.Is(err, objects.ErrNoBucket):
		return nil
	case errors.Is(err, objects.ErrNotEmpty):
		return reason("The bucket you tried to delete is not empty")
	default:
		return err
	}
}

// bucketOf makes a bucket what is declared, as far as clients are told of it.
func bucketOf(c *call, b *catalog.Bucket) (err error) {
	if b.Tags, err = c.tags(); err != nil {
		return err
	}
	ownership := ""
	for _, rule := range c.at("OwnershipControls", "Rules").Items() { // there is one
		declared, _ := rule.Get("ObjectOwnership")
		var ok bool
		if ownership, ok = objects.Ownership(declared.Text()); !ok {
			return reason("Value of property ObjectOwnership must be BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter")
		}
	}
	if b.Settings == nil {
		b.Settings = map[string]string{}
	}
	for name, setting := range map[string]string{
		objects.SettingVersioning: c.text("VersioningConfiguration", "Status"), objects.SettingOwnership: ownership,
	} {
		if delete(b.Settings, name); setting != "" {
			b.Settings[name] = setting
		}
	}
	return nil
}

// domain is that of the service's names in the call's partition.
func (c *call) domain() string {
	if c.stack.Partition == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func bucketResult(c *call, name string) native.Result {
	region := c.place.Region
	return result(name, "Arn", "arn:"+c.stack.Partition+":s3:::"+name,
		"DomainName", name+".s3."+c.domain(),
		"DualStackDomainName", name+".s3.dualstack."+region+"."+c.domain(),
		"RegionalDomainName", name+".s3."+region+"."+c.domain(),
		"WebsiteURL", "http://"+name+".s3-website"+websiteMark(region)+region+"."+c.domain())
}

// websiteMark is what is before the region in the address of a website: a hyphen in the older regions, a dot in all others.
// Source: S3, website endpoints.
func websiteMark(region string) string {
	switch region {
	case "us-east-1", "us-west-1", "us-west-2", "us-gov-west-1", "ap-southeast-1", "ap-southeast-2", "ap-northeast-1", "eu-west-1", "sa-east-1":
		return "-"
	}
	return "."
}
