package s3

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/johannesboyne/gofakes3"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/objects"
)

// backend is what gofakes3 stands on, for one call. What gofakes3 does not pass on is read from the request, and what it can't answer
// is left in the call, from where the reply takes it.
type backend struct{ *call }

var (
	_ gofakes3.Backend          = backend{}
	_ gofakes3.VersionedBackend = backend{}
	_ gofakes3.MultipartBackend = backend{}
)

// fail remembers an error: the answer is made of it, not of what gofakes3 makes of it.
func (b backend) fail(err error) error {
	if err != nil && b.err == nil {
		b.err = err
	}
	return err
}

// ListBuckets implements [gofakes3.Backend]. They are the caller's.
func (b backend) ListBuckets() ([]gofakes3.BucketInfo, error) {
	list, err := b.config.Objects.Buckets(b.ctx, b.caller.Account, "", maxBuckets)
	if err != nil {
		return nil, b.fail(err)
	}
	infos := make([]gofakes3.BucketInfo, 0, len(list))
	for _, item := range list {
		infos = append(infos, gofakes3.BucketInfo{Name: item.Name, CreationDate: gofakes3.NewContentTime(item.Of.Made)})
	}
	return infos, nil
}

// maxBuckets is how many buckets are listed.
const maxBuckets = 10_000

// BucketExists implements [gofakes3.Backend].
func (b backend) BucketExists(name string) (bool, error) {
	return name == b.bucket, nil // it was entered
}

// CreateBucket implements [gofakes3.Backend]. It makes a bucket of the caller, in the caller's region.
func (b backend) CreateBucket(name string) error {
	return b.fail(b.newBucket(name, b.caller.Region, nil))
}

// DeleteBucket implements [gofakes3.Backend].
func (b backend) DeleteBucket(name string) error {
	return b.fail(b.config.Objects.Remove(b.ctx, catalog.Place{Account: b.caller.Account}, name))
}

// ForceDeleteBucket implements [gofakes3.Backend]. Nobody gets here, and what is in a bucket stays.
func (b backend) ForceDeleteBucket(name string) error { return b.DeleteBucket(name) }

// ListBucket implements [gofakes3.Backend].
func (b backend) ListBucket(name string, prefix *gofakes3.Prefix, page gofakes3.ListBucketPage) (*gofakes3.ObjectList, error) {
	q := objects.Query{Limit: int(page.MaxKeys), After: page.Marker}
	if prefix != nil {
		q.Prefix, q.Delimiter = prefix.Prefix, prefix.Delimiter
	}
	found, err := b.config.Objects.List(b.ctx, name, q)
	if err != nil {
		return nil, b.fail(err)
	}
	list := gofakes3.NewObjectList()
	for _, info := range found.Objects {
		list.Add(&gofakes3.Content{Key: info.Key, LastModified: gofakes3.NewContentTime(info.Modified), ETag: info.ETag, Size: info.Size})
	}
	for _, common := range found.Prefixes {
		list.AddPrefix(common)
	}
	list.NextMarker, list.IsTruncated = found.Next, found.Next != ""
	return list, nil
}

// GetObject implements [gofakes3.Backend].
func (b backend) GetObject(bucket, key string, asked *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	o, err := b.config.Objects.Open(b.ctx, bucket, key, "")
	if err != nil {
		return nil, b.fail(err)
	}
	part, err := b.wanted(o.Info, asked)
	if err != nil {
		_ = o.Close() // it was not read
		return nil, b.fail(err)
	}
	is := &gofakes3.Object{
		Name: key, Size: o.Size, Range: part, Metadata: b.headers(o.Info, part == nil), Contents: o,
	}
	if part != nil {
		is.Contents = struct {
			io.Reader
			io.Closer
		}{o.Range(part.Start, part.Length), o}
	}
	return is, nil
}

// HeadObject implements [gofakes3.Backend].
func (b backend) HeadObject(bucket, key string) (*gofakes3.Object, error) {
	if b.copying() { // it is the one that is copied, which CopyObject looks at
		return &gofakes3.Object{Name: key, Contents: http.NoBody}, nil
	}
	info, err := b.config.Objects.Stat(b.ctx, bucket, key, "")
	if err != nil {
		return nil, b.fail(err)
	}
	asked, err := b.ranged()
	if err != nil {
		return nil, b.fail(err)
	}
	part, err := b.wanted(info, asked)
	if err != nil {
		return nil, b.fail(err)
	}
	b.exactRange(part)
	return &gofakes3.Object{Name: key, Size: info.Size, Metadata: b.headers(info, part == nil), Contents: http.NoBody}, nil
}

// wanted sees to the conditions of a request that reads, and returns the range of the object; nil is all of it.
func (b backend) wanted(info objects.Info, asked *gofakes3.ObjectRangeRequest) (*gofakes3.ObjectRange, error) {
	b.final.Set("ETag", info.ETag)
	if err := b.readCondition(info, ""); err != nil {
		if errors.Is(err, notModified) {
			b.final.Set("Last-Modified", info.Modified.UTC().Format(http.TimeFormat))
		} else {
			b.final.Del("ETag")
		}
		return nil, err
	}
	part, err := rangeOf(asked, info.Size)
	if err != nil {
		b.final.Del("ETag")
	}
	return part, err
}

// DeleteObject implements [gofakes3.Backend].
func (b backend) DeleteObject(bucket, key string) (gofakes3.ObjectDeleteResult, error) {
	condition, err := b.writeCondition()
	if err == nil {
		err = b.config.Objects.Delete(b.ctx, bucket, key, condition)
	}
	return gofakes3.ObjectDeleteResult{}, b.fail(err)
}

// PutObject implements [gofakes3.Backend]. What it is given of the object's metadata is less than the request has.
func (b backend) PutObject(bucket, key string, _ map[string]string, input io.Reader, _ int64, _ *gofakes3.PutConditions) (gofakes3.PutObjectResult, error) {
	attributes, err := b.attributes()
	if err != nil {
		return gofakes3.PutObjectResult{}, b.fail(err)
	}
	condition, err := b.writeCondition()
	if err != nil {
		return gofakes3.PutObjectResult{}, b.fail(err)
	}
	o := b.options(condition)
	o.Attributes = attributes
	info, err := b.config.Objects.Put(b.ctx, bucket, key, input, o)
	if err == nil {
		b.stored(info)
	}
	return gofakes3.PutObjectResult{}, b.fail(err)
}

// CopyObject implements [gofakes3.Backend]. It reads the source itself: gofakes3 takes a plus sign for a space.
func (b backend) CopyObject(_, _, bucket, key string, _ map[string]string) (gofakes3.CopyObjectResult, error) {
	info, err := b.copy(bucket, key)
	if err != nil {
		return gofakes3.CopyObjectResult{}, b.fail(err)
	}
	b.stored(info)
	b.final.Del("ETag") // it is in the document
	return gofakes3.CopyObjectResult{ETag: info.ETag, LastModified: gofakes3.NewContentTime(info.Modified)}, nil
}

// copy makes a copy as the headers ask for it.
func (b backend) copy(bucket, key string) (objects.Info, error) {
	from, err := b.source()
	if err != nil {
		return objects.Info{}, err
	}
	defer from.Close()
	if err := b.readCondition(from.Info, "X-Amz-Copy-Source-"); err != nil {
		return objects.Info{}, err
	}
	attributes, err := b.attributes()
	if err != nil {
		return objects.Info{}, err
	}
	condition, err := b.writeCondition()
	if err != nil {
		return objects.Info{}, err
	}
	replaceTags, err := b.directive("X-Amz-Tagging-Directive")
	if err != nil {
		return objects.Info{}, err
	}
	replace, err := b.directive("X-Amz-Metadata-Directive")
	if err != nil {
		return objects.Info{}, err
	}
	if from.Bucket == bucket && from.Key == key && !replace && attributes.Redirect == "" && attributes.Encryption == "" {
		return objects.Info{}, invalidRequest("This copy request is illegal because it is trying to copy an object to itself without changing " +
			"the object's metadata, storage class, website redirect location or encryption attributes.")
	}
	if !replace {
		kept := from.Attributes
		kept.Redirect, kept.Encryption, kept.Tags = attributes.Redirect, attributes.Encryption, attributes.Tags
		attributes = kept
	}
	if !replaceTags {
		attributes.Tags = from.Tags
	}
	algo, err := b.algorithm()
	if err != nil {
		return objects.Info{}, err
	}
	return b.config.Objects.Copy(b.ctx, from, bucket, key, false, objects.Options{Attributes: attributes, Algorithm: algo, Condition: condition})
}

// directive reads whether something of a copy is given anew.
func (c *call) directive(header string) (replace bool, err error) {
	switch c.r.Header.Get(header) {
	case "", "COPY":
		return false, nil
	case "REPLACE":
		return true, nil
	}
	return false, invalid("Unknown directive in %s: COPY or REPLACE.", strings.ToLower(header))
}

// DeleteMulti implements [gofakes3.Backend].
func (b backend) DeleteMulti(bucket string, keys ...string) (gofakes3.MultiDeleteResult, error) {
	ids := make([]gofakes3.ObjectID, 0, len(keys))
	for _, key := range keys {
		ids = append(ids, gofakes3.ObjectID{Key: key})
	}
	return b.DeleteMultiVersions(bucket, ids...)
}

// readCondition returns the error for a condition of a request that reads, or of the source of a copy, that does not hold.
func (c *call) readCondition(info objects.Info, prefix string) error {
	h := c.r.Header
	take := func(name string) string {
		value := h.Get(prefix + name)
		h.Del(prefix + name) // gofakes3 would see to it in its own way
		return value
	}
	match, none := take("If-Match"), take("If-None-Match")
	modified, unmodified := take("If-Modified-Since"), take("If-Unmodified-Since")
	stale := notModified
	if prefix != "" {
		stale = objects.ErrPrecondition
	}
	since := func(text string) (at time.Time, ok bool) {
		at, err := http.ParseTime(text)
		return at, text != "" && err == nil
	}
	if match != "" {
		if !listed(match, info.ETag) {
			return objects.ErrPrecondition
		}
	} else if at, ok := since(unmodified); ok && info.Modified.After(at) {
		return objects.ErrPrecondition
	}
	if none != "" {
		if listed(none, info.ETag) {
			return stale
		}
	} else if at, ok := since(modified); ok && !info.Modified.After(at) {
		return stale
	}
	return nil
}

// listed reports whether a list of entity tags has one.
func listed(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || objects.SameTag(one, tag) {
			return true
		}
	}
	return false
}
