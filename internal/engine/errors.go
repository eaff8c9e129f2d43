package engine

// Code is the class of a client error, as the stack's service names it.
type Code string

// The codes of CloudFormation. Each API renders them in its own format.
const (
	CodeValidation          Code = "ValidationError"
	CodeAlreadyExists       Code = "AlreadyExistsException"
	CodeTokenAlreadyExists  Code = "TokenAlreadyExistsException"
	CodeInsufficientRights  Code = "InsufficientCapabilitiesException"
	CodeOperationInProgress Code = "OperationInProgressException"
	CodeLimitExceeded       Code = "LimitExceededException"
	CodeChangeSetNotFound   Code = "ChangeSetNotFound"
	CodeChangeSetStatus     Code = "InvalidChangeSetStatus"
)

// The codes of ROS stacks, as ROS names them. Source: ROS API 2019-09-10, error codes. Template errors have the code
// of the [template.Error].
const (
	CodeStackValidationFailed Code = "StackValidationFailed"
	CodeStackExists           Code = "StackExists"
	CodeStackNotFound         Code = "StackNotFound"
	CodeResourceNotFound      Code = "ResourceNotFound"
	CodeActionInProgress      Code = "ActionInProgress"
	CodeNotSupported          Code = "NotSupported"
	CodeInvalidParameter      Code = "InvalidParameter"
	CodePolicyDenied          Code = "StackPolicyValidationFailed"
	CodeTokenUsed             Code = "InvalidIdempotenceParameter"
	CodeChangeSetExists       Code = "ChangeSetExists"
)

// Error is an error that the client can fix. Message is shown to people and matched by clients, so it has the
// service's exact text. Any other error of the engine is a fault of the engine or of the database.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(message string) error { return &Error{CodeValidation, message} }
