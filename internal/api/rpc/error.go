package rpc

import (
	"cmp"
	"fmt"
	"net/http"
)

// Error is a failure as the client sees it.
type Error struct {
	Code    string // e.g. MissingParameter
	Message string // shown to people, and matched by clients: the service's own words
	Status  int    // HTTP status; zero means 400
	// Recommend is what to do about it; empty for nothing that the message does not say.
	Recommend string
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) status() int { return cmp.Or(e.Status, http.StatusBadRequest) }

// Missing says that parameters were not given. why may be empty.
func Missing(name, why string) *Error {
	return &Error{Code: "MissingParameter", Message: "The input parameter " + name + " should be specified" + because(why) + "."}
}

// Invalid says that a parameter cannot be so. why may be empty; it never quotes what may be a secret.
func Invalid(name, why string, args ...any) *Error {
	return &Error{
		Code: "InvalidParameter", Message: "The specified parameter " + name + " is invalid" + because(fmt.Sprintf(why, args...)) + ".",
	}
}

// NotSupported says that there is no such feature here.
func NotSupported(feature, remedy string) *Error {
	return &Error{Code: "NotSupported", Message: feature + " is not supported.", Recommend: remedy}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ", " + why
}

// unsaid says that a call lacks what its signature needs.
func unsaid(name string) *Error {
	return &Error{
		Code: "MissingParameter", Message: `The input parameter "` + name + `" that is mandatory for processing this request is not supplied.`,
	}
}
