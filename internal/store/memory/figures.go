package memory

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Figures implements [store.Store].
func (s *Store) Figures(ctx context.Context) (f store.Figures, err error) {
	err = s.do(ctx, func() error {
		f = store.Figures{Nodes: len(s.nodes), Stacks: len(s.live), Rows: map[string]int64{
			"stack": int64(len(s.stacks)), "operation": 0, "instance": 0, "request": int64(len(s.requests)), "event": 0, "audit": 0,
		}}
		for _, st := range s.stacks {
			if len(st.open) > 0 {
				f.Busy++
			}
			for _, i := range st.instances {
				if i.Role == store.RoleOrphan {
					f.Orphans++
				}
			}
			f.Rows["operation"] += int64(len(st.operations))
			f.Rows["instance"] += int64(len(st.instances))
			f.Rows["event"] += int64(len(st.events))
			f.Rows["audit"] += int64(len(st.audit))
		}
		f.Flights = flights(s.open)
		return nil
	})
	return f, err
}

// flights counts the open requests by type and state.
func flights(open map[wire.RequestID]*request) (list []store.Flight) {
	type kind struct {
		of    wire.RequestType
		state store.RequestState
	}
	at := map[kind]int{}
	for _, r := range open {
		k := kind{r.row.Type, r.row.State}
		i, ok := at[k]
		if !ok {
			i = len(list)
			at[k] = i
			list = append(list, store.Flight{Type: k.of, State: k.state, Oldest: r.row.Created})
		}
		list[i].Count++
		if r.row.Created.Before(list[i].Oldest) {
			list[i].Oldest = r.row.Created
		}
	}
	return list
}
