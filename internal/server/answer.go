package server

import (
	"encoding/xml"
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ResponsePath is what response URLs have after the public URL: a URL is signed for PublicURL/response.
const ResponsePath = "response"

// retryAfter is how many seconds a sender is asked to wait before it tries again.
const retryAfter = "1"

// answer takes a provider's answer. It is told 200 only when the answer is durable, whatever it says: one that is too
// long, garbage, late or the second one would have been taken by S3 too, and what it means is the engine's to decide. A
// request that does not say how long its body is S3 refuses.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut && r.Method != http.MethodPost {
		w.Header().Set("Allow", "PUT")
		refuseAnswer(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
		return
	}
	key, err := s.config.Signer.Verify(r, s.config.Now())
	if err != nil {
		wire.WriteError(w, err)
		return
	}
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" { // in chunks it would be -1
		refuseAnswer(w, http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
		return
	}
	// One byte more than the maximum shows that an answer is too long, so the server reads no further. If the rest is
	// small, net/http discards it up to its own limit, so that a connection reset does not lose the reply.
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
		size = int(max(r.ContentLength, 0)) // -1 if the sender did not say
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

// refuseAnswer answers with an error as S3 does, in XML.
func refuseAnswer(w http.ResponseWriter, status int, code, message string) {
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
	if err != nil { // strings only, so never
		http.Error(w, code, status)
		return
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	// A client that has gone does not want the rest.
	_, _ = w.Write(append([]byte(xml.Header), body...))
}
