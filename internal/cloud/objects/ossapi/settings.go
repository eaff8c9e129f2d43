package ossapi

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// maxBucketTags is the maximum number of tags of a bucket.
const maxBucketTags = 20

// objectACLs returns the valid access control lists of an object: those that give access only to its owner.
func objectACLs() []string { return []string{"default", objects.Private} }

// acl writes an access control list.
func (c *call) acl(list string) error {
	return c.document(struct {
		XMLName           xml.Name `xml:"AccessControlPolicy"`
		Owner             owner
		AccessControlList grant
	}{Owner: ownerOf(c.caller.Account), AccessControlList: grant{list}})
}

// bucketACL is GetBucketAcl.
func (c *call) bucketACL() error {
	item, err := c.item()
	if err != nil {
		return err
	}
	return c.acl(setting(item.Of, objects.SettingACL))
}

// setBucketACL is PutBucketAcl.
func (c *call) setBucketACL() error {
	acl, err := oneOf("access control list", c.r.Header.Get("X-Oss-Acl"), objects.BucketACLs())
	if err != nil {
		return err
	}
	if err := c.change(func(b *registry.Bucket) { b.Settings[objects.SettingACL] = acl }); err != nil {
		return err
	}
	return c.done(http.StatusOK)
}

// objectACL is GetObjectACL.
func (c *call) objectACL() error {
	if _, err := c.config.Objects.Stat(c.ctx, c.bucket, c.key, ""); err != nil {
		return err
	}
	return c.acl("default")
}

// setObjectACL is PutObjectACL.
func (c *call) setObjectACL() error {
	if _, err := oneOf("access control list", c.r.Header.Get("X-Oss-Object-Acl"), objectACLs()); err != nil {
		return err
	}
	if _, err := c.config.Objects.Stat(c.ctx, c.bucket, c.key, ""); err != nil {
		return err
	}
	return c.done(http.StatusOK)
}

// tag is a tag in a document.
type tag struct{ Key, Value string }

// tagging is a document of tags.
type tagging struct {
	XMLName xml.Name `xml:"Tagging"`
	Tags    []tag    `xml:"TagSet>Tag"`
}

// tags writes tags, sorted by name.
func (c *call) tags(tags map[string]string) error {
	var document tagging
	for name, value := range tags {
		document.Tags = append(document.Tags, tag{name, value})
	}
	slices.SortFunc(document.Tags, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	return c.document(document)
}

// readTags parses a document of tags.
func (c *call) readTags(most int) (map[string]string, error) {
	var document tagging
	if err := c.readDocument(&document, false); err != nil {
		return nil, err
	}
	tags := map[string]string{}
	for _, t := range document.Tags {
		if _, twice := tags[t.Key]; twice || t.Key == "" || len(t.Key) > 128 || len(t.Value) > 256 {
			return nil, refuse(http.StatusBadRequest, "InvalidTag", "A tag has a key of 1 to 128 bytes, once, and a value of at most 256.")
		}
		tags[t.Key] = t.Value
	}
	if len(tags) > most {
		return nil, refuse(http.StatusBadRequest, "InvalidTag", "There can be at most %d tags.", most)
	}
	return tags, nil
}

// bucketTags is GetBucketTags.
func (c *call) bucketTags() error {
	item, err := c.item()
	if err != nil {
		return err
	}
	return c.tags(item.Of.Tags)
}

// setBucketTags is PutBucketTags.
func (c *call) setBucketTags() error {
	tags, err := c.readTags(maxBucketTags)
	if err != nil {
		return err
	}
	if err := c.change(func(b *registry.Bucket) { b.Tags = tags }); err != nil {
		return err
	}
	return c.done(http.StatusOK)
}

// dropBucketTags is DeleteBucketTags.
func (c *call) dropBucketTags() error {
	if err := c.change(func(b *registry.Bucket) { b.Tags = nil }); err != nil {
		return err
	}
	return c.done(http.StatusNoContent)
}

// objectTags is GetObjectTagging.
func (c *call) objectTags() error {
	info, err := c.config.Objects.Stat(c.ctx, c.bucket, c.key, "")
	if err != nil {
		return err
	}
	return c.tags(info.Tags)
}

// setObjectTags is PutObjectTagging.
func (c *call) setObjectTags() error {
	tags, err := c.readTags(objects.MaxTags)
	if err != nil {
		return err
	}
	if err := c.config.Objects.SetTags(c.ctx, c.bucket, c.key, tags); err != nil {
		return err
	}
	return c.done(http.StatusOK)
}

// dropObjectTags is DeleteObjectTagging.
func (c *call) dropObjectTags() error {
	if err := c.config.Objects.SetTags(c.ctx, c.bucket, c.key, nil); err != nil {
		return err
	}
	return c.done(http.StatusNoContent)
}
