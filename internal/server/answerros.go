package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ROSResponsePath is the path of ROS response URLs below the public URL: PublicURL/ros/response with a query.
const ROSResponsePath = "ros/response"

// ROSAnswers configures how provider responses to ROS are accepted.
type ROSAnswers struct {
	// Signer checks response URLs. Nil disables them.
	Signer *responseurl.ROSSigner
	// Signals checks the URLs of wait condition handles. Nil disables them.
	Signals *responseurl.ROSSigner
	// Limit is the maximum length of a response in bytes, at most [wire.MaxROSResponse]. The engine gets a longer one
	// marked as too long. Zero means [wire.MaxResponse].
	Limit int
	// TakePut also accepts responses sent by PUT, as for CloudFormation. Without it, only POST is accepted.
	TakePut bool
	// NeedHeaders refuses responses without the headers that ROS requires. Without it, missing headers are only
	// logged.
	NeedHeaders bool
}

// answerROS accepts a provider's response to ROS. Like [Server.answer], it replies 200 to any body once the body is
// durable. Replies are JSON, as ROS clients expect: {"RequestId": …}, and Code and Message if the response is
// refused.
func (s *Server) answerROS(w http.ResponseWriter, r *http.Request) {
	ros := s.config.ROS
	switch {
	case r.Method == http.MethodPost, r.Method == http.MethodPut && ros.TakePut:
	case r.Method == http.MethodPut:
		refuseROS(w, http.StatusMethodNotAllowed, "", "UnsupportedHTTPMethod", "ROS takes the response of a provider by POST, not by PUT as CloudFormation "+
			"does. Send the same body by POST, with Content-Type: application/json and Date.")
		return
	default:
		refuseROS(w, http.StatusMethodNotAllowed, "", "UnsupportedHTTPMethod", "Send the response by POST.")
		return
	}
	key, err := ros.Signer.Verify(r, s.config.Now())
	if access, ok := errors.AsType[*responseurl.AccessError](err); ok {
		refuseROS(w, access.Status(), "", access.Code, access.Message)
		return
	}
	id := key.RequestID
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" { // a chunked body has length -1
		refuseROS(w, http.StatusLengthRequired, id, "MissingContentLength", "The response must have a Content-Length.")
		return
	}
	if missing := missingHeaders(r); len(missing) > 0 {
		if ros.NeedHeaders {
			refuseROS(w, http.StatusBadRequest, id, "MissingHeader", "The response must have "+strings.Join(missing, " and ")+".")
			return
		}
		s.log.InfoContext(r.Context(), "a response to ROS lacks headers that the real service says it must have", "lacks", missing,
			"request", id, "resource", key.LogicalID)
	}
	body, ctx, end, err := s.receive(r, int64(ros.Limit)+1)
	switch {
	case errors.Is(err, errNoTurn):
		w.Header().Set("Retry-After", retryAfter)
		refuseROS(w, http.StatusServiceUnavailable, id, "Throttling", "The server is busy. Please try again.")
		return
	case err != nil:
		refuseROS(w, http.StatusBadRequest, id, "IncompleteBody", "The body is shorter than Content-Length says.")
		return
	}
	defer end()
	size := 0
	if len(body) > ros.Limit {
		size = int(max(r.ContentLength, int64(len(body)))) // -1 if the sender did not declare it
	}
	err = s.config.Engine.Answer(ctx, id, body, size)
	switch {
	case err == nil:
		replyROS(w, http.StatusOK, rosReply{RequestID: string(id)})
	case errors.Is(err, store.ErrNotFound):
		refuseROS(w, http.StatusNotFound, id, "NotFound", "No such request: its stack was deleted.")
	default:
		s.log.ErrorContext(ctx, "an answer could not be recorded", "request", id, "resource", key.LogicalID,
			"stack", key.StackID, "error", err)
		w.Header().Set("Retry-After", retryAfter)
		refuseROS(w, http.StatusServiceUnavailable, id, "ServiceUnavailable", "The answer could not be recorded. Please try again.")
	}
}

// missingHeaders returns the required headers that a response to ROS lacks. Source: ROS, custom resource response
// objects.
func missingHeaders(r *http.Request) (missing []string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		missing = append(missing, "Content-Type: application/json")
	}
	if r.Header.Get("Date") == "" {
		missing = append(missing, "Date")
	}
	return missing
}

// rosReply is the body of a reply to a provider response.
type rosReply struct {
	RequestID string `json:"RequestId,omitempty"` // of the request that the provider responded to
	Code      string `json:",omitempty"`
	Message   string `json:",omitempty"`
}

func refuseROS(w http.ResponseWriter, status int, id wire.RequestID, code, message string) {
	if status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	replyROS(w, status, rosReply{string(id), code, message})
}

func replyROS(w http.ResponseWriter, status int, reply rosReply) {
	body, err := json.Marshal(reply)
	if err != nil {
		panic(fmt.Sprintf("strings always marshal: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failed write means that the client has disconnected.
	_, _ = w.Write(body)
}
