package responseurl

import (
	"encoding/xml"
	"errors"
	"net/http"
	"time"
)

// AccessError is the error of [Signer.Verify] and [ROSSigner.Verify]. It says why a request to a response URL is refused,
// and contains no part of the signature.
type AccessError struct {
	// Code is S3's error code: "AccessDenied", "SignatureDoesNotMatch", "InvalidAccessKeyId" or
	// "AuthorizationQueryParametersError". For a URL of ROS, "InvalidQueryParameter" replaces the last one.
	Code string
	// Message is for people.
	Message string
	// Expires and ServerTime are set for an expired URL, and zero otherwise.
	Expires, ServerTime time.Time
}

var errSignature = &AccessError{
	Code: "SignatureDoesNotMatch",
	Message: "The request signature we calculated does not match the signature you provided. " +
		"Send the response URL as it is, by the method it was made for, and do not encode it again.",
}

// Error returns the code and the message.
func (e *AccessError) Error() string { return e.Code + ": " + e.Message }

// Status returns the HTTP status: 400 for a malformed query, otherwise 403.
func (e *AccessError) Status() int {
	if e.Code == "AuthorizationQueryParametersError" || e.Code == "InvalidQueryParameter" {
		return http.StatusBadRequest
	}
	return http.StatusForbidden
}

// WriteError answers a request to a response URL with an XML error document, as S3 does. The document describes err if
// err is an [AccessError]. Otherwise it is an internal error with status 500 and no details.
func WriteError(w http.ResponseWriter, err error) {
	doc := struct {
		XMLName    xml.Name `xml:"Error"`
		Code       string
		Message    string
		Expires    string `xml:",omitempty"`
		ServerTime string `xml:",omitempty"`
	}{Code: "InternalError", Message: "We encountered an internal error. Please try again."}
	status := http.StatusInternalServerError
	var access *AccessError
	if errors.As(err, &access) {
		status, doc.Code, doc.Message = access.Status(), access.Code, access.Message
		if !access.Expires.IsZero() {
			doc.Expires = access.Expires.UTC().Format(time.RFC3339)
			doc.ServerTime = access.ServerTime.UTC().Format(time.RFC3339)
		}
	}
	body, err := xml.Marshal(doc)
	if err != nil { // strings only, so this never fails
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	// A disconnected client does not need the rest.
	_, _ = w.Write(append([]byte(xml.Header), body...))
}
