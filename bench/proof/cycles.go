//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// partOfFloor is the smallest share of the floor's rate that the engine must reach.
const partOfFloor = 0.6

// processorTime is the unit of the cost of a cycle in this process, which runs everything except PostgreSQL.
const processorTime = "µs of processor time per cycle"

// cycles measures the whole cycle of a request and its floor, in turns.
func (p *proof) cycles(ctx context.Context, f *result.File) error {
	for _, store := range p.stores {
		for _, size := range p.scale.cycles {
			what := fmt.Sprintf("%s, %s", store.Name, size)
			var ours, floors, cpu, floorCPU []float64
			for n := range p.rounds + 1 {
				pair := [2]cycle.Rate{}
				for i := range pair {
					i = (i + n) % 2 // the first one alternates
					run := []runner{cycle.Engine, cycle.Floor}[i]
					var err error
					if pair[i], err = onNew(ctx, store, size, run); err != nil {
						return fmt.Errorf("%s: %w", what, err)
					}
				}
				if n > 0 { // the first round warms up
					ours, floors = append(ours, pair[0].PerSecond), append(floors, pair[1].PerSecond)
					cpu, floorCPU = append(cpu, pair[0].CPU), append(floorCPU, pair[1].CPU)
				}
			}
			f.Add(what, who, "cycles/s", ours...)
			f.Add(what, "floor", "cycles/s", floors...)
			f.Add(what, who, processorTime, cpu...)
			f.Add(what, "floor", processorTime, floorCPU...)
			ratio, _ := f.Ratio(what, "cycles/s", who, "floor")
			f.Goals = append(f.Goals, result.Goal{Name: what + ", share of the floor", Value: ratio, Limit: partOfFloor, Least: true})
		}
	}
	return nil
}

// runner makes cycles on a new database.
type runner func(context.Context, measure.Database, cycle.Size) (cycle.Rate, error)

// onNew makes one run on its own database.
func onNew(ctx context.Context, store *measure.Store, size cycle.Size, run runner) (rate cycle.Rate, err error) {
	at, err := store.New()
	if err != nil {
		return rate, err
	}
	if at.Path != "" {
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(at.Path))) }()
	}
	return run(ctx, at, size)
}
