package s3api

import (
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// maxBucketTags is the maximum number of tags of a bucket.
const maxBucketTags = 50

type tag struct{ Key, Value string }

type tagging struct {
	XMLName   xml.Name `xml:"Tagging"`
	Namespace string   `xml:"xmlns,attr,omitempty"`
	Tags      []tag    `xml:"TagSet>Tag"`
}

// checkTags refuses tags that are invalid in S3.
func checkTags(tags map[string]string, most int) error {
	if len(tags) > most {
		return refuse(http.StatusBadRequest, "BadRequest", "There can be no more than %d tags.", most)
	}
	for name, value := range tags {
		if n := utf8.RuneCountInString(name); n == 0 || n > 128 {
			return refuse(http.StatusBadRequest, "InvalidTag", "The TagKey you have provided is invalid")
		}
		if utf8.RuneCountInString(value) > 256 {
			return refuse(http.StatusBadRequest, "InvalidTag", "The TagValue you have provided is invalid")
		}
	}
	return nil
}

// readTags parses the tags in the body.
func (c bucketSettings) readTags(most int) (map[string]string, error) {
	if err := c.readBody(); err != nil {
		return nil, err
	}
	var document tagging
	if err := xml.Unmarshal(c.body, &document); err != nil {
		return nil, malformedXML
	}
	tags := map[string]string{}
	for _, t := range document.Tags {
		if _, twice := tags[t.Key]; twice {
			return nil, refuse(http.StatusBadRequest, "InvalidTag", "Cannot provide multiple Tags with the same key")
		}
		tags[t.Key] = t.Value
	}
	return tags, checkTags(tags, most)
}

// answerTags writes tags.
func (c bucketSettings) answerTags(tags map[string]string) error {
	document := tagging{Namespace: namespace}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		document.Tags = append(document.Tags, tag{name, tags[name]})
	}
	return c.reply.document(document)
}

// bucketTagging returns, changes or removes the tags of a bucket.
func (c bucketSettings) bucketTagging() error {
	var tags map[string]string
	switch c.r.Method {
	case http.MethodGet:
		item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
		if err != nil {
			return err
		}
		all := registry.TagsOf(item.Owner, item.Of.Tags)
		if len(all) == 0 {
			return refuse(http.StatusNotFound, "NoSuchTagSet", "The TagSet does not exist")
		}
		return c.answerTags(all)
	case http.MethodPut:
		var err error
		if tags, err = c.readTags(maxBucketTags); err != nil {
			return err
		}
		item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
		if err != nil {
			return err
		}
		if tags, err = ownTags(tags, registry.TagsOf(item.Owner, nil)); err != nil {
			return err
		}
	case http.MethodDelete:
	default:
		return notAllowed
	}
	err := c.config.Objects.Change(c.ctx, c.bucket, func(b *registry.Bucket) error {
		b.Tags = tags
		return nil
	})
	if err != nil {
		return err
	}
	return c.reply.nothing(http.StatusNoContent)
}

// ownTags returns tags without the system tags, which a client may only send back unchanged.
func ownTags(tags, system map[string]string) (map[string]string, error) {
	own := map[string]string{}
	for name, value := range tags {
		switch was, is := system[name]; {
		case !strings.HasPrefix(name, registry.SystemTags):
			own[name] = value
		case !is || was != value:
			return nil, refuse(http.StatusBadRequest, "InvalidTag", "System tags cannot be added/updated by requester")
		}
	}
	return own, nil
}

// objectTagging returns, changes or removes the tags of an object.
func (c bucketSettings) objectTagging() error {
	switch c.r.Method {
	case http.MethodGet:
		info, err := c.config.Objects.Stat(c.ctx, c.bucket, c.key, "")
		if err != nil {
			return err
		}
		return c.answerTags(info.Tags)
	case http.MethodPut:
		tags, err := c.readTags(objects.MaxTags)
		if err != nil {
			return err
		}
		if err := c.config.Objects.SetTags(c.ctx, c.bucket, c.key, tags); err != nil {
			return err
		}
		return c.reply.nothing(http.StatusOK)
	case http.MethodDelete:
		if err := c.config.Objects.SetTags(c.ctx, c.bucket, c.key, nil); err != nil {
			return err
		}
		return c.reply.nothing(http.StatusNoContent)
	}
	return notAllowed
}
