package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// answerByHand answers for a provider that has one of the stack's requests and has done its work. The provider's own
// answer then arrives too late.
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
	if s.chance(20) {
		beside = ""
	}
	if beside != "" {
		s.must(json.Unmarshal([]byte("{"+beside[1:]+"}"), &in))
	} else if at := slices.IndexFunc(s.watch.instances, func(i store.Instance) bool { return i.Number == r.Instance }); at >= 0 &&
		r.Type == wire.Update && !s.watch.instances[at].Body.Data.IsNull() {
		beside = fmt.Sprintf(`, "Data": %s`, s.watch.instances[at].Body.Data.JSON()) // an Update keeps the attributes
	}
	said := document(r, fmt.Sprintf(`"Status": %q, "PhysicalResourceId": %q`, in.Status, in.PhysicalID)+beside)
	respond := func() (engine.Responded, error) {
		s.answering = &answering{r, engine.Outcome{Kind: engine.Answered, Body: []byte(said)}}
		done, err := s.anyNode().engine.Respond(context.Background(), in)
		s.answering = nil
		s.note("answer %s of %s by hand with %s %q: %v", r.Type, r.Logical, in.Status, done.PhysicalID, err)
		return done, err
	}
	before, audited := s.print(), s.audited()
	_, err := respond()
	input := (*engine.Error)(nil)
	if errors.As(err, &input) && strings.HasPrefix(input.Message, engine.AnswerLacks) && in.Data == nil {
		if !reflect.DeepEqual(before, s.print()) || s.audited() != audited {
			s.breaks(nothingNew, "an answer by hand that was refused changed something")
		}
		s.count("answer: by hand, forced")
		in.Force = true
		_, err = respond()
	}
	if errors.As(err, &input) {
		s.breaks(nothingNew, "an answer by hand was refused: %v", err)
	}
	s.count("answer: by hand")
}
