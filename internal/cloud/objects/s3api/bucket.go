package s3api

import (
	"encoding/xml"
	"errors"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// stamp formats a time for documents.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// makeBucket creates a bucket in the region in the body, or in the caller's region.
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

// maxRegion is the maximum length of a region name.
const maxRegion = 64

// newBucket creates a bucket for the caller. In us-east-1, creating an own bucket again succeeds.
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
	if errors.Is(err, registry.ErrExists) { // another caller was faster
		return refuse(http.StatusConflict, "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again.")
	}
	return err
}

// maxBuckets is the maximum number of buckets in a list.
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

// headBucket reports that a bucket exists, and its region.
func (c *call) headBucket() error {
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	c.reply.Header().Set("X-Amz-Bucket-Region", item.Of.Owner.Region)
	return c.reply.nothing(http.StatusOK)
}

// deleteBucket removes an empty bucket.
func (c *call) deleteBucket() error {
	if err := c.config.Objects.Remove(c.ctx, registry.Scope{Account: c.caller.Account}, c.bucket); err != nil {
		return err
	}
	return c.reply.nothing(http.StatusNoContent)
}

// location writes the region of a bucket. The name of us-east-1 is empty here.
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
