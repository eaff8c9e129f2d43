//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// tenTimes is the largest allowed ratio of the cost of a stack of the largest size to one of the previous size, a tenth
// of it.
const tenTimes = 11.0

// operations are the operations of a stack, in order.
var operations = []string{"create", "update", "delete"}

// updates is the number of consecutive updates, because one update of a small stack takes less than the resolution of
// processor time.
const updates = 5

// life3 is the case of all three operations together.
const life3 = "all three"

// life is the cost of a stack's operations on a server that does nothing else.
type life struct {
	took, cpu, peak [3]float64 // by operation: s, s of processor time of the server, MB of peak memory
	before          float64    // MB of memory before the operations
}

// grown returns by how many MB the server grew at most.
func (l life) grown() float64 { return max(l.peak[0], l.peak[1], l.peak[2]) - l.before }

// stacks measures the cost of stacks of several sizes, each on its own server: their creation, an update that changes no
// resource, and their deletion.
func (p *proof) stacks(ctx context.Context, f *result.File) error {
	for _, store := range p.stores {
		for _, size := range p.sizes {
			if err := p.lives(ctx, f, store, size, false); err != nil {
				return err
			}
		}
		if err := p.lives(ctx, f, store, p.chain, true); err != nil {
			return err
		}
		p.growth(f, store.Name)
	}
	return nil
}

func caseOf(store string, size int, chained bool, operation string) string {
	kind := "resources"
	if chained {
		kind = "in a chain"
	}
	return fmt.Sprintf("%s, %s %s, %s", store, result.Number(float64(size)), kind, operation)
}

// oftener is how many times more often smaller stacks are measured than the largest, because they take fractions of a
// second.
const oftener = 3

// lives measures stacks of one size, and adds the rows.
func (p *proof) lives(ctx context.Context, f *result.File, store *measure.Store, size int, chained bool) error {
	var took, cpu, peak [3][]float64
	var grown []float64
	rounds := p.rounds
	if !chained && size < p.sizes[len(p.sizes)-1] {
		rounds *= oftener
	}
	for range rounds {
		err := p.during(ctx, store, place.serve, func(s *measure.Server) error {
			l, err := live(ctx, s, size, chained)
			for i := range operations {
				took[i], cpu[i], peak[i] = append(took[i], l.took[i]), append(cpu[i], l.cpu[i]), append(peak[i], l.peak[i])
			}
			grown = append(grown, l.grown())
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", caseOf(store.Name, size, chained, "life"), err)
		}
	}
	for i, operation := range operations {
		what := caseOf(store.Name, size, chained, operation)
		f.Add(what, who, "s", took[i]...)
		f.Add(what, who, "s CPU", cpu[i]...)
		f.Add(what, who, "MB at the peak", peak[i]...)
	}
	f.Add(caseOf(store.Name, size, chained, life3), who, "MB of growth", grown...).Note = "at the peak"
	return nil
}

// live creates, updates and deletes one stack.
func live(ctx context.Context, s *measure.Server, size int, chained bool) (l life, err error) {
	asked := newProvider(ctx, 0)
	defer asked.close()
	name := "stack"
	var urls []string
	for i := range 1 + updates {
		urls = append(urls, asked.host(template(asked.URL, size, chained, fmt.Sprint("version ", i))))
	}
	before, err := s.Memory()
	if err != nil {
		return l, err
	}
	l.before = before.Resident
	var id string
	ends := func(err error, want types.StackStatus) error {
		if err == nil {
			err = errors.Join(ends(asked.ctx, s, id, want), asked.wrong())
		}
		return err
	}
	for i, run := range []func() error{
		func() (err error) {
			id, err = create(ctx, s, name, urls[0])
			return ends(err, types.StackStatusCreateComplete)
		},
		func() error {
			for _, url := range urls[1:] {
				_, err := s.Client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &name, TemplateURL: &url})
				if err := ends(err, types.StackStatusUpdateComplete); err != nil {
					return err
				}
			}
			return nil
		},
		func() error {
			_, err := s.Client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name})
			return ends(err, types.StackStatusDeleteComplete)
		},
	} {
		if l.took[i], l.cpu[i], l.peak[i], err = costs(s, run); err != nil {
			return l, err
		}
	}
	l.took[1], l.cpu[1] = l.took[1]/updates, l.cpu[1]/updates
	return l, nil
}

// costs returns the cost of run on the server: s, s of its processor time, MB of peak memory.
func costs(s *measure.Server, run func() error) (took, cpu, peak float64, err error) {
	if err := s.Forget(); err != nil {
		return 0, 0, 0, err
	}
	before, err := s.CPU()
	if err != nil {
		return 0, 0, 0, err
	}
	began := time.Now()
	if err := run(); err != nil {
		return 0, 0, 0, err
	}
	took = time.Since(began).Seconds()
	after, err := s.CPU()
	if err != nil {
		return 0, 0, 0, err
	}
	memory, err := s.Memory()
	return took, (after - before).Seconds(), memory.Peak, err
}

// growth adds the cost of the largest size relative to the previous one: the goals of time and memory, and rows of
// processor time.
func (p *proof) growth(f *result.File, store string) {
	large, small := p.sizes[len(p.sizes)-1], p.sizes[len(p.sizes)-2]
	times := func(operation, unit string) result.Row {
		a, _ := f.Row(caseOf(store, large, false, operation), who, unit)
		b, _ := f.Row(caseOf(store, small, false, operation), who, unit)
		ratio := result.Ratio(a, b)
		if math.IsNaN(ratio) || math.IsInf(ratio, 0) { // less than can be measured
			ratio = 0
		}
		what := fmt.Sprintf("%s, %s against %s resources, %s", store, result.Number(float64(large)), result.Number(float64(small)), operation)
		return result.Row{Case: what, Value: ratio}
	}
	goal := func(operation, unit, what string) {
		row := times(operation, unit)
		f.Goals = append(f.Goals, result.Goal{Name: row.Case + ", " + what, Unit: "times", Value: row.Value, Limit: tenTimes})
	}
	for _, operation := range operations {
		goal(operation, "s", "time")
		row := times(operation, "s CPU")
		f.Add(row.Case, who, "times the CPU", row.Value)
	}
	goal(life3, "MB of growth", "growth of memory")
}
