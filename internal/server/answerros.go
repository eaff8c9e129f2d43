package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ROSResponsePath is the path of the response URLs of ROS after the public URL: those are PublicURL/ros/response and a query.
const ROSResponsePath = "ros/response"

// ROSAnswers is how the answers of providers to ROS are taken.
type ROSAnswers struct {
	// Signer checks response URLs. Nil means that there are none.
	Signer *wire.ROSSigner
	// Signals checks the URLs of handles. Nil means that there are none.
	Signals *wire.ROSSigner
	// Limit is how many bytes an answer may have, at most [wire.MaxROSResponse]; what is longer is an answer that the engine
	// gets as too long. Zero means [wire.MaxResponse].
	Limit int
	// TakePut takes answers that are PUT as CloudFormation's are, and not only those that are posted.
	TakePut bool
	// NeedHeaders refuses answers without the headers that ROS says they must have. Without it they are only logged.
	NeedHeaders bool
}

// answerROS takes a provider's answer to ROS. As with [Server.answer], whatever it says is told 200 when it is durable. Bodies
// of replies are JSON, as the clients of ROS expect: {"RequestId": …}, and Code and Message of what is refused.
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
	if access, ok := errors.AsType[*wire.AccessError](err); ok {
		refuseROS(w, access.Status(), "", access.Code, access.Message)
		return
	}
	id := key.RequestID
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" { // a probe by hand, and no answer; in chunks it would be -1
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
		size = int(max(r.ContentLength, int64(len(body)))) // -1 if the sender did not say
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

// missingHeaders returns what a response to ROS must have and this one has not. Source: ROS, custom resource response objects.
func missingHeaders(r *http.Request) (missing []string) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		missing = append(missing, "Content-Type: application/json")
	}
	if r.Header.Get("Date") == "" {
		missing = append(missing, "Date")
	}
	return missing
}

// rosReply is the body of a reply to an answer.
type rosReply struct {
	RequestID string `json:"RequestId,omitempty"` // of the request that was answered
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
	// A client that has gone does not want the rest.
	_, _ = w.Write(body)
}
