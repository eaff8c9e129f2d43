package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// answerByHand answers for a provider that has one of the stack's requests, having done its work for it. What the provider
// itself says later comes too late.
func (s *sim) answerByHand() {
	open := askedOf(s.open())
	at := slices.IndexFunc(open, func(r store.Request) bool { return r.State == store.RequestWaiting })
	if at < 0 {
		return
	}
	r := open[at]
	in := engine.Respond{
		Stack: engine.Ref{Account: account, Region: region, Stack: string(s.row().ID)}, Logical: r.Logical, Request: r.ID,
		Status: wire.Success, PhysicalID: r.Body.PhysicalID, By: "the simulation",
	}
	if s.chance(30) {
		in.Status = wire.Failed
	} else {
		if r.Type == wire.Create {
			in.PhysicalID = s.make(r)
		}
		if th := s.things[in.PhysicalID]; th != nil && r.Type == wire.Delete {
			th.exists = false
		}
		s.become(in.PhysicalID, r)
	}
	beside := s.data(r, in.PhysicalID)
	if beside != "" {
		s.must(json.Unmarshal([]byte("{"+beside[1:]+"}"), &in))
	}
	said := document(r, fmt.Sprintf(`"Status": %q, "PhysicalResourceId": %q`, in.Status, in.PhysicalID)+beside)
	s.answering = &answering{r, engine.Outcome{Kind: engine.Answered, Body: []byte(said)}}
	done, err := s.anyNode().engine.Respond(context.Background(), in)
	s.answering = nil
	s.note("answer %s of %s by hand with %s %q: %v", r.Type, r.Logical, in.Status, done.PhysicalID, err)
	if input := (*engine.Error)(nil); errors.As(err, &input) {
		s.breaks(nothingNew, "an answer by hand was refused: %v", err)
	}
	s.count("answer: by hand")
}
