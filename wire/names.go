package wire

// StackID names a stack forever: its ARN, e.g. "arn:aws:cloudformation:us-east-1:123456789012:stack/web/1f0c…".
// [ParseStackARN] takes it apart.
type StackID string

// LogicalID is the name of a resource in its template, e.g. "Bucket".
type LogicalID string

// PhysicalID is the name that a provider gave to a resource, 1 to [MaxPhysicalID] bytes without the characters that
// [CleanText] drops. A provider that answers an Update with another one has made a replacement.
type PhysicalID string

// RequestID names one request, usually a UUID. It is unique within a stack.
type RequestID string

// ServiceToken says where the provider of a resource is reached, e.g. the ARN of a function. [ParseToken] takes it
// apart.
type ServiceToken string

// RequestType is what a provider is asked to do: [Create], [Update] or [Delete], or, by Pintle only, [Read] or [Plan].
type RequestType string

// The request types, as they are spelled in a request.
const (
	Create RequestType = "Create"
	Update RequestType = "Update"
	Delete RequestType = "Delete"
)

// Read asks for the present state of a resource and changes nothing. It is an extension of Pintle, which sends it only to
// providers whose schema declares it. Neither CloudFormation nor ROS sends it.
const Read RequestType = "Read"

// Plan asks what a Create or an Update with these properties would do, and changes nothing. It is an extension of Pintle, which sends
// it only to providers whose schema declares it. It has no response URL: its answer is a [Planned], the result of the invocation.
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

// Status is the outcome in a response: [Success] or [Failed].
type Status string

// The statuses, as they are spelled in a response.
const (
	Success Status = "SUCCESS"
	Failed  Status = "FAILED"
)

// Valid reports whether s is one of the two statuses. Case counts.
func (s Status) Valid() bool {
	switch s {
	case Success, Failed:
		return true
	}
	return false
}
