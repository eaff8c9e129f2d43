package aliyun

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// Buckets is the bucket part of OSS.
type Buckets interface {
	Make(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error)
	Change(ctx context.Context, name string, change func(*registry.Bucket) error) error
	// Remove returns [objects.ErrNotEmpty] for a bucket that is not empty.
	Remove(ctx context.Context, place registry.Scope, name string) error
	List(ctx context.Context, bucket string, q objects.Query) (objects.Page, error)
	DeleteAll(ctx context.Context, bucket string, keys []string) error
}

var bucketTable = resources.Table{
	Name: "ALIYUN::OSS::Bucket", Dialect: wire.ROS,
	Texts:  "AccessControl BucketName RedundancyType ResourceGroupId StorageClass",
	Truths: "BlockPublicAccess DeletionForce EnableOssHdfsService",
	Objects: "CORSConfiguration LifecycleConfiguration LoggingConfiguration Policy RefererConfiguration " +
		"ServerSideEncryptionConfiguration Tags VersioningConfiguration WebsiteConfiguration WebsiteConfigurationV2",
	Required: "BucketName", Replaces: "BucketName RedundancyType StorageClass",
	Attributes: "Arn DomainName InternalDomainName Name",
	Named:      "BucketName", Longest: 63, Letters: regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`),
}

// bucket is ALIYUN::OSS::Bucket.
type bucket struct{ Config }

// Create implements [resources.Maker].
func (t bucket) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	name, of := c.Text("BucketName"), registry.Bucket{Owner: c.Place}
	if err := bucketOf(c, &of); err != nil {
		return native.Result{}, err
	}
	_, err := t.Objects.Make(ctx, registry.Item[registry.Bucket]{Scope: c.Place, Name: name, Owner: c.Holder(), Of: of})
	if err != nil {
		return c.Failed(ctx, name, name, err, resources.Holding(t.Catalog.Buckets, registry.Global, name))
	}
	return bucketResult(c, name), nil
}

// Update implements [resources.Maker].
func (t bucket) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	err := t.Objects.Change(ctx, c.Physical(), func(b *registry.Bucket) error { return bucketOf(c, b) })
	if errors.Is(err, objects.ErrNoBucket) {
		err = c.Lost()
	}
	if err != nil {
		return native.Result{}, err
	}
	return bucketResult(c, c.Physical()), nil
}

// Remove implements [resources.Maker]. With DeletionForce, it also deletes the objects in the bucket.
func (t bucket) Remove(ctx context.Context, c *resources.Call) error {
	name := c.Physical()
	if mine, err := resources.Own(ctx, c, t.Catalog.Buckets, registry.Global, name); err != nil || !mine {
		return err
	}
	for {
		err := t.Objects.Remove(ctx, c.Place, name)
		switch {
		case errors.Is(err, objects.ErrNoBucket):
			return nil
		case !errors.Is(err, objects.ErrNotEmpty):
			return err
		case c.Text("DeletionForce") != "true":
			return resources.Reason("BucketNotEmpty: The bucket you tried to delete is not empty. " +
				"Delete its objects, or set DeletionForce to true.")
		}
		const page = 1000
		found, err := t.Objects.List(ctx, name, objects.Query{Limit: page})
		if err != nil {
			return err
		}
		keys := make([]string, 0, len(found.Objects))
		for _, info := range found.Objects {
			keys = append(keys, info.Key)
		}
		if len(keys) == 0 { // the remaining files cannot be read
			return resources.Reasonf("the objects of bucket %s cannot be listed", name)
		}
		if err := t.Objects.DeleteAll(ctx, name, keys); err != nil {
			return err
		}
	}
}

// bucketOf sets the declared properties that OSS calls return.
func bucketOf(c *resources.Call, b *registry.Bucket) (err error) {
	if b.Tags, err = c.TextMap("Tags"); err != nil {
		return err
	}
	settings := map[string]string{}
	for _, one := range []struct {
		property, setting string
		values            []string
	}{
		{"AccessControl", objects.SettingACL, objects.BucketACLs()},
		{"StorageClass", objects.SettingStorage, objects.StorageClasses()},
		{"RedundancyType", objects.SettingRedundancy, objects.Redundancies()},
	} {
		text := c.Text(one.property)
		if text == "" {
			continue
		}
		if settings[one.setting] = text; !slices.Contains(one.values, text) {
			return c.Bad(one.property, "be one of "+strings.Join(one.values, ", "))
		}
	}
	b.Settings = settings
	return nil
}

func bucketResult(c *resources.Call, name string) native.Result {
	at := name + ".oss-" + c.Place.Region
	return resources.Result(name, "Arn", "acs:oss:*:"+c.Place.Account+":"+name, "DomainName", at+".aliyuncs.com",
		"InternalDomainName", at+"-internal.aliyuncs.com", "Name", name)
}
