package ossapi

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Error is an error as a client of OSS sees it.
type Error struct {
	Code, Message string
	Status        int
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func refuse(status int, code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

func invalid(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "InvalidArgument", format, args...)
}

var (
	denied = refuse(http.StatusForbidden, "AccessDenied",
		"The bucket you access does not belong to you.")
	malformed = refuse(http.StatusBadRequest, "MalformedXML",
		"The XML you provided was not well-formed or did not validate against our published schema.")
	notModified = refuse(http.StatusNotModified, "NotModified", "Not Modified")
	badDigest   = refuse(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
)

// known are the errors of the objects, in OSS's words. Source: OSS, HTTP status codes.
var known = []struct {
	err           error
	status        int
	code, message string
}{
	{objects.ErrNoBucket, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist."},
	{objects.ErrNoObject, http.StatusNotFound, "NoSuchKey", "The specified key does not exist."},
	{objects.ErrNoUpload, http.StatusNotFound, "NoSuchUpload",
		"The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed."},
	{registry.ErrExists, http.StatusConflict, "BucketAlreadyExists",
		"The requested bucket name is not available. The bucket namespace is shared by all users of the system. " +
			"Please select a different name and try again."},
	{objects.ErrNotEmpty, http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty."},
	{objects.ErrBucketName, http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid: a name has 3 to 63 " +
		"lower-case letters, digits and hyphens, and begins and ends with a letter or a digit."},
	{objects.ErrKey, http.StatusBadRequest, "InvalidObjectName", "The specified object is not valid: a name has 1 to 1,024 bytes of " +
		`UTF-8 that XML can hold, and does not begin with / or \.`},
	{objects.ErrTooLarge, http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed object size."},
	{objects.ErrTooSmall, http.StatusBadRequest, "EntityTooSmall", "Your proposed upload smaller than the minimum allowed size."},
	{objects.ErrMetadata, http.StatusBadRequest, "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size."},
	{objects.ErrPart, http.StatusBadRequest, "InvalidPart", "One or more of the specified parts could not be found or the specified " +
		"entity tag might not have matched the part's entity tag."},
	{objects.ErrPartOrder, http.StatusBadRequest, "InvalidPartOrder",
		"The list of parts was not in ascending order. Parts list must specified in order by part number."},
	{objects.ErrPrecondition, http.StatusPreconditionFailed, "PreconditionFailed",
		"At least one of the pre-conditions you specified did not hold."},
	{registry.ErrChanged, http.StatusConflict, "OperationConflict", "Another call is changing the bucket. Please try again."},
}

// of returns an error as the client sees it.
func (c *call) of(err error) *Error {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &Error{k.code, k.message, k.status}
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{"RequestIsNotComplete", "The request body ended before its end.", http.StatusBadRequest}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{"RequestTimeout", "The request took longer than this server allows.", http.StatusBadRequest}
	case errors.Is(err, context.Canceled):
		return &Error{"ServiceUnavailable", "The server is shutting down. Please try again.", http.StatusServiceUnavailable}
	}
	c.config.Log.ErrorContext(c.ctx, "a call of OSS failed", "request", c.id, "method", c.r.Method, "error", err)
	return &Error{"InternalError", "We encountered an internal error. Please try again.", http.StatusInternalServerError}
}

// refuse answers with an error.
func (c *call) refuse(err error) {
	writeError(c.w, c.r, c.id, c.bucket, c.key, c.of(err))
}

// WriteError answers a call that was not let in.
func WriteError(w http.ResponseWriter, r *http.Request, e *Error) {
	id := newRequestID()
	w.Header().Del("X-Amzn-Requestid")
	w.Header().Set("X-Oss-Request-Id", id)
	writeError(w, r, id, "", "", e)
}

// writeError answers with an error. A reply to HEAD has its document in a header, where clients look for it.
func writeError(w http.ResponseWriter, r *http.Request, id, bucket, key string, e *Error) {
	text, err := xml.Marshal(struct {
		XMLName    xml.Name `xml:"Error"`
		Code       string   `xml:"Code"`
		Message    string   `xml:"Message"`
		RequestID  string   `xml:"RequestId"`
		HostID     string   `xml:"HostId"`
		BucketName string   `xml:"BucketName,omitempty"`
		Key        string   `xml:"Key,omitempty"`
	}{Code: e.Code, Message: e.Message, RequestID: id, HostID: hostname(r.Host), BucketName: bucket, Key: key})
	if err != nil {
		panic(err) // text always marshals
	}
	text = append([]byte(xml.Header), text...)
	h := w.Header()
	if e.Status == http.StatusNotModified {
		w.WriteHeader(e.Status)
		return
	}
	for _, name := range []string{"Content-Range", "Content-Encoding", "Accept-Ranges", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/xml")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodHead {
		h.Set("X-Oss-Err", base64.StdEncoding.EncodeToString(text))
	}
	w.WriteHeader(e.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // a client that left needs no answer
	}
}
