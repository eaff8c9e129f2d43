package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Request is a request that the service sends to a provider. Its fields are those of the document, in the service's
// order. Source: CloudFormation, custom resource request objects; ROS, custom resource request objects.
type Request struct {
	// Dialect is the service that sent the request. It is not in the document; [ParseRequest] detects it.
	Dialect Dialect
	// RequestType is always set. Pintle also sends [Read] and [Plan].
	RequestType RequestType
	// ServiceToken is in every request of CloudFormation, although its reference and samples do not show it. ROS does not
	// send it.
	ServiceToken ServiceToken
	// ResponseURL is where the provider sends its response: by PUT to CloudFormation, by POST to ROS. Its signature is
	// secret. In a request of ROS it may be empty: the reply to a web[sync] token is the response.
	// A [Plan] has none.
	ResponseURL string
	// IntranetResponseURL is the response URL for providers inside Alibaba Cloud, in a request of ROS. If a request has
	// only InnerResponseURL, [ParseRequest] uses that.
	IntranetResponseURL string
	// InnerResponseURL is the name of IntranetResponseURL in the text of ROS's documentation, but not in its samples. It
	// is empty unless a server sends both.
	InnerResponseURL string
	// StackID is the ARN of the stack, in ROS a UUID.
	StackID StackID
	// StackName, ResourceOwnerID (the account that owns the stack), CallerID (the account or user that changes it) and
	// RegionID are only in requests of ROS.
	StackName, ResourceOwnerID, CallerID, RegionID string
	// RequestID is copied to the response.
	RequestID RequestID
	// LogicalResourceID is copied to the response.
	LogicalResourceID LogicalID
	// PhysicalResourceID is the recorded ID. It is empty for a Create and the Plan of a Create, and set otherwise. In ROS
	// it may always be missing: a Delete after a failed Create has no ID to send.
	PhysicalResourceID PhysicalID
	// ResourceType is the type in the template, e.g. "Custom::Site".
	ResourceType string
	// ResourceProperties is a JSON object. CloudFormation turns every scalar into a string and adds ServiceToken. In ROS
	// it is the template's Parameters, unchanged. It may be nil.
	ResourceProperties json.RawMessage
	// OldResourceProperties is the JSON object of the properties before an Update or the Plan of an Update, nil otherwise.
	OldResourceProperties json.RawMessage
	// Extra holds unknown members, or nil. They are encoded last, sorted by name.
	Extra map[string]json.RawMessage
}

var requestFields = []string{
	"RequestType", "ServiceToken", "ResponseURL", "StackId", "RequestId", "LogicalResourceId", "PhysicalResourceId",
	"ResourceType", "ResourceProperties", "OldResourceProperties",
}

// rosFields are the members that only requests of ROS have.
var rosFields = []string{
	"IntranetResponseURL", "InnerResponseURL", "StackName", "ResourceOwnerId", "CallerId", "RegionId",
}

// allFields are the members of a request in either dialect.
var allFields = slices.Concat(requestFields, rosFields)

// known returns the members for which a request of the dialect has a field.
func (d Dialect) known() []string {
	if d == ROS {
		return allFields
	}
	return requestFields
}

// RequestError is the error of [ParseRequest]. It never quotes the response URL.
type RequestError struct {
	// Problems has one entry for each invalid field, e.g. "StackId is missing".
	Problems []string
}

// Error returns all problems in one line.
func (e *RequestError) Error() string {
	return "request is not valid: " + strings.Join(e.Problems, "; ")
}

// ParseRequest reads a request of at most [MaxRequest] bytes. RequestType, ResponseURL, StackId, RequestId and
// LogicalResourceId are required, and PhysicalResourceId for Update, Delete and Read. The properties must be objects. In
// ROS and in a Plan, ResponseURL and PhysicalResourceId are optional. A request is from ROS if its StackId is not an ARN
// and it has a member that only ROS sends, or if its StackId is a UUID and it has no ServiceToken. The error is a
// [RequestError] with all problems. With an error, ParseRequest also returns the members that it could read, so that a
// provider may still be able to answer. It does not validate the text of IDs and of the URL.
func ParseRequest(text []byte) (Request, error) {
	if len(text) > MaxRequest {
		return Request{}, &RequestError{[]string{fmt.Sprintf("it is %d bytes long, %d are allowed", len(text), MaxRequest)}}
	}
	fields, err := readObject(cleanUTF8(text))
	if err != nil {
		return Request{}, &RequestError{[]string{"it is not a JSON object: " + syntax(err)}}
	}
	p := requestParser{fields: fields}
	ros := isROS(fields)
	kind := RequestType(p.text("RequestType", true))
	r := Request{
		RequestType:           kind,
		ServiceToken:          ServiceToken(p.text("ServiceToken", false)),
		ResponseURL:           p.text("ResponseURL", !ros && kind != Plan),
		StackID:               StackID(p.text("StackId", true)),
		RequestID:             RequestID(p.text("RequestId", true)),
		LogicalResourceID:     LogicalID(p.text("LogicalResourceId", true)),
		ResourceType:          p.text("ResourceType", false),
		ResourceProperties:    p.object("ResourceProperties"),
		OldResourceProperties: p.object("OldResourceProperties"),
	}
	if ros {
		r.Dialect = ROS
		r.InnerResponseURL = p.text("InnerResponseURL", false)
		r.IntranetResponseURL = cmp.Or(p.text("IntranetResponseURL", false), r.InnerResponseURL)
		r.StackName = p.text("StackName", false)
		r.ResourceOwnerID = p.text("ResourceOwnerId", false)
		r.CallerID = p.text("CallerId", false)
		r.RegionID = p.text("RegionId", false)
	}
	switch r.RequestType {
	case Create, Plan, "":
		r.PhysicalResourceID = PhysicalID(p.text("PhysicalResourceId", false))
	case Update, Delete, Read:
		r.PhysicalResourceID = PhysicalID(p.text("PhysicalResourceId", !ros))
	default:
		r.PhysicalResourceID = PhysicalID(p.text("PhysicalResourceId", false))
		p.problem("RequestType is %.40q, not Create, Update or Delete", string(r.RequestType))
	}
	r.Extra = extra(fields, r.Dialect.known())
	if len(p.problems) > 0 {
		return r, &RequestError{p.problems}
	}
	return r, nil
}

// requestParser reads fields of a request and collects the problems with them.
type requestParser struct {
	fields   map[string]json.RawMessage
	problems []string
}

func (p *requestParser) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

func (p *requestParser) text(key string, required bool) string {
	raw := p.fields[key]
	var text string
	if isSet(raw) {
		if err := json.Unmarshal(raw, &text); err != nil {
			p.problem("%s is not a string", key)
			return ""
		}
	}
	if text == "" && required {
		p.problem("%s is missing", key)
	}
	return text
}

func (p *requestParser) object(key string) json.RawMessage {
	raw := p.fields[key]
	if !isSet(raw) {
		return nil
	}
	if raw[0] != '{' {
		p.problem("%s is not an object", key)
		return nil
	}
	return raw
}

// Encode returns the request as JSON in the order of the fields. Strings are not HTML-escaped, so the response URL
// appears unchanged. Empty optional fields are omitted. Encode fails if the properties are not JSON or Extra holds a
// field of the request itself.
func (r Request) Encode() ([]byte, error) {
	var w objectWriter
	w.text("RequestType", string(r.RequestType), true)
	w.text("ServiceToken", string(r.ServiceToken), false)
	w.text("ResponseURL", r.ResponseURL, r.Dialect == CloudFormation && r.RequestType != Plan)
	if r.Dialect == ROS {
		w.text("IntranetResponseURL", r.IntranetResponseURL, false)
		w.text("InnerResponseURL", r.InnerResponseURL, false)
	}
	w.text("StackId", string(r.StackID), true)
	if r.Dialect == ROS {
		w.text("StackName", r.StackName, false)
		w.text("ResourceOwnerId", r.ResourceOwnerID, false)
		w.text("CallerId", r.CallerID, false)
		w.text("RegionId", r.RegionID, false)
	}
	w.text("RequestId", string(r.RequestID), true)
	w.text("LogicalResourceId", string(r.LogicalResourceID), true)
	w.text("PhysicalResourceId", string(r.PhysicalResourceID), false)
	w.text("ResourceType", r.ResourceType, false)
	w.raw("ResourceProperties", r.ResourceProperties)
	w.raw("OldResourceProperties", r.OldResourceProperties)
	w.extra(r.Extra, r.Dialect.known())
	text, err := w.bytes()
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return text, nil
}

// MarshalJSON is [Request.Encode]. Note that [json.Marshal] then HTML-escapes the result.
func (r Request) MarshalJSON() ([]byte, error) { return r.Encode() }

// UnmarshalJSON is [ParseRequest].
func (r *Request) UnmarshalJSON(text []byte) error {
	parsed, err := ParseRequest(text)
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// String describes the request in one line, without its properties and its response URL.
func (r Request) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s %s", r.RequestType, r.ResourceType, r.LogicalResourceID)
	if r.PhysicalResourceID != "" {
		fmt.Fprintf(&b, " (%s)", r.PhysicalResourceID)
	}
	fmt.Fprintf(&b, " in %s, request %s", r.StackID, r.RequestID)
	return b.String()
}

// GoString is [Request.String], so that no verb of fmt shows the response URL.
func (r Request) GoString() string { return r.String() }

// LogValue returns a group for a log, without the properties and the response URL.
func (r Request) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("type", string(r.RequestType)),
		slog.String("resource", string(r.LogicalResourceID)),
		slog.String("resourceType", r.ResourceType),
		slog.String("physicalId", string(r.PhysicalResourceID)),
		slog.String("stack", string(r.StackID)),
		slog.String("request", string(r.RequestID)),
	)
}
