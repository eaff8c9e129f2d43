package stacks

// State is the meaning of a stack status, independent of the dialect.
type State int

// The states. All but Working are idle.
const (
	// Other is a status of which nothing more is known here.
	Other State = iota
	// Working says that an operation is under way.
	Working
	// InReview says that a change set has made the stack, and was not executed.
	InReview
	Created
	CreateFailed
	// CreateRolledBack is a failed create whose resources were deleted.
	CreateRolledBack
	CreateRollbackFailed
	Updated
	UpdateFailed
	// UpdateRolledBack says that the stack is as it was before.
	UpdateRolledBack
	UpdateRollbackFailed
	Deleted
	DeleteFailed
)

// Deleting is the status of a stack that is being deleted, in every dialect.
const Deleting = "DELETE_IN_PROGRESS"

// WentWell reports whether the operation that ended in a state reached its aim.
func (s State) WentWell() bool { return s == Created || s == Updated || s == Deleted }
