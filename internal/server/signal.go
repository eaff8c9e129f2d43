package server

import (
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
)

// SignalPath is the path of signal URLs below the public URL: a URL is signed for PublicURL/signal.
const SignalPath = "signal"

// maxSignal is how many bytes of a signal are read, one more than the maximum.
const maxSignal = 16<<10 + 1

// signal accepts a signal and replies 200 only when the signal is durable. Unlike a provider response, an invalid
// signal is refused, because the author of the script that sends it needs the error.
func (s *Server) signal(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", "PUT")
		refuseAnswer(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
		return
	}
	key, err := s.config.Signals.Verify(r, s.config.Now())
	if err != nil {
		responseurl.WriteError(w, err)
		return
	}
	body, ctx, end, err := s.receive(r, maxSignal)
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
	err = s.config.Engine.Signal(ctx, key, body)
	refused, wrong := engine.InputError(err)
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case wrong:
		refuseAnswer(w, http.StatusBadRequest, "InvalidRequest", refused.Message)
	case errors.Is(err, store.ErrNotFound):
		refuseAnswer(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	default:
		s.log.ErrorContext(ctx, "a signal could not be recorded", "resource", key.LogicalID, "stack", key.StackID, "error", err)
		w.Header().Set("Retry-After", retryAfter)
		refuseAnswer(w, http.StatusServiceUnavailable, "ServiceUnavailable", "The signal could not be recorded. Please try again.")
	}
}
