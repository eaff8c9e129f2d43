package check

import (
	"errors"
	"time"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// planTimeout is how long an engine of Pintle waits for a Plan. The limit is Pintle's own.
const planTimeout = 10 * time.Second

// planning judges the answers to Plans.
type planning struct{ *scene }

// planAndUpdate asks for plans, and then does what was planned.
func planAndUpdate(of *scene) { planning{of}.play() }

func (s planning) play() {
	given := s.run.given
	if !s.run.plans {
		s.leave("the provider's schema declares no Plan for %s, so this does not apply", s.run.config.ResourceType)
		return
	}
	fresh := s.newResource(given.first)
	p := s.plan(fresh, given.first, nil, "of a Create")
	s.planned(p)
	if p.is(wire.Refuse) {
		s.find("plan-refused", p, "the Plan refuses to create a resource with valid properties")
	}
	if given.sure {
		p := s.plan(fresh, given.bad[0], nil, "of a Create with properties that it should reject")
		if p.is(wire.InPlace) || p.is(wire.Replace) {
			s.findAs(Warning, "plan-wrong", p, "the Plan announces %s for the properties from --bad", p.planned.Change)
		}
	}
	of, _ := s.made()
	if given.second != nil {
		s.announced(of, *given.second, given.derived, "of an Update")
	}
	if given.third != nil && s.run.config.Dialect != wire.ROS && s.err == nil && of.live {
		s.announced(of, *given.third, given.derived, "of an Update that replaces it")
	}
	if s.err == nil && given.second == nil {
		s.leave("%s", askUpdate)
	}
}

// plan asks what a Create, or an Update from old properties, would do.
func (s planning) plan(of *resource, state value.Value, old *value.Value, label string) reply {
	p := reply{what: "Plan, " + label}
	if s.err != nil {
		return p
	}
	r := s.request(wire.Plan, of, state)
	if old != nil {
		r.OldResourceProperties = s.run.document(*old)
	}
	c := s.run.config
	order := harness.Order{Request: r, Timeout: min(c.Timeout, planTimeout), Secrets: s.run.masked}
	var planned wire.Planned
	p.Exchange, planned, s.err = s.run.session.Plan(s.ctx, order)
	if s.err != nil {
		return p
	}
	if p.planned = &planned; planned.Error != "" && p.Problem == nil {
		p.Problem = errors.New("the provider cannot plan: " + planned.Error)
	}
	s.quiet = unanswerable // plan-failed reports it
	s.note(p)
	s.quiet = nil
	return p
}

// is reports whether a Plan was answered with a consequence.
func (p reply) is(change wire.Consequence) bool {
	return p.planned != nil && p.Problem == nil && p.planned.Change == change
}

// planned judges whether a Plan of valid properties was answered.
func (s planning) planned(p reply) bool {
	if s.err == nil && p.Problem != nil {
		s.find("plan-failed", p, "%v", p.Problem)
	}
	return s.err == nil && p.Problem == nil
}

// announced asks for the plan of an Update, and then sends the Update. The provider may refuse derived properties.
func (s planning) announced(of *resource, state value.Value, derived bool, label string) {
	before, known := s.snapshot(of)
	p := s.plan(of, state, &of.state, label)
	if after, still := s.snapshot(of); known && still && before != after {
		s.find("plan-changes", p, "after the Plan %s has another state", of.id)
	}
	answered := s.planned(p)
	if answered && p.is(wire.Refuse) && !derived {
		s.find("plan-refused", p, "the Plan refuses the Update of %s to valid properties", of.id)
	}
	old := of.state
	updated := s.update(of, state, old, either, "", "as planned")
	if !answered || !updated.success() {
		return
	}
	id := updated.Response.PhysicalResourceID
	switch replaced := id != updated.Request.PhysicalResourceID; {
	case p.is(wire.Refuse):
		s.find("plan-refused", p, "the Plan refuses the Update of %s, and the Update is SUCCESS", updated.Request.PhysicalResourceID)
	case p.is(wire.InPlace) && replaced:
		s.find("plan-wrong", p, "the Plan announces InPlace, and the Update of %s answers with %s", updated.Request.PhysicalResourceID, id)
	case p.is(wire.Replace) && !replaced:
		s.find("plan-wrong", p, "the Plan announces Replace, and the Update keeps %s", id)
	}
}

// snapshot returns the state of a resource as the reader of the user or a Read of the provider finds it; false without both.
func (s planning) snapshot(of *resource) (string, bool) {
	if s.run.config.Verify != nil || !s.run.reads || s.err != nil || !of.live {
		return reading(s).verified(of)
	}
	s.mute = true // scenario read judges it
	p := reading(s).read(of, "to see changes")
	s.mute = false
	switch {
	case p.isThere():
		return string(p.Response.State.Properties), true
	case p.success() && p.Response.State != nil:
		return "null", true
	}
	return "", false
}
