package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Bounds on the questions to providers about one plan. The limits are Pintle's own.
const (
	defaultPlanWithin = 20 * time.Second
	// mostPlanRounds is how often a plan is made again because the stack changed while its providers were asked.
	mostPlanRounds = 3
)

// ProviderPlans asks providers what they would do. It is called outside of decisions, from many goroutines.
type ProviderPlans interface {
	// Plans returns the resource types for which the provider behind a token declares that it answers requests of the type
	// Plan. It may take seconds. An error means that the provider could not be asked. Its text is shown to users.
	Plans(ctx context.Context, token wire.ServiceToken) (DeclaredTypes, error)
	// Plan asks a provider that does. The answer has an Error if the provider cannot plan, or does not answer before ctx ends.
	Plan(ctx context.Context, q PlanQuestion) wire.Planned
}

// PlanQuestion is a question to a provider. Its values are in clear text, as those of a request are.
type PlanQuestion struct {
	Dialect wire.Dialect
	StackID wire.StackID
	// StackName, Account and Region are those of the stack. Caller identifies the client in ROS.
	StackName, Account, Region, Caller string
	Logical                            wire.LogicalID
	// PhysicalID is that of the existing resource. It is empty if the resource would be created.
	PhysicalID   wire.PhysicalID
	ResourceType string
	Token        value.Value
	Properties   value.Value
	// Old are the present properties. It is null if the resource would be created.
	Old value.Value
	// Forwarded and Tags are those of a request for a forwarded type, whose endpoint is asked; nil for all other types.
	Forwarded *store.Forwarded
	Tags      []store.Tag
}

// key identifies a question. Only memory holds it, because the properties are in it.
func (q *PlanQuestion) key() string {
	return strings.Join([]string{
		string(q.StackID), string(q.Logical), string(q.PhysicalID), q.ResourceType, string(q.Token.JSON()), string(q.Properties.JSON()),
		string(q.Old.JSON()),
	}, "\n")
}

// asking is the state while the providers of one plan are asked. A plan is made in a decision, which must not wait. So a
// decision collects the questions and ends with errQuestions, the providers are asked, and the plan is made again.
type asking struct {
	providers ProviderPlans            // nil asks only the endpoints of forwarded types
	native    *native.Registry         // which asks them
	ctx       context.Context          // ends when the time for all answers is over
	declared  map[string]declaredPlans // by token
	answers   map[string]wire.Planned
	open      []PlanQuestion // those of the last plan that have no answer yet
	rounds    int            // how often the providers were asked for this plan
}

// declaredPlans is what a provider declares about plans.
type declaredPlans struct {
	types DeclaredTypes
	// problem is the reason why the provider could not be asked for its declaration; "" if it could.
	problem string
}

// errQuestions ends a decision whose plan has questions without an answer.
var errQuestions = errors.New("providers have to be asked about the plan")

// asking returns the state for a plan, nil if no provider is asked. The caller must call stop.
func (run *runner) asking(ctx context.Context) (a *asking, stop context.CancelFunc) {
	if run.plans == nil && !run.env.native.Forwards() {
		return nil, func() {}
	}
	bounded, stop := context.WithTimeout(ctx, run.planWithin)
	return &asking{
		providers: run.plans, native: run.env.native, ctx: bounded, declared: map[string]declaredPlans{}, answers: map[string]wire.Planned{},
	}, stop
}

// ask asks the providers of all open questions.
func (a *asking) ask() {
	a.rounds++
	var unknown []string
	for i := range a.open {
		if _, known := a.declared[a.open[i].Token.Text()]; !known && a.open[i].Forwarded == nil {
			unknown = append(unknown, a.open[i].Token.Text())
		}
	}
	maps.Copy(a.declared, askOnce(unknown, func(token wire.ServiceToken) (p declaredPlans) {
		if a.providers == nil {
			return p
		}
		var err error
		if p.types, err = a.providers.Plans(a.ctx, token); err != nil {
			p.problem = err.Error()
		}
		return p
	}))
	var wait sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, mostAskedAtOnce)
	for i := range a.open {
		q := &a.open[i]
		if q.Forwarded == nil && !a.declared[q.Token.Text()].types.has(q.ResourceType) || plan.Undetermined(q.Properties) {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() { // ends with the context
			defer func() { <-slots }()
			answer := a.answer(q)
			mu.Lock()
			defer mu.Unlock()
			a.answers[q.key()] = answer
		})
	}
	wait.Wait()
}

// answer asks the provider of a resource, or its endpoint.
func (a *asking) answer(q *PlanQuestion) wire.Planned {
	if q.Forwarded == nil {
		return a.providers.Plan(a.ctx, *q)
	}
	foreseen, err := a.native.Foresee(a.ctx, &store.Request{Type: wire.Update, Logical: q.Logical, Body: &store.RequestBody{
		Dialect: q.Dialect.String(), StackID: q.StackID, Region: q.Region, ResourceType: q.ResourceType, PhysicalID: q.PhysicalID,
		Properties: q.Properties, OldProperties: q.Old, Forwarded: q.Forwarded, Tags: q.Tags,
	}})
	switch {
	case err != nil:
		return wire.Planned{Error: err.Error()}
	case foreseen.Replaces:
		return wire.Planned{Change: wire.Replace, Reason: foreseen.Reason}
	case foreseen.Maybe:
		return wire.Planned{}
	}
	return wire.Planned{Change: wire.InPlace}
}

// consult adds to the changes what the providers of the resources would do, or notes the questions for them.
func (d drafts) consult(a *asking, changes []plan.Change, more ...value.Value) error {
	if a == nil {
		return nil
	}
	a.open = nil
	missing := false
	for i := range changes {
		c := &changes[i]
		q, ok := d.question(c)
		if !ok {
			continue
		}
		declared, known := a.declared[q.Token.Text()]
		known = known || q.Forwarded != nil
		answer, answered := a.answers[q.key()]
		switch {
		case declared.problem != "":
			c.Unplanned = d.presentable(declared.problem, append(more, q.Token)...)
		case known && q.Forwarded == nil && !declared.types.has(q.ResourceType):
		case known && plan.Undetermined(q.Properties):
			c.Unplanned = unknownUntil(c)
		case answered:
			answer.Reason = d.presentable(answer.Reason, append(more, q.Token, q.Properties, q.Old)...)
			answer.Error = d.presentable(answer.Error, append(more, q.Token, q.Properties, q.Old)...)
			take(c, answer)
		case a.rounds == mostPlanRounds:
			c.Unplanned = "the stack changed while its providers were asked"
		default:
			missing = true
			a.open = append(a.open, q)
		}
	}
	if missing {
		return errQuestions
	}
	return nil
}

// take adds the answer of a provider to the change of its resource.
func take(c *plan.Change, answer wire.Planned) {
	settle := func(replacement plan.Replacement, recreation plan.Recreation) {
		if c.Action != plan.Modify || c.Replacement != plan.ReplacementConditional {
			return
		}
		c.Replacement = replacement
		for i := range c.Details {
			if d := &c.Details[i]; d.Attribute == plan.Properties && !d.Dynamic {
				d.Recreation = recreation
			}
		}
	}
	switch {
	case answer.Error != "":
		c.Unplanned = "its provider failed: " + answer.Error
	case answer.Change == wire.Refuse:
		c.Refused = answer.Reason
		if c.Refused == "" {
			c.Refused = "the provider gave no reason"
		}
	case answer.Change == wire.Replace:
		settle(plan.ReplacementTrue, plan.RecreationAlways)
		if c.Replacement != plan.ReplacementTrue {
			return // it is not replaced: the resource would be created
		}
		if c.Reason = answer.Reason; c.Reason == "" {
			c.Reason = "the provider announces it"
		}
		c.PolicyAction = "ReplaceAndDelete"
		if c.KeepsReplaced {
			c.PolicyAction = "ReplaceAndRetain"
		}
	case answer.Change == wire.InPlace:
		settle(plan.ReplacementFalse, plan.RecreationNever)
		if c.Replacement == plan.ReplacementFalse {
			c.KeepsReplaced = false
		}
	}
}

// unknownUntil says why the properties of a change are not known yet.
func unknownUntil(c *plan.Change) string {
	if len(c.Awaits) == 0 {
		return "its properties are unknown until the stack exists"
	}
	return "its properties are unknown until " + strings.Join(c.Awaits, ", ") + " is done"
}

// question returns the question about a change; false if no provider is asked: for native types, for changes that send no
// Create or Update, and for changes that are known to fail.
func (d drafts) question(c *plan.Change) (PlanQuestion, bool) {
	asked := c.Action == plan.Add || c.Action == plan.Modify && slices.Contains(c.Scope, plan.Properties)
	forwarded := d.native.ForwardedTo(c.Type) != ""
	if !asked || c.Problem != "" || d.native.Schema(c.Type) != nil && !forwarded {
		return PlanQuestion{}, false
	}
	shown, _ := c.After.Get(plan.Properties)
	if forwarded {
		return d.questionForEndpoint(c, shown)
	}
	ask, err := d.dialect.request(shown)
	if err != nil || ask.token.IsNull() || plan.Undetermined(ask.token) {
		return PlanQuestion{}, false // the deploy reports it, or the value is unknown
	}
	q := PlanQuestion{
		Dialect: d.dialect.wire(), StackName: d.stack.Name, Account: d.stack.Account, Region: d.stack.Region, Caller: d.op.Caller,
		StackID: wire.StackID(strings.ReplaceAll(string(d.stack.ID), plan.Unknown, plan.UnknownUUID)),
		Logical: wire.LogicalID(c.LogicalID), ResourceType: c.Type, Token: ask.token, Properties: ask.properties,
	}
	if i := d.current(q.Logical); c.Action == plan.Modify && c.Replacement != plan.ReplacementTrue && i != nil { // else it is a Create
		q.PhysicalID, q.Old = i.PhysicalID, i.Body.Properties
	}
	return q, true
}

// questionForEndpoint returns the question about a change of a forwarded resource.
func (d drafts) questionForEndpoint(c *plan.Change, properties value.Value) (PlanQuestion, bool) {
	i := d.current(wire.LogicalID(c.LogicalID))
	if c.Action != plan.Modify || i == nil || i.Body.Forwarded == nil {
		return PlanQuestion{}, false
	}
	return PlanQuestion{
		Dialect: d.dialect.wire(), StackName: d.stack.Name, Account: d.stack.Account, Region: d.stack.Region, StackID: d.stack.ID,
		Logical: i.Logical, PhysicalID: i.PhysicalID, ResourceType: c.Type, Properties: properties, Old: i.Body.Properties,
		Forwarded: i.Body.Forwarded, Tags: i.Body.Tags,
	}, true
}

// planRefusals returns a sentence about the changes that providers refuse, or "".
func planRefusals(changes []plan.Change) string {
	refused := excerpts(changes, ": ", func(c *plan.Change) string { return c.Refused })
	if refused == "" {
		return ""
	}
	return "Providers refuse the change. " + refused + "."
}

// planReplacements returns a sentence about the replacements that providers announce, or "".
func planReplacements(changes []plan.Change) string {
	replaced := excerpts(changes, " must be replaced: ", func(c *plan.Change) string { return c.Reason })
	if replaced == "" {
		return ""
	}
	return "[INFO] " + replaced + "."
}
