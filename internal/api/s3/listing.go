package s3

import (
	"encoding/base64"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/objects"
)

// maxListed is how many keys and common prefixes a list has at most.
const maxListed = 1000

type commonPrefix struct{ Prefix string }

type content struct {
	Key               string
	LastModified      string
	ETag              string
	ChecksumAlgorithm objects.Algorithm `xml:",omitempty"`
	ChecksumType      string            `xml:",omitempty"`
	Size              int64
	Owner             *ownerID `xml:",omitempty"`
	StorageClass      string
}

type ownerID struct{ ID, DisplayName string }

// listObjectsV2 lists a bucket. gofakes3 could, but leaves out numbers that are 0 and knows no encoding of keys.
func (c *call) listObjectsV2() error {
	q := objects.Query{Prefix: c.query.Get("prefix"), Delimiter: c.query.Get("delimiter"), After: c.query.Get("start-after"), Limit: maxListed}
	if text := c.query.Get("max-keys"); text != "" {
		limit, err := strconv.ParseInt(text, 10, 32)
		if err != nil || limit < 0 {
			return invalid("Provided max-keys not an integer or within integer range")
		}
		q.Limit = int(min(limit, maxListed))
	}
	encoding := c.query.Get("encoding-type")
	if encoding != "" && encoding != "url" {
		return invalid("Invalid Encoding Method specified in Request")
	}
	token := c.query.Get("continuation-token")
	if c.query.Has("continuation-token") {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || token == "" {
			return invalid("The continuation token provided is incorrect")
		}
		q.After = string(after)
	}
	page, err := c.config.Objects.List(c.ctx, c.bucket, q)
	if err != nil {
		return err
	}
	text := func(s string) string {
		if encoding == "url" {
			return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/")
		}
		return s
	}
	result := struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Namespace             string   `xml:"xmlns,attr"`
		Name                  string
		Prefix                string
		Delimiter             string `xml:",omitempty"`
		MaxKeys               int
		EncodingType          string `xml:",omitempty"`
		KeyCount              int
		IsTruncated           bool
		ContinuationToken     string `xml:",omitempty"`
		NextContinuationToken string `xml:",omitempty"`
		StartAfter            string `xml:",omitempty"`
		Contents              []content
		CommonPrefixes        []commonPrefix
	}{
		Namespace: namespace, Name: c.bucket, Prefix: text(q.Prefix), Delimiter: text(q.Delimiter), MaxKeys: q.Limit, EncodingType: encoding,
		KeyCount: len(page.Objects) + len(page.Prefixes), IsTruncated: page.Next != "", ContinuationToken: token,
		StartAfter: text(c.query.Get("start-after")),
	}
	if page.Next != "" {
		result.NextContinuationToken = base64.RawURLEncoding.EncodeToString([]byte(page.Next))
	}
	for _, info := range page.Objects {
		one := content{Key: text(info.Key), LastModified: stamp(info.Modified), ETag: info.ETag, Size: info.Size, StorageClass: "STANDARD"}
		if ofS3(info.Checksum.Algorithm) {
			one.ChecksumAlgorithm, one.ChecksumType = info.Checksum.Algorithm, checksumType(info.Checksum)
		}
		if c.query.Get("fetch-owner") == "true" {
			one.Owner = &ownerID{c.caller.Account, c.caller.Account}
		}
		result.Contents = append(result.Contents, one)
	}
	for _, common := range page.Prefixes {
		result.CommonPrefixes = append(result.CommonPrefixes, commonPrefix{text(common)})
	}
	return c.reply.document(result)
}
