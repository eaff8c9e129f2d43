package engine_test

import (
	"encoding/json"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ledger records the real requests and answers, independently of the engine's rows.
type ledger struct {
	// sent are the requests to the provider of each instance, oldest first.
	sent map[int][]asking
	// good are the confirmed properties, and data the reported attributes, by physical ID.
	good map[wire.PhysicalID]value.Value
	data map[wire.PhysicalID]map[string]string
	// former are the attributes before the Updates that changed no properties. A rollback restores them.
	former map[wire.PhysicalID]map[string]string
	// kept are the instances that are known to be retained.
	kept map[int]bool
	// gone are the instances that the stack has released.
	gone map[int]bool
	// undoing are the requests of rollbacks, with whether they are known to have succeeded.
	undoing map[wire.RequestID]bool
}

type asking struct {
	request    wire.RequestID
	properties value.Value
	// same is set for an Update that changes no properties.
	same bool
}

func (a asking) String() string { return short(a.properties.JSON()) }

func newLedger() ledger {
	return ledger{
		sent: map[int][]asking{}, good: map[wire.PhysicalID]value.Value{},
		data: map[wire.PhysicalID]map[string]string{}, former: map[wire.PhysicalID]map[string]string{}, kept: map[int]bool{}, gone: map[int]bool{}, undoing: map[wire.RequestID]bool{},
	}
}

// last returns the last request to an instance, apart from failed rollbacks. An Update has its properties as the old ones.
func (l ledger) last(instance int) (asking, bool) {
	for _, a := range slices.Backward(l.sent[instance]) {
		if good, undoing := l.undoing[a.request]; good || !undoing {
			return a, true
		}
	}
	return asking{}, false
}

// other returns the last requested properties of an instance that differ from the current ones.
func (l ledger) other(instance int, now value.Value) (value.Value, bool) {
	for _, a := range slices.Backward(l.sent[instance]) {
		if !a.properties.Equal(now) {
			return a.properties, true
		}
	}
	return value.Value{}, false
}

// forget deletes the confirmed state of an instance that the stack has just released.
func (l ledger) forget(i store.Instance) {
	if !l.gone[i.Number] {
		l.gone[i.Number] = true
		delete(l.good, i.PhysicalID)
		delete(l.data, i.PhysicalID)
	}
}

// asked records that a provider got a Create or an Update of an instance, and reports whether it had got it before.
func (l ledger) asked(instance int, r store.Request) (again bool) {
	if r.Type == wire.Delete {
		return false
	}
	again = slices.ContainsFunc(l.sent[instance], func(a asking) bool { return a.request == r.ID })
	if !again {
		l.sent[instance] = append(l.sent[instance], asking{r.ID, r.Body.Properties, r.Type == wire.Update && r.Body.Properties.Equal(r.Body.OldProperties)})
	}
	return again
}

// spared records that the provider never got the request.
func (l ledger) spared(instance int, r store.Request) {
	l.sent[instance] = slices.DeleteFunc(l.sent[instance], func(a asking) bool { return a.request == r.ID })
}

// settled records the result of a request that was just settled.
func (s *sim) settled(a *answering) {
	switch {
	case a.request.Type == store.TypeRead || a.request.Type == store.TypeImport:
		s.hasRead(a)
	case a.request.Type == store.TypeIsComplete: // the request that it polls for was sent
	case a.outcome.Kind == engine.Answered:
		s.received(a.request, a.outcome.Body)
	case a.outcome.Delivered:
	case a.outcome.Kind == engine.Waiting: // a process has it, and the clock was set beyond its deadline
	case s.watch.moved[a.request.ID]:
		s.ledger.asked(a.request.Instance, a.request) // as far as the engine can know
	default:
		s.ledger.spared(a.request.Instance, a.request)
	}
}

// heard records that an answer settled its request.
func (s *sim) received(r store.Request, body []byte) {
	response, err := wire.ParseResponse(body)
	id := response.PhysicalResourceID
	if id == "" || err != nil && s.fidelity == engine.FidelityAWS {
		return
	}
	if th := s.things[id]; th != nil {
		th.reported = true
	}
	if r.Type == wire.Delete {
		return
	}
	s.watch.story.returned(id)
	if now := s.current(r.Logical); now != nil && now.PhysicalID == id {
		if _, undoing := s.ledger.undoing[r.ID]; undoing && now.Number != r.Instance { // it has to be undone there too
			s.ledger.sent[now.Number] = append(s.ledger.sent[now.Number], asking{properties: r.Body.OldProperties})
		}
		s.ledger.asked(now.Number, r)
	}
	if err == nil && response.Status == wire.Success {
		if _, undoing := s.ledger.undoing[r.ID]; undoing {
			s.ledger.undoing[r.ID] = true
		}
		var data map[string]string
		if response.Data != nil {
			s.must(json.Unmarshal(response.Data, &data))
		}
		_, undoing := s.ledger.undoing[r.ID]
		_, before := s.ledger.former[id]
		switch again := r.Type == wire.Update && r.Body.Revert && id == r.Body.PhysicalID && s.ledger.good[id].Equal(r.Body.Properties); {
		case undoing || !again:
			delete(s.ledger.former, id)
		case !before:
			s.ledger.former[id] = s.ledger.data[id]
		}
		s.ledger.good[id], s.ledger.data[id] = r.Body.Properties, data
	}
}

// concluded restores the attributes that a rollback restores, or forgets them after a complete update.
func (s *sim) concluded() {
	if s.status() == "UPDATE_ROLLBACK_COMPLETE" {
		for id, data := range s.ledger.former {
			s.count("attributes restored")
			s.ledger.data[id] = data
		}
	}
	clear(s.ledger.former)
}

// assume records the resources whose assumed properties were not requested. Only a client that skips resources causes
// that.
func (s *sim) assume() {
	if s.row().Kind != store.KindUpdate || !s.forced && len(s.model.spared) == 0 {
		return
	}
	for _, i := range s.watch.instances {
		if i.Role != store.RoleCurrent || i.Verb != store.VerbUpdate || i.Progress != store.ProgressSucceeded {
			continue
		}
		last, ok := s.ledger.last(i.Number)
		if ok && last.properties.Equal(i.Body.Properties) || !s.forced && !s.skipped(i.Logical) {
			continue
		}
		s.count("resource skipped")
		s.note("%s counts as rolled back", i.Logical)
		s.ledger.sent[i.Number] = append(s.ledger.sent[i.Number], asking{properties: i.Body.Properties})
		s.ledger.good[i.PhysicalID] = i.Body.Properties
		if s.ledger.data[i.PhysicalID] == nil { // its only answer was a failure, so the last data still apply
			data := map[string]string{}
			for _, m := range i.Body.Data.Members() {
				data[m.Key] = m.Value.Text()
			}
			s.ledger.data[i.PhysicalID] = data
		}
	}
}
