package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Reader reads the present properties of a resource without its provider. It returns a JSON object with the properties it can
// read, or null if the resource does not exist. The request is the one just answered, without its response URL.
type Reader func(ctx context.Context, id wire.PhysicalID, answered wire.Request) (json.RawMessage, error)

// verified lists the scenarios that ask a Reader: those with the requests of normal operation.
var verified = []string{"life", "update", "replacement", "replacement-rollback", "rollback"}

// verification reads the properties of a resource back, and compares them.
type verification struct{ *scene }

// verify asks the reader whether the work of a successful request is done.
func (s verification) verify(p reply) {
	if s.run.config.Verify == nil || s.mute || !p.success() || !slices.Contains(verified, s.id) {
		return
	}
	r, id := p.Request, p.Response.PhysicalResourceID
	switch r.RequestType {
	case wire.Delete:
		if _, there := s.read(r.PhysicalResourceID, r); there {
			s.find("not-deleted", p, "the Delete was answered SUCCESS, and the reader finds %s", r.PhysicalResourceID)
		}
	case wire.Create, wire.Update:
		s.compare(p, id)
		if r.RequestType == wire.Update && id != r.PhysicalResourceID && s.err == nil {
			if _, there := s.read(r.PhysicalResourceID, r); !there && s.err == nil {
				s.find("update-deletes-old", p, "the Update answered with another PhysicalResourceId, and the reader does not find %s any more",
					r.PhysicalResourceID)
			}
		}
	case wire.Read, wire.Plan: // which change nothing
	}
}

// compare looks whether a resource is there and has the properties that were asked for, as far as the reader reads them.
func (s verification) compare(p reply, id wire.PhysicalID) {
	now, there := s.read(id, p.Request)
	if s.err != nil {
		return
	}
	if !there {
		s.find("not-done", p, "the %s was answered SUCCESS, and the reader does not find %s", p.Request.RequestType, id)
		return
	}
	want, err := value.Parse(p.Request.ResourceProperties)
	if err != nil {
		return
	}
	var differ []string
	for _, m := range want.Members() {
		if is, ok := now.Get(m.Key); ok && !is.Stringified().Equal(m.Value.Stringified()) {
			differ = append(differ, m.Key)
		}
	}
	if len(differ) > 0 {
		s.find("not-done", p, "the %s was answered SUCCESS, and the reader still reads other values of %s", p.Request.RequestType,
			strings.Join(differ, ", "))
	}
}

// read asks the reader about an ID.
func (s verification) read(id wire.PhysicalID, r wire.Request) (now value.Value, there bool) {
	r.ResponseURL, r.IntranetResponseURL, r.InnerResponseURL = "", "", ""
	text, err := s.run.config.Verify(s.ctx, id, r)
	if err == nil {
		now, err = value.Parse(text)
	}
	switch {
	case s.err != nil:
	case err != nil:
		s.err = fmt.Errorf("verify %s: %w", s.shown(string(id)), err)
	case now.Kind() == value.Null:
	case now.Kind() != value.Map:
		s.err = fmt.Errorf("verify %s: want a JSON object or null", s.shown(string(id)))
	default:
		return now, true
	}
	return now, false
}
