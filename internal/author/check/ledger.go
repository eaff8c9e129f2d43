package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/wire"
)

// entry is a resource in the ledger of a scenario: one that an answer names, or that a Create may have made whose answer names none.
type entry struct {
	request wire.Request // the one that made it
	id      wire.PhysicalID
	unnamed bool // no answer has its ID, so that a Delete may miss it
	deletes int  // how many were sent for it
	deleted bool // one was answered SUCCESS
}

// physicalID and failedStatus read answers that are not valid JSON, or were cut.
var (
	physicalID   = regexp.MustCompile(`["']PhysicalResourceId["']\s*:\s*["']([^"'\\]+)["']`)
	failedStatus = regexp.MustCompile(`["']Status["']\s*:\s*["'](FAILED|FAILURE)["']`)
)

// idIn returns the ID in the body of an answer, valid or not, or "" if it has none. sure is false for a number, because the
// provider may know the resource by another ID.
func idIn(body []byte) (id wire.PhysicalID, sure bool) {
	var loose struct {
		PhysicalResourceId any
	}
	if json.Unmarshal(body, &loose) == nil {
		switch id := loose.PhysicalResourceId.(type) {
		case string:
			return wire.PhysicalID(id), true
		case float64:
			return wire.PhysicalID(fmt.Sprint(id)), false
		}
		return "", false
	}
	if found := physicalID.FindSubmatch(body); found != nil {
		return wire.PhysicalID(found[1]), true
	}
	return "", false
}

// record updates the ledger of resources that requests may have created or have deleted.
func (fi *findings) record(p reply) {
	r := p.Request
	if r.RequestType == wire.Read || r.RequestType == wire.Plan {
		return // they make nothing
	}
	if r.RequestType == wire.Delete {
		for _, e := range fi.ledger {
			if e.id == r.PhysicalResourceID && (e.id != "" || e.request.StackID == r.StackID) {
				e.deletes++
				e.deleted = e.deleted || p.success()
			}
		}
		return
	}
	named, failed := false, false
	for _, a := range p.Attempts {
		failed = failed || failedStatus.Match(a.Body)
		if id, sure := idIn(a.Body); id != "" && !placeholders.MatchString(string(id)) {
			named = true
			fi.enter(&entry{request: r, id: id, unnamed: !sure})
		}
	}
	switch {
	case named:
	case r.RequestType == wire.Create:
		fi.enter(&entry{request: r, id: fi.invented(&resource{logical: r.LogicalResourceID}), unnamed: !failed})
	case r.RequestType == wire.Update && !failed && !bytes.Equal(r.ResourceProperties, r.OldResourceProperties):
		fi.ledger = append(fi.ledger, &entry{request: r, id: r.PhysicalResourceID, unnamed: true, deleted: true}) // it has an entry of its own
	}
}

// enter adds an entry, unless its ID is known already and not deleted, or is that of an Update.
func (fi *findings) enter(e *entry) {
	if e.request.RequestType != wire.Create && e.id == e.request.PhysicalResourceID {
		return
	}
	if !slices.ContainsFunc(fi.ledger, func(o *entry) bool {
		return o.id == e.id && !o.deleted && (e.id != "" || o.request.StackID == e.request.StackID)
	}) {
		fi.ledger = append(fi.ledger, e)
	}
}

// maxDeletes is how many Deletes a resource gets before it is reported as left behind.
const maxDeletes = 2

// clean deletes the remaining resources of the scenario. The answers are not judged: a service sends these Deletes too, or
// does not know of the resource. The report lists resources that may remain.
func (s *scene) clean() {
	s.mute = true
	for _, e := range s.ledger {
		for !e.deleted && e.deletes < maxDeletes && s.err == nil && s.run.silent[wire.Delete] < maxDeletes {
			r := e.request
			r.RequestType, r.RequestID, r.OldResourceProperties = wire.Delete, wire.RequestID(uuid.NewString()), nil
			r.PhysicalResourceID = e.id
			s.send(r, "to clean up", nil)
		}
	}
	s.mute = false
	for _, e := range s.ledger {
		switch {
		case e.unnamed:
			s.leftBehind(fmt.Sprintf("%s may have made a resource whose ID no answer has", e.request.LogicalResourceID))
		case !e.deleted:
			s.leftBehind(s.shown(string(e.id)))
		}
	}
}

func (fi *findings) leftBehind(what string) {
	fi.run.report.Left = append(fi.run.report.Left, Leftover{fi.id, what})
}
