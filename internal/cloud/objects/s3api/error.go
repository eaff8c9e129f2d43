package s3api

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// fault is an error for the client.
type fault struct {
	code, message string
	status        int
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func refuse(status int, code, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...), status}
}

func invalid(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "InvalidArgument", format, args...)
}

func invalidRequest(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "InvalidRequest", format, args...)
}

func badDigest(what string) error {
	return refuse(http.StatusBadRequest, "BadDigest", "The %s you specified did not match the calculated checksum.", what)
}

// Errors with a fixed text.
var (
	denied       = refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
	notAllowed   = refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
	noLength     = refuse(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
	incomplete   = refuse(http.StatusBadRequest, "IncompleteBody", "The request body terminated unexpectedly")
	malformedXML = refuse(http.StatusBadRequest, "MalformedXML",
		"The XML you provided was not well-formed or did not validate against our published schema")
	notModified = refuse(http.StatusNotModified, "NotModified", "Not Modified")
)

// unserved returns the error for an S3 feature that this server does not support.
func unserved(asked ...string) error {
	return refuse(http.StatusNotImplemented, "NotImplemented", "This version of Pintle does not serve ?%.100s of S3. "+
		"To use another S3, set AWS_ENDPOINT_URL_S3.", strings.Join(asked, "&"))
}

func keyError(key string) error {
	if len(key) > objects.MaxKey {
		return refuse(http.StatusBadRequest, "KeyTooLongError", "Your key is too long")
	}
	return refuse(http.StatusBadRequest, "InvalidURI", "Couldn't parse the specified URI: a key is UTF-8 without control characters.")
}

// known maps errors of package objects to S3 errors.
var known = []struct {
	err    error
	status int
	code   string
}{
	{objects.ErrNoBucket, http.StatusNotFound, "NoSuchBucket"},
	{objects.ErrNoObject, http.StatusNotFound, "NoSuchKey"},
	{objects.ErrNoVersion, http.StatusNotFound, "NoSuchVersion"},
	{objects.ErrNoUpload, http.StatusNotFound, "NoSuchUpload"},
	{objects.ErrNotEmpty, http.StatusConflict, "BucketNotEmpty"},
	{objects.ErrBucketName, http.StatusBadRequest, "InvalidBucketName"},
	{objects.ErrTooLarge, http.StatusBadRequest, "EntityTooLarge"},
	{objects.ErrTooSmall, http.StatusBadRequest, "EntityTooSmall"},
	{objects.ErrMetadata, http.StatusBadRequest, "MetadataTooLarge"},
	{objects.ErrPart, http.StatusBadRequest, "InvalidPart"},
	{objects.ErrPartOrder, http.StatusBadRequest, "InvalidPartOrder"},
	{objects.ErrPrecondition, http.StatusPreconditionFailed, "PreconditionFailed"},
	{registry.ErrChanged, http.StatusConflict, "OperationAborted"},
}

// of converts an error for the client.
func (c *call) of(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	// The verifier checks a body while it is read, and reports its refusal as a read error.
	if apiErr, ok := errors.AsType[interface {
		error
		Refusal() (code, message string, status int)
	}](err); ok {
		code, message, status := apiErr.Refusal()
		return &fault{code, message, status}
	}
	if refused, ok := errors.AsType[*bucketevents.Error](err); ok {
		return &fault{"InvalidArgument", refused.Message, http.StatusBadRequest}
	}
	if errors.Is(err, objects.ErrKey) {
		f, _ := errors.AsType[*fault](keyError(c.key))
		return f
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			message := k.err.Error()
			return &fault{k.code, strings.ToUpper(message[:1]) + message[1:] + ".", k.status}
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		f, _ := errors.AsType[*fault](incomplete)
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return &fault{"RequestTimeout", "The request took longer than this server allows.", http.StatusBadRequest}
	case errors.Is(err, context.Canceled):
		return &fault{"ServiceUnavailable", "The server is shutting down. Please try again.", http.StatusServiceUnavailable}
	}
	c.config.Log.ErrorContext(c.ctx, "a call of S3 failed", "request", c.id, "method", c.r.Method, "error", err)
	return &fault{"InternalError", "We encountered an internal error. Please try again.", http.StatusInternalServerError}
}

// refuse writes an error, unless the response has begun.
func (c *call) refuse(err error) {
	if !c.reply.begun {
		c.reply.error(err)
	}
}

// error writes an error.
func (r *reply) error(err error) {
	c := r.call
	f := c.of(err)
	body := f.body(c.id, c.bucket, c.key)
	if f.status != http.StatusNotModified {
		r.Header().Set("Content-Type", "application/xml")
		r.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	r.WriteHeader(f.status)
	if c.r.Method != http.MethodHead && f.status != http.StatusNotModified {
		_, _ = r.Write(body) // the client may have disconnected
	}
}

// body returns the document of an error.
func (f *fault) body(id, bucket, key string) []byte {
	document := struct {
		XMLName    xml.Name `xml:"Error"`
		Code       string   `xml:"Code"`
		Message    string   `xml:"Message"`
		BucketName string   `xml:"BucketName,omitempty"`
		Key        string   `xml:"Key,omitempty"`
		RequestID  string   `xml:"RequestId"`
	}{Code: f.code, Message: f.message, BucketName: bucket, Key: key, RequestID: id}
	text, err := xml.Marshal(document)
	if err != nil {
		panic(err) // texts always marshal
	}
	return append([]byte(xml.Header), text...)
}

// WriteError writes an error of the endpoint.
func WriteError(w http.ResponseWriter, r *http.Request, code, message string, status int) {
	id := newRequestID()
	body := (&fault{code, message, status}).body(id, "", "")
	w.Header().Set("X-Amz-Request-Id", id)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may have disconnected
	}
}
