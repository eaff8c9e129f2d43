package sigv4

import "net/http"

// Error is the reason why a request was rejected. Its texts contain no signature and no key.
type Error struct {
	Code    string // as AWS names it, e.g. SignatureDoesNotMatch
	Message string // for the client to show
	Status  int    // HTTP status
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refusal returns the parts of the error. It is for code that reads a body which is verified while it is read.
func (e *Error) Refusal() (code, message string, status int) { return e.Code, e.Message, e.Status }

func refuse(code string, status int, message string) *Error {
	return &Error{Code: code, Message: message, Status: status}
}

func mismatch(message string) *Error {
	return refuse("SignatureDoesNotMatch", http.StatusForbidden, message)
}

func incomplete(message string) *Error {
	return refuse("IncompleteSignature", http.StatusBadRequest, message)
}
