package store

import "github.com/pintle-dev/pintle/wire"

// A nested stack is a stack with its own key, lock and operations. It is also a resource of its parent, whose requests
// start and control operations of the nested stack. The two are linked only by the types below and are never part of
// the same decision. docs/design/003-nested-stacks.md explains how no message between them is lost.

// Aim is the purpose of a request to a nested stack.
type Aim string

// The aims.
const (
	// AimReach is a create, or an update that stops at its clean-up and is held there.
	AimReach Aim = "reach"
	// AimUndo undoes the last update, up to the clean-up after that, where the nested stack is held again.
	AimUndo Aim = "undo"
	// AimRelease runs the clean-up at which the nested stack is held.
	AimRelease Aim = "release"
	// AimRemove deletes the nested stack.
	AimRemove Aim = "remove"
)

// Parent identifies the parent's request for an operation of a nested stack.
type Parent struct {
	// Stack is the parent, and Operation the number of the parent's operation that this one belongs to.
	Stack     wire.StackID `json:"stack"`
	Operation int          `json:"operation"`
	// Request is the parent's request that now waits for this operation, and Aim its purpose.
	Request wire.RequestID `json:"request"`
	Aim     Aim            `json:"aim"`
	// Reason says why the operation failed; empty if it did not.
	Reason string `json:"reason,omitempty"`
}

// TypeRelease is the type of a request that lets a nested stack continue the clean-up at which it is held.
const TypeRelease wire.RequestType = "Release"

// TypeTie is the type of a request that is not sent to a provider. While an operation of a nested stack has a parent,
// it reconciles the two at intervals, in case one of them missed a result of the other. It has no logical ID and no
// instance.
const TypeTie wire.RequestType = "Tie"
