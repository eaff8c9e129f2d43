// Package pintletest plays the life of a resource against a provider, in memory and in no time:
//
//	func TestSite(t *testing.T) {
//		pintletest.Life{
//			Handler: pintle.New(sites{}),
//			Steps: []pintletest.Step{
//				{Properties: pintletest.Map{"Domain": "a.test"}, ID: "a.test"},
//				{Properties: pintletest.Map{"Domain": "a.test", "Size": 5}, Attributes: pintletest.Map{"URL": "https://a.test"}},
//				{Properties: pintletest.Map{"Domain": "b.test"}, ID: "b.test", Replaces: true},
//				{Properties: pintletest.Map{"Domain": "b.test", "Size": 1000}, Fails: "Size"},
//			},
//		}.Run(t)
//	}
//
// The package plays the service: it makes strings of numbers and booleans as CloudFormation does, keeps the physical ID
// and the properties of the resource, and sends what the service would send next. A Create that fails is followed by
// its Delete, an Update that fails by an Update in the other direction, a replacement by the Delete of what it replaced,
// the last step by the Delete of the resource. All of these must succeed unless the step says otherwise. Requests go
// through [pintle.Server] as events of Lambda, so what is tested is what runs: decoding, answers, retries, memory.
//
// A failure says which step it was and shows what was sent and answered. Besides the steps it is an error if an answer
// is one that the service would not take, or if the log or a reason holds the signature of a response URL, or a secret
// that the Life names.
//
// A Life can be played as Alibaba Cloud ROS too: see [Form].
//
// Time is simulated: a provider that waits by [pintle.WithReady] waits for nothing. A handler that sleeps or calls others
// takes the time it takes.
package pintletest

import (
	"testing"

	"github.com/pintle-dev/pintle"
)

// Map is a set of properties or attributes, as a template has them.
type Map = map[string]any

// Life is a test: a resource from its Create to its Delete.
type Life struct {
	// Handler is the provider. Required.
	Handler pintle.Handler
	// As is the service that is played. The zero value is CloudFormation. The same Life can be played in every form: in ROS
	// numbers and booleans stay what they are, a failed Create is followed by a Delete without an ID, and a step that
	// Replaces is played as an Update that must fail, because ROS cannot replace in one, and then as a Delete and a Create.
	// NoEcho does not count there.
	As Form
	// PlainSecrets lets attributes be sent to ROS that are secret, see [pintle.ROSConfig].
	PlainSecrets bool
	// ResourceType is the type of the resource. Empty means Custom::Test.
	ResourceType string
	// Secrets are texts that the provider gets or returns and that no log and no reason may hold.
	Secrets []string
	// Steps is what happens.
	Steps []Step
	// Remains leaves the resource as it is after the last step. Otherwise it is deleted then, unless a step did that.
	Remains bool
}

// Step is a change of the stack, what goes wrong with it, and what shall come of it. Nearly every field may be left
// zero: then nothing goes wrong, the request succeeds, an Update stays in place, and the answer may have any ID and any
// attributes.
type Step struct {
	// Name is for messages.
	Name string
	// Do is the request. Empty means Create if there is no resource, Delete if there is one and Properties is nil, Update
	// otherwise.
	Do pintle.RequestType
	// Properties are those in the template, without ServiceToken. Nil means none for a Create and an Update; a Delete has
	// those of the resource.
	Properties Map

	// Was takes the place of what the service has on record of the resource's properties: those it was made with by an
	// earlier version of the provider. They are the old properties of an Update, what a rollback goes back to, and the
	// properties of a Delete.
	Was Map
	// Restart forgets all that the provider kept in memory, before the step.
	Restart bool
	// OutOfTime ends the context of the handler before it is called.
	OutOfTime bool
	// Lost is how many PUTs of the answer fail before one arrives, or how many replies get lost in the form [ROSWebSync]. When the package pintle gives up, after eight, the
	// request is delivered again, as Lambda would, at most three times in all; then the service hears nothing.
	Lost int
	// Again is how often the request is delivered again after it was answered. Every delivery must get the same answer.
	Again int
	// Late makes the answer come when the service has given up. It takes the request for failed, and undoes it: a Create
	// by a Delete with an ID that it makes up.
	Late bool
	// Undone has another resource of the stack fail after the step, so that it is rolled back: a Create by a Delete, an
	// Update by another in the other direction.
	Undone bool

	// ID is the physical ID that the answer must have. Empty means any.
	ID pintle.PhysicalID
	// Replaces says that an Update must answer with another ID than that of the resource; otherwise it must not.
	Replaces bool
	// Attributes are those that the answer must have, neither more nor less. Nil means any; a Map without entries means
	// none.
	Attributes Map
	// NoEcho is whether the answer must be NoEcho. It counts if Attributes is not nil, in CloudFormation.
	NoEcho bool
	// Fails is a part of the reason of the failure. Empty means that the request must succeed.
	Fails string
	// UndoFails is the same for the request that undoes a failed or undone step.
	UndoFails string
	// Check looks at the world after the step and all that followed of it. Nil means no look.
	Check func() error
}

// Run plays the life and reports to the test what was wrong.
func (l Life) Run(t testing.TB) {
	t.Helper()
	if l.Handler == nil {
		t.Fatal("pintletest: the Life has no Handler")
		return
	}
	report := l.Play(t.Context())
	for _, problem := range report.Problems {
		t.Error(problem)
	}
	if len(report.Problems) > 0 {
		t.Logf("what happened:\n%s\nthe log of the provider:\n%s", report.Transcript, report.Log)
	}
}

// Report is what came of a [Life].
type Report struct {
	// Problems is what was wrong, each with its step. Empty means that all was as it should be.
	Problems []string
	// Transcript is what was sent and answered, one line each.
	Transcript string
	// Log is what the provider logged.
	Log string
}
