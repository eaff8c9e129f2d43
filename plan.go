package pintle

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/wire"
)

// Planner is implemented by a provider that can predict the effect of a change. Pintle uses it in "pintle deploy
// --dry-run", in "pintle validate" and for change sets. The schema of the provider declares it, see [Schema].
// CloudFormation and ROS never send a Plan.
//
// A plan is a prediction: Create and Update still decide. An Update that makes a new resource must set Replaces,
// regardless of the result of Plan.
type Planner[P any] interface {
	// Plan returns the effect of a Create or an Update with these properties. It has no side effects. The package calls
	// it with properties that satisfy their tags and the [Validator]. An error refuses the change, and its text is the
	// explanation for users. [ErrGone] reports that the resource does not exist, so that an Update would make a new one.
	//
	// Plan may be called while another request of the resource is in progress. It should return within seconds.
	Plan(ctx context.Context, r *PlanRequest[P]) (PlanResponse, error)
}

// PlanRequest asks for the effect of a Create or an Update.
type PlanRequest[P any] struct {
	// Request is the original request, of the type Plan. Its ID is that of the existing resource, or empty. It has its
	// own RequestID. Before the stack exists, StackID is not final, so [Request.Token] and [Request.Name] return other
	// values than in the Create.
	Request
	// Properties are the new ones, decoded and checked.
	Properties P
	// Old are the present properties, as in an [UpdateRequest]. Nil means that the resource would be created.
	Old *P
	// OldProblems is the OldProblems of an [UpdateRequest].
	OldProblems []string
	// Immutable lists the immutable properties that change. The package announces a replacement because of them, unless
	// Plan refuses the change. It is nil for a Create.
	Immutable []string
}

// PlanResponse is the effect of a Create or an Update. The zero value means that the resource is created or changed in
// place.
type PlanResponse struct {
	// Replace announces that an Update will make a new resource. It is ignored for a Create. ROS cannot replace a
	// resource in an Update, so there it refuses the change.
	Replace bool
	// Reason explains the replacement, e.g. "the engine cannot be upgraded in place". At most 1,024 bytes of it are
	// shown.
	Reason string
}

// maxPlanReason is the largest part of the reason of a plan that is sent, in bytes.
const maxPlanReason = 1024

// plannable is a [Handler] that can answer a [Plan]. Other handlers never get one.
type plannable interface{ Plans() bool }

// plans reports whether a handler answers a Plan.
func plans(h Handler) bool {
	p, ok := h.(plannable)
	return ok && p.Plans()
}

var errNoPlan = errors.New("this provider has no method Plan")

// Plans reports whether the provider is a [Planner]. A handler that wraps another one gets Plan requests only if it has
// this method and the method returns true.
func (r *Resource) Plans() bool { return r.plans }

// Plans reports whether the handler for the type answers a [Plan].
func (n *named) Plans() bool { return plans(n.Handler) }

// Plans reports whether the wrapped handler answers a [Plan].
func (a *alwaysDelete) Plans() bool { return plans(a.Handler) }

// plan answers a Plan. A refusal is an answer; an error means that the provider cannot plan.
func (x *resource[P, A]) plan(ctx context.Context, r *Request) (Answer, error) {
	if x.planner == nil {
		return Answer{}, errNoPlan
	}
	refuse := func(err error) (Answer, error) {
		if ctx.Err() != nil {
			return Answer{}, err // it ran out of time
		}
		r.Log().Info("the plan refuses the change", "error", logText(err))
		return planned(wire.Refuse, cmp.Or(err.Error(), "the provider refuses the change without an explanation")), nil
	}
	properties, err := x.wanted(ctx, r)
	if err != nil {
		return refuse(err)
	}
	p := &PlanRequest[P]{Request: *r, Properties: properties}
	if r.ID != "" {
		old, problems, err := x.former(ctx, r)
		if err != nil {
			return refuse(err)
		}
		change, err := x.immutableChange(properties, old)
		if err != nil {
			return refuse(err)
		}
		if p.Immutable = change.names; p.Immutable != nil && r.Dialect == wire.ROS {
			return refuse(noReplacement(r, change.names))
		}
		p.Old, p.OldProblems = &old, problems
	}
	response, err := x.planner.Plan(ctx, p)
	switch {
	case errors.Is(err, ErrGone) && r.ID != "":
		response = PlanResponse{Replace: true, Reason: err.Error()}
	case err != nil:
		return refuse(err)
	}
	response.Replace = response.Replace || p.Immutable != nil
	switch {
	case r.ID == "" || !response.Replace:
		return planned(wire.InPlace, ""), nil
	case r.Dialect == wire.ROS:
		return refuse(errors.New(joinTexts("; ", "ROS cannot replace a resource in an Update", response.Reason)))
	}
	return planned(wire.Replace, joinTexts("; ", areImmutable(p.Immutable), response.Reason)), nil
}

// areImmutable returns a text that the properties are immutable, or "" if names is empty.
func areImmutable(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0] + " is immutable"
	}
	return strings.Join(names, ", ") + " are immutable"
}

// joinTexts joins the nonempty texts.
func joinTexts(separator string, texts ...string) string {
	var all []string
	for _, text := range texts {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, separator)
}

func planned(change wire.Consequence, reason string) Answer {
	return Answer{State: &wire.Planned{Change: change, Reason: reason}} // a Plan has no Poller that would use the State
}

// plan answers a Plan. It stores nothing, and does not wait for other requests of the resource.
func (s *Server) plan(ctx context.Context, a answered, b budget, hide *redact.Secrets) (answered, error) {
	r := newRequest(a.request, a.log)
	r.surroundings = surroundings{log: a.log, clock: s.clock, hide: hide, deadline: b.handler, plain: s.ros.PlainSecrets}
	o := ask(ctx, s.handler, r, b)
	a.running = o.running
	answer, ok := o.answer.State.(*wire.Planned)
	switch {
	case o.err != nil:
		a.log.Error("handler failed", "error", logText(o.err))
		answer = &wire.Planned{Error: cmp.Or(o.err.Error(), "the handler failed with an error that has no text")}
	case !ok:
		answer = &wire.Planned{Error: errNoPlan.Error()} // a handler that wraps the provider dropped its answer
	}
	own := *answer
	own.Reason, own.Error = shorten(redacted(hide, own.Reason), maxPlanReason), shorten(redacted(hide, own.Error), maxPlanReason)
	var err error
	a.body, err = own.Encode()
	a.log.Info("planned", "change", own.Change, "reason", own.Reason, "problem", own.Error)
	return a, err
}

// errPlanReply is the error of a Plan over a transport without a reply.
var errPlanReply = errors.New("a Plan has no response URL and is answered in the reply alone, which this one does not have")
