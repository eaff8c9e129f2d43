package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// thing is a physical resource as its provider knows it.
type thing struct {
	logical wire.LogicalID
	exists  bool
	// told says that an answer which named it settled its request.
	told bool
}

// ledger is what was really sent and said, kept apart from the engine's rows.
type ledger struct {
	// sent is what the provider of each instance was last asked to make of it, oldest first.
	sent map[int][]asking
	// good is what a provider has confirmed, and data what it told of it, by physical id.
	good map[wire.PhysicalID]value.Value
	data map[wire.PhysicalID]map[string]string
	// kept are the instances that are known to be retained.
	kept map[int]bool
	// undoing are the requests that were to roll something back, with whether that is known to have succeeded.
	undoing map[wire.RequestID]bool
}

type asking struct {
	request    wire.RequestID
	properties value.Value
}

func (a asking) String() string { return short(a.properties.JSON()) }

func newLedger() ledger {
	return ledger{
		sent: map[int][]asking{}, good: map[wire.PhysicalID]value.Value{},
		data: map[wire.PhysicalID]map[string]string{}, kept: map[int]bool{}, undoing: map[wire.RequestID]bool{},
	}
}

// last returns what an instance is to be updated from: what it was asked to be last, but for rollbacks that failed.
func (l ledger) last(instance int) (value.Value, bool) {
	for _, a := range slices.Backward(l.sent[instance]) {
		if good, undoing := l.undoing[a.request]; good || !undoing {
			return a.properties, true
		}
	}
	return value.Value{}, false
}

// asked notes that a provider was sent a Create or an Update of an instance, maybe not for the first time.
func (l ledger) asked(instance int, r store.Request) {
	if r.Type == wire.Delete {
		return
	}
	l.spared(instance, r)
	l.sent[instance] = append(l.sent[instance], asking{r.ID, r.Body.Properties})
}

// spared notes that it never was.
func (l ledger) spared(instance int, r store.Request) {
	l.sent[instance] = slices.DeleteFunc(l.sent[instance], func(a asking) bool { return a.request == r.ID })
}

// report tells the engine until it has taken it, as delivery and patient providers do. It does not outlive a crash of
// the engine if it is the engine's own process that tells.
func (s *sim) report(r store.Request, life int, outcome engine.Outcome) {
	var tell func()
	tell = func() {
		before := s.request(r.ID)
		err := s.engine.Report(s.t.Context(), r.ID, outcome)
		s.note("%s %s of %s: %v", outcome.Kind, r.Type, r.Logical, err)
		if before.State != store.RequestSettled && s.request(r.ID).State == store.RequestSettled { // whatever err says
			switch {
			case outcome.Kind == engine.Answered:
				s.heard(r, outcome.Body)
			case !outcome.Delivered:
				s.ledger.spared(r.Instance, r)
			}
		}
		if err != nil {
			s.later(time.Second, life, tell)
		}
	}
	tell()
}

func (s *sim) request(id wire.RequestID) store.Request {
	r, err := s.db.Request(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// heard notes that an answer settled its request.
func (s *sim) heard(r store.Request, body []byte) {
	response, err := wire.ParseResponse(body)
	id := response.PhysicalResourceID
	if id == "" {
		return
	}
	if th := s.things[id]; th != nil {
		th.told = true
	}
	if r.Type == wire.Delete {
		return
	}
	if now, ok := s.current()[string(r.Logical)]; ok && now.PhysicalID == id {
		if _, undoing := s.ledger.undoing[r.ID]; undoing && now.Number != r.Instance { // it is to be undone there too
			s.ledger.sent[now.Number] = append(s.ledger.sent[now.Number], asking{"", r.Body.OldProperties})
		}
		s.ledger.asked(now.Number, r)
	}
	if err == nil && response.Status == wire.Success {
		if _, undoing := s.ledger.undoing[r.ID]; undoing {
			s.ledger.undoing[r.ID] = true
		}
		var data map[string]string
		if response.Data != nil {
			if err := json.Unmarshal(response.Data, &data); err != nil {
				s.t.Fatal(err)
			}
		}
		s.ledger.good[id], s.ledger.data[id] = r.Body.Properties, data
	}
}

// deliver carries a request to its provider, which then does as chance will have it.
func (s *sim) deliver(r store.Request, life int) {
	if row := s.stack(); r.Type == wire.Update && !r.Cancelled && row.Phase == store.PhaseRevert {
		if _, known := s.ledger.undoing[r.ID]; !known {
			s.ledger.undoing[r.ID] = false
		}
	}
	s.later(50*time.Millisecond, life, func() {
		if s.chance(4) {
			s.report(r, life, engine.Outcome{Kind: engine.Refused, Text: "connection refused"})
			return
		}
		s.note("-> %s", sentLine(r))
		s.handle(r)
		s.report(r, life, engine.Outcome{Kind: engine.Accepted})
	})
}

// handle is the provider's work. A request that comes a second time is answered a second time.
func (s *sim) handle(r store.Request) {
	s.ledger.asked(r.Instance, r)
	id, members := r.Body.PhysicalID, ""
	switch dice := s.rng.IntN(100); {
	case dice < 3: // never answers
		return
	case dice < 6: // dies
		s.later(time.Second, s.db.life, func() {
			s.report(r, s.db.life, engine.Outcome{
				Kind: engine.Died, Text: "exit code 3", Delivered: s.chance(80), Log: []string{string(r.Body.Properties.JSON())},
			})
		})
		return
	case dice < 9:
		members = `"Status": "SUCCESS"` // Invalid PhysicalResourceId
	case dice < 11:
		s.answerLater(r, []byte(`rubbish`))
		return
	case dice < 17 || (r.Type == wire.Update && dice < 26):
		if r.Type == wire.Create || (r.Type == wire.Update && s.chance(25)) {
			id = s.make(r)
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
		}
		members = success(string(id)) + s.data(r, id)
	}
	if s.chance(3) {
		members += `, "Pad": "` + strings.Repeat("x", wire.MaxResponse) + `"`
	}
	s.answerLater(r, []byte(document(r, members)))
}

// data is what a provider tells of what it has made: some of it changes with the resource, some never.
func (s *sim) data(r store.Request, id wire.PhysicalID) string {
	v, _ := r.Body.Properties.Get("V")
	switch dice := s.rng.IntN(100); {
	case dice < 3:
		return ""
	case dice < 70:
		return fmt.Sprintf(`, "NoEcho": true, "Data": {"att": "%s-%s", "hid": "hush-data-%s"}`, id, v.Text(), r.Logical)
	default:
		return fmt.Sprintf(`, "Data": {"att": "%s-%s", "hid": "plain-data-%s"}`, id, v.Text(), r.Logical)
	}
}

func (s *sim) answerLater(r store.Request, body []byte) {
	delay := time.Minute
	if s.chance(3) {
		delay = 3 * time.Hour // late, mostly
	}
	s.later(delay, 0, func() {
		s.report(r, 0, engine.Outcome{Kind: engine.Answered, Body: body})
		if s.chance(8) {
			s.report(r, 0, engine.Outcome{Kind: engine.Answered, Body: body})
		}
	})
}

// make makes a physical resource: a new one or, for an Update, perhaps one that the provider has had before.
func (s *sim) make(r store.Request) wire.PhysicalID {
	if r.Type == wire.Update && s.chance(30) {
		for _, id := range slices.Sorted(mapKeys(s.things)) {
			if th := s.things[id]; th.logical == r.Logical && th.exists {
				return id
			}
		}
	}
	id := wire.PhysicalID(fmt.Sprintf("thing-%d", len(s.things)+1))
	s.things[id] = &thing{logical: r.Logical, exists: true}
	return id
}
