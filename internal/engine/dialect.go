package engine

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Dialect is what differs between the services whose protocol the engine speaks: how neutral states are called, what is
// sent, how an answer is read and what is said when things fail. The rest of the engine knows no service.
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

	// language is that of the dialect's templates, and wire that of its documents.
	language() template.Language
	wire() wire.Dialect
	// rules are what the engine does differently in this dialect.
	rules() rules
	// stackID and changeSetID make ids of new UUIDs, and requestID spells the one of a request.
	stackID(name store.StackName, uuid string) wire.StackID
	changeSetID(stack *store.Stack, name, uuid string) store.ChangeSetID
	requestID(uuid string) wire.RequestID

	// checkType refuses a resource type that the dialect has no provider for.
	checkType(resourceType string) error
	// request splits what a custom resource declares into what is sent and what it says of its provider. The properties
	// are returned as the provider will see them, and as they are compared.
	request(properties value.Value) (asked, error)
	// shown are the properties of a custom resource as a preview shows and compares them: those it was asked with, and what it
	// declares besides.
	shown(asked) value.Value
	// answer reads the response to a request, of which body may be the beginning: size is 0, or how long it is.
	answer(body []byte, size int, to *store.Request) answer
	// attribute returns what Fn::GetAtt reads of the data that a provider sent, false if there is no such attribute.
	attribute(data value.Value, name string) (value.Value, bool)
	// generateID makes up the physical id of a resource whose provider gave none.
	generateID(stack store.Stack, logical wire.LogicalID, random func(n int) string) wire.PhysicalID
	// eventID returns the id of a resource's event.
	eventID(logical wire.LogicalID, status string, at time.Time, detached bool, newID func() string) string
	// notification returns the text of an event for those whom the stack notifies; false if there is none for it.
	notification(stack *store.Stack, e store.Event) (string, bool)
	// fixed are the properties of a custom resource that cannot be changed, each with what an update that tries to fails
	// with.
	fixed() map[string]string
	// texts returns the dialect's words.
	texts() *texts
	// refusals returns what the dialect answers to clients that ask for what cannot be.
	refusals() *refusals
}

// rules are what the engine does differently in one dialect than in another. The zero rules are CloudFormation's, but for what is
// said to be.
type rules struct {
	// idsStay says that a resource never gives way to another one because its provider says so: an answer to an Update with
	// another id is none, and what cannot be updated is replaced only if the operation says so, the old one deleted first.
	idsStay bool
	// idsAsGiven says that a resource has no id before its provider gives one: a Delete may have none.
	idsAsGiven bool
	// updatesRevert says that an update that fails is always rolled back, and may be made after one that could not be.
	updatesRevert bool
	// deletesCreates says that a stack may be deleted while its create is in progress.
	deletesCreates bool
	// leavesAny says that a delete may leave resources where they are though none has failed before.
	leavesAny bool
	// typesStay says that properties are sent with the types that they have in the template.
	typesStay bool
	// consents says that clients have to agree to what some templates do.
	consents bool
	// executedStay says that an executed change set is listed and holds its name until it is deleted. Otherwise only its ID finds it.
	executedStay bool
}

// asked is what a custom resource asks of its provider.
type asked struct {
	properties value.Value
	token      value.Value
	timeout    time.Duration
	httpConfig value.Value  // how a URL is called, of ROS; null for nothing said
	await      *store.Await // of a native type
	aim        store.Aim    // of a nested stack; "" is what follows from the request's type
	tags       []store.Tag  // of the stack, for a native type whose resources can have tags
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
	// state is the present state of the resource, of an answer to a Read; nil if there is none.
	state *wire.State
	// problem is the service's text for an invalid response, explained the same with what we know besides. Both are
	// empty for a valid one. id, reason and data are then what could be read.
	problem, explained string
}

// keptBy is the policy that keeps a resource which is replaced.
func (r rules) keptBy() string {
	if r.idsStay {
		return plan.DeletionPolicy
	}
	return plan.UpdateReplacePolicy
}

// texts are the reasons of events.
type texts struct {
	begun            func(kind store.Kind, phase store.Phase) string // of an operation that a client asked for
	stack            func(kind store.Kind, phase store.Phase) string // of a stack's event without a reason of its own
	resource         string                                          // of a resource's event without a reason of its own
	createInitiated  string                                          // second event of a create, with the id; "" if there is none
	replaced         string                                          // the provider answered an Update with a new id
	recreating       string                                          // a native type makes a new resource in the place of one that cannot be changed
	signalled        func(failed bool, id string) string
	createCancelled  string
	updateCancelled  string
	tokenChanged     string
	notUpdatable     func(reason string) string // a native type cannot be changed so, for that reason, "" if it could be replaced
	idChanged        func(is, answered wire.PhysicalID) string
	idIgnored        func(is, answered wire.PhysicalID) string
	left             func(why string) string                                        // of a resource that is left, and why
	failure          func(kind failure, logical wire.LogicalID, text string) string // what the event of a failed resource says
	transformed      string                                                         // a stack's, when its macros have run
	stackCancelled   string                                                         // a stack's, when a client cancels its update
	createStopped    string                                                         // a stack's, when a person cancels its create
	ignored          string                                                         // a stack's, when what failed of its create is to be ignored
	unchanged        string                                                         // a change set's that has nothing to change
	orphaned         string                                                         // a stack's, after a clean-up that gave up
	failed           func(reason string, id wire.RequestID) string
	timedOut         func(id wire.RequestID) string
	missingAttribute func(attribute string, answeredBy wire.ResponseKey) string
	applyFailed      func(op *store.Operation, then failureAction, first failed) string // first is what failed first
	revertFailed     func(op *store.Operation, first failed) string
	outputFailed     func(op *store.Operation, problem string, then failureAction) string
	prepareFailed    func(text string, then failureAction) string // macros failed, or what they made is no template
	expired          func(op *store.Operation, then failureAction) string
	deleteFailed     func(op *store.Operation, first failed) string
	exportTaken      func(name, by string) string
	exportChanged    func(name string, in []string) string // in use by those stacks
	exportDropped    func(name string, in []string) string
	deleteCancelled  func(name string, in []string) string
}

// failure is the class of what a resource failed with.
type failure string

// The classes, as reasons of ROS name them. Those of a declaration that is wrong are the codes of templates.
const (
	failedByProvider  failure = "CustomResourceFailed"
	failedByNative    failure = "ResourceFailed"
	failedInTime      failure = "Timeout"
	failedInSilence   failure = "NoResponse"
	failedInDelivery  failure = "DeliveryFailed"
	failedInAnswer    failure = "InvalidResponse"
	failedAsDeclared  failure = "StackValidationFailed"
	failedAsChanged   failure = "NotSupported"
	failedByPolicy    failure = "StackPolicyValidationFailed"
	failedByID        failure = "PhysicalResourceIdChanged"
	failedByAttribute failure = "InvalidTemplateAttribute"
	failedByAnother   failure = "Cancelled"
)

// failed is a resource that failed: what was done to it, and the reason in its event.
type failed struct {
	verb   store.Verb
	reason string
}

// failureAction is what becomes of an operation that failed.
type failureAction int

const (
	keepFailed failureAction = iota
	rollBack
	deleteStack
)

// DialectOf returns the dialect of that name.
func DialectOf(name string) (Dialect, error) {
	for _, known := range []Dialect{CloudFormation, ROS} {
		if known.Name() == name {
			return known, nil
		}
	}
	return nil, fmt.Errorf("unknown dialect %q", name)
}
