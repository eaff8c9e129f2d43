package engine

import (
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Observer is notified of durable changes, once each, on the goroutine that made them, so it must not block. Its
// arguments come from closed sets and identify no stack.
type Observer interface {
	// Began is called when an operation has started.
	Began(dialect string, kind store.Kind)
	// Ended is called when an operation has finished, with its kind at the end, its final phase and its duration.
	Ended(dialect string, kind store.Kind, phase store.Phase, took time.Duration)
	// Answered is called for an answer by response URL, in the body of a reply or by hand.
	Answered(dialect string, answer AnswerKind)
	// Failed is called for a resource that failed.
	Failed(dialect string, cause Cause)
	// Silent is called for a handler that returned without an answer, once per delivery of its request.
	Silent(dialect string)
	// TookOver is called with the number of requests that this node took over from dead nodes, at least 1.
	TookOver(requests int)
}

// AnswerKind is the class of an answer.
type AnswerKind string

// The kinds of answers.
const (
	AnswerSuccess   AnswerKind = "success"
	AnswerFailed    AnswerKind = "failed"    // the provider reported a failure
	AnswerInvalid   AnswerKind = "invalid"   // not a valid response document
	AnswerOversize  AnswerKind = "oversize"  // longer than allowed
	AnswerLate      AnswerKind = "late"      // the request had already failed
	AnswerDuplicate AnswerKind = "duplicate" // the request had already been answered
	AnswerByHand    AnswerKind = "by-hand"   // a person answered for the provider
)

// AnswerKinds lists all kinds of answers.
func AnswerKinds() []AnswerKind {
	return []AnswerKind{
		AnswerSuccess, AnswerFailed, AnswerInvalid, AnswerOversize, AnswerLate, AnswerDuplicate, AnswerByHand,
	}
}

// Cause is the class of the cause of a resource's failure.
type Cause string

// The causes.
const (
	CauseProvider    Cause = "provider"    // the provider reported it
	CauseNative      Cause = "native"      // a native type of Pintle reported it
	CauseTimeout     Cause = "timeout"     // the provider did not answer in time
	CauseSilent      Cause = "silent"      // the provider's handler returned without an answer
	CauseDelivery    Cause = "delivery"    // the provider was unreachable, refused the request, or died
	CauseAnswer      Cause = "answer"      // the provider's answer is invalid
	CauseDeclaration Cause = "declaration" // the declaration or its evaluated properties are invalid
	CausePolicy      Cause = "policy"      // the stack policy forbids it
	CauseChange      Cause = "change"      // the resource does not support the change
	CauseCancelled   Cause = "cancelled"   // another resource failed, or the operation was cancelled
)

// Causes lists all causes.
func Causes() []Cause {
	return []Cause{
		CauseProvider, CauseNative, CauseTimeout, CauseSilent, CauseDelivery, CauseAnswer, CauseDeclaration, CausePolicy, CauseChange, CauseCancelled,
	}
}

// cause returns the observers' class of a failure.
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
	return CauseDeclaration // template error codes are also classes
}

// noObserver is an observer that does nothing.
type noObserver struct{}

func (noObserver) Began(string, store.Kind)                             {}
func (noObserver) Ended(string, store.Kind, store.Phase, time.Duration) {}
func (noObserver) Answered(string, AnswerKind)                          {}
func (noObserver) Failed(string, Cause)                                 {}
func (noObserver) Silent(string)                                        {}
func (noObserver) TookOver(int)                                         {}

// observed defers a call of the observer until the decision is committed.
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

// tellOperation reports an operation that this decision started or ended to the observer, in the state that will be
// written.
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
