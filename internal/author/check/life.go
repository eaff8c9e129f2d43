package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// life sends the requests that every resource gets.
func life(s *scene) {
	given := s.run.given
	of, _ := s.made()
	s.update(of, given.first, given.first, same, "update-refused", "with the same properties")
	s.remove(of, given.first, "delete-refused")
}

// unchanged sends an Update with the same properties, as a rollback does to resources that were not updated yet.
func unchanged(s *scene) {
	given := s.run.given
	of, created := s.made()
	updated := s.update(of, given.first, given.first, same, "update-refused", "with the same properties")
	if updated.success() {
		if lost := missing(created, updated); len(lost) > 0 {
			s.find("attributes-lost", updated, "the Create had %s in its Data, the Update has not", strings.Join(lost, ", "))
		}
	}
}

// missing returns the attributes that one answer has and another has not.
func missing(before, after reply) []string {
	now := after.attributes()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before.attributes())), func(name string) bool {
		_, ok := now[name]
		return ok
	})
}

// askUpdate is the reason of a scenario that lacks properties for another state.
const askUpdate = "it needs properties for an update in place: set them with --update"

// changed makes a resource and updates it to the second state.
func (s *scene) changed() (*resource, reply) {
	given := s.run.given
	if given.second == nil {
		s.leave("%s", askUpdate)
		return nil, reply{}
	}
	of, _ := s.made()
	id, refused := same, "update-refused"
	if given.derived { // the provider may accept or refuse it
		id, refused = either, ""
	}
	p := s.update(of, *given.second, given.first, id, refused, "with other properties")
	if s.err == nil && !p.success() && given.derived {
		s.leave("the provider rejected the generated properties for an Update: set some with --update")
	}
	if p.success() && of.id != p.Request.PhysicalResourceID && given.derived && given.third == nil {
		s.run.given.third, s.run.given.other = given.second, *given.second // they replace the resource
	}
	return of, p
}

// inPlace updates to another state.
func inPlace(s *scene) {
	of, _ := s.changed()
	if s.err == nil && of.live {
		s.remove(of, of.state, "delete-refused")
	}
}

// rollback updates to another state and back, as a stack does whose update fails elsewhere.
func rollback(s *scene) {
	given := s.run.given
	of, p := s.changed()
	if s.err != nil || !p.success() {
		return
	}
	id := same
	if p.Response.PhysicalResourceID != p.Request.PhysicalResourceID {
		id = either // a replaced resource may be replaced again
	}
	s.update(of, given.first, *given.second, id, "rollback-refused", "back to the previous properties")
}

// replaced creates a resource and replaces it by an Update. It returns the resource now and before the Update.
func (s *scene) replaced() (of *resource, was resource, ok bool) {
	given := s.run.given
	switch {
	case s.run.config.Dialect == wire.ROS:
		s.leave("in ROS a resource keeps its physical ID for life, so this does not apply")
	case given.third == nil:
		s.leave("it needs properties that replace the resource: set them with --replace")
	}
	if s.err != nil {
		return nil, was, false
	}
	of, _ = s.made()
	was = *of
	p := s.update(of, *given.third, given.first, another, "update-refused", "with properties that replace it")
	return of, was, s.err == nil && p.success() && of.id != was.id
}

// replacement replaces a resource and deletes the old one.
func replacement(s *scene) {
	of, was, ok := s.replaced()
	if !ok {
		return
	}
	s.drop(was.id)
	s.remove(&was, was.state, "delete-refused")
	s.intact(of, of.state)
}

// replacementBack replaces a resource and rolls back, as a stack does after a failure of another resource. It deletes the
// replacement and, if the rollback made a third resource, also the first.
func replacementBack(s *scene) {
	of, was, ok := s.replaced()
	if !ok {
		return
	}
	between := *of
	p := s.update(of, was.state, between.state, either, "rollback-refused", "back to the previous properties")
	if s.err != nil || !p.success() {
		return
	}
	for _, loser := range []*resource{&between, &was} {
		if loser.id != of.id {
			s.drop(loser.id)
			s.remove(loser, loser.state, "delete-refused")
		}
	}
	s.intact(of, was.state)
}

// intact checks that a resource survived the Delete of another: an Update with its present properties must succeed.
func (s *scene) intact(of *resource, state value.Value) {
	r := s.request(wire.Update, of, state)
	r.OldResourceProperties = s.run.document(state)
	p := s.send(r, "of the remaining one", nil)
	switch now := p.Response.PhysicalResourceID; {
	case p.failed() && !s.run.found("update-refused"): // all Updates are
		s.find("delete-harms-other", p, "after the Delete of the other one an Update with the same properties is FAILED")
	case p.success() && now != of.id:
		if !s.run.found("id-changed") { // by any Update
			s.find("delete-harms-other", p, "after the Delete of the other one an Update with the same properties makes %s of %s",
				now, of.id)
		}
		of.id = now
	}
}

// failedCreate sends properties that the provider refuses, and then the Delete that always follows.
func failedCreate(s *scene) {
	for i, bad := range s.run.given.bad {
		of, p := s.create(bad, "with properties that it should reject", nil)
		switch {
		case s.err != nil:
			return
		case p.success():
			s.remove(of, bad, "delete-refused")
			if s.run.given.sure {
				s.accepted(p)
				return
			}
		case !p.Answered:
			return
		default:
			s.afterFailure(of, p, bad)
			if p.failed() || i == len(s.run.given.bad)-1 {
				return
			}
		}
	}
	s.leave("the provider rejected none of the generated properties: set some with --bad that it rejects")
}

// accepted notes that properties were accepted that the user says are bad. It is one mistake in Creates and Updates.
func (s *scene) accepted(p reply) {
	s.leave("the provider accepts the properties from --bad: use some that it rejects")
	if !s.run.found("bad-accepted") {
		s.find("bad-accepted", p, "the properties from --bad were answered SUCCESS")
	}
}

// afterFailure sends the Delete that follows a Create that failed: with its ID, or one that the engine made up.
func (s *scene) afterFailure(of *resource, p reply, state value.Value) {
	if of.id = p.Response.PhysicalResourceID; of.id == "" || !p.valid() {
		of.id = s.invented(of)
	}
	s.remove(of, state, "delete-after-failure-refused")
	if made := p.Response.PhysicalResourceID; !p.valid() && p.Response.Status == wire.Success && made != "" && made != of.id {
		of.id = made // which the service never learns, and the check leaves nothing
		s.remove(of, state, "")
	}
}

// invented returns the ID that an engine generates for a resource without one, or "" for ROS, which generates none.
func (fi *findings) invented(of *resource) wire.PhysicalID {
	if fi.run.config.Dialect == wire.ROS {
		return ""
	}
	return wire.PhysicalID(fmt.Sprintf("check-%s-%s-1ABCDEFGHIJKL", fi.id, of.logical))
}

// failedUpdate has an Update fail, and takes it back.
func failedUpdate(s *scene) {
	given := s.run.given
	of, _ := s.made()
	for _, bad := range given.bad {
		p := s.update(of, bad, given.first, either, "", "with properties that it should reject")
		switch {
		case s.err != nil:
			return
		case p.success():
			s.update(of, given.first, bad, either, "rollback-refused", "back to the previous properties")
			if given.sure && s.err == nil {
				s.accepted(p)
			}
			continue
		case !p.valid():
			return
		}
		s.update(of, given.first, bad, same, "rollback-refused", "back to the previous properties")
		return
	}
	s.leave("the provider rejected none of the generated properties: set some with --bad that it rejects")
}

// bare creates with no properties at all.
func bare(s *scene) {
	nothing := value.Object()
	of, p := s.create(nothing, "without properties", nil)
	if p.failed() {
		s.afterFailure(of, p, nothing)
	}
}

// newProcess makes new processes handle the resources of earlier ones.
func newProcess(s *scene) {
	given := s.run.given
	before, _ := s.made()
	if given.second != nil {
		s.update(before, *given.second, given.first, either, "", "with other properties")
	}
	for _, r := range slices.Backward(s.resources) { // first the one that the Update replaced, as the clean-up does
		if s.err == nil && r.live {
			s.remove(r, r.state, "delete-refused")
		}
	}
	of, warm := s.made()
	if !s.restart() {
		return
	}
	p := s.update(of, given.first, given.first, same, "state-in-memory", "with the same properties, by a new process")
	if !s.restart() {
		return
	}
	if p.success() || p.failed() {
		s.remove(of, given.first, "state-in-memory")
	}
	again, cold := s.made()
	if warm.success() && cold.success() {
		if extra := missing(warm, cold); len(extra) > 0 {
			s.find("state-leaks", warm, "a new process answers the same without %s in Data", strings.Join(extra, ", "))
		}
		if warm.Response.NoEcho && !cold.Response.NoEcho {
			s.find("state-leaks", warm, "a new process answers the same without NoEcho")
		}
	}
	if s.err == nil && again.live {
		s.remove(again, given.first, "delete-refused")
	}
}

// restart ends the provider's processes; false if that cannot be done.
func (s *scene) restart() bool {
	if s.err != nil {
		return false
	}
	ok, err := s.run.session.Restart()
	switch {
	case err != nil:
		s.err = err
	case !ok:
		s.leave("check does not start the provider's processes: pass the program instead of its address")
	}
	return s.err == nil
}

// deleteUnknown deletes a resource that never existed.
func deleteUnknown(s *scene) {
	given := s.run.given
	of := s.newResource(given.first)
	if of.id = s.invented(of); of.id == "" {
		s.remove(of, given.first, "delete-unknown-refused")
		of.id = "never-made"
	}
	s.remove(of, given.first, "delete-unknown-refused")
	of.id = "AWSCDK::CustomResourceProviderFramework::CREATE_FAILED"
	s.remove(of, given.first, "delete-unknown-refused")
}

// nameTaken creates an existing resource again in another stack, and deletes the second one. The first must stay intact.
func nameTaken(s *scene) {
	given := s.run.given
	of, _ := s.made()
	if s.err != nil {
		return
	}
	cancelled := s.newResource(given.first) // the engine did not wait for its Create
	if cancelled.id = s.invented(cancelled); cancelled.id != "" {
		s.remove(cancelled, given.first, "")
		s.intact(of, given.first)
	}
	second, p := s.create(given.first, "of an existing resource, by another stack", nil)
	switch {
	case s.err != nil || !p.valid():
		return
	case second.id == of.id && p.success():
		second.live = false // that they share it, two-at-once says
		return
	case second.id == of.id:
		s.find("failed-with-other-id", p, "the answer is FAILED for %s, which another stack has", of.id)
		return
	case second.id == "":
		second.id = s.invented(second)
	}
	s.remove(second, given.first, "")
	s.intact(of, given.first)
}

// missingID sends a Delete without an ID, which CloudFormation does not.
func missingID(s *scene) {
	if s.run.config.Dialect == wire.ROS {
		s.leave("ROS sends such Deletes, like delete-unknown, so this does not apply")
		return
	}
	s.mute = true // CloudFormation sends no such request: only whether it is answered counts
	of := s.newResource(s.run.given.first)
	without := s.send(s.request(wire.Delete, of, of.state), "without a PhysicalResourceId", nil)
	empty := s.send(s.request(wire.Delete, of, of.state), "with an empty PhysicalResourceId", func(o *harness.Order) {
		o.Edit = member("PhysicalResourceId", `""`)
	})
	s.mute = false
	for _, p := range []reply{without, empty} {
		if s.err == nil && p.unanswered() {
			s.find("missing-id-unanswered", p, "no answer")
		}
	}
}

// member returns a function that appends a member to a document.
func member(key, text string) func([]byte) []byte {
	return func(document []byte) []byte {
		name, _ := json.Marshal(key) // never fails, of a string
		end := strings.LastIndexByte(string(document), '}')
		return fmt.Appendf(nil, "%s,%s:%s}", document[:end], name, text)
	}
}
