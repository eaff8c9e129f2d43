package s3api

import (
	"encoding/base64"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// maxListed is the maximum number of keys and common prefixes on a page.
const maxListed = 1000

// standard is the storage class of all objects.
const standard = "STANDARD"

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

// owner returns the caller's account, which owns everything it can list.
func (c *call) owner() ownerID { return ownerID{c.caller.Account, c.caller.Account} }

// listing holds the parameters of a list of objects.
type listing struct {
	objects.Query
	encoding string
}

// listing parses the parameters that all lists of objects share.
func (c *call) listing() (listing, error) {
	l := listing{Query: objects.Query{Prefix: c.query.Get("prefix"), Delimiter: c.query.Get("delimiter")}}
	var err error
	if l.Limit, err = c.limit("max-keys"); err != nil {
		return l, err
	}
	l.encoding, err = c.encoding()
	return l, err
}

// limit parses the page size: [maxListed] at most, which is also the default.
func (c *call) limit(parameter string) (int, error) {
	text := c.query.Get(parameter)
	if text == "" {
		return maxListed, nil
	}
	limit, err := strconv.ParseInt(text, 10, 32)
	if err != nil || limit < 0 {
		return 0, invalid("Provided %s not an integer or within integer range", parameter)
	}
	return int(min(limit, maxListed)), nil
}

// encoding parses the encoding of keys. Empty means none.
func (c *call) encoding() (string, error) {
	encoding := c.query.Get("encoding-type")
	if encoding != "" && encoding != "url" {
		return "", invalid("Invalid Encoding Method specified in Request")
	}
	return encoding, nil
}

// text encodes a key or a part of one as requested.
func (l listing) text(s string) string {
	if l.encoding == "" {
		return s
	}
	return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/")
}

func (l listing) prefixes(names []string) []commonPrefix {
	var all []commonPrefix
	for _, name := range names {
		all = append(all, commonPrefix{l.text(name)})
	}
	return all
}

func (l listing) contents(infos []objects.Info, owner *ownerID) []content {
	var all []content
	for _, info := range infos {
		one := content{
			Key: l.text(info.Key), LastModified: stamp(info.Modified), ETag: info.ETag, Size: info.Size, Owner: owner, StorageClass: standard,
		}
		if ofS3(info.Checksum.Algorithm) {
			one.ChecksumAlgorithm, one.ChecksumType = info.Checksum.Algorithm, checksumType(info.Checksum)
		}
		all = append(all, one)
	}
	return all
}

// listObjects lists a bucket with version 1 of the operation.
func (c *call) listObjects() error {
	l, err := c.listing()
	if err != nil {
		return err
	}
	l.After = c.query.Get("marker")
	page, err := c.config.Objects.List(c.ctx, c.bucket, l.Query)
	if err != nil {
		return err
	}
	owner := c.owner()
	result := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Namespace      string   `xml:"xmlns,attr"`
		Name           string
		Prefix         string
		Marker         string
		NextMarker     string `xml:",omitempty"`
		Delimiter      string `xml:",omitempty"`
		MaxKeys        int
		EncodingType   string `xml:",omitempty"`
		IsTruncated    bool
		Contents       []content
		CommonPrefixes []commonPrefix
	}{
		Namespace: namespace, Name: c.bucket, Prefix: l.text(l.Prefix), Marker: l.text(l.After), Delimiter: l.text(l.Delimiter),
		MaxKeys: l.Limit, EncodingType: l.encoding, IsTruncated: page.Next != "", Contents: l.contents(page.Objects, &owner),
		CommonPrefixes: l.prefixes(page.Prefixes),
	}
	if l.Delimiter != "" { // without one, clients use the last key
		result.NextMarker = l.text(page.Next)
	}
	return c.reply.document(result)
}

// listObjectsV2 lists a bucket with version 2 of the operation.
func (c *call) listObjectsV2() error {
	l, err := c.listing()
	if err != nil {
		return err
	}
	l.After = c.query.Get("start-after")
	token := c.query.Get("continuation-token")
	if c.query.Has("continuation-token") {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || token == "" {
			return invalid("The continuation token provided is incorrect")
		}
		l.After = string(after)
	}
	page, err := c.config.Objects.List(c.ctx, c.bucket, l.Query)
	if err != nil {
		return err
	}
	var owner *ownerID
	if c.query.Get("fetch-owner") == "true" {
		is := c.owner()
		owner = &is
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
		Namespace: namespace, Name: c.bucket, Prefix: l.text(l.Prefix), Delimiter: l.text(l.Delimiter), MaxKeys: l.Limit,
		EncodingType: l.encoding, KeyCount: len(page.Objects) + len(page.Prefixes), IsTruncated: page.Next != "", ContinuationToken: token,
		StartAfter: l.text(c.query.Get("start-after")), Contents: l.contents(page.Objects, owner), CommonPrefixes: l.prefixes(page.Prefixes),
	}
	if page.Next != "" {
		result.NextContinuationToken = base64.RawURLEncoding.EncodeToString([]byte(page.Next))
	}
	return c.reply.document(result)
}
