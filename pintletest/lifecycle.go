// Package pintletest tests a provider against a simulated service, in memory and without waiting:
//
//	func TestSite(t *testing.T) {
//		pintletest.Lifecycle{
//			Handler: pintle.New(sites{}),
//			Steps: []pintletest.Step{
//				{Properties: pintletest.Map{"Domain": "a.test"}, WantID: "a.test"},
//				{Properties: pintletest.Map{"Domain": "a.test", "Size": 5}, WantAttributes: pintletest.Map{"URL": "https://a.test"}},
//				{Properties: pintletest.Map{"Domain": "b.test"}, WantID: "b.test", WantReplacement: true},
//				{Properties: pintletest.Map{"Domain": "b.test", "Size": 1000}, WantError: "Size"},
//			},
//		}.Run(t)
//	}
//
// The package turns numbers and booleans into strings as CloudFormation does. It records the physical ID and the
// properties of the resource, and sends the requests that the service would send next. A failed Create is followed by its
// Delete, a failed Update by an Update in the other direction, a replacement by the Delete of the old resource, and the
// last step by the Delete of the resource. All of these must succeed unless the step says otherwise. Requests go through
// [pintle.Server] as Lambda events, so the test covers decoding, answers, retries and duplicate deliveries.
//
// A failure names its step and shows all requests and answers. A test also fails if the service would reject an answer,
// or if the log or a reason shows the signature of a response URL or one of the Secrets.
//
// [Transport] selects other services, such as Alibaba Cloud ROS.
//
// Time is simulated: a [pintle.Poller] does not wait. A handler that sleeps or calls other services takes real time.
package pintletest

import (
	"testing"

	"github.com/pintle-dev/pintle"
)

// Map is a set of properties or attributes, as in a template.
type Map = map[string]any

// Lifecycle is a test: the requests for one resource, from its Create to its Delete.
type Lifecycle struct {
	// Handler is the provider. Required.
	Handler pintle.Handler
	// Transport is the service to simulate, and the path of its requests. The zero value is CloudFormation. The same
	// Lifecycle runs on every transport. In ROS, numbers and booleans keep their types, the Delete after a failed Create
	// has no ID, and a step with WantReplacement is an Update that must fail, followed by a Delete and a Create, because
	// ROS cannot replace a resource in an Update. WantNoEcho does not apply there.
	Transport Transport
	// PlainSecrets allows secret attributes in answers to ROS, see [pintle.ROSConfig].
	PlainSecrets bool
	// ResourceType is the type of the resource. Empty means Custom::Test.
	ResourceType string
	// Secrets are texts that the provider receives or returns and that must not appear in a log or a reason.
	Secrets []string
	// Steps are the changes of the stack.
	Steps []Step
	// KeepResource keeps the resource after the last step. Otherwise it is deleted then, unless a step did that.
	KeepResource bool
}

// Step is a change of the stack, the faults that occur during it, and the expected result. Most fields can be left zero:
// then no fault occurs, the request must succeed, an Update must keep the ID, and the answer may have any ID and any
// attributes.
type Step struct {
	// Name appears in messages.
	Name string
	// Type is the request. Empty means Create if there is no resource, Delete if there is one and Properties is nil, and
	// Update otherwise. A [pintle.Read] and a [pintle.Plan] change nothing. A Plan is for a Create if there is no
	// resource, and for an Update otherwise.
	Type pintle.RequestType
	// Properties are the properties in the template, without ServiceToken. Nil means none for a Create and an Update; for
	// a Delete and a Read it means the recorded properties of the resource.
	Properties Map

	// RecordedProperties replace the properties that the service has recorded for the resource, to simulate properties
	// that an earlier version of the provider accepted. They are the old properties of an Update, the target of its
	// rollback, and the properties of a Delete.
	RecordedProperties Map
	// Restart restarts the provider before the step, with an empty [pintle.IdempotencyStore].
	Restart bool
	// DeadlineExceeded ends the context of the handler before the handler is called.
	DeadlineExceeded bool
	// LostResponses is how many PUTs of the answer fail before one succeeds; with [ROSWebSync], how many replies are
	// lost. When the SDK stops trying, after eight, the request is delivered again, as on Lambda, at most three times in
	// all.
	LostResponses int
	// Redeliveries is how often the request is delivered again after its answer. Each must get the same answer.
	Redeliveries int
	// LateResponse makes the answer arrive after the service has stopped waiting. The service treats the request as failed
	// and rolls it back: a Create by a Delete with an ID that the service chose.
	LateResponse bool
	// RollBack makes another resource of the stack fail after the step, so that the step is rolled back: a Create by a
	// Delete, an Update by an Update in the other direction.
	RollBack bool

	// WantID is the physical ID that the answer must have. Empty means any.
	WantID pintle.PhysicalID
	// WantReplacement means that an Update must replace the resource, or a Plan must announce a
	// replacement. Otherwise they must not.
	WantReplacement bool
	// WantReason is a part of the reason for a replacement in the answer to a Plan.
	WantReason string
	// WantAttributes are exactly the attributes that the answer must have. Nil means any; an empty Map means none.
	WantAttributes Map
	// WantNoEcho is whether the answer must be NoEcho. It applies in CloudFormation if WantAttributes is not nil.
	WantNoEcho bool
	// WantProperties are exactly the properties that the answer to a Read must have. A property that equals the one in
	// the template has the same form. A secret that differs is "****". Nil means any.
	WantProperties Map
	// WantGone is whether the answer to a Read must report that the resource does not exist.
	WantGone bool
	// WantError is a part of the reason of a failure, or of a Plan that refuses the change. Empty means that the request
	// must succeed.
	WantError string
	// WantRollbackError is a part of the reason for the request that rolls back a failed step. Empty means that it must
	// succeed.
	WantRollbackError string
	// Check inspects the provider's resources after the step and the requests that follow from it. Nil means no check.
	Check func() error
}

// Run simulates the lifecycle and reports its problems to the test.
func (l Lifecycle) Run(t testing.TB) {
	t.Helper()
	if l.Handler == nil {
		t.Fatal("pintletest: the Lifecycle has no Handler")
		return
	}
	report := l.Simulate(t.Context())
	for _, problem := range report.Problems {
		t.Error(problem)
	}
	if len(report.Problems) > 0 {
		t.Logf("what happened:\n%s\nthe log of the provider:\n%s", report.Transcript, report.Log)
	}
}

// Report is the result of a [Lifecycle].
type Report struct {
	// Problems are the violated expectations, each with its step. Empty means success.
	Problems []string
	// Transcript lists the requests and answers, one per line.
	Transcript string
	// Log is the log of the provider.
	Log string
}
