package s3api

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

const (
	metaHeader = "X-Amz-Meta-"
	// untold is the default content type.
	untold = "binary/octet-stream"
)

// attributes reads object attributes from the headers.
func (c *call) attributes() (objects.Attributes, error) {
	h := c.r.Header
	a := objects.Attributes{
		ContentType:        h.Get("Content-Type"),
		ContentLanguage:    h.Get("Content-Language"),
		ContentDisposition: h.Get("Content-Disposition"),
		CacheControl:       h.Get("Cache-Control"),
		Expires:            h.Get("Expires"),
		Redirect:           h.Get("X-Amz-Website-Redirect-Location"),
		Encryption:         h.Get("X-Amz-Server-Side-Encryption"),
	}
	var encodings []string
	for encoding := range strings.SplitSeq(h.Get("Content-Encoding"), ",") {
		if encoding = strings.TrimSpace(encoding); encoding != "" && !strings.EqualFold(encoding, "aws-chunked") {
			encodings = append(encodings, encoding)
		}
	}
	a.ContentEncoding = strings.Join(encodings, ",")
	for name, values := range h {
		if own, ok := strings.CutPrefix(name, metaHeader); ok && own != "" {
			if a.Metadata == nil {
				a.Metadata = map[string]string{}
			}
			a.Metadata[strings.ToLower(own)] = strings.Join(values, ",")
		}
	}
	if h.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != "" {
		return a, refuse(http.StatusNotImplemented, "NotImplemented", "Customer keys are not supported: local objects are not encrypted.")
	}
	err := c.checkACL()
	if err != nil {
		return a, err
	}
	a.Tags, err = headerTags(h.Get("X-Amz-Tagging"))
	return a, err
}

// checkACL refuses the access control lists that a bucket does not accept. Unless the object ownership of the bucket
// allows others, it accepts only the canned lists private and bucket-owner-full-control. An accepted list has no
// effect.
func (c *call) checkACL() error {
	wanted := false
	for name, values := range c.r.Header {
		switch {
		case name == "X-Amz-Acl" && values[0] != "private" && values[0] != "bucket-owner-full-control" && values[0] != "":
			wanted = true
		case strings.HasPrefix(name, "X-Amz-Grant-"):
			wanted = true
		}
	}
	if !wanted {
		return nil
	}
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	ownership := item.Of.Settings[objects.SettingOwnership]
	if strings.Contains(ownership, "ObjectWriter") || strings.Contains(ownership, "BucketOwnerPreferred") {
		return nil
	}
	return refuse(http.StatusBadRequest, "AccessControlListNotSupported", "The bucket does not allow ACLs")
}

// headerTags parses tags in the format of a URL query.
func headerTags(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, invalid("The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
	}
	tags := map[string]string{}
	for name, all := range values {
		if len(all) > 1 {
			return nil, invalid("The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
		}
		tags[name] = all[0]
	}
	return tags, checkTags(tags, objects.MaxTags)
}

// describe sets the headers that describe an object. It includes the checksum only if the whole object is returned.
func (c *call) describe(info objects.Info, whole bool) {
	h := c.reply.Header()
	h.Set("ETag", info.ETag)
	h.Set("Last-Modified", info.Modified.UTC().Format(http.TimeFormat))
	h.Set("Content-Type", cmp.Or(info.ContentType, untold))
	h.Set("X-Amz-Server-Side-Encryption", encryption(info))
	for name, value := range map[string]string{
		"Content-Encoding": info.ContentEncoding, "Content-Language": info.ContentLanguage, "Content-Disposition": info.ContentDisposition,
		"Cache-Control": info.CacheControl, "Expires": info.Expires, "X-Amz-Website-Redirect-Location": info.Redirect,
	} {
		if value != "" {
			h.Set(name, value)
		}
	}
	for name, value := range info.Metadata {
		h[strings.ToLower(metaHeader)+name] = []string{value} // clients in Python and JavaScript see the case
	}
	if len(info.Tags) > 0 {
		h.Set("X-Amz-Tagging-Count", strconv.Itoa(len(info.Tags)))
	}
	if whole && strings.EqualFold(c.r.Header.Get("X-Amz-Checksum-Mode"), "ENABLED") {
		c.tellChecksum(info.Checksum)
	}
}

// encryption returns the encryption of an object for clients.
func encryption(info objects.Info) string {
	if info.Encryption != "" {
		return info.Encryption
	}
	return "AES256"
}

// tellChecksum sets the checksum headers, if S3 has the algorithm.
func (c *call) tellChecksum(sum objects.Checksum) {
	if sum.Value != "" && ofS3(sum.Algorithm) {
		c.reply.Header().Set(checksumName(sum.Algorithm), sum.Value)
		c.reply.Header().Set("X-Amz-Checksum-Type", checksumType(sum))
	}
}

func checksumType(sum objects.Checksum) string {
	if sum.Composite {
		return "COMPOSITE"
	}
	return "FULL_OBJECT"
}

// stored sets the headers that describe the stored object.
func (c *call) stored(info objects.Info) {
	h := c.reply.Header()
	h.Set("ETag", info.ETag)
	h.Set("X-Amz-Server-Side-Encryption", encryption(info))
	if bucket, err := c.config.Objects.Bucket(c.ctx, c.bucket); err == nil && bucket.Of.Settings[objects.SettingVersioning] != "" {
		h.Set("X-Amz-Version-Id", objects.NullVersion) // for clients that use versioning
	}
	c.tellChecksum(info.Checksum)
}
