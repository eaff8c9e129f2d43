package engine

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// Dialect is what differs between the services whose protocol the engine speaks: how neutral states are called, what is
// sent, how an answer is read and what is said when things fail. The machine itself knows no service.
type Dialect interface {
	// Name is what rows keep, e.g. "cloudformation".
	Name() string
	// StackStatus renders the state of a stack; "" for a state that this dialect never reaches.
	StackStatus(store.Kind, store.Phase) string
	// ResourceStatus renders the state of a resource.
	ResourceStatus(store.Verb, store.Progress) string
	// ChangeSetStatus renders how the creation of a change set went.
	ChangeSetStatus(store.ChangeSetState) string
	// ExecutionStatus renders whether a change set can be executed, and how that went.
	ExecutionStatus(Execution) string
	// StackType is the resource type under which a stack's own events are listed.
	StackType() string

	// checkType refuses a resource type that the dialect has no provider for.
	checkType(resourceType string) error
	// request splits what a custom resource declares into what is sent and what it says of its provider. The properties
	// are returned as the provider will see them, and as they are compared.
	request(properties value.Value) (asked, error)
	// answer reads a response document, of which body may be the beginning: size is 0, or how long it is.
	answer(body []byte, size int) answer
	// generateID invents the physical id of a resource whose provider gave none.
	generateID(stack store.Stack, logical wire.LogicalID, random func(n int) string) wire.PhysicalID
	// eventID returns the id of a resource's event.
	eventID(logical wire.LogicalID, status string, at time.Time, detached bool, newID func() string) string
	// notification returns an event as it is told to a topic.
	notification(stack *store.Stack, e store.Event) string
	// fixed are the properties of a custom resource that cannot be changed, each with what an update that tries to fails
	// with.
	fixed() map[string]string
	// texts returns the dialect's words.
	texts() *texts
}

// asked is what a custom resource asks of its provider.
type asked struct {
	properties value.Value
	token      value.Value
	timeout    time.Duration
	await      *store.Await // of a native type
	aim        store.Aim    // of a nested stack; "" is what follows from the request's type
}

// answer is what a provider said.
type answer struct {
	success bool
	id      wire.PhysicalID // empty if the response has no valid one
	reason  string
	data    value.Value // an object, or null
	noEcho  bool
	// copied are the names of the request as the answer gives them.
	copied wire.ResponseKey
	// problem is the service's text for an invalid response, explained the same with what we know besides. Both are
	// empty for a valid one. id, reason and data are then what could be read.
	problem, explained string
}

// texts are the reasons of events.
type texts struct {
	userInitiated    string
	createInitiated  string // second event of a create, with the id
	replaced         string // the provider answered an Update with a new id
	recreating       string // a native type makes a new resource in the place of one that cannot be changed
	signalled        func(failed bool, id string) string
	createCancelled  string
	updateCancelled  string
	tokenChanged     string
	transformed      string // a stack's, when its macros have run
	stackCancelled   string // a stack's, when a client cancels its update
	unchanged        string // a change set's that has nothing to change
	orphaned         string // a stack's, after a clean-up that gave up
	failed           func(reason string, id wire.RequestID) string
	timedOut         func(id wire.RequestID) string
	missingAttribute func(attribute string, answeredBy wire.ResponseKey) string
	applyFailed      func(op *store.Operation, then sequel) string
	revertFailed     func(op *store.Operation) string
	outputFailed     func(problem string, then sequel) string
	prepareFailed    func(text string, then sequel) string // macros failed, or what they made is no template
	expired          func(then sequel) string
	deleteFailed     func(op *store.Operation) string
	exportTaken      func(name, by string) string
	exportChanged    func(name string, in []string) string // in use by those stacks
	exportDropped    func(name string, in []string) string
	deleteCancelled  func(name string, in []string) string
}

// sequel is what becomes of an operation that failed.
type sequel int

const (
	isLeft sequel = iota
	isReverted
	isDeleted
)

// DialectOf returns the dialect of that name.
func DialectOf(name string) (Dialect, error) {
	if name == CloudFormation.Name() {
		return CloudFormation, nil
	}
	return nil, fmt.Errorf("unknown dialect %q", name)
}
