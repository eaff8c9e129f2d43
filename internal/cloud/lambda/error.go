package lambda

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Errors for callers to check. An [*Error] with the code of Lambda wraps them.
var (
	// ErrNotFound means that a function, version or layer does not exist.
	ErrNotFound = registry.ErrNotFound
	// ErrExists means that another holder has a function with this name.
	ErrExists = registry.ErrExists
)

// Error is a Lambda error. Its texts contain no secrets.
type Error struct {
	// Code is the name of the exception, such as ResourceNotFoundException.
	Code string
	// Message is the text for users.
	Message string
	// Status is the HTTP status.
	Status int
	// Reason is a further code of some exceptions, such as ReservedFunctionConcurrentInvocationLimitExceeded.
	Reason string
	kind   error
}

// Error returns only the message, because native types display it.
func (e *Error) Error() string { return e.Message }

// Unwrap returns [ErrNotFound], [ErrExists], [trace.ErrLoop] or nil.
func (e *Error) Unwrap() error { return e.kind }

func invalid(format string, args ...any) error {
	return &Error{Code: "InvalidParameterValueException", Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// constraint returns the error for an invalid value.
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

// recursive returns the error for an event at the end of a chain of too many functions. Source: Lambda API Reference,
// Invoke.
func recursive(arn string) error {
	return &Error{
		Code: "RecursiveInvocationException", Status: http.StatusBadRequest, kind: trace.ErrLoop,
		Message: fmt.Sprintf("%d functions have led to this event by their destinations, one after the other. "+
			"It does not reach %s. Remove the loop from the destinations.", trace.MaxHops, arn),
	}
}

// errStopping means that this server is shutting down. A retry reaches another node, or this one after its restart.
var errStopping = &Error{
	Code: "ServiceException", Message: "The server is stopping: try again.", Status: http.StatusServiceUnavailable,
}

// known converts a catalog error to the error of a function.
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
