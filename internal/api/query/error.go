package query

import (
	"fmt"
	"net/http"
	"unicode/utf8"
)

// Error is a failure as the client sees it.
type Error struct {
	Code    string // e.g. ValidationError
	Message string // shown to the user as it is
	Status  int    // HTTP status; zero means 400
	Sender  bool   // whether the client is at fault, not the server
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

func (e *Error) status() int {
	if e.Status == 0 {
		return http.StatusBadRequest
	}
	return e.Status
}

// Fault returns the client's fault with status 400.
func Fault(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest, Sender: true}
}

// Validation returns a ValidationError, the client's fault with status 400.
func Validation(format string, args ...any) *Error {
	return Fault("ValidationError", format, args...)
}

// maxQuoted is how many bytes of a value an error quotes.
const maxQuoted = 1024

// shorten cuts a text that an error is to quote.
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
