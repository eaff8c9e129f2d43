//go:build unix

package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// start measures how long a server takes until it is ready: in an empty place, which it initializes, in an initialized
// one, and in one full of stacks.
func (p *proof) start(ctx context.Context, f *result.File) error {
	for _, store := range p.stores {
		var first []float64
		for range p.starts * p.rounds {
			err := p.during(ctx, store, place.plain, func(s *measure.Server) error {
				first = append(first, milliseconds(s))
				return nil
			})
			if err != nil {
				return err
			}
		}
		empty, err := p.again(ctx, store, 0)
		if err != nil {
			return err
		}
		full, err := p.again(ctx, store, p.full)
		if err != nil {
			return err
		}
		f.Add(store.Name+", first start", who, "ms", first...).Note = "creates the tables"
		f.Add(store.Name+", empty", who, "ms", empty...)
		f.Add(store.Name+", full", who, "ms", full...).Note =
			result.Number(float64(p.full)) + " resources in stacks of " + result.Number(float64(p.perStack))
	}
	return nil
}

// again returns the times of starts in ms, in a place with the given number of resources.
func (p *proof) again(ctx context.Context, store *measure.Store, resources int) (took []float64, err error) {
	asked := newProvider(ctx, 0)
	defer asked.close()
	at, err := p.place(store)
	if err != nil {
		return nil, err
	}
	for n := range 1 + p.starts*p.rounds {
		s, err := at.serve(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			took = append(took, milliseconds(s))
		} else {
			err = p.filled(ctx, s, asked, resources)
		}
		if err = errors.Join(err, s.Stop()); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// filled makes stacks and waits until all are complete.
func (p *proof) filled(ctx context.Context, s *measure.Server, asked *provider, resources int) error {
	ids, err := p.fill(ctx, s, asked, resources)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := errors.Join(ends(asked.ctx, s, id, types.StackStatusCreateComplete), asked.wrong()); err != nil {
			return err
		}
	}
	return nil
}

func milliseconds(s *measure.Server) float64 { return float64(s.Took.Microseconds()) / 1000 }
