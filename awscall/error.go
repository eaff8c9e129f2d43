package awscall

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
)

// Error is the error response of a service.
type Error struct {
	Service, Action string // as in the models, e.g. "ssm" and "GetParameter"
	Code            string // name of the exception, e.g. "ParameterNotFound"; "UnknownError" if the response had none
	WireCode        string // the code sent by the service if it differs: "InvalidParameter" for SNS's InvalidParameterException
	Message         string // the service's message, with credentials redacted
	Status          int    // HTTP status
	RequestID       string // the service's request ID for AWS support; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s: %s (status %d", e.Service, e.Action, e.Code, e.Message, e.Status)
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// ErrorCode returns the code. The AWS SDK's retryer uses it to decide about a retry.
func (e *Error) ErrorCode() string { return e.Code }

// HTTPStatusCode returns the HTTP status, also for the retryer.
func (e *Error) HTTPStatusCode() int { return e.Status }

// ParameterError describes an invalid parameter. It never contains its value.
type ParameterError struct {
	Service, Action string
	Path            string // e.g. "Tags[0].Key"; empty for the parameters as a whole
	Problem         string
}

// Error implements error.
func (e *ParameterError) Error() string {
	return e.Service + " " + e.Action + ": " + (&shape.ParameterError{Path: e.Path, Problem: e.Problem}).Error()
}

// UnknownServiceError reports an unknown service.
type UnknownServiceError struct {
	Service string // as given
	Nearest string // a similar name; may be empty
}

// Error implements error.
func (e *UnknownServiceError) Error() string {
	return fmt.Sprintf("there is no AWS service %q%s", shorten(e.Service), meant(e.Nearest))
}

// UnknownActionError reports an unknown action of a service.
type UnknownActionError struct {
	Service string // as in the models
	Package string // of the AWS SDK for JavaScript, e.g. "@aws-sdk/client-ssm"
	Action  string // as given
	Nearest string // a similar name; may be empty
}

// Error implements error.
func (e *UnknownActionError) Error() string {
	return fmt.Sprintf("the AWS service %s has no action %q%s", e.Service, shorten(e.Action), meant(e.Nearest))
}

// UnsupportedError reports a call that exists but is not supported, and why.
type UnsupportedError struct {
	Service, Action string
	Why             string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s %s is not supported: %s", e.Service, e.Action, e.Why)
}

// ResponseTooLargeError reports a response that exceeds [Config.MaxResponse].
type ResponseTooLargeError struct {
	Service, Action string
	Limit           int64
}

// Error implements error.
func (e *ResponseTooLargeError) Error() string {
	return fmt.Sprintf("%s %s: the response has more than %d bytes", e.Service, e.Action, e.Limit)
}

// SendError reports that no complete response arrived.
type SendError struct {
	Service, Action string
	Host            string
	Err             error // from the transport, without the request's URL
}

// Error implements error.
func (e *SendError) Error() string {
	return fmt.Sprintf("%s %s: %s: %v", e.Service, e.Action, e.Host, e.Err)
}

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

func meant(name string) string {
	if name == "" {
		return ""
	}
	return ": did you mean " + name + "?"
}

func shorten(text string) string {
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}
