package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// scene is a running scenario. It keeps the first error, of a step that could not run or a scenario that cannot
// continue, and then sends no more requests.
type scene struct {
	findings

	ctx       context.Context
	err       error
	outcome   Outcome
	resources []*resource
}

// play runs a scenario and deletes the resources it leaves.
func (s *scene) play(of scenario) error {
	if of.needs && s.run.created == no {
		return &notRun{s.run.refusal}
	}
	of.play(s)
	left := s.err
	if _, leaving := left.(*notRun); left != nil && !leaving { //nolint:errorlint // it is never wrapped
		return left
	}
	s.err = nil
	for _, r := range s.resources {
		if r.live {
			s.remove(r, r.state, "delete-refused")
		}
	}
	s.clean()
	if s.err != nil {
		return s.err
	}
	return left
}

// leave ends the scenario before its end.
func (s *scene) leave(format string, args ...any) {
	if s.err == nil {
		s.err = &notRun{fmt.Sprintf(format, args...)}
	}
}

// resource is one that a scenario has made, or acts as if.
type resource struct {
	stack   wire.StackID
	logical wire.LogicalID
	id      wire.PhysicalID
	state   value.Value // its properties
	live    bool        // and to be deleted
}

// reply is the result of a request.
type reply struct {
	harness.Exchange
	what    string        // the request in a few words
	planned *wire.Planned // the answer to a Plan, nil for other requests
}

// valid reports whether the service takes it for an answer.
func (p reply) valid() bool { return p.Answered && p.Problem == nil }

// unanswered reports whether the provider never tried to answer. Other rules judge invalid answers.
func (p reply) unanswered() bool { return !p.Answered && len(p.Attempts) == 0 }

func (p reply) success() bool { return p.valid() && p.Response.Status == wire.Success }

func (p reply) failed() bool { return p.valid() && p.Response.Status == wire.Failed }

// newResource returns a resource of a stack of its own.
func (s *scene) newResource(state value.Value) *resource {
	s.run.stacks++
	r := &resource{logical: wire.LogicalID(fmt.Sprintf("Check%d", s.run.stacks)), state: state}
	if s.run.config.Dialect == wire.ROS {
		r.stack = wire.StackID(uuid.NewString())
	} else {
		r.stack = wire.NewStackID(s.run.config.Region, DefaultAccount, "check-"+s.id, uuid.NewString())
	}
	s.resources = append(s.resources, r)
	return r
}

// request returns the request of a type for a resource, with a new RequestId.
func (s *scene) request(kind wire.RequestType, of *resource, state value.Value) wire.Request {
	c := s.run.config
	r := wire.Request{
		Dialect: c.Dialect, RequestType: kind, ServiceToken: c.ServiceToken, ResourceType: c.ResourceType, StackID: of.stack,
		LogicalResourceID: of.logical, PhysicalResourceID: of.id, RequestID: wire.RequestID(uuid.NewString()),
		ResourceProperties: s.run.document(state),
	}
	if kind == wire.Create {
		r.PhysicalResourceID = ""
	}
	if c.Dialect == wire.ROS {
		r.RequestID = wire.RequestID(strings.ToUpper(string(r.RequestID)))
		r.StackName, r.ResourceOwnerID, r.CallerID, r.RegionID = "check-"+s.id, rosAccount, rosAccount, c.Region
	}
	return r
}

// send sends a request, notes the step and judges the answer for itself.
func (s *scene) send(r wire.Request, label string, change func(*harness.Order)) reply {
	p := s.exchange(r, label, change)
	if s.err == nil {
		s.note(p)
	}
	return p
}

// To a URL that is busy a request is sent again so often, after a pause that doubles, as an engine does for longer.
const (
	maxTries = 4
	pause    = 200 * time.Millisecond
)

// exchange sends a request. Callers that handle the error themselves may call it concurrently.
func (s *scene) exchange(r wire.Request, label string, change func(*harness.Order)) reply {
	p := reply{what: string(r.RequestType)}
	if label != "" {
		p.what += ", " + label
	}
	if s.err != nil {
		return p
	}
	c := s.run.config
	o := harness.Order{Request: r, SNS: c.SNS, Timeout: c.Timeout, Settle: c.Settle, Secrets: s.run.masked}
	hurried := s.run.silent[r.RequestType] > 1 // after repeated silence, wait less for the next answer
	if hurried {
		o.Timeout, o.Settle = min(o.Timeout, DefaultSettle), min(o.Settle, DefaultSettle)
	}
	if len(s.run.lasting) > 1 { // as above, and its processes must end before the limit is reached
		hurried = true
		o.Timeout, o.Linger = min(o.Timeout, max(5*time.Second, 2*s.run.slowest)), 100*time.Millisecond
	}
	if change != nil {
		change(&o)
	}
	for tries := 0; ; tries++ {
		var err error
		if p.Exchange, err = s.run.session.Send(s.ctx, o); err != nil {
			s.err = err
		}
		if hurried && p.End.Kind == local.TimedOut && !p.End.Delivered {
			// No process was ready so soon, which says nothing about the handler.
			hurried, o.Timeout = false, c.Timeout
			continue
		}
		if tries == maxTries || !p.End.Busy || p.Answered || len(p.Attempts) > 0 {
			return p
		}
		select {
		case <-time.After(pause << tries):
		case <-s.ctx.Done():
			return p
		}
	}
}

// note keeps a step and judges its answer.
func (s *scene) note(p reply) {
	r := s.run
	r.report.Requests++
	r.sent[p.Request.RequestID] = s.id
	if p.Answered {
		r.slowest = max(r.slowest, p.Took)
	} else if p.End.Err == nil || p.End.Kind == local.TimedOut { // a crash ends the wait at once
		r.silent[p.Request.RequestType]++
	}
	if p.Lingers {
		r.lasting = append(r.lasting, lasting{s, p})
	}
	if p.End.Kind == local.InitFailed && !p.Answered && r.report.Requests == 1 {
		s.err = fmt.Errorf("%w: %w", ErrNotStarted, p.End.Err)
		if r.config.Log == nil && len(p.End.Log) > 0 {
			s.err = fmt.Errorf("%w\n%s", s.err, r.mask(strings.Join(p.End.Log, "\n")))
		}
		return
	}
	s.outcome.Steps = append(s.outcome.Steps, Step{Request: r.mask(p.what), Response: s.responseText(p), Took: p.Took})
	s.record(p)
	judgment{s}.judge(p)
	verification{s}.verify(p)
}

// maxShown bounds the texts of providers in a report, in bytes.
const maxShown = 300

// found reports whether a rule was found broken before, in any scenario.
func (r *run) found(rule string) bool {
	return slices.ContainsFunc(r.report.Findings, func(f Finding) bool { return f.ID == rule })
}

// shortened returns a value with long texts cut, and without secrets that are whole values.
func (r *run) shortened(v value.Value) value.Value {
	const most = 200
	switch {
	case v.IsScalar() && v.Text() != "" && slices.Contains(r.short, v.Text()):
		return value.Str(value.Mask)
	case v.Kind() == value.String && len(v.Text()) > most:
		begin := r.mask(v.Text()) // before it is cut, with a secret perhaps
		return value.Str(fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(begin[:min(40, len(begin))], ""), len(v.Text())))
	case v.Kind() == value.Map:
		members := slices.Clone(v.Members())
		for i := range members {
			members[i].Value = r.shortened(members[i].Value)
		}
		return value.Object(members...)
	case v.Kind() == value.List:
		items := slices.Clone(v.Items())
		for i := range items {
			items[i] = r.shortened(items[i])
		}
		return value.Items(items...)
	}
	return v
}

// create makes a resource; it is live if the answer says so.
func (s *scene) create(state value.Value, label string, change func(*harness.Order)) (*resource, reply) {
	of := s.newResource(state)
	p := s.send(s.request(wire.Create, of, state), label, change)
	s.took(of, p)
	return of, p
}

// took records the effect of an answer to a Create.
func (s *scene) took(of *resource, p reply) {
	of.live = p.success()
	if p.Answered {
		of.id = p.Response.PhysicalResourceID
	}
}

// made makes a resource that the rest of the scenario needs.
func (s *scene) made() (*resource, reply) {
	of, p := s.create(s.run.given.first, "", nil)
	switch {
	case s.err != nil:
	case p.success():
		s.run.created = yes
	case p.failed():
		s.refused(p)
	default:
		s.unmade("its Create had no valid answer, so the scenario cannot continue")
	}
	return of, p
}

// unmade ends the scenario because its resource does not exist. If no Create ever succeeded, the check skips all scenarios that need one.
func (s *scene) unmade(reason string) {
	if s.run.created == untried {
		s.run.created, s.run.refusal = no, reason
	}
	s.leave("%s", reason)
}

// exists matches the Reason of a Create that is rejected because the resource exists.
var exists = regexp.MustCompile(`(?i)already ?(exists|in use|taken|owned)|duplicate|\btaken\b|\bexists\b`)

// refused finds out why the provider rejects valid properties.
func (s *scene) refused(p reply) {
	if s.run.created == yes {
		left := len(s.run.report.Left) > 0 || slices.ContainsFunc(s.resources, func(r *resource) bool { return r.live })
		if s.run.deleted && !left && exists.MatchString(p.Response.Reason) {
			s.find("not-deleted", p, "a resource with these properties was created and then deleted, both with SUCCESS, but the new Create finds it")
		} else {
			s.find("create-refused", p, "a Create with the same properties succeeded before")
		}
		s.leave("its Create was rejected")
		return
	}
	if first := s.run.given.first; s.run.config.Dialect != wire.ROS && hasTypes(first) {
		of := s.newResource(first)
		r := s.request(wire.Create, of, first)
		r.ResourceProperties = s.run.typed(first)
		s.quiet = unanswerable
		typed := s.send(r, "with numbers and booleans as written", nil)
		s.quiet = nil
		if s.took(of, typed); typed.success() {
			s.find("strings-refused", p, "a Create with the same values as numbers and booleans succeeds")
			s.unmade("the provider rejects numbers and booleans as strings, the way CloudFormation sends them")
			return
		}
	}
	s.find("create-refused", p, "the provider rejected the Create: use properties that it accepts")
	s.unmade("the provider rejected the Create: use properties that it accepts (-p, --properties or --template)")
}

// keep is the expectation for the physical ID after an Update.
type keep int

const (
	either keep = iota
	same
	another
)

// update updates a resource. An answer FAILED breaks the rule that is named; "" lets it pass.
func (s *scene) update(of *resource, state, old value.Value, id keep, refused, label string) reply {
	r := s.request(wire.Update, of, state)
	r.OldResourceProperties = s.run.document(old)
	return s.updated(of, s.send(r, label, nil), state, id, refused)
}

// updated judges the answer to an Update and records its effect.
func (s *scene) updated(of *resource, p reply, state value.Value, id keep, refused string) reply {
	if s.err != nil || !p.valid() {
		return p
	}
	now := p.Response.PhysicalResourceID
	switch changed := now != of.id; {
	case p.failed():
		if refused != "" {
			s.find(refused, p, "the answer to the Update of %s is FAILED", of.id)
		}
		if changed && now != "" { // in ROS it need not have one
			s.find("id-changed-on-failure", p, "the request is for %s, the answer for %s", of.id, now)
		}
		return p
	case changed && (id == same || s.run.config.Dialect == wire.ROS):
		s.find("id-changed", p, "the request is for %s, the answer for %s", of.id, now)
	case !changed && id == another:
		s.find("not-replaced", p, "the answer still has %s", of.id)
	}
	if now != of.id { // the service deletes the old resource in the clean-up
		s.drop(now) // which is this one, if it was it before
		before := *of
		s.resources = append(s.resources, &before)
		of.id, of.live = now, true
	}
	of.state = state
	return p
}

// drop takes the resources with the ID out of those that are to be deleted.
func (s *scene) drop(id wire.PhysicalID) {
	for _, r := range s.resources {
		if r.id == id {
			r.live = false
		}
	}
}

// remove deletes a resource. An answer FAILED breaks the rule that is named; "" lets it pass.
func (s *scene) remove(of *resource, state value.Value, refused string) reply {
	live := of.live
	of.live = false
	p := s.removed(of, s.send(s.request(wire.Delete, of, state), "", nil), refused)
	if live && p.success() {
		s.run.deleted = true
	}
	return p
}

// removed judges the answer to a Delete.
func (s *scene) removed(of *resource, p reply, refused string) reply {
	if s.err != nil || !p.valid() {
		return p
	}
	changed := p.Response.PhysicalResourceID != of.id && p.Response.PhysicalResourceID != ""
	if p.failed() && refused != "" {
		s.find(refused, p, "the answer to the Delete of %s is FAILED", cmp.Or(of.id, "a resource without PhysicalResourceId"))
	}
	switch {
	case changed && p.failed():
		s.find("id-changed-on-failure", p, "the request is for %s, the answer for %s", of.id, p.Response.PhysicalResourceID)
	case changed && of.id != "":
		s.find("id-changed-on-delete", p, "the request is for %s, the answer for %s", of.id, p.Response.PhysicalResourceID)
	}
	return p
}

// attributes returns the Data of an answer.
func (p reply) attributes() map[string]json.RawMessage {
	var data map[string]json.RawMessage
	_ = json.Unmarshal(p.Response.Data, &data) // it was checked, and nil has none
	return data
}
