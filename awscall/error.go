package awscall

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
)

// Error is what a service answered that is no success.
type Error struct {
	Service, Action string // as in the models, e.g. "ssm" and "GetParameter"
	Code            string // name of the exception, e.g. "ParameterNotFound"; "UnknownError" if the answer told none
	WireCode        string // the code that the service sent if it is not Code: "InvalidParameter" for SNS's InvalidParameterException
	Message         string // the service's own; credentials in it are struck out
	Status          int    // of HTTP
	RequestID       string // the service's, for its support; may be empty
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s: %s (status %d", e.Service, e.Action, e.Code, e.Message, e.Status)
	if e.RequestID != "" {
		text += ", request " + e.RequestID
	}
	return text + ")"
}

// ErrorCode returns the code: what decides whether a call is tried again looks for such a method.
func (e *Error) ErrorCode() string { return e.Code }

// HTTPStatusCode returns the status: the same.
func (e *Error) HTTPStatusCode() int { return e.Status }

// ParameterError says which parameter is wrong and how, never what it holds.
type ParameterError struct {
	Service, Action string
	Path            string // e.g. "Tags[0].Key"; empty for the parameters as a whole
	Problem         string
}

// Error implements error.
func (e *ParameterError) Error() string {
	return e.Service + " " + e.Action + ": " + (&shape.ParameterError{Path: e.Path, Problem: e.Problem}).Error()
}

// UnknownServiceError says that there is no service of a name.
type UnknownServiceError struct {
	Service string // as it was given
	Nearest string // name that may have been meant; may be empty
}

// Error implements error.
func (e *UnknownServiceError) Error() string {
	return fmt.Sprintf("there is no AWS service %q%s", shorten(e.Service), meant(e.Nearest))
}

// UnknownActionError says that a service has no action of a name.
type UnknownActionError struct {
	Service string // as in the models
	Package string // of the AWS SDK for JavaScript, e.g. "@aws-sdk/client-ssm"
	Action  string // as it was given
	Nearest string // name that may have been meant; may be empty
}

// Error implements error.
func (e *UnknownActionError) Error() string {
	return fmt.Sprintf("the AWS service %s has no action %q%s", e.Service, shorten(e.Action), meant(e.Nearest))
}

// UnsupportedError says that a call exists, and why it cannot be made.
type UnsupportedError struct {
	Service, Action string
	Why             string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s %s is not supported: %s", e.Service, e.Action, e.Why)
}

// ResponseTooLargeError says that a response has more bytes than are read.
type ResponseTooLargeError struct {
	Service, Action string
	Limit           int64
}

// Error implements error.
func (e *ResponseTooLargeError) Error() string {
	return fmt.Sprintf("%s %s: the response has more than %d bytes", e.Service, e.Action, e.Limit)
}

// SendError says that no response came.
type SendError struct {
	Service, Action string
	Host            string
	Err             error // of the transport, without the request's URL
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
