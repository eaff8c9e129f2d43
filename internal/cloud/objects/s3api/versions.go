package s3api

import (
	"encoding/xml"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Objects have one version, null, also in a bucket with versioning, which is only recorded.

// The versioning states that can be put.
const (
	versioningEnabled   = "Enabled"
	versioningSuspended = "Suspended"
)

// getBucketVersioning returns the versioning state.
func (c bucketSettings) getBucketVersioning() error {
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	document := struct {
		XMLName   xml.Name `xml:"VersioningConfiguration"`
		Namespace string   `xml:"xmlns,attr"`
		Status    string   `xml:",omitempty"`
	}{Namespace: namespace}
	for _, status := range []string{versioningEnabled, versioningSuspended} {
		if strings.Contains(item.Of.Settings[objects.SettingVersioning], status) { // a template may have put more
			document.Status = status
		}
	}
	return c.reply.document(document)
}

// putBucketVersioning records the versioning state.
func (c bucketSettings) putBucketVersioning() error {
	if err := c.readBody(); err != nil {
		return err
	}
	var document struct {
		XMLName xml.Name `xml:"VersioningConfiguration"`
		Status  string
	}
	if err := xml.Unmarshal(c.body, &document); err != nil {
		return malformedXML
	}
	if document.Status != versioningEnabled && document.Status != versioningSuspended {
		return refuse(http.StatusBadRequest, "IllegalVersioningConfigurationException",
			"The versioning configuration specified in the request is invalid: its Status is Enabled or Suspended.")
	}
	if err := c.set(c.bucket, objects.SettingVersioning, document.Status); err != nil {
		return err
	}
	return c.reply.nothing(http.StatusOK)
}

// set changes a setting of a bucket. An empty text removes it.
func (c bucketSettings) set(bucket, name, text string) error {
	return c.config.Objects.Change(c.ctx, bucket, func(b *registry.Bucket) error {
		settings := make(map[string]string, len(b.Settings)+1)
		for other, is := range b.Settings {
			if other != name {
				settings[other] = is
			}
		}
		if text != "" {
			settings[name] = text
		}
		b.Settings = settings
		return nil
	})
}

type version struct {
	Key          string
	VersionID    string `xml:"VersionId"`
	IsLatest     bool
	LastModified string
	ETag         string
	Size         int64
	Owner        ownerID
	StorageClass string
}

// listObjectVersions lists the objects of a bucket, each as its only version.
func (c bucketSettings) listObjectVersions() error {
	l, err := c.listing()
	if err != nil {
		return err
	}
	marker := c.query.Get("key-marker")
	switch {
	case c.query.Has("version-id-marker") && c.query.Get("version-id-marker") == "":
		return invalid("A version-id marker cannot be empty.")
	case c.query.Has("version-id-marker") && marker == "":
		return invalid("A version-id marker cannot be specified without a key marker.")
	}
	l.After = marker
	page, err := c.config.Objects.List(c.ctx, c.bucket, l.Query)
	if err != nil {
		return err
	}
	result := struct {
		XMLName             xml.Name `xml:"ListVersionsResult"`
		Namespace           string   `xml:"xmlns,attr"`
		Name                string
		Prefix              string
		Delimiter           string `xml:",omitempty"`
		KeyMarker           string
		VersionIDMarker     string `xml:"VersionIdMarker"`
		MaxKeys             int
		EncodingType        string `xml:",omitempty"`
		IsTruncated         bool
		NextKeyMarker       string    `xml:",omitempty"`
		NextVersionIDMarker string    `xml:"NextVersionIdMarker,omitempty"`
		Versions            []version `xml:"Version"`
		CommonPrefixes      []commonPrefix
	}{
		Namespace: namespace, Name: c.bucket, Prefix: l.text(l.Prefix), Delimiter: l.text(l.Delimiter), KeyMarker: l.text(marker),
		VersionIDMarker: c.query.Get("version-id-marker"), MaxKeys: l.Limit, EncodingType: l.encoding,
		CommonPrefixes: l.prefixes(page.Prefixes),
	}
	if page.Next != "" {
		result.IsTruncated, result.NextKeyMarker, result.NextVersionIDMarker = true, l.text(page.Next), objects.NullVersion
	}
	for _, info := range page.Objects {
		result.Versions = append(result.Versions, version{
			Key: l.text(info.Key), VersionID: objects.NullVersion, IsLatest: true, LastModified: stamp(info.Modified),
			ETag: info.ETag, Size: info.Size, Owner: c.owner(), StorageClass: standard,
		})
	}
	return c.reply.document(result)
}
