package engine

import (
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Dialect is the set of differences between the services that the engine emulates: names of states, contents of
// requests, formats of answers, and texts of failures. The rest of the engine is independent of the service.
type Dialect interface {
	// Name is the name in stored rows, e.g. "cloudformation".
	Name() string
	// StackStatus renders the state of a stack; "" for a state that this dialect never reaches.
	StackStatus(store.Kind, store.Phase) string
	// ResourceStatus renders the state of a resource.
	ResourceStatus(store.Verb, store.Progress) string
	// ChangeSetStatus renders the state of the creation of a change set.
	ChangeSetStatus(store.ChangeSetState) string
	// ExecutionStatus renders the execution status of a change set.
	ExecutionStatus(Execution) string
	// StackType is the resource type of a stack's own events.
	StackType() string

	// language is the language of the dialect's templates, and wire the dialect of its documents.
	language() template.Language
	wire() wire.Dialect
	// rules returns the dialect's deviations from the engine's default behaviour.
	rules() rules
	// stackID and changeSetID make IDs from new UUIDs, and requestID formats a request's ID.
	stackID(name store.StackName, uuid string) wire.StackID
	changeSetID(stack *store.Stack, name, uuid string) store.ChangeSetID
	requestID(uuid string) wire.RequestID

	// checkType rejects a resource type that the dialect has no provider for.
	checkType(resourceType string) error
	// request splits the properties of a custom resource into the request's properties and the settings of its
	// provider. It returns the properties as the provider gets them, which is also the form for comparisons.
	request(properties value.Value) (asked, error)
	// shown returns the properties of a custom resource for display and comparison in a preview: the request's
	// properties and the other declared settings.
	shown(asked) value.Value
	// answer reads the response to a request. If body is only the beginning, size is the full length; otherwise size
	// is 0.
	answer(body []byte, size int, to *store.Request) answer
	// attribute returns the attribute that Fn::GetAtt reads from a provider's data, or false if the
	// attribute does not exist.
	attribute(data value.Value, name string) (value.Value, bool)
	// generateID generates the physical ID of a resource whose provider did not return one.
	generateID(stack store.Stack, logical wire.LogicalID, random func(n int) string) wire.PhysicalID
	// eventID returns the ID of a resource's event.
	eventID(logical wire.LogicalID, status string, at time.Time, detached bool, newID func() string) string
	// notification returns the text that the stack's notification topics get for an event, or false.
	notification(stack *store.Stack, e store.Event) (string, bool)
	// fixed returns the properties of a custom resource that cannot change, each with the error of an update that
	// changes it.
	fixed() map[string]string
	// texts returns the dialect's texts.
	texts() *texts
	// refusals returns the dialect's errors for invalid calls of clients.
	refusals() *refusals
}

// rules are the behaviours that differ between dialects. The zero value has CloudFormation's behaviour unless a field
// says otherwise.
type rules struct {
	// idsStay means that a provider's answer never replaces a resource: an answer to an Update with another ID is
	// invalid. A resource that cannot be updated is replaced only if the operation allows it, and the old one is
	// deleted first.
	idsStay bool
	// idsAsGiven means that a resource has no ID before its provider returns one, so a Delete may have no ID.
	idsAsGiven bool
	// updatesRevert means that a failed update is always rolled back, and that an update may follow a failed
	// rollback.
	updatesRevert bool
	// deletesCreates means that a stack may be deleted while its create is in progress.
	deletesCreates bool
	// leavesAny means that a delete may retain any resources, even if no delete has failed before.
	leavesAny bool
	// typesStay means that properties are sent with their types in the template.
	typesStay bool
	// consents means that some templates need acknowledged capabilities.
	consents bool
	// executedStay means that an executed change set stays listed and holds its name until it is deleted. Otherwise
	// only its ID finds it.
	executedStay bool
}

// asked is the request of a custom resource to its provider.
type asked struct {
	properties value.Value
	token      value.Value
	timeout    time.Duration
	httpConfig value.Value  // settings for calling a URL, of ROS; null if not set
	await      *store.Await // of a native type
	aim        store.Aim    // of a nested stack; "" means the request's type decides
	tags       []store.Tag  // of the stack; only native types whose resources can have tags
	// forwarded has more of the declaration for the endpoint of a forwarded type; nil for other types.
	forwarded *store.Forwarded
}

// answer is a provider's answer.
type answer struct {
	success bool
	id      wire.PhysicalID // empty if the response has no valid one
	reason  string
	data    value.Value // an object, or null
	noEcho  bool
	// copied are the identifiers of the request that the answer repeats.
	copied responseurl.ResponseKey
	// state is the current state of the resource in an answer to a Read, or nil.
	state *wire.State
	// problem is the service's text for an invalid response, and explained is the same with Pintle's details. Both
	// are empty for a valid response. For an invalid one, id, reason and data hold the parts that could be read.
	problem, explained string
}

// keptBy returns the name of the policy that retains a replaced resource.
func (r rules) keptBy() string {
	if r.idsStay {
		return plan.DeletionPolicy
	}
	return plan.UpdateReplacePolicy
}

// texts are the reasons of events.
type texts struct {
	begun            func(kind store.Kind, phase store.Phase) string // of an operation that a client started
	stack            func(kind store.Kind, phase store.Phase) string // default for a stack's event
	resource         string                                          // default for a resource's event
	createInitiated  string                                          // second event of a create, with the ID; or ""
	replaced         string                                          // the provider answered an Update with a new id
	recreating       string                                          // a native type replaces a resource that cannot change
	signalled        func(failed bool, id string) string
	createCancelled  string
	updateCancelled  string
	tokenChanged     string
	notUpdatable     func(reason string) string // a native type rejects a change; reason may be ""
	idChanged        func(is, answered wire.PhysicalID) string
	idIgnored        func(is, answered wire.PhysicalID) string
	left             func(why string) string                                        // of a retained resource
	failure          func(kind failure, logical wire.LogicalID, text string) string // of a failed resource
	transformed      string                                                         // of a stack after its macros have run
	stackCancelled   string                                                         // of a cancelled update
	createStopped    string                                                         // of a cancelled create
	ignored          string                                                         // of a create that ignores failures
	unchanged        string                                                         // of a change set without changes
	orphaned         string                                                         // after an abandoned clean-up
	failed           func(reason string, id wire.RequestID) string
	timedOut         func(id wire.RequestID) string
	missingAttribute func(attribute string, answeredBy responseurl.ResponseKey) string
	applyFailed      func(op *store.Operation, then failureAction, first failed) string // first is the first failure
	revertFailed     func(op *store.Operation, first failed) string
	outputFailed     func(op *store.Operation, problem string, then failureAction) string
	prepareFailed    func(text string, then failureAction) string // a macro failed, or its result is not a template
	expired          func(op *store.Operation, then failureAction) string
	deleteFailed     func(op *store.Operation, first failed) string
	exportTaken      func(name, by string) string
	exportChanged    func(name string, in []string) string // the stacks that use it
	exportDropped    func(name string, in []string) string
	deleteCancelled  func(name string, in []string) string
}

// failure is the class of a resource's failure.
type failure string

// The classes, with the names in ROS reasons. Invalid declarations have the error codes of templates.
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

// failed is a failed resource: the action, and the reason in its event.
type failed struct {
	verb   store.Verb
	reason string
}

// failureAction is the action after an operation failed.
type failureAction int

const (
	keepFailed failureAction = iota
	rollBack
	deleteStack
)

// DialectOf returns the dialect with a name.
func DialectOf(name string) (Dialect, error) {
	for _, known := range []Dialect{CloudFormation, ROS} {
		if known.Name() == name {
			return known, nil
		}
	}
	return nil, fmt.Errorf("unknown dialect %q", name)
}
