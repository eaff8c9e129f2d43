package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// thing is a physical resource of a provider.
type thing struct {
	logical wire.LogicalID
	exists  bool
	// reported is set if an answer that named it settled its request.
	reported bool
	// properties are its properties, and by is the position of the request that set them.
	properties value.Value
	by         int
}

// handle plays the provider. It processes and answers a repeated request again. row is the request, or a poll for it.
func (s *sim) handle(row store.Request, n *simNode) {
	if s.importing && row.Type != store.TypeImport {
		s.breaks(readNothing, "an import sends a %s of %s", row.Type, row.Logical)
		return
	}
	if row.Type == store.TypeRead || row.Type == store.TypeImport {
		s.readBack(row, n)
		return
	}
	r := row.Subject()
	if s.ledger.asked(r.Instance, r) && row.Wait == nil {
		s.count("request delivered again")
	}
	if row.Wait != nil {
		s.checkTry(row)
	}
	if s.local && s.chance(s.patient) {
		s.notDone(row, n)
		return
	}
	of := n
	if !s.local {
		of = nil
	}
	id, members := r.Body.PhysicalID, ""
	dice := s.rng.IntN(100)
	if s.chance(s.calm) {
		dice = 99
	}
	switch {
	case dice < 3 || dice < 6 && !s.local:
		s.count("answer: none")
		if s.chance(50) {
			s.become(id, r)
		}
		if s.local && s.chance(70) {
			s.silent(row, n)
		}
		return
	case dice < 6:
		delivered := s.chance(80)
		if delivered && s.chance(50) {
			s.become(id, r)
		}
		s.later(time.Second, n, func() {
			s.count("provider died")
			if row.Wait != nil {
				s.count("provider died when polled")
			}
			s.report(row, n, engine.Outcome{
				Kind: engine.Died, Text: "exit code 3", Delivered: delivered, Log: []string{string(r.Body.Properties.JSON())},
			})
		})
		return
	case dice < 9:
		s.count("answer: invalid")
		members = `"Status": "SUCCESS"` // Invalid PhysicalResourceId
	case dice < 11:
		s.count("answer: invalid")
		s.answerLater(r, of, []byte(`rubbish`))
		return
	case dice < 17 || (r.Type == wire.Update && dice < 26):
		s.count("answer: FAILED")
		if r.Type == wire.Create || (r.Type == wire.Update && s.chance(25)) {
			id = s.make(r)
		}
		if s.chance(50) { // it did all or some of the work, and failed afterwards
			s.become(id, r)
		}
		said := fmt.Sprintf("no luck with %s, was %s", r.Body.Properties.JSON(), r.Body.OldProperties.JSON())
		members = fmt.Sprintf(`"Status": "FAILED", "Reason": %s, "PhysicalResourceId": %q`, value.Str(said).JSON(), id)
	default:
		switch r.Type {
		case wire.Create:
			id = s.make(r)
		case wire.Update:
			if s.chance(25) {
				id = s.make(r)
			}
		case wire.Delete:
			if th := s.things[id]; th != nil {
				th.exists = false
			}
		case wire.Read, wire.Plan:
		}
		s.become(id, r)
		members = success(string(id)) + s.data(r, id)
	}
	if id != r.Body.PhysicalID && r.Type == wire.Update {
		s.count("answer: other id")
	}
	if s.chance(3) {
		members += `, "Pad": "` + strings.Repeat("x", wire.MaxResponse) + `"`
	}
	if s.local && s.chance(5) {
		s.silent(row, n)
	}
	s.answerLater(r, of, []byte(document(r, members)))
}

// make creates a physical resource: a new one or, for an Update, possibly an earlier one of the provider.
func (s *sim) make(r store.Request) wire.PhysicalID {
	if r.Type == wire.Update && s.chance(30) {
		for _, id := range slices.Sorted(maps.Keys(s.things)) {
			if th := s.things[id]; th.logical == r.Logical && th.exists {
				return id
			}
		}
	}
	id := wire.PhysicalID(fmt.Sprintf("thing-%d", len(s.things)+1))
	s.things[id] = &thing{logical: r.Logical, exists: true}
	return id
}

// become applies a request to a physical resource. An old request may be sent again by a node that does not know that
// it was taken over. The provider then recognizes that it has a newer one or that this one is finished, because no
// engine can stop a message that was sent.
func (s *sim) become(id wire.PhysicalID, r store.Request) {
	th, place := s.things[id], s.watch.places[r.ID]
	if th == nil || r.Type == wire.Delete || place < th.by || s.request(r.ID).State == store.RequestSettled {
		return
	}
	th.properties, th.by = r.Body.Properties, place
}

// data returns a resource's attributes: some change with the resource, some never do.
func (s *sim) data(r store.Request, id wire.PhysicalID) string {
	v, _ := r.Body.Properties.Get("V")
	if r.Type == wire.Update && r.Body.Revert { // new code has new attributes
		v = value.Str(fmt.Sprintf("%s-again-%d", v.Text(), s.watch.places[r.ID]))
	}
	switch dice := s.rng.IntN(100); {
	case dice < 3:
		return ""
	case dice < 70:
		return fmt.Sprintf(`, "NoEcho": true, "Data": {"att": "%s-%s", "hid": "hush-data-%s"}`, id, v.Text(), r.Logical)
	default:
		return fmt.Sprintf(`, "Data": {"att": "%s-%s", "hid": "plain-data-%s"}`, id, v.Text(), r.Logical)
	}
}

// answerLater answers a request, from a process of a node or remotely.
func (s *sim) answerLater(r store.Request, of *simNode, body []byte) {
	delay := time.Minute
	if s.chance(3) {
		delay = 3 * time.Hour // usually late
	}
	s.later(delay, of, func() {
		s.report(r, nil, engine.Outcome{Kind: engine.Answered, Body: body})
		if s.chance(8) {
			s.report(r, nil, engine.Outcome{Kind: engine.Answered, Body: body})
		}
	})
}

// notified plays a topic that gets an event.
func (s *sim) notified(r store.Request, n *simNode) {
	text, _ := r.Body.Properties.Get("Message")
	s.showsNone("notification", text.Text())
	outcome := engine.Outcome{Kind: engine.Accepted}
	if s.chance(4) {
		outcome = engine.Outcome{Kind: engine.Refused, Text: "connection refused"}
	}
	s.count("notification " + outcome.Kind.String())
	s.report(r, n, outcome)
}

// answering is an outcome that is being reported.
type answering struct {
	request store.Request
	outcome engine.Outcome
}

// report reports to the engine until it is accepted, like delivery and patient providers. With a node it ends with
// that node. Without one, a provider reports, which reaches any node.
func (s *sim) report(r store.Request, of *simNode, outcome engine.Outcome) {
	n := of
	if n == nil {
		n = s.anyNode()
	}
	if r.Wait != nil {
		outcome.Try = r.Wait.Try
	}
	row := s.request(r.ID)
	s.handedOn(row)
	late := row.State == store.RequestSettled
	var before print
	var audited int
	if late {
		before, audited = s.print(), s.audited()
	} else {
		s.answering = &answering{r, outcome}
	}
	err := n.engine.Report(context.Background(), r.ID, outcome)
	s.answering = nil
	s.note("%s %s of %s %s: %v", outcome.Kind, r.Type, r.Logical, outcome.Body, err)
	if late {
		s.checkLate(r, outcome, err, before, audited)
	}
	if err != nil {
		s.later(time.Second, of, func() { s.report(r, of, outcome) })
	} else if of != nil {
		delete(of.held, r.ID)
	}
}

func (s *sim) request(id wire.RequestID) store.Request {
	r, err := s.rows.Request(context.Background(), id)
	s.must(err)
	return r
}
