package wire

// StackID is the permanent ID of a stack: its ARN, e.g. "arn:aws:cloudformation:us-east-1:123456789012:stack/web/1f0c…".
// [ParseStackARN] parses it.
type StackID string

// LogicalID is the name of a resource in its template, e.g. "Bucket".
type LogicalID string

// PhysicalID is a resource's ID, chosen by its provider: 1 to [MaxPhysicalID] bytes without the characters that
// [CleanText] drops. A provider that answers an Update with another ID has made a replacement.
type PhysicalID string

// RequestID identifies one request, usually by a UUID. It is unique within a stack.
type RequestID string

// ServiceToken is the address of a resource's provider, e.g. the ARN of a function. [ParseToken] parses it.
type ServiceToken string

// RequestType is the operation that a provider must perform: [Create], [Update] or [Delete]. Only Pintle also sends
// [Read] and [Plan].
type RequestType string

// The request types, as spelled in a request.
const (
	Create RequestType = "Create"
	Update RequestType = "Update"
	Delete RequestType = "Delete"
)

// Read asks for the current state of a resource and changes nothing. It is an extension of Pintle, which sends it only to
// providers whose schema declares it. Neither CloudFormation nor ROS sends it.
const Read RequestType = "Read"

// Plan asks for the effect of a Create or an Update with these properties, and changes nothing. It is an extension of
// Pintle, which sends it only to providers whose schema declares it. It has no response URL: the answer is a [Planned], the
// result of the invocation.
const Plan RequestType = "Plan"

// Valid reports whether t is one of the three request types of the services.
func (t RequestType) Valid() bool {
	switch t {
	case Create, Update, Delete:
		return true
	case Read, Plan:
	}
	return false
}

// Status is the result in a response: [Success] or [Failed].
type Status string

// The statuses, as spelled in a response.
const (
	Success Status = "SUCCESS"
	Failed  Status = "FAILED"
)

// Valid reports whether s is one of the two statuses. It is case-sensitive.
func (s Status) Valid() bool {
	switch s {
	case Success, Failed:
		return true
	}
	return false
}
