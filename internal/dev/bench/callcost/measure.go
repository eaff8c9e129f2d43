//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// results are the results of the rounds, by candidate name.
type results map[string][]usage

// measure measures one call of each candidate from its start, and then many calls, in turns.
func measure(ctx context.Context, c config, s *stage, candidates []*candidate) (starts, runs results, err error) {
	starts, runs = results{}, results{}
	for _, one := range candidates { // warms the file cache
		if _, err := oneCall(ctx, s, one); err != nil {
			return nil, nil, err
		}
	}
	for round := range c.rounds {
		fmt.Fprintf(os.Stderr, "callcost: round %d of %d\n", round+1, c.rounds)
		for _, one := range candidates {
			used, err := oneCall(ctx, s, one)
			if err != nil {
				return nil, nil, err
			}
			starts[one.name] = append(starts[one.name], used)
		}
		for _, one := range candidates {
			if !one.events && !one.warm {
				continue
			}
			used, err := manyCalls(ctx, c, s, one)
			if err != nil {
				return nil, nil, err
			}
			runs[one.name] = append(runs[one.name], used)
		}
	}
	return starts, runs, nil
}

// oneCall measures the time from the start of a process to the end of its call. For a function, the call ends with
// the response to the response URL, and for a program with its exit.
func oneCall(ctx context.Context, s *stage, one *candidate) (usage, error) {
	began := time.Now()
	p, err := start(ctx, one, callsVariable+"=1", warmVariable+"=0")
	if err != nil {
		return usage{}, err
	}
	if !one.events {
		used := p.wait()
		used.took = time.Since(began)
		if p.err != nil {
			return usage{}, p.died()
		}
		if one.warm {
			_, used.memory, err = p.readUsage(used.memory)
		}
		return used, err
	}
	err = s.event(ctx, p)
	took := time.Since(began)
	used := p.stop()
	used.took = took
	return used, err
}

// readUsage returns the time per call and the memory that a program printed before it exited. If it printed no memory,
// readUsage returns memory.
func (p *process) readUsage(memory int64) (time.Duration, int64, error) {
	var µs float64
	var own int64
	n, err := fmt.Sscan(p.output.String(), &µs, &own)
	if n == 0 {
		return 0, 0, fmt.Errorf("%s: it says %q: %w", p.cmd.Args[0], p.output.String(), err)
	}
	if own > 0 {
		memory = own
	}
	return time.Duration(µs * 1000), memory, nil
}

// manyCalls measures the average cost of a call over many calls.
func manyCalls(ctx context.Context, c config, s *stage, one *candidate) (usage, error) {
	p, err := start(ctx, one, callsVariable+"="+strconv.Itoa(c.events), warmVariable+"="+strconv.Itoa(c.warm))
	if err != nil {
		return usage{}, err
	}
	if !one.events {
		used := p.wait()
		if p.err != nil {
			return usage{}, p.died()
		}
		used.took, used.memory, err = p.readUsage(used.memory)
		used.cpu = 0 // includes the start
		return used, err
	}
	var began time.Time
	for i := range c.warm + c.events {
		if i == c.warm {
			began = time.Now()
		}
		if err := s.event(ctx, p); err != nil {
			p.stop()
			return usage{}, err
		}
	}
	took := time.Since(began)
	used := p.stop()
	used.took, used.cpu = took/time.Duration(c.events), 0
	return used, nil
}

func median[T int64 | float64 | time.Duration](values []T) T {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// pick collects one number of each result.
func pick[T any](all []usage, of func(usage) T) []T {
	out := make([]T, len(all))
	for i, one := range all {
		out[i] = of(one)
	}
	return out
}

// printTimes prints a table of medians, and of the median ratio per round to the first candidate of the same kind,
// function or program. The table includes processor time if it was measured.
func printTimes(title, unit string, candidates []*candidate, measured results, perUnit int) {
	inUnits := func(d time.Duration) float64 { return d.Seconds() * 1000 * float64(perUnit) }
	withCPU := measured[candidates[0].name][0].cpu > 0
	head, rule := "", ""
	if withCPU {
		head, rule = " processor time, "+unit+" |", "---|"
	}
	fmt.Printf("| %s | time, %s | ratio |%s memory at its peak |\n|---|---|---|%s---|\n", title, unit, head, rule)
	var first [2][]usage
	for _, one := range candidates {
		all := measured[one.name]
		if len(all) == 0 {
			continue
		}
		kind := 0
		if !one.events {
			kind = 1
		}
		if first[kind] == nil {
			first[kind] = all
		}
		ratios := make([]float64, len(all))
		for i := range all {
			ratios[i] = float64(all[i].took) / float64(first[kind][i].took)
		}
		cpu := ""
		if withCPU {
			cpu = fmt.Sprintf(" %.0f |", inUnits(median(pick(all, func(u usage) time.Duration { return u.cpu }))))
		}
		fmt.Printf("| %s | %.0f | %.2f |%s %.0f MB |\n", one.name, inUnits(median(pick(all, func(u usage) time.Duration { return u.took }))), median(ratios), cpu,
			float64(median(pick(all, func(u usage) int64 { return u.memory })))/1e6)
	}
	fmt.Println()
}
