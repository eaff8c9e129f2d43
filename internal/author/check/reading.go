package check

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// reading judges the answers to Reads.
type reading struct{ *scene }

// readBack reads a resource after it was created, updated and deleted.
func readBack(of *scene) { reading{of}.play() }

func (s reading) play() {
	given := s.run.given
	if !s.run.reads {
		s.leave("the provider's schema declares no Read for %s, so this does not apply", s.run.config.ResourceType)
		return
	}
	of, created := s.made()
	before, known := s.verified(of)
	first := s.read(of, "")
	s.compare(first, of)
	second := s.read(of, "again")
	if changed(first, second) {
		s.find("read-changes", second, "the first Read found another state of %s", of.id)
	}
	if after, still := s.verified(of); known && still && before != after {
		s.find("read-changes", second, "the reader finds another state of %s after the Reads", of.id)
	}
	s.compareAttributes(created, first, second)
	if given.second != nil && s.err == nil {
		if p := s.update(of, *given.second, given.first, either, "", "with other properties"); p.success() {
			now := s.read(of, "after the Update")
			s.compare(now, of)
			s.compareAttributes(p, now, now)
		}
	}
	if was := *of; s.err == nil && of.live && s.remove(of, of.state, "delete-refused").success() {
		s.gone(&was, "of a deleted resource")
	}
	never := s.newResource(given.first)
	if never.id = s.invented(never); never.id == "" {
		never.id = "never-made"
	}
	s.gone(never, "of a resource that never existed")
}

// read sends a Read.
func (s reading) read(of *resource, label string) reply {
	return s.send(s.request(wire.Read, of, of.state), label, nil)
}

// isThere reports whether the answer to a Read has the state of an existing resource.
func (p reply) isThere() bool {
	return p.success() && p.Response.State != nil && !p.Response.State.Gone && p.Response.PhysicalResourceID == p.Request.PhysicalResourceID
}

// compare judges the state in the answer to the Read of an existing resource, as a drift detection does.
func (s reading) compare(p reply, of *resource) {
	switch {
	case s.err != nil || !p.valid(): // the rules for all answers report it
	case p.failed():
		s.find("read-refused", p, "the answer to the Read of %s is FAILED", of.id)
	case p.Response.State == nil:
		s.find("read-refused", p, "the answer is SUCCESS without PintleState")
	case p.Response.State.Gone:
		s.find("read-refused", p, "the answer reports that %s does not exist", of.id)
	case !p.isThere():
		s.find("read-refused", p, "the request is for %s, the answer for %s", of.id, p.Response.PhysicalResourceID)
	default:
		declared, err := value.Parse(p.Request.ResourceProperties)
		if err != nil {
			return
		}
		var found drift.Resource
		found.Compare(declared, p.Response.State, s.run.secrets)
		var paths []string
		for _, d := range found.Differences {
			paths = append(paths, strings.TrimPrefix(d.Path, "/"))
		}
		switch {
		case found.Status == drift.Unknown:
			s.find("read-differs", p, "%s", found.Problem)
		case len(paths) > 0:
			s.find("read-differs", p, "although nothing changed %s, the Read differs from its properties in %s", of.id, strings.Join(paths, ", "))
		}
	}
}

// compareAttributes compares the attributes in the answers to two Reads with those of the Create or Update before them. An attribute
// that differs between the Reads is not expected to be the same.
func (s reading) compareAttributes(made, first, second reply) {
	if s.err != nil || !made.success() || !first.isThere() || !second.isThere() {
		return
	}
	if lost := missing(made, first); len(lost) > 0 {
		s.find("read-differs", first, "the %s had %s in its Data, the Read has not", made.Request.RequestType, strings.Join(lost, ", "))
		return
	}
	var other []string
	for name := range made.attributes() {
		if was := attribute(made, name); was != attribute(first, name) && attribute(first, name) == attribute(second, name) {
			other = append(other, name)
		}
	}
	if len(other) > 0 {
		slices.Sort(other)
		s.findAs(Warning, "read-differs", first, "the %s had another value of %s in its Data", made.Request.RequestType, strings.Join(other, ", "))
	}
}

// changed reports whether the second of two Reads found another state than the first.
func changed(first, second reply) bool {
	if !first.isThere() || !second.valid() {
		return false
	}
	return !second.isThere() || !sameJSON(first.Response.State.Properties, second.Response.State.Properties)
}

// sameJSON reports whether two documents have the same value. None is the same as an empty object.
func sameJSON(a, b []byte) bool {
	parsed := func(text []byte) value.Value {
		v, err := value.Parse(text)
		if err != nil || v.Kind() != value.Map {
			return value.Object()
		}
		return v
	}
	return parsed(a).Equal(parsed(b))
}

// gone reads a resource that does not exist.
func (s reading) gone(of *resource, label string) {
	p := s.read(of, label)
	switch {
	case s.err != nil || !p.valid():
	case p.failed():
		s.find("read-gone", p, "the answer is FAILED")
	case p.Response.State == nil || !p.Response.State.Gone:
		s.find("read-gone", p, "the answer is SUCCESS and does not say that the resource does not exist")
	}
}

// verified returns the state of a resource as the reader of the user finds it; false without a reader.
func (s reading) verified(of *resource) (string, bool) {
	if s.run.config.Verify == nil || s.err != nil || !of.live {
		return "", false
	}
	now, there := verification(s).read(of.id, s.request(wire.Read, of, of.state))
	if !there {
		return "null", s.err == nil
	}
	return string(now.JSON()), true
}
