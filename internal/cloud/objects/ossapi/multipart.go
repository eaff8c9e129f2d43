package ossapi

import (
	"encoding/xml"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// minPart is the minimum size in bytes of every part but the last. Source: OSS, UploadPart.
const minPart = 100 << 10

// beginUpload is InitiateMultipartUpload.
func (c *call) beginUpload() error {
	attributes, err := c.attributes()
	if err != nil {
		return err
	}
	u, err := c.config.Objects.Begin(c.ctx, c.bucket, objects.Upload{
		Key: c.key, Attributes: attributes, Algorithm: objects.CRC64ECMA, Whole: true, MinPart: minPart,
	})
	if err != nil {
		return err
	}
	text, err := c.encoder()
	if err != nil {
		return err
	}
	return c.document(struct {
		XMLName      xml.Name `xml:"InitiateMultipartUploadResult"`
		EncodingType string   `xml:",omitempty"`
		Bucket, Key  string
		UploadID     string `xml:"UploadId"`
	}{EncodingType: c.query.Get("encoding-type"), Bucket: c.bucket, Key: text(c.key), UploadID: u.ID})
}

// putPart is UploadPart and UploadPartCopy.
func (c *call) putPart() error {
	number, err := strconv.Atoi(c.query.Get("partNumber"))
	if err != nil || number < 1 || number > objects.MaxParts {
		return invalid("Part number must be an integer between 1 and %d, inclusive.", objects.MaxParts)
	}
	id := c.query.Get("uploadId")
	if c.r.Header.Get(sourceName) == "" {
		o, err := c.options()
		if err != nil {
			return err
		}
		info, err := c.config.Objects.PutPart(c.ctx, c.bucket, c.key, id, number, c.body, o)
		if err != nil {
			return err
		}
		c.stored(info)
		return c.done(http.StatusOK)
	}
	from, err := c.source()
	if err != nil {
		return err
	}
	defer from.Close()
	body := io.Reader(from)
	if text := c.r.Header.Get(sourceName + "-Range"); text != "" {
		first, length, err := parseRange(text, from.Size)
		if err != nil {
			return refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range cannot be satisfied.")
		}
		body = from.Range(first, length)
	}
	info, err := c.config.Objects.PutPart(c.ctx, c.bucket, c.key, id, number, body, objects.Options{Algorithm: objects.CRC64ECMA})
	if err != nil {
		return err
	}
	c.stored(info)
	return c.document(struct {
		XMLName            xml.Name `xml:"CopyPartResult"`
		LastModified, ETag string
	}{LastModified: stamp(info.Modified), ETag: etag(info.ETag)})
}

// completeUpload is CompleteMultipartUpload.
func (c *call) completeUpload() error {
	id := c.query.Get("uploadId")
	var given []objects.Given
	if strings.EqualFold(c.r.Header.Get("X-Oss-Complete-All"), "yes") {
		_, parts, err := c.config.Objects.Parts(c.bucket, c.key, id)
		if err != nil {
			return err
		}
		for _, part := range parts {
			given = append(given, objects.Given{Number: part.Number, ETag: part.ETag})
		}
	} else {
		var asked struct {
			XMLName xml.Name `xml:"CompleteMultipartUpload"`
			Parts   []struct {
				PartNumber int
				ETag       string
			} `xml:"Part"`
		}
		if err := c.readDocument(&asked, false); err != nil {
			return err
		}
		for _, part := range asked.Parts {
			given = append(given, objects.Given{Number: part.PartNumber, ETag: strings.ToLower(part.ETag)})
		}
	}
	o := objects.Options{}
	o.Condition.IfNone = strings.EqualFold(c.r.Header.Get("X-Oss-Forbid-Overwrite"), "true")
	info, err := c.config.Objects.Complete(c.ctx, c.bucket, c.key, id, given, o)
	if err != nil {
		return exists(err)
	}
	text, err := c.encoder()
	if err != nil {
		return err
	}
	c.stored(info)
	return c.document(struct {
		XMLName                     xml.Name `xml:"CompleteMultipartUploadResult"`
		EncodingType                string   `xml:",omitempty"`
		Location, Bucket, Key, ETag string
	}{
		EncodingType: c.query.Get("encoding-type"), Location: "http://" + c.r.Host + c.r.URL.EscapedPath(),
		Bucket: c.bucket, Key: text(c.key), ETag: etag(info.ETag),
	})
}

// abortUpload is AbortMultipartUpload.
func (c *call) abortUpload() error {
	if err := c.config.Objects.Abort(c.ctx, c.bucket, c.key, c.query.Get("uploadId")); err != nil {
		return err
	}
	return c.done(http.StatusNoContent)
}

// listParts is ListParts.
func (c *call) listParts() error {
	limit, err := c.number("max-parts", maxKeys, maxKeys)
	if err != nil {
		return err
	}
	after := 0
	if c.query.Get("part-number-marker") != "" && c.query.Get("part-number-marker") != "0" {
		if after, err = c.number("part-number-marker", 0, objects.MaxParts); err != nil {
			return err
		}
	}
	text, err := c.encoder()
	if err != nil {
		return err
	}
	id := c.query.Get("uploadId")
	_, parts, err := c.config.Objects.Parts(c.bucket, c.key, id)
	if err != nil {
		return err
	}
	type one struct {
		PartNumber         int
		LastModified, ETag string
		HashCrc64ecma      string `xml:",omitempty"`
		Size               int64
	}
	result := struct {
		XMLName              xml.Name `xml:"ListPartsResult"`
		EncodingType         string   `xml:",omitempty"`
		Bucket, Key          string
		UploadID             string `xml:"UploadId"`
		StorageClass         string
		PartNumberMarker     int
		NextPartNumberMarker int
		MaxParts             int
		IsTruncated          bool
		Parts                []one `xml:"Part"`
	}{
		EncodingType: c.query.Get("encoding-type"), Bucket: c.bucket, Key: text(c.key), UploadID: id, StorageClass: objects.StandardStorage,
		PartNumberMarker: after, MaxParts: limit,
	}
	for _, part := range parts {
		if part.Number <= after {
			continue
		}
		if len(result.Parts) == limit {
			result.IsTruncated = true
			break
		}
		result.NextPartNumberMarker = part.Number
		result.Parts = append(result.Parts, one{part.Number, stamp(part.Modified), etag(part.ETag), checksum(part.Info), part.Size})
	}
	return c.document(result)
}

// listUploads is ListMultipartUploads.
func (c *call) listUploads() error {
	limit, err := c.number("max-uploads", maxKeys, maxKeys)
	if err != nil {
		return err
	}
	text, err := c.encoder()
	if err != nil {
		return err
	}
	if c.query.Get("delimiter") != "" {
		return c.unserved([]string{"delimiter", "uploads"})
	}
	all, err := c.config.Objects.Uploads(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	type one struct {
		Key       string
		UploadID  string `xml:"UploadId"`
		Initiated string
	}
	prefix, key, id := c.query.Get("prefix"), c.query.Get("key-marker"), c.query.Get("upload-id-marker")
	result := struct {
		XMLName            xml.Name `xml:"ListMultipartUploadsResult"`
		EncodingType       string   `xml:",omitempty"`
		Bucket, Prefix     string
		KeyMarker          string
		UploadIDMarker     string `xml:"UploadIdMarker"`
		NextKeyMarker      string
		NextUploadIDMarker string `xml:"NextUploadIdMarker"`
		MaxUploads         int
		IsTruncated        bool
		Uploads            []one `xml:"Upload"`
	}{
		EncodingType: c.query.Get("encoding-type"), Bucket: c.bucket, Prefix: text(prefix), KeyMarker: text(key), UploadIDMarker: id,
		MaxUploads: limit,
	}
	// Uploads are sorted by key and start time. The marker is the last upload of the previous page.
	passed := key == ""
	for _, u := range all {
		if !passed {
			passed = u.Key > key || u.Key == key && u.ID == id
			if u.Key <= key {
				continue
			}
		}
		if !strings.HasPrefix(u.Key, prefix) {
			continue
		}
		if len(result.Uploads) == limit {
			result.IsTruncated = true
			break
		}
		result.NextKeyMarker, result.NextUploadIDMarker = text(u.Key), u.ID
		result.Uploads = append(result.Uploads, one{text(u.Key), u.ID, stamp(u.Begun)})
	}
	return c.document(result)
}
