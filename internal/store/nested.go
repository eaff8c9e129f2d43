package store

import "github.com/pintle-dev/pintle/wire"

// A nested stack is a stack of its own, with a key, a lock and operations of its own. It is at the same time a resource of
// its parent, whose requests are for operations of the nested stack. The two sides know each other by what is here, and
// never meet in one decision: docs/design/003-nested-stacks.md reports how nothing is lost between them.

// Aim is what a request wants of a nested stack.
type Aim string

// The aims.
const (
	// AimReach wants what the template says: a create, or an update that ends held at its clean-up.
	AimReach Aim = "reach"
	// AimUndo wants the last update taken back, up to the clean-up after that, where the nested stack is held again.
	AimUndo Aim = "undo"
	// AimRelease wants the clean-up at which the nested stack is held.
	AimRelease Aim = "release"
	// AimRemove wants the nested stack deleted.
	AimRemove Aim = "remove"
)

// Parent says for whom an operation of a nested stack is done.
type Parent struct {
	// Stack is the parent, and Operation the number of its operation that this one is a part of.
	Stack     wire.StackID `json:"stack"`
	Operation int          `json:"operation"`
	// Request is the parent's that waits for this operation now, and Aim what that wants.
	Request wire.RequestID `json:"request"`
	Aim     Aim            `json:"aim"`
	// Reason is why it has failed, if it has.
	Reason string `json:"reason,omitempty"`
}

// TypeRelease is the type of a request that lets a nested stack continue the clean-up at which it is held.
const TypeRelease wire.RequestType = "Release"

// TypeTie is the type of a request that asks no one: as long as an operation of a nested stack has a parent, it brings the
// two together now and then, should one of them have missed what became of the other. It has no logical ID and no instance.
const TypeTie wire.RequestType = "Tie"
