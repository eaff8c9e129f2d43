package server

import (
	"encoding/xml"
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ResponsePath is the path of response URLs below the public URL: a URL is signed for PublicURL/response.
const ResponsePath = "response"

// retryAfter is the Retry-After that a sender gets when the server is busy, in seconds.
const retryAfter = "1"

// answer accepts a provider's response and replies 200 only when the response is durable. Like S3, it accepts a body
// that is too long, malformed, late or a duplicate. The engine decides how to interpret it. Like S3, it refuses a
// request without a Content-Length.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		w.Header().Set("Allow", "PUT")
		refuseAnswer(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
		return
	}
	key, err := s.config.Signer.Verify(r, s.config.Now())
	if err != nil {
		responseurl.WriteError(w, err)
		return
	}
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" { // a chunked body has length -1
		refuseAnswer(w, http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
		return
	}
	// Read one byte more than the maximum to detect a response that is too long. If the rest is small, net/http
	// discards it up to its own limit, so that a connection reset does not lose the reply.
	body, ctx, end, err := s.receive(r, wire.MaxResponse+1)
	switch {
	case errors.Is(err, errNoTurn):
		w.Header().Set("Retry-After", retryAfter)
		refuseAnswer(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
		return
	case err != nil:
		refuseAnswer(w, http.StatusBadRequest, "IncompleteBody",
			"You did not provide the number of bytes specified by the Content-Length HTTP header.")
		return
	}
	defer end()
	size := 0
	if len(body) > wire.MaxResponse {
		size = int(max(r.ContentLength, 0)) // -1 if the sender did not declare it
	}
	err = s.config.Engine.Answer(ctx, key.RequestID, body, size)
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.Is(err, store.ErrNotFound):
		refuseAnswer(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	default:
		s.log.ErrorContext(ctx, "an answer could not be recorded", "request", key.RequestID, "resource", key.LogicalID,
			"stack", key.StackID, "error", err)
		w.Header().Set("Retry-After", retryAfter)
		refuseAnswer(w, http.StatusServiceUnavailable, "ServiceUnavailable", "The answer could not be recorded. Please try again.")
	}
}

// refuseAnswer replies with an XML error in the format of S3.
func refuseAnswer(w http.ResponseWriter, status int, code, message string) {
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
	if err != nil { // cannot happen: the fields are strings
		http.Error(w, code, status)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	// A failed write means that the client has disconnected.
	_, _ = w.Write(append([]byte(xml.Header), body...))
}
