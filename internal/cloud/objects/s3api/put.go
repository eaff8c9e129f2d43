package s3api

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// putObject stores the body.
func (c *call) putObject() error {
	if err := c.receive(); err != nil {
		return err
	}
	attributes, err := c.attributes()
	if err != nil {
		return err
	}
	condition, err := c.writeCondition()
	if err != nil {
		return err
	}
	o := c.options(condition)
	o.Attributes = attributes
	info, err := c.config.Objects.Put(c.ctx, c.bucket, c.key, c.r.Body, o)
	if err != nil {
		return err
	}
	c.stored(info)
	return c.reply.nothing(http.StatusOK)
}

// copyObject stores a copy of another object.
func (c *call) copyObject() error {
	from, err := c.source()
	if err != nil {
		return err
	}
	defer from.Close()
	attributes, err := c.attributes()
	if err != nil {
		return err
	}
	condition, err := c.writeCondition()
	if err != nil {
		return err
	}
	replaceTags, err := c.directive("X-Amz-Tagging-Directive")
	if err != nil {
		return err
	}
	replace, err := c.directive("X-Amz-Metadata-Directive")
	if err != nil {
		return err
	}
	if from.Bucket == c.bucket && from.Key == c.key && !replace && attributes.Redirect == "" && attributes.Encryption == "" {
		return invalidRequest("This copy request is illegal because it is trying to copy an object to itself without changing " +
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
	algo, err := c.algorithm()
	if err != nil {
		return err
	}
	o := objects.Options{Attributes: attributes, Algorithm: algo, Condition: condition}
	info, err := c.config.Objects.Copy(c.ctx, from, c.bucket, c.key, false, o)
	if err != nil {
		return err
	}
	c.stored(info)
	c.reply.Header().Del("ETag") // it is in the document
	return c.copied("CopyObjectResult", info)
}

// source opens the source object of a copy, if its conditions hold.
func (c *call) source() (objects.Object, error) {
	text, version, _ := strings.Cut(c.r.Header.Get("X-Amz-Copy-Source"), "?versionId=")
	if version == "" {
		version = objects.NullVersion
	}
	name, err := url.PathUnescape(text)
	bucket, key, ok := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	if err != nil || !ok {
		return objects.Object{}, invalid("Copy Source must mention the source bucket and key: sourcebucket/sourcekey")
	}
	if err := c.enter(bucket); err != nil {
		return objects.Object{}, err
	}
	from, err := c.config.Objects.Open(c.ctx, bucket, key, version)
	if err != nil {
		return from, err
	}
	if err := readCondition(c.r.Header, from.Info, "X-Amz-Copy-Source-"); err != nil {
		_ = from.Close() // opened for reading only
		return objects.Object{}, err
	}
	return from, nil
}

// copied writes the result of a copy.
func (c *call) copied(root string, info objects.Info) error {
	return c.reply.document(struct {
		XMLName      xml.Name
		Namespace    string `xml:"xmlns,attr"`
		ETag         string
		LastModified string
	}{XMLName: xml.Name{Local: root}, Namespace: namespace, ETag: info.ETag, LastModified: stamp(info.Modified)})
}

// directive reports whether the request replaces an attribute of a copy.
func (c *call) directive(header string) (replace bool, err error) {
	switch c.r.Header.Get(header) {
	case "", "COPY":
		return false, nil
	case "REPLACE":
		return true, nil
	}
	return false, invalid("Unknown directive in %s: COPY or REPLACE.", strings.ToLower(header))
}
