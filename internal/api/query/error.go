package query

import (
	"fmt"
	"net/http"
	"unicode/utf8"
)

// Error is an error that the client sees.
type Error struct {
	Code    string // e.g. ValidationError
	Message string // shown to the user unchanged
	Status  int    // HTTP status; zero means 400
	Sender  bool   // whether the client, not the server, caused the error
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) status() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

// Fault returns a client error with status 400.
func Fault(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest, Sender: true}
}

// Validation returns a ValidationError, a client error with status 400.
func Validation(format string, args ...any) *Error {
	return Fault("ValidationError", format, args...)
}

// maxQuoted is how many bytes of a value an error quotes.
const maxQuoted = 1024

// shorten truncates a text for an error.
func shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	cut := maxQuoted
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
