package s3api

import (
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// uploads serves the calls for multipart uploads.
type uploads struct{ *call }

// createMultipartUpload starts a multipart upload.
func (c uploads) createMultipartUpload() error {
	algo, err := c.algorithm()
	if err != nil {
		return err
	}
	u := objects.Upload{Key: c.key, Algorithm: algo}
	kind := c.r.Header.Get("X-Amz-Checksum-Type")
	crc := u.Algorithm == objects.CRC32 || u.Algorithm == objects.CRC32C || u.Algorithm == objects.CRC64NVME
	switch {
	case kind != "" && kind != "COMPOSITE" && kind != "FULL_OBJECT":
		return invalid("The checksum type is COMPOSITE or FULL_OBJECT.")
	case kind == "FULL_OBJECT" && !crc, kind == "COMPOSITE" && u.Algorithm == objects.CRC64NVME:
		return invalidRequest("The %s checksum type cannot be used with the %s checksum algorithm.", kind, strings.ToLower(string(u.Algorithm)))
	}
	u.Whole = kind == "FULL_OBJECT" || u.Algorithm == objects.CRC64NVME
	if u.Attributes, err = c.attributes(); err != nil {
		return err
	}
	if u, err = c.config.Objects.Begin(c.ctx, c.bucket, u); err != nil {
		return err
	}
	h := c.reply.Header()
	h.Set("X-Amz-Server-Side-Encryption", encryption(objects.Info{Attributes: u.Attributes}))
	if u.Algorithm != "" {
		h.Set("X-Amz-Checksum-Algorithm", string(u.Algorithm))
		h.Set("X-Amz-Checksum-Type", checksumType(objects.Checksum{Composite: !u.Whole}))
	}
	return c.reply.document(struct {
		XMLName     xml.Name `xml:"InitiateMultipartUploadResult"`
		Namespace   string   `xml:"xmlns,attr"`
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}{Namespace: namespace, Bucket: c.bucket, Key: c.key, UploadID: u.ID})
}

// partNumber parses the number of a part. The error is [objects.ErrPart] if it is not a number.
func (c uploads) partNumber() (int, error) {
	number, err := strconv.Atoi(c.query.Get("partNumber"))
	if err != nil {
		return 0, objects.ErrPart
	}
	return number, nil
}

// uploadPart stores the body as a part of an upload.
func (c uploads) uploadPart() error {
	if err := c.receive(); err != nil {
		return err
	}
	number, err := c.partNumber()
	if err != nil {
		return err
	}
	info, err := c.config.Objects.PutPart(c.ctx, c.bucket, c.key, c.query.Get("uploadId"), number, c.r.Body, c.options(objects.Condition{}))
	if err != nil {
		return err
	}
	c.stored(info)
	c.reply.Header().Del("X-Amz-Checksum-Type") // not returned for parts
	return c.reply.nothing(http.StatusOK)
}

// uploadPartCopy stores another object, or a range of it, as a part of an upload.
func (c uploads) uploadPartCopy() error {
	from, err := c.source()
	if err != nil {
		return err
	}
	defer from.Close()
	number, err := c.partNumber()
	if err != nil {
		return err
	}
	var data io.Reader = from
	if text := c.r.Header.Get("X-Amz-Copy-Source-Range"); text != "" {
		part, err := parseRange(text, from.Size)
		if err != nil || part == nil || text != part.String() {
			return invalid("The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the "+
				"zero-based offsets of the first and last bytes to copy, within the object of %d bytes.", from.Size)
		}
		data = from.Range(part.first, part.length)
	}
	info, err := c.config.Objects.PutPart(c.ctx, c.bucket, c.key, c.query.Get("uploadId"), number, data, objects.Options{})
	if err != nil {
		return err
	}
	return c.copied("CopyPartResult", info)
}

// completeMultipartUpload creates an object from the parts in the body.
func (c uploads) completeMultipartUpload() error {
	if err := c.readBody(); err != nil {
		return err
	}
	var document struct {
		Parts []struct {
			PartNumber        int
			ETag              string
			ChecksumCRC32     string
			ChecksumCRC32C    string
			ChecksumCRC64NVME string
			ChecksumSHA1      string
			ChecksumSHA256    string
			ChecksumSHA512    string
			ChecksumMD5       string
		} `xml:"Part"`
	}
	if err := xml.Unmarshal(c.body, &document); err != nil || len(document.Parts) > objects.MaxParts {
		return malformedXML
	}
	given := make([]objects.Given, 0, len(document.Parts))
	for _, p := range document.Parts {
		sums := []string{p.ChecksumCRC32, p.ChecksumCRC32C, p.ChecksumCRC64NVME, p.ChecksumSHA1, p.ChecksumSHA256, p.ChecksumSHA512, p.ChecksumMD5}
		sums = slices.DeleteFunc(sums, func(sum string) bool { return sum == "" })
		given = append(given, objects.Given{Number: p.PartNumber, ETag: p.ETag, Checksum: strings.Join(sums, " ")})
	}
	condition, err := c.writeCondition()
	if err != nil {
		return err
	}
	o := objects.Options{Condition: condition, Verify: c.verifyObject}
	info, err := c.config.Objects.Complete(c.ctx, c.bucket, c.key, c.query.Get("uploadId"), given, o)
	if err != nil {
		return err
	}
	c.stored(info)
	c.reply.Header().Del("ETag") // it is in the document
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	return c.reply.document(struct {
		XMLName   xml.Name `xml:"CompleteMultipartUploadResult"`
		Namespace string   `xml:"xmlns,attr"`
		Location  string
		Bucket    string
		Key       string
		ETag      string
	}{Namespace: namespace, Location: scheme + "://" + c.r.Host + c.path, Bucket: c.bucket, Key: c.key, ETag: info.ETag})
}

// verifyObject compares the sums of a whole object with the headers.
func (c uploads) verifyObject(sums objects.Sums) error {
	h := c.r.Header
	if size := h.Get("X-Amz-Mp-Object-Size"); size != "" && size != strconv.FormatInt(sums.Size, 10) {
		return invalidRequest("The provided 'x-amz-mp-object-size' header value %.20s does not match what was computed: %d", size, sums.Size)
	}
	if h.Get("X-Amz-Checksum-Type") != "FULL_OBJECT" || sums.Checksum == "" {
		return nil
	}
	for _, algo := range objects.Algorithms() {
		if value := h.Get(checksumName(algo)); value != "" && value != sums.Checksum {
			return badDigest(string(algo))
		}
	}
	return nil
}

// abortMultipartUpload removes an upload and its parts.
func (c uploads) abortMultipartUpload() error {
	if err := c.config.Objects.Abort(c.ctx, c.bucket, c.key, c.query.Get("uploadId")); err != nil {
		return err
	}
	return c.reply.nothing(http.StatusNoContent)
}

type uploadedPart struct {
	PartNumber   int
	LastModified string
	ETag         string
	Size         int64
}

// listParts lists the parts of an upload.
func (c uploads) listParts() error {
	limit, err := c.limit("max-parts")
	if err != nil {
		return err
	}
	marker := 0
	if text := c.query.Get("part-number-marker"); text != "" {
		if marker, err = strconv.Atoi(text); err != nil || marker < 0 {
			return invalid("Provided part-number-marker not an integer or within integer range")
		}
	}
	id := c.query.Get("uploadId")
	_, parts, err := c.config.Objects.Parts(c.bucket, c.key, id)
	if err != nil {
		return err
	}
	result := struct {
		XMLName              xml.Name `xml:"ListPartsResult"`
		Namespace            string   `xml:"xmlns,attr"`
		Bucket, Key          string
		UploadID             string `xml:"UploadId"`
		Initiator, Owner     ownerID
		StorageClass         string
		PartNumberMarker     int
		NextPartNumberMarker int
		MaxParts             int
		IsTruncated          bool
		Parts                []uploadedPart `xml:"Part"`
	}{
		Namespace: namespace, Bucket: c.bucket, Key: c.key, UploadID: id, Initiator: c.owner(), Owner: c.owner(), StorageClass: standard,
		PartNumberMarker: marker, MaxParts: limit,
	}
	for _, part := range parts {
		if part.Number <= marker {
			continue
		}
		if len(result.Parts) == limit {
			result.IsTruncated = true
			break
		}
		result.NextPartNumberMarker = part.Number
		result.Parts = append(result.Parts, uploadedPart{part.Number, stamp(part.Modified), part.ETag, part.Size})
	}
	return c.reply.document(result)
}
