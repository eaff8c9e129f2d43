package ossapi

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// maxDocument is the maximum length in bytes of a body other than object data. It is enough for 10,000 parts.
const maxDocument = 4 << 20

// owner is an account in a document.
type owner struct {
	ID          string
	DisplayName string
}

func ownerOf(account string) owner { return owner{account, account} }

// stamp formats a time for documents.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// location formats a region for documents.
func location(region string) string { return "oss-" + region }

// setting returns a setting of a bucket, or its default.
func setting(b registry.Bucket, name string) string {
	return cmp.Or(b.Settings[name], map[string]string{
		objects.SettingACL: objects.Private, objects.SettingStorage: objects.StandardStorage, objects.SettingRedundancy: objects.DefaultRedundancy,
	}[name])
}

// document writes an XML document.
func (c *call) document(body any) error {
	text, err := xml.Marshal(body)
	if err != nil {
		return err
	}
	text = append([]byte(xml.Header), text...)
	c.w.Header().Set("Content-Type", "application/xml")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.Write(text) // the client may have disconnected
	return nil
}

// done writes a status without a body.
func (c *call) done(status int) error {
	if status == http.StatusOK {
		c.w.Header().Set("Content-Length", "0")
	}
	c.w.WriteHeader(status)
	return nil
}

// readDocument parses the body as a document. With empty, an empty body leaves the document unchanged.
func (c *call) readDocument(into any, empty bool) error {
	text, err := io.ReadAll(io.LimitReader(c.body, maxDocument+1))
	switch {
	case err != nil:
		return err
	case len(text) == 0 && empty:
		return nil
	case len(text) > maxDocument || xml.Unmarshal(text, into) != nil:
		return malformed
	}
	return c.checkMD5(text)
}

// oneOf returns value if the list contains it, and the first item if value is empty.
func oneOf(what, value string, list []string) (string, error) {
	value = cmp.Or(value, list[0])
	if !slices.Contains(list, value) {
		return "", invalid("The %s must be one of %s.", what, strings.Join(list, ", "))
	}
	return value, nil
}

// makeBucket is PutBucket. It does not change a bucket that the caller already owns: clients repeat the call.
func (c *call) makeBucket() error {
	if err := checkBucketName(c.bucket); err != nil {
		return err
	}
	var asked struct {
		XMLName            xml.Name `xml:"CreateBucketConfiguration"`
		StorageClass       string
		DataRedundancyType string
	}
	if err := c.readDocument(&asked, true); err != nil {
		return err
	}
	acl, err := oneOf("access control list", c.r.Header.Get("X-Oss-Acl"), objects.BucketACLs())
	if err != nil {
		return err
	}
	class, err := oneOf("storage class", asked.StorageClass, objects.StorageClasses())
	if err != nil {
		return err
	}
	redundancy, err := oneOf("data redundancy type", asked.DataRedundancyType, objects.Redundancies())
	if err != nil {
		return err
	}
	item := registry.Item[registry.Bucket]{Name: c.bucket}
	item.Of.Owner = registry.Scope{Account: c.caller.Account, Region: c.caller.Region}
	item.Of.Settings = map[string]string{objects.SettingACL: acl, objects.SettingStorage: class, objects.SettingRedundancy: redundancy}
	switch there, err := c.config.Objects.Bucket(c.ctx, c.bucket); {
	case errors.Is(err, objects.ErrNoBucket):
		if _, err := c.config.Objects.Make(c.ctx, item); err != nil {
			return err
		}
	case err != nil:
		return err
	case there.Of.Owner.Account != c.caller.Account:
		return registry.ErrExists
	case c.r.Header.Get("X-Oss-Acl") != "":
		if err := c.change(func(b *registry.Bucket) { b.Settings[objects.SettingACL] = acl }); err != nil {
			return err
		}
	}
	c.w.Header().Set("Location", "/"+c.bucket)
	return c.done(http.StatusOK)
}

// change changes the bucket. The settings that the function gets are never nil.
func (c *call) change(change func(*registry.Bucket)) error {
	return c.config.Objects.Change(c.ctx, c.bucket, func(b *registry.Bucket) error {
		if b.Settings = maps.Clone(b.Settings); b.Settings == nil {
			b.Settings = map[string]string{}
		}
		change(b)
		return nil
	})
}

// item returns the bucket.
func (c *call) item() (registry.Item[registry.Bucket], error) {
	return c.config.Objects.Bucket(c.ctx, c.bucket)
}

// removeBucket is DeleteBucket.
func (c *call) removeBucket() error {
	err := c.config.Objects.Remove(c.ctx, registry.Scope{Account: c.caller.Account}, c.bucket)
	if err != nil {
		return err
	}
	return c.done(http.StatusNoContent)
}

// grant is an access control list in a document.
type grant struct{ Grant string }

// bucketInfo is GetBucketInfo.
func (c *call) bucketInfo() error {
	item, err := c.item()
	if err != nil {
		return err
	}
	type bucket struct {
		CreationDate, ExtranetEndpoint, IntranetEndpoint, Location, Name, StorageClass, DataRedundancyType string

		Owner             owner
		AccessControlList grant
	}
	at := location(item.Of.Owner.Region)
	return c.document(struct {
		XMLName xml.Name `xml:"BucketInfo"`
		Bucket  bucket
	}{Bucket: bucket{
		CreationDate: stamp(item.Of.Made), ExtranetEndpoint: at + ".aliyuncs.com", IntranetEndpoint: at + "-internal.aliyuncs.com",
		Location: at, Name: c.bucket, StorageClass: setting(item.Of, objects.SettingStorage),
		DataRedundancyType: setting(item.Of, objects.SettingRedundancy), Owner: ownerOf(item.Of.Owner.Account),
		AccessControlList: grant{setting(item.Of, objects.SettingACL)},
	}})
}

// location is GetBucketLocation.
func (c *call) location() error {
	item, err := c.item()
	if err != nil {
		return err
	}
	return c.document(struct {
		XMLName xml.Name `xml:"LocationConstraint"`
		Region  string   `xml:",chardata"`
	}{Region: location(item.Of.Owner.Region)})
}

// versioning is GetBucketVersioning. Versioning is never enabled.
func (c *call) versioning() error {
	return c.document(struct {
		XMLName xml.Name `xml:"VersioningConfiguration"`
	}{})
}

// maxBuckets is the maximum number of buckets on a page.
const maxBuckets = 1000

// listBuckets is ListBuckets.
func (c *call) listBuckets() error {
	limit, err := c.number("max-keys", 100, maxBuckets)
	if err != nil {
		return err
	}
	prefix, marker := c.query.Get("prefix"), c.query.Get("marker")
	all, err := c.config.Objects.Buckets(c.ctx, c.caller.Account, marker, 10*maxBuckets)
	if err != nil {
		return err
	}
	type bucket struct{ CreationDate, ExtranetEndpoint, IntranetEndpoint, Location, Name, Region, StorageClass string }
	result := struct {
		XMLName     xml.Name `xml:"ListAllMyBucketsResult"`
		Prefix      string
		Marker      string
		MaxKeys     int
		IsTruncated bool
		NextMarker  string `xml:",omitempty"`
		Owner       owner
		Buckets     []bucket `xml:"Buckets>Bucket"`
	}{Prefix: prefix, Marker: marker, MaxKeys: limit, Owner: ownerOf(c.caller.Account)}
	for _, item := range all {
		if !strings.HasPrefix(item.Name, prefix) {
			continue
		}
		if len(result.Buckets) == limit {
			result.IsTruncated, result.NextMarker = true, result.Buckets[limit-1].Name
			break
		}
		at := location(item.Of.Owner.Region)
		result.Buckets = append(result.Buckets, bucket{
			stamp(item.Of.Made), at + ".aliyuncs.com", at + "-internal.aliyuncs.com", at, item.Name, item.Of.Owner.Region,
			setting(item.Of, objects.SettingStorage),
		})
	}
	return c.document(result)
}

// number returns a parameter from 1 to most, or fallback if it is missing.
func (c *call) number(name string, fallback, most int) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("Argument %s must be an integer between 1 and %d.", name, most)
	}
	return n, nil
}
