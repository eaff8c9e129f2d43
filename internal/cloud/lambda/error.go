package lambda

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Errors that callers branch on. An [*Error] with the code of Lambda's wraps them.
var (
	// ErrNotFound means that there is no such function, version or layer.
	ErrNotFound = registry.ErrNotFound
	// ErrExists means that somebody else has a function of this name.
	ErrExists = registry.ErrExists
)

// Error is an error as Lambda tells it. Its texts hold no secrets.
type Error struct {
	// Code is the name of the exception, e.g. ResourceNotFoundException.
	Code string
	// Message is for people.
	Message string
	// Status is that of the answer by HTTP.
	Status int
	// Reason is a word that some exceptions have beside, e.g. ReservedFunctionConcurrentInvocationLimitExceeded.
	Reason string
	kind   error
}

// Error returns the message and nothing else: native types show it.
func (e *Error) Error() string { return e.Message }

// Unwrap returns [ErrNotFound], [ErrExists], [trace.ErrLoop] or nil.
func (e *Error) Unwrap() error { return e.kind }

func invalid(format string, args ...any) error {
	return &Error{Code: "InvalidParameterValueException", Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// constraint is the error of a value that no request may have.
func constraint(field, value, want string) error {
	return &Error{
		Code: "ValidationException", Status: http.StatusBadRequest,
		Message: fmt.Sprintf("1 validation error detected: Value '%.200s' at '%s' failed to satisfy constraint: %s", value, field, want),
	}
}

func notFound(arn string) error {
	return &Error{
		Code: "ResourceNotFoundException", Message: "Function not found: " + arn, Status: http.StatusNotFound, kind: ErrNotFound,
	}
}

func throttled(reason, message string) error {
	return &Error{Code: "TooManyRequestsException", Message: message, Reason: reason, Status: http.StatusTooManyRequests}
}

// recursive is the error of an event to which too many functions have led. Source: Lambda API Reference, Invoke.
func recursive(arn string) error {
	return &Error{
		Code: "RecursiveInvocationException", Status: http.StatusBadRequest, kind: trace.ErrLoop,
		Message: fmt.Sprintf("%d functions have led to this event by their destinations, one after the other. "+
			"It does not reach %s. Remove the loop from the destinations.", trace.MaxHops, arn),
	}
}

// errStopping means that this server is shutting down: a retry reaches another node, or this one after its restart.
var errStopping = &Error{
	Code: "ServiceException", Message: "The server is stopping: try again.", Status: http.StatusServiceUnavailable,
}

// known says what an error of the catalog means for the function.
func known(err error, r Reference) error {
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return notFound(r.ARN())
	case errors.Is(err, registry.ErrChanged):
		return &Error{
			Code: "ResourceConflictException", Status: http.StatusConflict,
			Message: "The operation cannot be performed at this time. An update is in progress for resource: " + r.ARN(),
		}
	}
	return err
}
