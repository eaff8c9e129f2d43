package s3api

import (
	"bytes"
	"crypto/md5" // clients send it
	"encoding/base64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// maxDocument is the maximum length in bytes of a body other than object data. It is enough for 10,000 parts.
const maxDocument = 4 << 20

const checksumHeader = "X-Amz-Checksum-"

// upload describes a body as declared by the client.
type upload struct {
	length  int64 // of the data
	md5     []byte
	chunks  *chunked // nil if the body is the data
	algo    objects.Algorithm
	value   string // base64 checksum; empty if it follows the data
	trailer bool
}

// declared parses the headers that describe the body, and replaces the request's body with the decoded data.
func (c *call) declared() (*upload, error) {
	u := &upload{length: c.r.ContentLength}
	h := c.r.Header
	if strings.HasPrefix(h.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		length, err := strconv.ParseInt(h.Get("X-Amz-Decoded-Content-Length"), 10, 64)
		if err != nil || length < 0 {
			return nil, noLength
		}
		u.length, u.chunks = length, newChunked(c.r.Body)
		c.r.Body = struct {
			io.Reader
			io.Closer
		}{u.chunks, c.r.Body}
	}
	if u.length < 0 {
		return nil, noLength
	}
	if texts := h.Values("Content-Md5"); len(texts) > 0 {
		sum, err := base64.StdEncoding.DecodeString(texts[0])
		if err != nil || len(sum) != md5.Size {
			return nil, refuse(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
		}
		u.md5 = sum
	}
	for _, algo := range objects.Algorithms() {
		header := http.CanonicalHeaderKey(checksumHeader + string(algo))
		inTrailer := u.chunks != nil && hasName(h.Values("X-Amz-Trailer"), header)
		value := h.Get(header)
		if value == "" && !inTrailer {
			continue
		}
		if u.algo != "" {
			return nil, invalidRequest("Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.")
		}
		if sum, err := base64.StdEncoding.DecodeString(value); err != nil || !inTrailer && len(sum) != algo.New().Size() {
			return nil, invalidRequest("Value for %s header is invalid.", strings.ToLower(header))
		}
		u.algo, u.value, u.trailer = algo, value, value == ""
	}
	for name := range h {
		if algo, ok := strings.CutPrefix(name, checksumHeader); ok && algo != "Mode" && algo != "Algorithm" && algo != "Type" &&
			!ofS3(objects.Algorithm(strings.ToUpper(algo))) {
			return nil, invalidRequest("Checksums of the algorithm %.20q are not served here.", algo)
		}
	}
	for list := range strings.SplitSeq(strings.Join(h.Values("X-Amz-Trailer"), ","), ",") {
		if name := strings.TrimSpace(list); name != "" && !strings.EqualFold(name, checksumHeader+string(u.algo)) {
			return nil, invalidRequest("The value specified in the x-amz-trailer header is not supported")
		}
	}
	if asked := objects.Algorithm(strings.ToUpper(h.Get("X-Amz-Sdk-Checksum-Algorithm"))); asked != "" && u.algo == "" && u.md5 == nil {
		return nil, invalidRequest("x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.")
	}
	return u, nil
}

// hasName reports whether lists contain a header name.
func hasName(lists []string, header string) bool {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(name), header) {
				return true
			}
		}
	}
	return false
}

// verify compares the sums of the data with those that the client declared.
func (u *upload) verify(sums objects.Sums) error {
	if sums.Size != u.length {
		return incomplete
	}
	if u.md5 != nil && !bytes.Equal(u.md5, sums.MD5) {
		return badDigest("Content-MD5")
	}
	want := u.value
	if u.trailer {
		if want = u.chunks.trailers.Get(checksumHeader + string(u.algo)); want == "" {
			return refuse(http.StatusBadRequest, "MalformedTrailerError", "The request contained trailing data that was not well-formed or did not conform to our published schema.")
		}
	}
	if u.algo != "" && want != sums.Checksum {
		return badDigest(string(u.algo))
	}
	return nil
}

// receive prepares the body as the data of an object or part, and sets c.upload to the checks for it.
func (c *call) receive() error {
	u, err := c.declared()
	if err != nil {
		return err
	}
	if u.length > c.config.Objects.MaxObject() {
		return objects.ErrTooLarge
	}
	if c.query.Has("uploadId") && u.length == 0 {
		return invalidRequest("A part can not be empty.")
	}
	c.upload = u
	return nil
}

// readBody reads a body that is a document into c.body and checks it.
func (c *call) readBody() error {
	if c.r.ContentLength < 0 && c.r.Body != nil && c.r.Header.Get("X-Amz-Decoded-Content-Length") == "" {
		return noLength
	}
	u, err := c.declared()
	if err != nil {
		return err
	}
	if u.length > maxDocument {
		return malformedXML
	}
	c.body, err = io.ReadAll(io.LimitReader(c.r.Body, maxDocument+1))
	if err != nil {
		return err
	}
	sum := md5.Sum(c.body)
	sums := objects.Sums{Size: int64(len(c.body)), MD5: sum[:]}
	if all := u.algo.New(); all != nil {
		all.Write(c.body)
		sums.Checksum = base64.StdEncoding.EncodeToString(all.Sum(nil))
	}
	// The checksum in this request is that of the object, not of the document.
	if c.query.Has("uploadId") {
		u.algo, u.trailer = "", false
	}
	return u.verify(sums)
}

// options returns the options for writing the data of c.upload.
func (c *call) options(condition objects.Condition) objects.Options {
	o := objects.Options{Condition: condition}
	if c.upload != nil {
		o.Algorithm, o.Verify = c.upload.algo, c.upload.verify
	}
	return o
}

// algorithm parses the requested checksum algorithm. Empty means none.
func (c *call) algorithm() (objects.Algorithm, error) {
	algo := objects.Algorithm(strings.ToUpper(c.r.Header.Get("X-Amz-Checksum-Algorithm")))
	if algo != "" && !ofS3(algo) {
		return "", invalidRequest("Checksums of the algorithm %.20q are not served here.", string(algo))
	}
	return algo, nil
}

// ofS3 reports whether S3 has an algorithm. Objects put through OSS have another one.
func ofS3(a objects.Algorithm) bool { return slices.Contains(objects.Algorithms(), a) }

// checksumName returns the header name of an algorithm.
func checksumName(a objects.Algorithm) string {
	return http.CanonicalHeaderKey(checksumHeader + string(a))
}

// writeCondition parses the condition of a write or delete request.
func (c *call) writeCondition() (objects.Condition, error) {
	none := c.r.Header.Get("If-None-Match")
	if none != "" && none != "*" {
		return objects.Condition{}, refuse(http.StatusNotImplemented, "NotImplemented", "If-None-Match of a request that writes is *.")
	}
	return objects.Condition{IfMatch: c.r.Header.Get("If-Match"), IfNone: none != ""}, nil
}
