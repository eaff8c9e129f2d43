//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/pintle-dev/pintle/bench/cycle"
	"github.com/pintle-dev/pintle/bench/measure"
	"github.com/pintle-dev/pintle/bench/result"
)

// These are the metrics of every entrant in every case.
const (
	cyclesUnit    = "cycles/s"
	processorUnit = "µs of processor time per cycle"
)

// comparison is the entrants, the cases and the number of rounds.
type comparison struct {
	entrants []entrant
	sizes    []cycle.Size
	rounds   int
	window   time.Duration
}

// on compares on one kind of store. Every other round reverses the order of the entrants, so that no entrant always
// follows the same one.
func (c comparison) on(ctx context.Context, store *measure.Store) (result.File, error) {
	file := result.New("compare-" + store.Name)
	for _, size := range c.sizes {
		what := store.Name + ", " + size.String()
		made := map[string][]cycle.Rate{}
		for round := range c.rounds {
			for i, e := range c.entrants {
				if round%2 == 1 {
					e = c.entrants[len(c.entrants)-1-i]
				}
				at, err := store.New()
				if err != nil {
					return file, err
				}
				rate, err := c.apart(ctx, e, at, size)
				if err != nil {
					return file, fmt.Errorf("%s: %s: %w", what, e.name, err)
				}
				fmt.Fprintf(os.Stderr, "%s, round %d: %s %s cycles/s\n", what, round+1, e.name, result.Number(rate.PerSecond))
				made[e.name] = append(made[e.name], rate)
			}
		}
		for _, e := range c.entrants {
			var cycles, processor []float64
			for _, rate := range made[e.name] {
				cycles, processor = append(cycles, rate.PerSecond), append(processor, rate.CPU)
			}
			file.Add(what, e.name, cyclesUnit, cycles...).Note = e.note
			file.Add(what, e.name, processorUnit, processor...)
		}
	}
	file.Made = time.Now().UTC().Truncate(time.Second)
	return file, nil
}

// apart runs an entrant in a separate process, so that the leftovers of another one neither delay it nor count for it.
func (c comparison) apart(ctx context.Context, e entrant, at measure.Database, size cycle.Size) (cycle.Rate, error) {
	self, err := os.Executable()
	if err != nil {
		return cycle.Rate{}, err
	}
	command := exec.CommandContext(ctx, self, "-one", e.name, "-path", at.Path, "-dsn", at.DSN, "-window", c.window.String(),
		"-chains", strconv.Itoa(size.Chains), "-length", strconv.Itoa(size.Length))
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		return cycle.Rate{}, fmt.Errorf("%w\n%s", err, said.Bytes()[max(0, said.Len()-4096):])
	}
	var made cycle.Rate
	if err := json.Unmarshal(out.Bytes(), &made); err != nil {
		return cycle.Rate{}, fmt.Errorf("it printed no rate: %w", err)
	}
	return made, nil
}

// print prints the table of a file.
func (c comparison) print(file result.File) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tcycles/s\tof the floor's\tpintle's are\tprocessor time, µs\t")
	for _, what := range file.Cases() {
		fmt.Fprintf(table, "%s\t\t\t\t\t\n", what)
		for _, who := range file.Whos() {
			cycles, _ := file.Row(what, who, cyclesUnit)
			processor, _ := file.Row(what, who, processorUnit)
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\t\n", who, result.Number(cycles.Value),
				ratio(file, what, who, "floor", 100, " %"), ratio(file, what, "pintle", who, 1, " ×"), result.Number(processor.Value))
		}
	}
	_ = table.Flush() // to standard output
}

// ratio returns the ratio of one entrant's cycles to another's as text.
func ratio(file result.File, what, one, other string, times float64, unit string) string {
	found, ok := file.Ratio(what, cyclesUnit, one, other)
	if !ok {
		return "–"
	}
	return result.Number(found*times) + unit
}
