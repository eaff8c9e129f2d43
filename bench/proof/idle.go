//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// These are the limits of an idle server.
const (
	idleMemory    = 40.0 // MB
	idleProcessor = 1.0  // % of one processor
)

// settle is how long a server runs after its start before it counts as idle.
const settle = 2 * time.Second

// idle measures a server without stacks.
func (p *proof) idle(ctx context.Context, f *result.File) error {
	for _, store := range p.stores {
		var memory, peak, cpu []float64
		for range p.rounds {
			err := p.during(ctx, store, place.plain, func(s *measure.Server) error {
				took, err := p.atRest(ctx, s)
				memory, peak, cpu = append(memory, took.memory.Resident), append(peak, took.memory.Peak), append(cpu, took.cpu)
				return err
			})
			if err != nil {
				return err
			}
		}
		f.Add(store.Name, who, "MB", memory...).Note = fmt.Sprintf("after %v idle", p.rest)
		f.Add(store.Name, who, "MB at the peak", peak...).Note = "since the start"
		f.Add(store.Name, who, "% of a processor", cpu...).Note = fmt.Sprintf("in %v idle", p.rest)
		f.Goals = append(f.Goals,
			result.Goal{Name: store.Name + ", idle memory", Unit: "MB", Value: result.Median(memory), Limit: idleMemory},
			result.Goal{Name: store.Name + ", idle processor time", Unit: "%", Value: result.Median(cpu), Limit: idleProcessor})
	}
	return nil
}

// rest is the cost of an idle server.
type rest struct {
	memory measure.Memory
	cpu    float64 // in % of one processor
}

func (p *proof) atRest(ctx context.Context, s *measure.Server) (r rest, err error) {
	if err := pause(ctx, min(settle, p.rest)); err != nil {
		return r, err
	}
	before, err := s.CPU()
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := pause(ctx, p.rest); err != nil {
		return r, err
	}
	after, err := s.CPU()
	if err != nil {
		return r, err
	}
	r.cpu = 100 * (after - before).Seconds() / time.Since(began).Seconds()
	r.memory, err = s.Memory()
	return r, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
