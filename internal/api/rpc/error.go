package rpc

import (
	"cmp"
	"fmt"
	"net/http"
)

// Error is an error that the client sees.
type Error struct {
	Code    string // e.g. MissingParameter
	Message string // shown to people and compared by clients: the original text of Alibaba Cloud
	Status  int    // HTTP status; zero means 400
	// Recommend is advice that the message does not contain. It may be empty.
	Recommend string
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) status() int { return cmp.Or(e.Status, http.StatusBadRequest) }

// Missing returns the error for missing parameters. why may be empty.
func Missing(name, why string) *Error {
	return &Error{Code: "MissingParameter", Message: "The input parameter " + name + " should be specified" + because(why) + "."}
}

// Invalid returns the error for an invalid parameter. why may be empty. It must not quote possible secrets.
func Invalid(name, why string, args ...any) *Error {
	return &Error{
		Code: "InvalidParameter", Message: "The specified parameter " + name + " is invalid" + because(fmt.Sprintf(why, args...)) + ".",
	}
}

// NotSupported returns the error for an unsupported feature.
func NotSupported(feature, remedy string) *Error {
	return &Error{Code: "NotSupported", Message: feature + " is not supported.", Recommend: remedy}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ", " + why
}

// unsaid returns the error for a missing parameter of the signature.
func unsaid(name string) *Error {
	return &Error{
		Code: "MissingParameter", Message: `The input parameter "` + name + `" that is mandatory for processing this request is not supplied.`,
	}
}
