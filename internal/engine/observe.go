package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Observer is told what has become durable, once for each, by the goroutine that has seen to it: it must not block. What it
// is told comes from closed sets and names nobody's stack.
type Observer interface {
	// Began is notified of an operation that has begun.
	Began(dialect string, kind store.Kind)
	// Ended is notified of an operation that has ended, as what it ended and in which final phase, and how long it took.
	Ended(dialect string, kind store.Kind, phase store.Phase, took time.Duration)
	// Answered is notified of an answer that came by a response URL, in the body of a reply or by hand.
	Answered(dialect string, answer AnswerKind)
	// Failed is notified of a resource that has failed.
	Failed(dialect string, cause Cause)
	// Silent is notified of a handler that returned without an answer, once for each delivery of its request.
	Silent(dialect string)
	// TookOver is told how many requests of dead nodes this one has taken over, 1 at least.
	TookOver(requests int)
}

// AnswerKind is what an answer was.
type AnswerKind string

// The kinds of answers.
const (
	AnswerSuccess   AnswerKind = "success"
	AnswerFailed    AnswerKind = "failed"    // the provider says that it has failed
	AnswerInvalid   AnswerKind = "invalid"   // it is no response document, or a wrong one
	AnswerOversize  AnswerKind = "oversize"  // it is longer than it may be
	AnswerLate      AnswerKind = "late"      // the request was given up before
	AnswerDuplicate AnswerKind = "duplicate" // the request was answered before
	AnswerByHand    AnswerKind = "by-hand"   // a person has given it in the provider's place
)

// AnswerKinds lists all kinds of answers.
func AnswerKinds() []AnswerKind {
	return []AnswerKind{
		AnswerSuccess, AnswerFailed, AnswerInvalid, AnswerOversize, AnswerLate, AnswerDuplicate, AnswerByHand,
	}
}

// Cause is the class of what a resource has failed with.
type Cause string

// The causes.
const (
	CauseProvider    Cause = "provider"    // its provider said so
	CauseNative      Cause = "native"      // a type of Pintle's own said so
	CauseTimeout     Cause = "timeout"     // its provider kept silent
	CauseSilent      Cause = "silent"      // its provider's handler returned without an answer
	CauseDelivery    Cause = "delivery"    // its provider could not be reached, refused, or died
	CauseAnswer      Cause = "answer"      // what its provider answered is no answer
	CauseDeclaration Cause = "declaration" // its declaration is wrong, as its properties have turned out
	CausePolicy      Cause = "policy"      // the stack policy forbids it
	CauseChange      Cause = "change"      // what is changed of it cannot be changed
	CauseCancelled   Cause = "cancelled"   // another one had failed, or the operation was cancelled
)

// Causes lists all causes.
func Causes() []Cause {
	return []Cause{
		CauseProvider, CauseNative, CauseTimeout, CauseSilent, CauseDelivery, CauseAnswer, CauseDeclaration, CausePolicy, CauseChange, CauseCancelled,
	}
}

// cause is the observers' word for a class of failures.
func (f failure) cause() Cause {
	switch f {
	case failedByProvider:
		return CauseProvider
	case failedByNative:
		return CauseNative
	case failedInTime:
		return CauseTimeout
	case failedInSilence:
		return CauseSilent
	case failedInDelivery:
		return CauseDelivery
	case failedInAnswer:
		return CauseAnswer
	case failedAsChanged, failedByID:
		return CauseChange
	case failedByPolicy:
		return CausePolicy
	case failedByAnother:
		return CauseCancelled
	case failedAsDeclared, failedByAttribute:
	}
	return CauseDeclaration // the codes of templates are classes too
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Began(string, store.Kind)                             {}
func (nobody) Ended(string, store.Kind, store.Phase, time.Duration) {}
func (nobody) Answered(string, AnswerKind)                          {}
func (nobody) Failed(string, Cause)                                 {}
func (nobody) Silent(string)                                        {}
func (nobody) TookOver(int)                                         {}

// observed keeps a call of the observer until the decision is committed.
func (d *decision) observed(what func(o Observer, dialect string)) {
	dialect := d.dialect.Name()
	d.notes = append(d.notes, func(o Observer) { what(o, dialect) })
}

// failure returns the text of the event of a failed resource. It also reports the failure to the observer, so call it
// only when a resource fails.
func (d *decision) failure(kind failure, logical wire.LogicalID, text string) string {
	d.observed(func(o Observer, dialect string) { o.Failed(dialect, kind.cause()) })
	return d.dialect.texts().failure(kind, logical, text)
}

// tellAnswer reports the kind of an answer to the observer.
func (d *decision) tellAnswer(r *store.Request, outcome Outcome, got *answer) {
	kind := AnswerSuccess
	switch {
	case d.byHand:
		kind = AnswerByHand
	case r.State == store.RequestSettled && (r.Ending == Answered.String() || r.Ending == endedByHand):
		kind = AnswerDuplicate
	case r.State == store.RequestSettled:
		kind = AnswerLate
	case got.problem != "" && (outcome.Size > 0 || len(outcome.Body) > wire.MaxResponse):
		kind = AnswerOversize
	case got.problem != "":
		kind = AnswerInvalid
	case !got.success:
		kind = AnswerFailed
	}
	d.observed(func(o Observer, dialect string) { o.Answered(dialect, kind) })
}

// tellOperation reports an operation that this decision has started or ended to the observer, in the state that is
// going to be written.
func (d *decision) tellOperation(before, after *store.Operation) {
	if after == nil || after.Kind == store.KindReview {
		return
	}
	begun := after.Number != before.Number
	op := *after
	if begun {
		d.observed(func(o Observer, dialect string) { o.Began(dialect, op.Shown()) })
	}
	if op.Phase.Final() && (begun || !before.Phase.Final()) {
		d.observed(func(o Observer, dialect string) { o.Ended(dialect, op.Shown(), op.Phase, op.Ended.Sub(op.Started)) })
	}
}
