package engine

import (
	"cmp"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// refusals are the errors that a dialect returns for calls that it cannot carry out. The engine does not use those
// that are not client errors in the dialect.
type refusals struct {
	stackExists func(name string) error
	noStack     func(given string) error
	noChangeSet func(given string) error
	unchanged   error
	// busy rejects a change to a stack with an operation in progress. what is a verb, "updated" or "deleted". status
	// is the stack's.
	busy func(stack *store.Stack, op *store.Operation, status, what string) error
	// atRest rejects the same change to an idle stack in a status that no operation can follow.
	atRest func(stack *store.Stack, status, what string) error
	// notUndone rejects an update with rollback enabled for a stack that failed without a rollback.
	notUndone func(stack *store.Stack, status string) error
	// cannotCancel rejects the cancellation of an update.
	cannotCancel   func(stack *store.Stack, status string) error
	protected      func(stack *store.Stack) error
	tokenUsed      func(token string, stack *store.Stack) error
	changeSetTaken func(name string) error
	// changeSetStatus rejects an action that the status, or the execution status, of a change set does not allow.
	changeSetStatus func(set *store.ChangeSet, what, status string, execution bool) error
	// code is the code of an error in a template or its input, if the error has no code of its own.
	code Code
}

var cloudFormationRefusals = refusals{
	stackExists: func(name string) error { return &Error{CodeAlreadyExists, "Stack [" + name + "] already exists"} },
	noStack:     func(given string) error { return invalid("Stack [" + given + "] does not exist") },
	noChangeSet: func(given string) error {
		return &Error{CodeChangeSetNotFound, "ChangeSet [" + given + "] does not exist"}
	},
	unchanged: invalid("No updates are to be performed."),
	busy: func(stack *store.Stack, _ *store.Operation, status, what string) error {
		if what == "deleted" {
			return &Error{CodeOperationInProgress, "Stack:" + string(stack.ID) + " is in " + status + " state and can not be deleted. " +
				"Wait until its operation has finished."}
		}
		return notPossible(stack, status, what)
	},
	atRest: notPossible,
	notUndone: func(_ *store.Stack, status string) error {
		return invalid("This stack is currently in a non-terminal [" + status +
			"] state. To update the stack from this state, please use the disable-rollback parameter with update-stack API. " +
			"To rollback to the last known good state, use the rollback-stack API")
	},
	cannotCancel: func(*store.Stack, string) error {
		return invalid("CancelUpdateStack cannot be called from current stack status")
	},
	protected: func(stack *store.Stack) error {
		return invalid("Stack [" + stack.Name + "] cannot be deleted while TerminationProtection is enabled")
	},
	tokenUsed: func(token string, stack *store.Stack) error {
		return &Error{CodeTokenAlreadyExists, "ClientRequestToken " + token + " was used for another operation on stack " + stack.Name}
	},
	changeSetTaken: func(name string) error {
		return &Error{CodeAlreadyExists, "ChangeSet [" + name + "] already exists"}
	},
	changeSetStatus: func(set *store.ChangeSet, what, status string, execution bool) error {
		of := "status"
		if execution {
			of = "execution status"
		}
		return &Error{CodeChangeSetStatus, "ChangeSet [" + string(set.ID) + "] cannot be " + what + " in its current " + of + " of [" + status + "]"}
	},
	code: CodeValidation,
}

func notPossible(stack *store.Stack, status, what string) error {
	return invalid("Stack:" + string(stack.ID) + " is in " + status + " state and can not be " + what + ".")
}

var rosRefusals = refusals{
	stackExists: func(name string) error { return &Error{CodeStackExists, "The Stack (" + name + ") already exists."} },
	noStack: func(given string) error {
		return &Error{CodeStackNotFound, "The Stack (" + given + ") could not be found."}
	},
	noChangeSet: func(given string) error {
		return &Error{CodeChangeSetNotFound, "The ChangeSet " + given + " could not be found."}
	},
	unchanged: &Error{CodeNotSupported, "Update the completely same stack is not supported."},
	busy: func(stack *store.Stack, op *store.Operation, _, _ string) error {
		return &Error{CodeActionInProgress, "Stack " + stack.Name + " already has an action (" + rosAction(op.Kind, op.Phase) + ") in progress."}
	},
	atRest: func(stack *store.Stack, status, what string) error {
		remedy := "Delete it and create it again."
		if stack.Kind == store.KindCreate && stack.Phase == store.PhaseFailed {
			remedy = "Go on with its creation by ContinueCreateStack, or delete it."
		}
		if stack.Kind == store.KindReview {
			remedy = "Execute the change set that is to create it, or delete it."
		}
		return &Error{CodeNotSupported, "A stack in status " + status + " to be " + what + " is not supported. " + remedy}
	},
	notUndone: func(_ *store.Stack, status string) error { // in ROS only a create leaves a stack like this
		return &Error{CodeNotSupported, "Update of a stack in status " + status + " is not supported."}
	},
	cannotCancel: func(stack *store.Stack, status string) error {
		return &Error{CodeNotSupported, "CancelUpdateStack of stack " + stack.Name + " in status " + status + " is not supported: " +
			"only an update can be cancelled, and as long as it changes resources."}
	},
	protected: func(stack *store.Stack) error {
		return &Error{CodeNotSupported, "Delete of stack " + stack.Name + " with deletion protection is not supported. " +
			"Disable its protection by SetDeletionProtection first."}
	},
	tokenUsed: func(token string, stack *store.Stack) error {
		return &Error{CodeTokenUsed, "The ClientToken " + token + " was used for another request on stack " + stack.Name + "."}
	},
	changeSetTaken: func(name string) error {
		return &Error{CodeChangeSetExists, "The ChangeSet (" + name + ") already exists."}
	},
	changeSetStatus: func(set *store.ChangeSet, what, status string, execution bool) error {
		of := "status"
		if execution {
			of = "execution status"
		}
		return &Error{CodeNotSupported, "The ChangeSet (" + set.Name + ") in " + of + " StatusEnum." + status + " to be " + what + " is not supported."}
	},
	code: CodeStackValidationFailed,
}

// refused converts an error in a template or its input to the client's error.
func refused(dialect Dialect, err error) error {
	var problems template.Errors
	var problem *template.Error
	var include *template.IncludeError
	var types *plan.TypeError
	switch {
	case errors.As(err, &problem): // the first of several
		return &Error{cmp.Or(Code(problem.Code), dialect.refusals().code), err.Error()}
	case errors.As(err, &problems), errors.As(err, &include), errors.As(err, &types):
		return &Error{dialect.refusals().code, err.Error()}
	}
	return err
}

// inDialect gives an error with CloudFormation's code the code of the dialect.
func inDialect(dialect Dialect, err error) error {
	inputErr, ok := InputError(err)
	if code := dialect.refusals().code; ok && inputErr.Code == CodeValidation && code != CodeValidation {
		return &Error{code, inputErr.Message}
	}
	return err
}

// dialect returns the dialect for the answer about a stack that does not exist.
func (r *Ref) dialect() Dialect {
	if r.ByID {
		return ROS
	}
	return CloudFormation
}

func noStack(ref Ref) error { return ref.dialect().refusals().noStack(ref.Stack) }

func noResource(ids []wire.LogicalID, stack *store.Stack) error {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return &Error{CodeResourceNotFound, "The Resource (" + strings.Join(names, ", ") + ") could not be found in Stack " + stack.Name + "."}
}
