package wire

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Response is what a provider answers. Its fields are those of the document. Source: CloudFormation, custom resource
// response objects; ROS, custom resource response objects.
type Response struct {
	// Dialect says which service is answered. It is not in the document.
	Dialect Dialect
	// Status is always set.
	Status Status
	// Reason says why a request failed; it should be set then, and may be set otherwise.
	Reason string
	// PhysicalResourceID must be set in every response, also in a FAILED one, 1 to [MaxPhysicalID] bytes. In ROS it has at
	// most [MaxROSPhysicalID] bytes, may be missing with FAILED, and must stay the same for the life of the resource.
	PhysicalResourceID PhysicalID
	// StackID is copied from the request.
	StackID StackID
	// RequestID is copied from the request.
	RequestID RequestID
	// LogicalResourceID is copied from the request.
	LogicalResourceID LogicalID
	// NoEcho says that the values in Data are secret. ROS does not know it and shows them to everybody who may read the
	// stack.
	NoEcho bool
	// Data is a JSON object of the attributes of the resource, nil for none. It is ignored in a response to a Delete.
	Data json.RawMessage
	// State is the present state of the resource, in a response to a [Read]; nil in all others.
	State *State
	// Extra holds the members that this package does not know, nil if there are none. They are written last, by name.
	Extra map[string]json.RawMessage
}

var responseFields = []string{
	"Status", "Reason", "PhysicalResourceId", "StackId", "RequestId", "LogicalResourceId", "NoEcho", "Data", stateField,
}

// ResponseTo returns a response to r with its IDs: those of the stack, the request and the resource, and the physical
// ID, which is empty for a Create.
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

// Encode returns the response as JSON in the order of the fields, without HTML escapes: its length is what counts
// against [MaxResponse], which Encode does not check. Reason, NoEcho and Data are left out when they are empty; in ROS
// NoEcho always, Reason unless the status is FAILED, and an empty physical ID. It fails if Data is not JSON or Extra holds a field of the response itself.
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

// Mismatches returns the names of the fields that should be copies of those in the request and are not: StackId,
// RequestId, LogicalResourceId. It is nil if all are. A service goes by the URL to which the response was sent, so a
// mismatch is worth a warning, not a failure.
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

// LogValue is the response for a log: a group without its Data.
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
