package wire

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Response is the answer of a provider. Its fields are those of the document. Source: CloudFormation, custom resource
// response objects; ROS, custom resource response objects.
type Response struct {
	// Dialect is the service that receives the response. It is not in the document.
	Dialect Dialect
	// Status is always set.
	Status Status
	// Reason is the reason of a failure, which should have one. A success may have one.
	Reason string
	// PhysicalResourceID must be set in every response, even a FAILED one: 1 to [MaxPhysicalID] bytes. In ROS it has at
	// most [MaxROSPhysicalID] bytes, is optional with FAILED, and must never change for a resource.
	PhysicalResourceID PhysicalID
	// StackID is copied from the request.
	StackID StackID
	// RequestID is copied from the request.
	RequestID RequestID
	// LogicalResourceID is copied from the request.
	LogicalResourceID LogicalID
	// NoEcho marks the values in Data as secret. ROS does not support it and shows them to everyone who can read the
	// stack.
	NoEcho bool
	// Data is a JSON object of the attributes of the resource, or nil. It is ignored in a response to a Delete.
	Data json.RawMessage
	// State is the current state of the resource, in a response to a [Read]; nil in all others.
	State *State
	// Extra holds unknown members, or nil. They are encoded last, sorted by name.
	Extra map[string]json.RawMessage
}

var responseFields = []string{
	"Status", "Reason", "PhysicalResourceId", "StackId", "RequestId", "LogicalResourceId", "NoEcho", "Data", stateField,
}

// ResponseTo returns a response to r with the IDs of r: stack, request, logical and physical ID. The last is empty for a
// Create.
func ResponseTo(r Request, status Status) Response {
	return Response{
		Dialect:            r.Dialect,
		Status:             status,
		PhysicalResourceID: r.PhysicalResourceID,
		StackID:            r.StackID,
		RequestID:          r.RequestID,
		LogicalResourceID:  r.LogicalResourceID,
	}
}

// Encode returns the response as JSON in the order of the fields, without HTML escapes. Its length counts against
// [MaxResponse], which Encode does not check. Empty values of Reason, NoEcho and Data are omitted. In ROS, Encode always
// omits NoEcho, an empty physical ID, and the Reason unless the status is FAILED. It fails if Data is not JSON or Extra
// holds a field of the response itself.
func (r Response) Encode() ([]byte, error) {
	var w objectWriter
	w.text("Status", string(r.Status), true)
	if r.Dialect == CloudFormation || r.Status == Failed {
		w.text("Reason", r.Reason, false)
	}
	w.text("PhysicalResourceId", string(r.PhysicalResourceID), r.Dialect == CloudFormation)
	w.text("StackId", string(r.StackID), true)
	w.text("RequestId", string(r.RequestID), true)
	w.text("LogicalResourceId", string(r.LogicalResourceID), true)
	if r.NoEcho && r.Dialect == CloudFormation {
		w.raw("NoEcho", json.RawMessage("true"))
	}
	w.raw("Data", r.Data)
	if r.State != nil {
		state, err := r.State.encode()
		if err != nil {
			return nil, err
		}
		w.raw(stateField, state)
	}
	known := responseFields
	if r.Dialect == ROS {
		known = rosResponseFields
	}
	w.extra(r.Extra, known)
	text, err := w.bytes()
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return text, nil
}

// MarshalJSON is [Response.Encode]. Note that [json.Marshal] then HTML-escapes the result, which makes it longer.
func (r Response) MarshalJSON() ([]byte, error) { return r.Encode() }

// UnmarshalJSON is [ParseResponse].
func (r *Response) UnmarshalJSON(text []byte) error {
	parsed, err := ParseResponse(text)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// Mismatches returns the names of the fields that should be copies of the request's but are not: StackId, RequestId,
// LogicalResourceId. It returns nil if all match. A service identifies the request by the URL of the response, so a
// mismatch deserves a warning, not a failure.
func (r Response) Mismatches(to Request) []string {
	var fields []string
	if r.StackID != to.StackID {
		fields = append(fields, "StackId")
	}
	if r.RequestID != to.RequestID {
		fields = append(fields, "RequestId")
	}
	if r.LogicalResourceID != to.LogicalResourceID {
		fields = append(fields, "LogicalResourceId")
	}
	return fields
}

// String describes the response in one line, without its Data.
func (r Response) String() string {
	s := fmt.Sprintf("%s %s (%s), request %s", r.Status, r.LogicalResourceID, r.PhysicalResourceID, r.RequestID)
	if r.Reason != "" {
		s += ": " + Redact(r.Reason)
	}
	return s
}

// GoString is [Response.String], so that no verb of fmt shows the Data.
func (r Response) GoString() string { return r.String() }

// LogValue returns a group for a log, without the Data.
func (r Response) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("status", string(r.Status)),
		slog.String("reason", Redact(r.Reason)),
		slog.String("resource", string(r.LogicalResourceID)),
		slog.String("physicalId", string(r.PhysicalResourceID)),
		slog.String("stack", string(r.StackID)),
		slog.String("request", string(r.RequestID)),
	)
}
