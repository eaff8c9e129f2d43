package check

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// redelivery sends each request twice, with one RequestId.
func redelivery(s *scene) {
	given := s.run.given
	of, first := s.made()
	if s.err != nil {
		return
	}
	second := s.send(first.Request, "delivered again", nil)
	s.repeated(of, first, second)

	state := given.first
	if given.second != nil {
		state = *given.second
	}
	r := s.request(wire.Update, of, state)
	r.OldResourceProperties = s.run.document(given.first)
	first = s.updated(of, s.send(r, "", nil), state, either, "")
	if first.success() {
		s.repeated(of, first, s.send(r, "delivered again", nil))
	}
	if s.err != nil || !of.live {
		return
	}
	r = s.request(wire.Delete, of, of.state)
	of.live = false
	if s.removed(of, s.send(r, "", nil), "delete-refused"); s.err == nil {
		s.removed(of, s.send(r, "delivered again", nil), "delete-unknown-refused")
	}
}

// repeated judges the answer to a request that was delivered twice.
func (s *scene) repeated(of *resource, first, second reply) {
	if s.err != nil {
		return
	}
	switch before, now := first.Response.PhysicalResourceID, second.Response.PhysicalResourceID; {
	case second.failed():
		s.find("redelivery-refused", second, "the answer to the first delivery is SUCCESS, to the second FAILED")
	case second.success() && before != now:
		s.find("created-twice", second, "the first delivery created %s, the second %s", before, now)
		another := *of
		another.id = now
		s.resources = append(s.resources, &another)
	}
}

// oldFormat sends properties of an earlier time: as the old ones of an Update, and with a Delete. Immutable ones stay readable in the
// Update, because a provider that cannot read them must refuse: it does not know whether to replace the resource.
func oldFormat(s *scene) {
	first := s.run.given.first
	of, _ := s.made()
	s.update(of, first, value.Object(), either, "old-format-refused", "from missing properties")
	s.update(of, first, outdated(first, s.run.form), either, "old-values-refused", "from old properties")
	if s.err != nil || !of.live {
		return
	}
	for _, state := range []value.Value{outdated(first, nil), value.Object()} {
		p := s.remove(of, state, "old-values-refused")
		if of.live = p.failed(); !of.live {
			s.remove(of, first, "") // if the provider ignored a Delete with such properties
			return
		}
	}
}

// digest reports whether a text looks like a hash, which differs for every input.
func digest(text string) bool {
	return len(text) >= 16 && strings.Trim(text, "0123456789abcdefABCDEF-") == "" ||
		len(text) >= 20 && !strings.ContainsAny(text, " ") && strings.ContainsAny(text, "0123456789+/=")
}

// typedValues compares the results for strings with those for numbers and booleans. A difference alone is not a bug: a provider that
// reads strings correctly may not read other types, because an engine never sends them.
func typedValues(s *scene) {
	first := s.run.given.first
	switch {
	case s.run.config.Dialect == wire.ROS:
		s.leave("ROS keeps the types of values, so this does not apply")
	case !hasTypes(first):
		s.leave("it needs a property that is a number or a boolean: set one with -p")
	}
	one, two := s.answered(first.Stringified(), "with strings"), s.answered(first.Stringified(), "with strings")
	typed := s.answered(first, "with numbers and booleans")
	if len(differing(one, two, typed)) == 0 {
		return
	}
	var misread []string
	if booleans := retyped(first, value.Number, asText); !booleans.Equal(first.Stringified()) {
		alone := s.answered(booleans, "with booleans")
		other := s.answered(retyped(first, value.Bool, opposite).Stringified(), "with the opposite strings")
		for _, name := range differing(one, two, alone) {
			if other.success() && attribute(other, name) == attribute(one, name) { // although the strings differ
				misread = append(misread, name)
			}
		}
	}
	if numbers := retyped(first, value.Bool, asText); !numbers.Equal(first.Stringified()) {
		for _, name := range differing(one, two, s.answered(numbers, "with numbers")) {
			if pasted(attribute(one, name), first) && !slices.Contains(misread, name) {
				misread = append(misread, name)
			}
		}
	}
	if len(misread) > 0 {
		slices.Sort(misread)
		s.find("strings-misread", one, "with the same values as numbers and booleans, %s in Data differs",
			strings.Join(misread, ", "))
	}
}

// answered sends a Create with the properties as given, and deletes the resource.
func (s *scene) answered(state value.Value, label string) reply {
	of := s.newResource(state)
	r := s.request(wire.Create, of, state)
	r.ResourceProperties = s.run.typed(state)
	if hasTypes(state) { // engines never send them, so the form of the refusal does not matter
		s.quiet = unanswerable
	}
	p := s.send(r, label, nil)
	s.quiet = nil
	if s.took(of, p); s.err == nil && of.live {
		s.remove(of, state, "delete-refused")
	}
	return p
}

// unanswerable are the rules about requests that are not answered.
var unanswerable = []string{"silence", "crash", "hang", "delivery-refused"}

// attribute returns an attribute as text, with numbers and booleans as strings, or "" if it does not exist.
func attribute(p reply, name string) string {
	v, err := value.Parse(p.attributes()[name])
	if err != nil {
		return ""
	}
	return string(v.Stringified().JSON())
}

// differing returns the attributes, sorted, that are the same in two answers and others in a third. There are none unless all of them
// are SUCCESS.
func differing(one, two, third reply) []string {
	if !one.success() || !two.success() || !third.success() {
		return nil
	}
	names := slices.Concat(slices.Collect(maps.Keys(one.attributes())), missing(third, one))
	return slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool {
		text := attribute(one, name)
		return text != attribute(two, name) || text == attribute(third, name) || digest(strings.Trim(text, `"`))
	})
}

// retyped returns v with each scalar of a kind changed.
func retyped(v value.Value, kind value.Kind, change func(value.Value) value.Value) value.Value {
	switch v.Kind() {
	case kind:
		return change(v)
	case value.List:
		items := slices.Clone(v.Items())
		for i := range items {
			items[i] = retyped(items[i], kind, change)
		}
		return value.Items(items...)
	case value.Map:
		members := slices.Clone(v.Members())
		for i := range members {
			members[i].Value = retyped(members[i].Value, kind, change)
		}
		return value.Object(members...)
	case value.Null, value.Bool, value.Number, value.String:
	}
	return v
}

func asText(v value.Value) value.Value { return value.Str(v.Text()) }

func opposite(v value.Value) value.Value { return value.Boolean(v.Text() != "true") }

// pasted reports whether an attribute looks like a number that was put together as a text: of digits, with one of the numbers of the
// properties in it.
func pasted(attribute string, properties value.Value) bool {
	attribute = strings.Trim(attribute, `"`)
	if _, err := strconv.ParseFloat(attribute, 64); err != nil {
		return false
	}
	found := false
	retyped(properties, value.Number, func(v value.Value) value.Value {
		found = found || strings.Contains(attribute, v.Text())
		return v
	})
	return found
}

// extras sends fields that an engine may add.
func extras(s *scene) {
	first := s.run.given.first
	of, p := s.create(first, "with unknown members", func(o *harness.Order) {
		o.Edit = func(document []byte) []byte {
			return member("PintleCheckObject", `{"a": [1, true, null]}`)(member("PintleCheckText", `"x"`)(document))
		}
	})
	s.judgeCreate(of, p, "unknown-field-refused")
	if s.run.config.Dialect != wire.ROS {
		of, p = s.create(with(first, "ServiceTimeout", value.Str("300")), "with ServiceTimeout", nil)
		s.judgeCreate(of, p, "service-timeout-refused")
	}
	const canary = "pintle-check-canary-5f1d0c"
	state := with(first, "PintleCheckSecret", value.Str(canary))
	of, p = s.create(state, "with an unknown property", func(o *harness.Order) {
		o.Secrets = append(slices.Clone(o.Secrets), canary)
	})
	s.judgeCreate(of, p, "") // a provider that validates its properties refuses it
	if s.err == nil && p.failed() {
		s.afterFailure(of, p, state)
	}
}

// judgeCreate judges a Create whose properties are valid apart from the subject of the rule.
func (s *scene) judgeCreate(of *resource, p reply, refused string) {
	switch {
	case s.err != nil:
	case p.failed() && refused != "":
		without, _ := s.made() // or else the Create fails for another reason
		if s.err == nil {
			s.find(refused, p, "the answer to the Create is FAILED, and SUCCESS without it")
			s.remove(without, without.state, "delete-refused")
		}
	case p.success() && of.live:
		s.remove(of, of.state, "delete-refused")
	}
}

// letters sends values whose letters have more bytes than one, to see them in the answer.
func letters(s *scene) { s.spoken(" grün 漢字 😀", "with non-ASCII letters") }

// quotes sends values that a document put together from texts does not survive.
func quotes(s *scene) { s.spoken(` "it's" \d {0} %s $x`+"\n\ttwo", "with quotes and newlines") }

// spoken sends values with a text at their end, in an unknown property and in those that may be any text.
func (s *scene) spoken(beyond, label string) {
	first := s.run.given.first
	members := slices.Clone(first.Members())
	for i, m := range members {
		if m.Value.Kind() == value.String && plain.MatchString(m.Value.Text()) && !secretName(m.Key) {
			members[i].Value = value.Str(m.Value.Text() + beyond)
		}
	}
	states := []value.Value{with(first, "PintleCheckText", value.Str(beyond))}
	if changed := value.Object(members...); !changed.Equal(first) {
		states = append(states, changed)
	}
	for _, state := range states {
		of, p := s.create(state, label, nil)
		switch {
		case s.err != nil:
			return
		case p.success():
			s.remove(of, state, "delete-refused")
		case p.Answered:
			s.afterFailure(of, p, state)
		}
	}
}

// oversize sends long values, with letters that have more bytes than one.
func oversize(s *scene) {
	text := strings.Repeat("lang–länger–", 320) // about 4,480 characters in more bytes
	first := s.run.given.first
	states := []value.Value{with(first, "PintleCheckLong", value.Str(text))}
	if len(first.Members()) > 0 {
		states = append(states, long(first, text))
	}
	for _, state := range states {
		s.quiet = []string{"answer-too-long", "id-too-long", "answer-near-limit"}
		of, p := s.create(state, "with long values", nil)
		s.quiet = nil
		if s.err != nil {
			return
		}
		id := len(p.Response.PhysicalResourceID)
		switch long := p.Size > wire.MaxResponse; {
		case long && p.Response.Status == wire.Failed && s.onlyID(p):
			s.findAs(Warning, "answer-too-long", p, "the FAILED answer has %d bytes, because its PhysicalResourceId repeats a long value", p.Size)
		case long && p.Response.Status == wire.Failed:
			s.find("answer-too-long", p, "the FAILED answer has %d bytes, so its Reason is lost", p.Size)
		case (long || p.Answered && id > s.run.config.Dialect.MaxPhysicalID()) &&
			!s.run.found("answer-too-long") && !s.run.found("id-too-long"): // so with short ones too
			s.find("answer-grows", p, "the answer repeats the request's values: %d bytes, with a PhysicalResourceId of %d", p.Size, id)
		}
		switch {
		case p.success():
			s.remove(of, state, "delete-refused")
		case p.Answered:
			if id > s.run.config.Dialect.MaxPhysicalID() {
				p.Response.PhysicalResourceID = ""
			}
			s.afterFailure(of, p, state)
		}
	}
}

// onlyID reports whether an answer is too long for its PhysicalResourceId alone. Of an ID that is cut, the rest is unknown.
func (fi *findings) onlyID(p reply) bool {
	for _, a := range p.Attempts {
		_, rest, found := bytes.Cut(a.Body, []byte(`"PhysicalResourceId":`))
		if !found {
			continue
		}
		rest = bytes.TrimLeft(rest, ` "`)
		end := bytes.IndexByte(rest, '"')
		return end < 0 || end > fi.run.config.Dialect.MaxPhysicalID() && p.Size-end <= wire.MaxResponse
	}
	return false
}

// shared judges two resources that have one ID. That is right if they have the same properties and are named by them.
func (s *scene) shared(a, b *resource, p reply) bool {
	if a.id != b.id {
		return false
	}
	given := s.run.given
	if given.third != nil || !named(string(a.id), given.first) {
		s.find("id-shared", p, "both are %s", a.id)
	}
	b.live = false
	return true
}

// secondStack has one resource in each of two stacks of one name with one logical ID, as after a stack was deleted and made again.
func secondStack(s *scene) {
	given := s.run.given
	of, _ := s.made()
	if s.err != nil {
		return
	}
	other := s.newResource(given.other)
	other.logical = of.logical
	p := s.send(s.request(wire.Create, other, other.state), "of the same logical ID, in another stack", nil)
	if s.took(other, p); s.err != nil || !p.success() || s.shared(of, other, p) {
		return // the second of one name may be refused
	}
	s.remove(other, other.state, "delete-refused")
	s.intact(of, of.state)
}

// regions has resources in stacks of other partitions.
func regions(s *scene) {
	c := &s.run.config
	if c.Session.Send != nil {
		s.leave("a deployed function or topic exists in one partition only: pass the program itself")
		return
	}
	if c.Dialect == wire.ROS {
		s.leave("ROS has no partitions, so this does not apply")
		return
	}
	token, region := c.ServiceToken, c.Region
	defer func() { c.ServiceToken, c.Region = token, region }()
	for _, away := range []string{"cn-north-1", "us-gov-west-1"} {
		c.Region = away
		if parts := strings.SplitN(string(token), ":", 5); len(parts) == 5 && parts[0] == "arn" {
			parts[1], parts[3] = wire.Partition(away), away
			c.ServiceToken = wire.ServiceToken(strings.Join(parts, ":"))
		}
		of, p := s.create(s.run.given.first, "in "+away, nil)
		switch {
		case p.success():
			s.remove(of, of.state, "")
		case p.failed():
			s.find("region-refused", p, "the same properties are rejected in %s", away)
			s.afterFailure(of, p, of.state)
		}
		if s.err != nil {
			return
		}
	}
}

// together has two resources of two stacks at once.
func together(s *scene) {
	given := s.run.given
	pair := [2]*resource{s.newResource(given.first), s.newResource(given.other)}
	var requests [2]wire.Request
	for i, of := range pair {
		requests[i] = s.request(wire.Create, of, of.state)
	}
	p := s.both(requests)
	if s.err != nil {
		return
	}
	for i := range p {
		s.note(p[i])
		s.took(pair[i], p[i])
	}
	if s.err != nil || !p[0].success() || !p[1].success() {
		return // the second of one name may be refused
	}
	if s.shared(pair[0], pair[1], p[1]) {
		return
	}
	for i, of := range pair {
		if pair[i].live {
			requests[i] = s.request(wire.Update, of, of.state)
			requests[i].OldResourceProperties = requests[i].ResourceProperties
		}
	}
	for i, update := range s.both(requests) {
		if s.err != nil {
			return
		}
		s.note(update)
		s.updated(pair[i], update, pair[i].state, same, "update-refused")
	}
	s.remove(pair[0], pair[0].state, "delete-refused")
	if s.err == nil && pair[1].live {
		s.intact(pair[1], pair[1].state)
	}
}

// both sends two requests at once.
func (s *scene) both(requests [2]wire.Request) (replies [2]reply) {
	if s.err != nil {
		return replies
	}
	var lone [2]scene // each with its own error
	var wg sync.WaitGroup
	for i, r := range requests {
		lone[i] = scene{findings: findings{run: s.run, id: s.id}, ctx: s.ctx}
		wg.Go(func() { replies[i] = lone[i].exchange(r, fmt.Sprintf("%d of two at once", i+1), nil) })
	}
	wg.Wait()
	for i := range lone {
		if lone[i].err != nil && s.err == nil {
			s.err = lone[i].err
		}
	}
	return replies
}

// unavailable answers the first attempt with 503, as S3 does when it gets too many requests.
func unavailable(s *scene) {
	if s.run.config.Session.Send != nil {
		s.leave("check cannot see how a remote function ends: pass the program itself")
		return
	}
	given := s.run.given
	of := s.newResource(given.first)
	r := s.request(wire.Create, of, given.first)
	s.quiet = []string{"silence", "crash", "hang", "delivery-refused", "crash-after-answer", "answered-twice"}
	p := s.send(r, "whose first answer gets status 503", func(o *harness.Order) { o.Unavailable = 1 })
	s.quiet = nil
	if s.err != nil {
		return
	}
	wasUnavailable := slices.ContainsFunc(p.Attempts, func(a harness.Attempt) bool { return a.Status == http.StatusServiceUnavailable })
	if s.took(of, p); p.Answered || !wasUnavailable {
		if p.success() {
			s.remove(of, given.first, "delete-refused")
		}
		return
	}
	// Lambda retries a failed function, and an engine sends a POST again after an error status.
	if p.End.Err == nil || p.End.Kind == local.TimedOut {
		s.find("gives-up", p, "the answer got status 503, and the provider returned success without a retry")
	}
	again := s.send(r, "delivered again", nil)
	if s.took(of, again); again.success() {
		s.remove(of, given.first, "delete-refused")
	}
}

// unknownType sends a request with an unknown type.
func unknownType(s *scene) {
	s.quiet = []string{"silence", "crash", "hang", "id-missing", "delivery-refused", "crash-after-answer"}
	of := s.newResource(s.run.given.first)
	of.id = s.invented(of)
	p := s.send(s.request("Upgrade", of, of.state), "", nil)
	switch {
	case s.err != nil:
	case p.unanswered():
		s.find("unknown-request-type", p, "no answer")
	case p.success():
		s.find("unknown-request-type", p, "the answer is SUCCESS")
	}
}
