//go:build unix

package main

import (
	"context"
	"errors"
	"time"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// waitingMemory is the memory limit of a server in MB while the promised number of requests waits.
const waitingMemory = 200.0

// wait measures the cost of requests that a provider has accepted but not answered. It does so once, because that takes
// minutes.
func (p *proof) wait(ctx context.Context, f *result.File) error {
	for _, store := range p.stores {
		if err := p.waitOn(ctx, f, store); err != nil {
			return err
		}
	}
	return nil
}

func (p *proof) waitOn(ctx context.Context, f *result.File, store *measure.Store) error {
	asked := newProvider(ctx, p.waiting)
	defer asked.close()
	what := result.Number(float64(p.waiting)) + " requests, " + store.Name
	var restarted float64
	var again rest
	at, err := p.place(store)
	if err != nil {
		return err
	}
	s, err := at.serve(ctx)
	if err != nil {
		return err
	}
	err = p.whileWaiting(ctx, f, s, asked, what)
	if err = errors.Join(err, s.Stop()); err != nil {
		return err
	}
	// Then measure a server that starts with these requests.
	if s, err = at.serve(ctx); err != nil {
		return err
	}
	restarted = milliseconds(s)
	again, err = p.atRest(ctx, s)
	if err = errors.Join(err, s.Stop()); err != nil {
		return err
	}
	f.Add(what+", started again", who, "ms", restarted).Note = "until it is ready"
	f.Add(what+", started again", who, "MB", again.memory.Resident)
	f.Add(what+", started again", who, "% of a processor", again.cpu)
	return nil
}

func (p *proof) whileWaiting(ctx context.Context, f *result.File, s *measure.Server, asked *provider, what string) error {
	before, err := s.Memory()
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := p.fill(ctx, s, asked, p.waiting); err != nil {
		return err
	}
	if err := asked.allAsked(); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	working, err := s.Memory()
	if err != nil {
		return err
	}
	if err := pause(ctx, p.stackWait); err != nil {
		return err
	}
	resting, err := p.atRest(ctx, s)
	if err != nil {
		return err
	}
	f.Add(what, who, "s", took).Note = "until all are delivered"
	f.Add(what, who, "MB before", before.Resident)
	f.Add(what, who, "MB at the peak", working.Peak).Note = "until all are delivered"
	f.Add(what, who, "MB", resting.memory.Resident).Note = "idle afterwards"
	f.Add(what, who, "% of a processor", resting.cpu).Note = "idle afterwards"
	f.Goals = append(f.Goals,
		result.Goal{Name: what + ", peak memory", Unit: "MB", Value: max(working.Peak, resting.memory.Peak), Limit: waitingMemory},
		result.Goal{Name: what + ", idle memory", Unit: "MB", Value: resting.memory.Resident, Limit: waitingMemory})
	return nil
}
