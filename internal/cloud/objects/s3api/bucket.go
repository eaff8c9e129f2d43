package s3api

import (
	"encoding/xml"
	"errors"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// stamp is a time as documents have it.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// makeBucket makes a bucket, in the region that the body names or else in the caller's.
func (c *call) makeBucket() error {
	if err := c.readBody(); err != nil {
		return err
	}
	region := c.caller.Region
	if len(c.body) > 0 {
		var document struct {
			XMLName            xml.Name `xml:"CreateBucketConfiguration"`
			LocationConstraint string
		}
		if err := xml.Unmarshal(c.body, &document); err != nil {
			return malformedXML
		}
		if document.LocationConstraint == "EU" {
			document.LocationConstraint = "eu-west-1"
		}
		if document.LocationConstraint != "" {
			region = document.LocationConstraint
		}
		if len(region) > maxRegion {
			return refuse(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid")
		}
	}
	var settings map[string]string
	if ownership := c.r.Header.Get("X-Amz-Object-Ownership"); ownership != "" {
		setting, ok := objects.Ownership(ownership)
		if !ok {
			return invalid("Invalid x-amz-object-ownership header: BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter.")
		}
		settings = map[string]string{objects.SettingOwnership: setting}
	}
	if err := c.newBucket(c.bucket, region, settings); err != nil {
		return err
	}
	c.reply.Header().Set("Location", "/"+c.bucket)
	return c.reply.nothing(http.StatusOK)
}

// maxRegion is how long the name of a region is at most.
const maxRegion = 64

// newBucket makes a bucket of the caller. In us-east-1 one may make what one has.
func (c *call) newBucket(name, region string, settings map[string]string) error {
	is, err := c.config.Objects.Bucket(c.ctx, name)
	switch {
	case err == nil && is.Of.Owner.Account != c.caller.Account:
		return refuse(http.StatusConflict, "BucketAlreadyExists", "The requested bucket name is not available. The bucket namespace is "+
			"shared by all users of the system. Please select a different name and try again.")
	case err == nil && is.Of.Owner.Region == region && region == "us-east-1":
		return nil
	case err == nil:
		return refuse(http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
	case !errors.Is(err, objects.ErrNoBucket):
		return err
	}
	item := registry.Item[registry.Bucket]{Scope: registry.Scope{Account: c.caller.Account, Region: region}, Name: name}
	item.Of.Settings = settings
	_, err = c.config.Objects.Make(c.ctx, item)
	if errors.Is(err, registry.ErrExists) { // somebody was faster
		return refuse(http.StatusConflict, "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again.")
	}
	return err
}

// maxBuckets is how many buckets are listed.
const maxBuckets = 10_000

// listBuckets lists the caller's buckets.
func (c *call) listBuckets() error {
	list, err := c.config.Objects.Buckets(c.ctx, c.caller.Account, "", maxBuckets)
	if err != nil {
		return err
	}
	type bucket struct{ Name, CreationDate string }
	document := struct {
		XMLName   xml.Name `xml:"ListAllMyBucketsResult"`
		Namespace string   `xml:"xmlns,attr"`
		Owner     ownerID
		Buckets   struct {
			Bucket []bucket
		}
	}{Namespace: namespace, Owner: ownerID{c.caller.Account, c.caller.Account}}
	for _, item := range list {
		document.Buckets.Bucket = append(document.Buckets.Bucket, bucket{item.Name, stamp(item.Of.Made)})
	}
	return c.reply.document(document)
}

// headBucket says that there is the bucket, and where.
func (c *call) headBucket() error {
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	c.reply.Header().Set("X-Amz-Bucket-Region", item.Of.Owner.Region)
	return c.reply.nothing(http.StatusOK)
}

// deleteBucket removes a bucket that has no objects.
func (c *call) deleteBucket() error {
	if err := c.config.Objects.Remove(c.ctx, registry.Scope{Account: c.caller.Account}, c.bucket); err != nil {
		return err
	}
	return c.reply.nothing(http.StatusNoContent)
}

// location answers where a bucket is; us-east-1 has no name there.
func (c *call) location() error {
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	region := item.Of.Owner.Region
	if region == "us-east-1" {
		region = ""
	}
	return c.reply.document(struct {
		XMLName   xml.Name `xml:"LocationConstraint"`
		Namespace string   `xml:"xmlns,attr"`
		Region    string   `xml:",chardata"`
	}{Namespace: namespace, Region: region})
}
