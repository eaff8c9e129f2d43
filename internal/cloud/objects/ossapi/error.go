package ossapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

func refuse(status int, code, format string, args ...any) error {
	return &oss.Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
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

// known maps errors of package objects to OSS errors. Source: OSS, HTTP status codes.
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

// of converts an error for the client.
func (c *call) of(err error) *oss.Error {
	if refused, ok := errors.AsType[*oss.Error](err); ok {
		return refused
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &oss.Error{Code: k.code, Message: k.message, Status: k.status}
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &oss.Error{Code: "RequestIsNotComplete", Message: "The request body ended before its end.", Status: http.StatusBadRequest}
	case errors.Is(err, context.DeadlineExceeded):
		return &oss.Error{Code: "RequestTimeout", Message: "The request took longer than this server allows.", Status: http.StatusBadRequest}
	case errors.Is(err, context.Canceled):
		return &oss.Error{Code: "ServiceUnavailable", Message: "The server is shutting down. Please try again.", Status: http.StatusServiceUnavailable}
	}
	c.config.Log.ErrorContext(c.ctx, "a call of OSS failed", "request", c.id, "method", c.r.Method, "error", err)
	return &oss.Error{Code: "InternalError", Message: "We encountered an internal error. Please try again.", Status: http.StatusInternalServerError}
}

// refuse writes an error.
func (c *call) refuse(err error) {
	oss.WriteError(c.w, c.r, c.id, c.bucket, c.key, c.of(err))
}
