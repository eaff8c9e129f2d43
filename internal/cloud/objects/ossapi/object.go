package ossapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" // clients send it
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

const (
	metaHeader = "X-Oss-Meta-"
	sourceName = "X-Oss-Copy-Source"
	// untyped is the default content type.
	untyped = "application/octet-stream"
	// checksumHeader is the CRC-64 of an object, which clients compare.
	checksumHeader = "X-Oss-Hash-Crc64ecma"
)

// etag returns an entity tag in upper case, as in OSS.
func etag(tag string) string { return strings.ToUpper(tag) }

// checksum returns the CRC-64 of an object as a decimal number, as in OSS. It is empty for an object that was put
// through S3.
func checksum(info objects.Info) string {
	sum, err := base64.StdEncoding.DecodeString(info.Checksum.Value)
	if info.Checksum.Algorithm != objects.CRC64ECMA || err != nil || len(sum) != 8 {
		return ""
	}
	return strconv.FormatUint(binary.BigEndian.Uint64(sum), 10)
}

// kindOf returns the type of an object.
func kindOf(info objects.Info) string {
	switch {
	case info.Appendable:
		return "Appendable"
	case info.Parts > 0:
		return "Multipart"
	}
	return "Normal"
}

// attributes reads object attributes from the headers.
func (c *call) attributes() (objects.Attributes, error) {
	h := c.r.Header
	a := objects.Attributes{
		ContentType: h.Get("Content-Type"), ContentEncoding: h.Get("Content-Encoding"), ContentLanguage: h.Get("Content-Language"),
		ContentDisposition: h.Get("Content-Disposition"), CacheControl: h.Get("Cache-Control"), Expires: h.Get("Expires"),
	}
	for name, values := range h {
		if own, ok := strings.CutPrefix(name, metaHeader); ok && own != "" {
			if a.Metadata == nil {
				a.Metadata = map[string]string{}
			}
			a.Metadata[strings.ToLower(own)] = strings.Join(values, ",")
		}
	}
	if h.Get("X-Oss-Callback") != "" {
		return a, refuse(http.StatusNotImplemented, "NotImplemented", "This version of Pintle does not serve callbacks of OSS.")
	}
	if _, err := oneOf("access control list", h.Get("X-Oss-Object-Acl"), objectACLs()); err != nil {
		return a, err
	}
	tags, err := url.ParseQuery(h.Get("X-Oss-Tagging"))
	if err != nil || len(tags) > objects.MaxTags {
		return a, refuse(http.StatusBadRequest, "InvalidTag", "The x-oss-tagging header must be a query of at most %d tags.", objects.MaxTags)
	}
	for name, values := range tags {
		if a.Tags == nil {
			a.Tags = map[string]string{}
		}
		a.Tags[name] = values[0]
	}
	return a, nil
}

// options returns the options for writing the data in the body.
func (c *call) options() (objects.Options, error) {
	o := objects.Options{Algorithm: objects.CRC64ECMA}
	if c.r.ContentLength > c.config.Objects.MaxObject() {
		return o, objects.ErrTooLarge
	}
	if strings.EqualFold(c.r.Header.Get("X-Oss-Forbid-Overwrite"), "true") {
		o.Condition.IfNone = true
	}
	want, err := c.md5()
	if want != nil {
		o.Verify = func(sums objects.Sums) error {
			if !bytes.Equal(want, sums.MD5) {
				return badDigest
			}
			return nil
		}
	}
	return o, err
}

// md5 returns the MD5 that the client sent, or nil.
func (c *call) md5() ([]byte, error) {
	text := c.r.Header.Get("Content-Md5")
	if text == "" {
		return nil, nil
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) != md5.Size {
		return nil, badDigest
	}
	return sum, nil
}

// checkMD5 returns an error if a document does not have the MD5 that the client sent.
func (c *call) checkMD5(text []byte) error {
	want, err := c.md5()
	sum := md5.Sum(text)
	if err == nil && want != nil && !bytes.Equal(want, sum[:]) {
		err = badDigest
	}
	return err
}

// exists converts the error of a failed IfNone condition.
func exists(err error) error {
	if errors.Is(err, objects.ErrPrecondition) {
		return refuse(http.StatusConflict, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.")
	}
	return err
}

// putObject is PutObject and CopyObject.
func (c *call) putObject() error {
	if c.r.Header.Get(sourceName) != "" {
		return c.copyObject()
	}
	attributes, err := c.attributes()
	if err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Attributes = attributes
	info, err := c.config.Objects.Put(c.ctx, c.bucket, c.key, c.body, o)
	if err != nil {
		return exists(err)
	}
	c.stored(info)
	return c.done(http.StatusOK)
}

// stored sets the headers that describe the stored object.
func (c *call) stored(info objects.Info) {
	c.w.Header().Set("Etag", etag(info.ETag))
	if sum := checksum(info); sum != "" {
		c.w.Header().Set(checksumHeader, sum)
	}
}

// source opens the source object of a copy. The caller closes it.
func (c *call) source() (objects.Object, error) {
	path, _, _ := strings.Cut(c.r.Header.Get(sourceName), "?")
	path, err := url.PathUnescape(path)
	bucket, key, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if err != nil || !ok || key == "" {
		return objects.Object{}, invalid("Copy Source must mention the source bucket and key: /sourcebucket/sourcekey.")
	}
	if err := c.enter(bucket); err != nil {
		return objects.Object{}, err
	}
	from, err := c.config.Objects.Open(c.ctx, bucket, key, "")
	if err != nil {
		return from, err
	}
	if err := c.condition(from.Info, sourceName+"-"); err != nil {
		if errors.Is(err, notModified) {
			err = refuse(http.StatusNotModified, "NotModified", "Not Modified")
		}
		return from, errors.Join(err, from.Close())
	}
	return from, nil
}

// copyObject is CopyObject.
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
	tags := from.Tags
	if strings.EqualFold(c.r.Header.Get("X-Oss-Tagging-Directive"), "replace") {
		tags = attributes.Tags
	}
	replace := strings.EqualFold(c.r.Header.Get("X-Oss-Metadata-Directive"), "replace")
	if !replace {
		attributes = from.Attributes
	}
	attributes.Tags, attributes.Appendable = tags, false
	o := objects.Options{Attributes: attributes, Algorithm: objects.CRC64ECMA}
	o.Condition.IfNone = strings.EqualFold(c.r.Header.Get("X-Oss-Forbid-Overwrite"), "true")
	info, err := c.config.Objects.Copy(c.ctx, from, c.bucket, c.key, false, o)
	if err != nil {
		return exists(err)
	}
	c.stored(info)
	return c.document(struct {
		XMLName            xml.Name `xml:"CopyObjectResult"`
		LastModified, ETag string
	}{LastModified: stamp(info.Modified), ETag: etag(info.ETag)})
}

// appendObject is AppendObject. It writes the whole object again, so that a crash leaves the old one or the new one.
func (c *call) appendObject() error {
	position, err := strconv.ParseInt(c.query.Get("position"), 10, 64)
	if err != nil || position < 0 {
		return invalid("The position must be a number that is not negative.")
	}
	attributes, err := c.attributes()
	if err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Condition = objects.Condition{IfNone: true}
	body := c.body
	there, err := c.config.Objects.Open(c.ctx, c.bucket, c.key, "")
	switch {
	case errors.Is(err, objects.ErrNoObject):
	case err != nil:
		return err
	default:
		defer there.Close()
		if !there.Appendable {
			return refuse(http.StatusConflict, "ObjectNotAppendable", "The object is not appendable.")
		}
		// The MD5 from the client is that of the appended data.
		sent := md5.New()
		want := o.Verify
		if want != nil {
			o.Verify = func(objects.Sums) error { return want(objects.Sums{MD5: sent.Sum(nil)}) }
		}
		attributes, o.Condition = there.Attributes, objects.Condition{IfMatch: there.ETag}
		body = io.MultiReader(there, io.TeeReader(c.body, sent))
	}
	if position != there.Size {
		c.w.Header().Set("X-Oss-Next-Append-Position", strconv.FormatInt(there.Size, 10))
		return refuse(http.StatusConflict, "PositionNotEqualToLength", "Position is not equal to file length.")
	}
	attributes.Appendable = true
	o.Attributes = attributes
	info, err := c.config.Objects.Put(c.ctx, c.bucket, c.key, body, o)
	if errors.Is(err, objects.ErrPrecondition) || errors.Is(err, objects.ErrNoObject) {
		return refuse(http.StatusConflict, "PositionNotEqualToLength", "Position is not equal to file length: another call changed the object.")
	}
	if err != nil {
		return err
	}
	c.stored(info)
	c.w.Header().Set("X-Oss-Next-Append-Position", strconv.FormatInt(info.Size, 10))
	return c.done(http.StatusOK)
}

// removeObject is DeleteObject.
func (c *call) removeObject() error {
	if err := c.config.Objects.Delete(c.ctx, c.bucket, c.key, objects.Condition{}); err != nil {
		return err
	}
	return c.done(http.StatusNoContent)
}

// getObject is GetObject and HeadObject.
func (c *call) getObject() error {
	if c.query.Get("x-oss-process") != "" {
		return c.unserved([]string{"x-oss-process"})
	}
	o, err := c.config.Objects.Open(c.ctx, c.bucket, c.key, "")
	if err != nil {
		return err
	}
	defer o.Close()
	h := c.w.Header()
	h.Set("Etag", etag(o.ETag))
	h.Set("Last-Modified", o.Modified.UTC().Format(http.TimeFormat))
	if err := c.condition(o.Info, ""); err != nil {
		return err
	}
	first, length, status, err := c.span(o.Size)
	if err != nil {
		return err
	}
	c.describe(o.Info)
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	if status == http.StatusPartialContent {
		h.Set("Content-Range", contentRange(first, length, o.Size))
	}
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		// The client may have disconnected. Otherwise it notices that the body is incomplete.
		_, _ = io.Copy(c, &untilDone{c.ctx, o.Range(first, length)})
	}
	return nil
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

// describe sets the headers that describe an object.
func (c *call) describe(info objects.Info) {
	h := c.w.Header()
	for name, value := range map[string]string{
		"Content-Type": cmp.Or(info.ContentType, untyped), "Content-Encoding": info.ContentEncoding,
		"Content-Language": info.ContentLanguage, "Content-Disposition": info.ContentDisposition, "Cache-Control": info.CacheControl,
		"Expires": info.Expires, "Accept-Ranges": "bytes", "X-Oss-Object-Type": kindOf(info), "X-Oss-Storage-Class": objects.StandardStorage,
		checksumHeader: checksum(info),
	} {
		if value != "" {
			h.Set(name, value)
		}
	}
	for name, value := range info.Metadata {
		h[strings.ToLower(metaHeader)+name] = []string{value} // clients in Python and JavaScript see the case
	}
	if info.Appendable {
		h.Set("X-Oss-Next-Append-Position", strconv.FormatInt(info.Size, 10))
	}
	if len(info.Tags) > 0 {
		h.Set("X-Oss-Tagging-Count", strconv.Itoa(len(info.Tags)))
	}
	for name, values := range c.query { // they are signed
		if header, ok := strings.CutPrefix(name, "response-"); ok && overridable[header] {
			h.Set(header, values[0])
		}
	}
}

// overridable are the response headers that a request may replace.
var overridable = map[string]bool{
	"content-type": true, "content-language": true, "content-disposition": true, "content-encoding": true, "cache-control": true,
	"expires": true,
}

// objectMeta is GetObjectMeta.
func (c *call) objectMeta() error {
	info, err := c.config.Objects.Stat(c.ctx, c.bucket, c.key, "")
	if err != nil {
		return err
	}
	c.stored(info)
	c.w.Header().Set("Last-Modified", info.Modified.UTC().Format(http.TimeFormat))
	if c.r.Method == http.MethodHead {
		c.w.Header().Set("Content-Length", strconv.FormatInt(info.Size, 10))
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	return c.done(http.StatusOK)
}
