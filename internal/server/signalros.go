package server

import (
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
)

// ROSSignalPath is the path of ROS signal URLs below the public URL: PublicURL/ros/signal with a query.
const ROSSignalPath = "ros/signal"

// signalROS accepts a signal posted to the URL of an ALIYUN::ROS::WaitConditionHandle. It replies 200 when the signal
// is durable.
func (s *Server) signalROS(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		refuseROS(w, http.StatusMethodNotAllowed, "", "UnsupportedHTTPMethod", "Send the signal by POST.")
		return
	}
	key, err := s.config.ROS.Signals.Verify(r, s.config.Now())
	if access, ok := errors.AsType[*responseurl.AccessError](err); ok {
		refuseROS(w, access.Status(), "", access.Code, access.Message)
		return
	}
	body, ctx, end, err := s.receive(r, maxSignal)
	switch {
	case errors.Is(err, errNoTurn):
		w.Header().Set("Retry-After", retryAfter)
		refuseROS(w, http.StatusServiceUnavailable, "", "Throttling", "The server is busy. Please try again.")
		return
	case err != nil:
		refuseROS(w, http.StatusBadRequest, "", "IncompleteBody", "The body is shorter than Content-Length says.")
		return
	}
	defer end()
	err = s.config.Engine.SignalROS(ctx, key, body)
	refused, wrong := engine.InputError(err)
	switch {
	case err == nil:
		replyROS(w, http.StatusOK, rosReply{})
	case wrong:
		refuseROS(w, http.StatusBadRequest, "", "InvalidParameter", refused.Message)
	case errors.Is(err, store.ErrNotFound):
		refuseROS(w, http.StatusNotFound, "", "NotFound", "No such handle: it was deleted.")
	default:
		s.log.ErrorContext(ctx, "a signal could not be recorded", "resource", key.LogicalID, "stack", key.StackID, "error", err)
		w.Header().Set("Retry-After", retryAfter)
		refuseROS(w, http.StatusServiceUnavailable, "", "ServiceUnavailable", "The signal could not be recorded. Please try again.")
	}
}
