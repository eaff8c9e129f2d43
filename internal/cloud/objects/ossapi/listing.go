package ossapi

import (
	"encoding/base64"
	"encoding/xml"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// maxKeys is the maximum number of keys on a page and in DeleteMultipleObjects.
const maxKeys = 1000

// content is an object in a list.
type content struct {
	Key, LastModified, ETag, Type string

	Size         int64
	StorageClass string
	Owner        *owner `xml:",omitempty"`
}

// prefixed is a common prefix in a list.
type prefixed struct{ Prefix string }

// encoder returns the func that encodes texts of a list.
func (c *call) encoder() (func(string) string, error) {
	switch c.query.Get("encoding-type") {
	case "":
		return func(text string) string { return text }, nil
	case "url":
		return func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }, nil
	}
	return nil, invalid("Invalid Encoding Method specified in Request: url is the only one.")
}

// listObjects is ListObjects and ListObjectsV2.
func (c *call) listObjects() error {
	limit, err := c.number("max-keys", 100, maxKeys)
	if err != nil {
		return err
	}
	text, err := c.encoder()
	if err != nil {
		return err
	}
	second := c.query.Get("list-type") == "2"
	q := objects.Query{
		Prefix: c.query.Get("prefix"), Delimiter: c.query.Get("delimiter"), After: c.query.Get("marker"), Limit: limit,
	}
	if second {
		q.After = c.query.Get("start-after")
		if token := c.query.Get("continuation-token"); token != "" {
			after, err := base64.RawURLEncoding.DecodeString(token)
			if err != nil {
				return invalid("The continuation token is not one of this server.")
			}
			q.After = string(after)
		}
	}
	page, err := c.config.Objects.List(c.ctx, c.bucket, q)
	if err != nil {
		return err
	}
	result := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Name, Prefix          string
		Marker                *string `xml:",omitempty"`
		StartAfter            string  `xml:",omitempty"`
		ContinuationToken     string  `xml:",omitempty"`
		MaxKeys               int
		Delimiter             string
		EncodingType          string `xml:",omitempty"`
		IsTruncated           bool
		NextMarker            string `xml:",omitempty"`
		NextContinuationToken string `xml:",omitempty"`
		KeyCount              *int   `xml:",omitempty"`
		Contents              []content
		CommonPrefixes        []prefixed
	}{
		Name: c.bucket, Prefix: text(q.Prefix), MaxKeys: limit, Delimiter: text(q.Delimiter), EncodingType: c.query.Get("encoding-type"),
		IsTruncated: page.Next != "",
	}
	by := ownerOf(c.caller.Account)
	for _, info := range page.Objects {
		one := content{text(info.Key), stamp(info.Modified), etag(info.ETag), kindOf(info), info.Size, objects.StandardStorage, &by}
		if second && c.query.Get("fetch-owner") != "true" {
			one.Owner = nil
		}
		result.Contents = append(result.Contents, one)
	}
	for _, common := range page.Prefixes {
		result.CommonPrefixes = append(result.CommonPrefixes, prefixed{text(common)})
	}
	if !second {
		marker := text(q.After)
		result.Marker, result.NextMarker = &marker, text(page.Next)
		return c.document(result)
	}
	count := len(page.Objects) + len(page.Prefixes)
	result.KeyCount, result.StartAfter = &count, text(c.query.Get("start-after"))
	result.ContinuationToken = c.query.Get("continuation-token")
	if page.Next != "" {
		result.NextContinuationToken = base64.RawURLEncoding.EncodeToString([]byte(page.Next))
	}
	return c.document(result)
}

// removeObjects is DeleteMultipleObjects.
func (c *call) removeObjects() error {
	if c.r.Header.Get("Content-Md5") == "" {
		return refuse(400, "MissingArgument", "Missing Some Required Arguments: Content-MD5.")
	}
	var asked struct {
		XMLName xml.Name `xml:"Delete"`
		Quiet   bool
		Objects []struct{ Key string } `xml:"Object"`
	}
	if err := c.readDocument(&asked, false); err != nil {
		return err
	}
	if len(asked.Objects) == 0 || len(asked.Objects) > maxKeys {
		return malformed
	}
	text, err := c.encoder()
	if err != nil {
		return err
	}
	type deleted struct{ Key string }
	result := struct {
		XMLName      xml.Name `xml:"DeleteResult"`
		EncodingType string   `xml:",omitempty"`
		Deleted      []deleted
	}{EncodingType: c.query.Get("encoding-type")}
	keys := make([]string, 0, len(asked.Objects))
	for _, one := range asked.Objects {
		keys = append(keys, one.Key)
		if !asked.Quiet {
			result.Deleted = append(result.Deleted, deleted{text(one.Key)})
		}
	}
	if err := c.config.Objects.DeleteAll(c.ctx, c.bucket, keys); err != nil {
		return err
	}
	return c.document(result)
}
