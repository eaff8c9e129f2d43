package s3

import (
	"encoding/xml"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/johannesboyne/gofakes3"

	"github.com/pintle-dev/pintle/internal/objects"
)

// CreateMultipartUpload implements [gofakes3.MultipartBackend].
func (b backend) CreateMultipartUpload(bucket, key string, _ map[string]string) (gofakes3.UploadID, error) {
	u, err := b.begin(bucket, key)
	return gofakes3.UploadID(u.ID), b.fail(err)
}

func (b backend) begin(bucket, key string) (objects.Upload, error) {
	algo, err := b.algorithm()
	u := objects.Upload{Key: key, Algorithm: algo}
	if err != nil {
		return u, err
	}
	kind := b.r.Header.Get("X-Amz-Checksum-Type")
	crc := u.Algorithm == objects.CRC32 || u.Algorithm == objects.CRC32C || u.Algorithm == objects.CRC64NVME
	switch {
	case kind != "" && kind != "COMPOSITE" && kind != "FULL_OBJECT":
		return u, invalid("The checksum type is COMPOSITE or FULL_OBJECT.")
	case kind == "FULL_OBJECT" && !crc, kind == "COMPOSITE" && u.Algorithm == objects.CRC64NVME:
		return u, invalidRequest("The %s checksum type cannot be used with the %s checksum algorithm.", kind, strings.ToLower(string(u.Algorithm)))
	}
	u.Whole = kind == "FULL_OBJECT" || u.Algorithm == objects.CRC64NVME
	if u.Attributes, err = b.attributes(); err != nil {
		return u, err
	}
	if u, err = b.config.Objects.Begin(b.ctx, bucket, u); err != nil {
		return u, err
	}
	b.final.Set("X-Amz-Server-Side-Encryption", encryption(objects.Info{Attributes: u.Attributes}))
	if u.Algorithm != "" {
		b.final.Set("X-Amz-Checksum-Algorithm", string(u.Algorithm))
		b.final.Set("X-Amz-Checksum-Type", checksumType(objects.Checksum{Composite: !u.Whole}))
	}
	return u, nil
}

// UploadPart implements [gofakes3.MultipartBackend].
func (b backend) UploadPart(bucket, key string, id gofakes3.UploadID, number int, _ int64, input io.Reader) (string, error) {
	info, err := b.config.Objects.PutPart(b.ctx, bucket, key, string(id), number, input, b.options(objects.Condition{}))
	if err == nil {
		b.stored(info)
		b.final.Del("X-Amz-Checksum-Type") // parts have none
	}
	return info.ETag, b.fail(err)
}

// ListMultipartUploads implements [gofakes3.MultipartBackend].
func (b backend) ListMultipartUploads(bucket string, marker *gofakes3.UploadListMarker, prefix gofakes3.Prefix, limit int64) (*gofakes3.ListMultipartUploadsResult, error) {
	uploads, err := b.config.Objects.Uploads(b.ctx, bucket)
	if err != nil {
		return nil, b.fail(err)
	}
	result := &gofakes3.ListMultipartUploadsResult{Bucket: bucket, MaxUploads: limit, Prefix: prefix.Prefix, Delimiter: prefix.Delimiter}
	past := marker == nil
	if marker != nil {
		result.KeyMarker, result.UploadIDMarker = marker.Object, marker.UploadID
	}
	seen := map[string]bool{}
	for _, u := range uploads {
		if !past {
			switch {
			case u.Key > marker.Object:
				past = true
			case u.Key == marker.Object && u.ID == string(marker.UploadID):
				past = true
				continue
			default:
				continue
			}
		}
		rest, ok := strings.CutPrefix(u.Key, prefix.Prefix)
		if !ok {
			continue
		}
		head, _, common := strings.Cut(rest, prefix.Delimiter)
		common = common && prefix.Delimiter != ""
		if name := prefix.Prefix + head + prefix.Delimiter; common && seen[name] {
			result.NextKeyMarker, result.NextUploadIDMarker = u.Key, gofakes3.UploadID(u.ID)
			continue
		}
		if int64(len(result.Uploads)+len(result.CommonPrefixes)) == limit {
			result.IsTruncated = true
			break
		}
		result.NextKeyMarker, result.NextUploadIDMarker = u.Key, gofakes3.UploadID(u.ID)
		if common {
			name := prefix.Prefix + head + prefix.Delimiter
			seen[name] = true
			result.CommonPrefixes = append(result.CommonPrefixes, gofakes3.CommonPrefix{Prefix: name})
			continue
		}
		result.Uploads = append(result.Uploads, gofakes3.ListMultipartUploadItem{
			Key: u.Key, UploadID: gofakes3.UploadID(u.ID), Initiated: gofakes3.NewContentTime(u.Begun), Owner: owner(b.caller.Account),
			Initiator: owner(b.caller.Account),
		})
	}
	if !result.IsTruncated {
		result.NextKeyMarker, result.NextUploadIDMarker = "", ""
	}
	return result, nil
}

// ListParts implements [gofakes3.MultipartBackend].
func (b backend) ListParts(bucket, key string, id gofakes3.UploadID, marker int, limit int64) (*gofakes3.ListMultipartUploadPartsResult, error) {
	_, parts, err := b.config.Objects.Parts(bucket, key, string(id))
	if err != nil {
		return nil, b.fail(err)
	}
	result := &gofakes3.ListMultipartUploadPartsResult{
		Bucket: bucket, Key: key, UploadID: id, PartNumberMarker: marker, MaxParts: limit,
		Owner: owner(b.caller.Account), Initiator: owner(b.caller.Account),
	}
	for _, part := range parts {
		if part.Number <= marker {
			continue
		}
		if int64(len(result.Parts)) == limit {
			result.IsTruncated = true
			break
		}
		result.NextPartNumberMarker = part.Number
		result.Parts = append(result.Parts, gofakes3.ListMultipartUploadPartItem{
			PartNumber: part.Number, LastModified: gofakes3.NewContentTime(part.Modified), ETag: part.ETag, Size: part.Size,
		})
	}
	return result, nil
}

// AbortMultipartUpload implements [gofakes3.MultipartBackend].
func (b backend) AbortMultipartUpload(bucket, key string, id gofakes3.UploadID) error {
	return b.fail(b.config.Objects.Abort(b.ctx, bucket, key, string(id)))
}

// CompleteMultipartUpload implements [gofakes3.MultipartBackend]. It reads the document itself: gofakes3 knows no checksums of parts.
func (b backend) CompleteMultipartUpload(bucket, key string, id gofakes3.UploadID, _ *gofakes3.CompleteMultipartUploadRequest) (gofakes3.VersionID, string, error) {
	info, err := b.complete(bucket, key, string(id))
	if err == nil {
		b.stored(info)
		b.final.Del("ETag") // it is in the document
	}
	return "", info.ETag, b.fail(err)
}

func (b backend) complete(bucket, key, id string) (objects.Info, error) {
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
	if err := xml.Unmarshal(b.body, &document); err != nil || len(document.Parts) > objects.MaxParts {
		return objects.Info{}, malformedXML
	}
	given := make([]objects.Given, 0, len(document.Parts))
	for _, p := range document.Parts {
		sums := []string{p.ChecksumCRC32, p.ChecksumCRC32C, p.ChecksumCRC64NVME, p.ChecksumSHA1, p.ChecksumSHA256, p.ChecksumSHA512, p.ChecksumMD5}
		sums = slices.DeleteFunc(sums, func(sum string) bool { return sum == "" })
		given = append(given, objects.Given{Number: p.PartNumber, ETag: p.ETag, Checksum: strings.Join(sums, " ")})
	}
	condition, err := b.writeCondition()
	if err != nil {
		return objects.Info{}, err
	}
	o := objects.Options{Condition: condition}
	size, whole := b.r.Header.Get("X-Amz-Mp-Object-Size"), b.r.Header.Get("X-Amz-Checksum-Type") == "FULL_OBJECT"
	o.Verify = func(sums objects.Sums) error {
		if size != "" && size != strconv.FormatInt(sums.Size, 10) {
			return invalidRequest("The provided 'x-amz-mp-object-size' header value %.20s does not match what was computed: %d", size, sums.Size)
		}
		for _, algo := range objects.Algorithms() {
			value := b.r.Header.Get(checksumName(algo))
			if whole && value != "" && sums.Checksum != "" && value != sums.Checksum {
				return badDigest(string(algo))
			}
		}
		return nil
	}
	return b.config.Objects.Complete(b.ctx, bucket, key, id, given, o)
}

// copyPart makes a part of an upload of another object, or of a range of it.
func (c *call) copyPart() error {
	from, err := c.source()
	if err != nil {
		return err
	}
	defer from.Close()
	if err := c.readCondition(from.Info, "X-Amz-Copy-Source-"); err != nil {
		return err
	}
	number, err := strconv.Atoi(c.query.Get("partNumber"))
	if err != nil {
		return objects.ErrPart
	}
	var data io.Reader = from
	if text := c.r.Header.Get("X-Amz-Copy-Source-Range"); text != "" {
		c.r.Header.Set("Range", text)
		c.plainRange()
		asked, err := c.ranged()
		if err != nil {
			return err
		}
		if asked == nil || asked.FromEnd || asked.End == gofakes3.RangeNoEnd || asked.End >= from.Size {
			return invalid("The x-amz-copy-source-range value must be of the form bytes=first-last where first and last are the "+
				"zero-based offsets of the first and last bytes to copy, within the object of %d bytes.", from.Size)
		}
		data = from.Range(asked.Start, asked.End-asked.Start+1)
	}
	info, err := c.config.Objects.PutPart(c.ctx, c.bucket, c.key, c.query.Get("uploadId"), number, data, objects.Options{})
	if err != nil {
		return err
	}
	return c.reply.document(struct {
		XMLName      xml.Name `xml:"CopyPartResult"`
		Namespace    string   `xml:"xmlns,attr"`
		ETag         string
		LastModified string
	}{Namespace: namespace, ETag: info.ETag, LastModified: stamp(info.Modified)})
}

// source opens the object that is copied.
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
	return c.config.Objects.Open(c.ctx, bucket, key, version)
}
