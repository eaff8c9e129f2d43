package s3api

import (
	"encoding/xml"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

type pendingUpload struct {
	Key              string
	UploadID         string `xml:"UploadId"`
	Initiator, Owner ownerID
	StorageClass     string
	Initiated        string
}

// listMultipartUploads lists the unfinished uploads of a bucket.
func (c uploads) listMultipartUploads() error {
	limit, err := c.limit("max-uploads")
	if err != nil {
		return err
	}
	encoding, err := c.encoding()
	if err != nil {
		return err
	}
	l := listing{encoding: encoding}
	l.Prefix, l.Delimiter = c.query.Get("prefix"), c.query.Get("delimiter")
	uploads, err := c.config.Objects.Uploads(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	key, id := c.query.Get("key-marker"), c.query.Get("upload-id-marker")
	if key == "" {
		id = "" // S3 ignores it
	}
	result := struct {
		XMLName            xml.Name `xml:"ListMultipartUploadsResult"`
		Namespace          string   `xml:"xmlns,attr"`
		Bucket             string
		KeyMarker          string
		UploadIDMarker     string `xml:"UploadIdMarker"`
		NextKeyMarker      string `xml:",omitempty"`
		NextUploadIDMarker string `xml:"NextUploadIdMarker,omitempty"`
		Prefix             string `xml:",omitempty"`
		Delimiter          string `xml:",omitempty"`
		EncodingType       string `xml:",omitempty"`
		MaxUploads         int
		IsTruncated        bool
		Uploads            []pendingUpload `xml:"Upload"`
		CommonPrefixes     []commonPrefix
	}{
		Namespace: namespace, Bucket: c.bucket, KeyMarker: l.text(key), UploadIDMarker: id, Prefix: l.text(l.Prefix),
		Delimiter: l.text(l.Delimiter), EncodingType: encoding, MaxUploads: limit,
	}
	var last objects.Upload
	prefix := "" // the last common prefix; uploads with the same one are adjacent
	for _, u := range following(uploads, key, id) {
		rest, ok := strings.CutPrefix(u.Key, l.Prefix)
		if !ok {
			continue
		}
		common := ""
		if head, _, cut := strings.Cut(rest, l.Delimiter); cut && l.Delimiter != "" {
			common = l.Prefix + head + l.Delimiter
		}
		switch {
		case common != "" && common == prefix:
		case len(result.Uploads)+len(result.CommonPrefixes) == limit:
			result.IsTruncated = true
		case common != "":
			prefix = common
			result.CommonPrefixes = append(result.CommonPrefixes, commonPrefix{l.text(common)})
		default:
			result.Uploads = append(result.Uploads, pendingUpload{
				Key: l.text(u.Key), UploadID: u.ID, Initiator: c.owner(), Owner: c.owner(), StorageClass: standard, Initiated: stamp(u.Begun),
			})
		}
		if result.IsTruncated {
			result.NextKeyMarker, result.NextUploadIDMarker = l.text(last.Key), last.ID
			break
		}
		last = u
	}
	return c.reply.document(result)
}

// following returns the uploads that follow a key or, with an ID, an upload of that key. If that upload was completed
// or aborted meanwhile, all remaining uploads of its key follow: clients abort the listed uploads and request the
// next page.
func following(uploads []objects.Upload, key, id string) []objects.Upload {
	if key == "" {
		return uploads
	}
	past := func(u objects.Upload) bool { return u.Key > key }
	if id != "" {
		at := slices.IndexFunc(uploads, func(u objects.Upload) bool { return u.Key == key && u.ID == id })
		if at >= 0 {
			return uploads[at+1:]
		}
		past = func(u objects.Upload) bool { return u.Key >= key }
	}
	if at := slices.IndexFunc(uploads, past); at >= 0 {
		return uploads[at:]
	}
	return nil
}
