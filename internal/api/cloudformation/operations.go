package cloudformation

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

// The values of OperationStatus.
const (
	operationRunning   = "IN_PROGRESS"
	operationSucceeded = "SUCCEEDED"
	operationFailed    = "FAILED"
)

// operationView is the structure OperationEntry.
type operationView struct {
	OperationType string
	OperationID   string `query:"OperationId"`
}

// lastOperations returns a stack's newest operation and the operation that it rolls back, newest first.
func (f *handler) lastOperations(ctx context.Context, stack store.Stack) ([]operationView, error) {
	last, err := f.engine.LastOperations(ctx, stack)
	var views []operationView
	for _, op := range last {
		for _, id := range []string{op.RollbackID, op.ID} {
			if id != "" {
				views = append(views, operationView{OperationType: operationType(&op, id), OperationID: id})
			}
		}
	}
	return views, err
}

// operationType returns the type of the operation with this ID: op or its rollback.
func operationType(op *store.Operation, id string) string {
	if id == op.RollbackID && id != "" {
		if op.Kind == store.KindDelete {
			return "DELETE_STACK"
		}
		return "ROLLBACK"
	}
	switch op.Call {
	case store.CallCreate, store.CallContinueCreate:
		return "CREATE_STACK"
	case store.CallUpdate:
		return "UPDATE_STACK"
	case store.CallDelete:
		return "DELETE_STACK"
	case store.CallContinue:
		return "CONTINUE_ROLLBACK"
	case store.CallRollback, store.CallCancel:
		return "ROLLBACK"
	case store.CallReview:
		return "CREATE_CHANGESET"
	}
	return ""
}

// operationStatus returns the operation status for the phase of an event. A completed rollback has succeeded.
func operationStatus(phase store.Phase) string {
	switch phase {
	case store.PhaseSucceeded, store.PhaseReverted:
		return operationSucceeded
	case store.PhaseFailed, store.PhaseRevertFailed:
		return operationFailed
	case store.PhasePrepare, store.PhaseApply, store.PhaseCleanup, store.PhaseRevert, store.PhaseRevertCleanup:
	}
	return operationRunning
}

// operationStart returns the time of the first event of the operation with this ID: op or its rollback.
func operationStart(op *store.Operation, id string) time.Time {
	switch {
	case id == op.RollbackID && id != "":
		return op.RollbackStarted
	case op.Earliest.After(op.Started):
		return op.Earliest
	}
	return op.Started
}
