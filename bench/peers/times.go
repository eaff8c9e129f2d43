//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/bench/result"
)

// The first case and its unit, in whose row a note explains a target that does not start.
const (
	startCase = "start"
	startUnit = "ms"
)

// figure is a figure that is measured in each round.
type figure struct{ what, unit string }

// taken has the figures of one target in one round, and notes about missing figures.
type taken struct {
	figures map[figure]float64
	notes   map[figure]string
}

// times measures all targets in turns, and adds notes for absent ones.
func (b bench) times(ctx context.Context, targets []target, absent []absence) (result.File, error) {
	file := result.New("peers")
	runs, notes := map[string]map[figure][]float64{}, map[string]map[figure]string{}
	for _, t := range targets {
		runs[t.name], notes[t.name] = map[figure][]float64{}, map[figure]string{}
	}
	for round := range b.rounds {
		for i, t := range targets {
			if round%2 == 1 {
				t = targets[len(targets)-1-i]
			}
			fmt.Fprintf(os.Stderr, "round %d: %s\n", round+1, t.name)
			one, err := b.timesOf(ctx, t)
			if err != nil && (t.own || ctx.Err() != nil) {
				return file, fmt.Errorf("%s: %w", t.name, err)
			}
			for _, f := range b.figures() {
				if _, there := one.figures[f]; err != nil && !there {
					one.notes[f] = short(err.Error())
				}
			}
			for f, value := range one.figures {
				runs[t.name][f] = append(runs[t.name][f], value)
			}
			for f, note := range one.notes {
				notes[t.name][f] = note
			}
		}
	}
	for _, f := range b.figures() {
		for _, t := range targets {
			row := file.Add(f.what, t.name, f.unit, runs[t.name][f]...)
			row.Note = notes[t.name][f]
			if f.what == startCase {
				row.Note = t.note
			}
		}
		for _, a := range absent {
			if f.what == startCase {
				file.Add(f.what, a.name, f.unit).Note = "left out: " + a.reason
			}
		}
	}
	printTimes(file)
	return file, nil
}

// phase returns the figure of a stack's create, update or delete.
func (b bench) phase(name string) figure {
	return figure{fmt.Sprintf("%s of %d custom resources", name, b.resources), "ms"}
}

// figures returns all figures, in the order of the table.
func (b bench) figures() []figure {
	return []figure{
		{startCase, startUnit}, {"idle", "MB"}, {"idle", "% of a processor"},
		b.phase("first create"), b.phase("update"), b.phase("delete"), b.phase("create"), {"peak", "MB"},
	}
}

// timesOf starts a target and measures its figures.
func (b bench) timesOf(ctx context.Context, t target) (one taken, err error) {
	one = taken{map[figure]float64{}, map[figure]string{}}
	r, err := b.start(ctx, t)
	if err != nil {
		return one, err
	}
	defer func() {
		if failed := r.stop(); err == nil {
			err = failed
		}
	}()
	one.figures[figure{startCase, startUnit}] = milliseconds(r.took)
	if err := b.atRest(ctx, r, one); err != nil {
		return one, err
	}
	recorder, err := record()
	if err != nil {
		return one, err
	}
	defer recorder.close()
	token, err := r.relay(ctx, recorder, b.patience)
	if err != nil {
		return one, err
	}
	if err := b.phases(ctx, r, recorder, token, one); err != nil {
		return one, err
	}
	memory, err := r.Memory()
	one.figures[figure{"peak", "MB"}] = memory.Peak
	return one, err
}

// atRest measures an idle target. It first waits a second for work that continues after the target is ready.
func (b bench) atRest(ctx context.Context, r *running, one taken) error {
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	before, err := r.CPU()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := sleep(ctx, b.rest); err != nil {
		return err
	}
	after, err := r.CPU()
	if err != nil {
		return err
	}
	memory, err := r.Memory()
	one.figures[figure{"idle", "MB"}] = memory.Resident
	one.figures[figure{"idle", "% of a processor"}] = 100 * (after - before).Seconds() / time.Since(began).Seconds()
	return err
}

// phases measures the operations of a stack, and the creation of another one, for which processes of the function already
// exist. A phase in which a target does not send a request for every resource has no figure.
func (b bench) phases(ctx context.Context, r *running, recorder *recorder, token string, one taken) error {
	var list []string
	for n := range b.resources {
		list = append(list, fmt.Sprint("R", n))
	}
	sized := func(size string) template {
		return resources(token, list, func(string) map[string]any { return map[string]any{"Size": size} })
	}
	var id string
	making := func(name string) func() error {
		return func() (err error) {
			id, err = r.create(ctx, name, sized("1"))
			return err
		}
	}
	for _, p := range []struct {
		name   string
		do     func() error
		status types.StackStatus
	}{
		{"first create", making("first"), types.StackStatusCreateComplete},
		{"update", func() error { return r.update(ctx, id, sized("2")) }, types.StackStatusUpdateComplete},
		{"delete", func() error { return r.delete(ctx, id) }, types.StackStatusDeleteComplete},
		{"create", making("second"), types.StackStatusCreateComplete},
	} {
		recorder.play(agree)
		began := time.Now()
		err := p.do()
		if err == nil {
			err = r.reaches(ctx, id, string(p.status), b.patience)
		}
		took, sent := time.Since(began), len(recorder.heard())
		switch {
		case ctx.Err() != nil || r.own && err != nil:
			return err
		case err != nil:
			one.notes[b.phase(p.name)] = short(err.Error())
		case sent < b.resources:
			one.notes[b.phase(p.name)] = fmt.Sprintf("sends %d of %d requests", sent, b.resources)
		default:
			one.figures[b.phase(p.name)] = milliseconds(took)
			if sent > b.resources {
				one.notes[b.phase(p.name)] = fmt.Sprintf("sends %d requests", sent)
			}
		}
	}
	return nil
}

// relay creates the function that asks a recorder, and returns its service token.
func (r *running) relay(ctx context.Context, recorder *recorder, patience time.Duration) (string, error) {
	recorder.play(agree)
	id, err := r.create(ctx, "functions", functionTemplate(recorder.url))
	if err != nil {
		return "", err
	}
	if err := r.reaches(ctx, id, string(types.StackStatusCreateComplete), patience); err != nil {
		return "", err
	}
	return r.output(ctx, id, "Token")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// short truncates a text for a table.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > 240 {
		return string(letters[:239]) + "…"
	}
	return text
}

func printTimes(file result.File) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\t%s\t\n", strings.Join(file.Whos(), "\t"))
	for i, first := range file.Rows {
		if i > 0 && file.Rows[i-1].Case == first.Case && file.Rows[i-1].Unit == first.Unit {
			continue // its line was printed
		}
		fmt.Fprintf(table, "%s, %s", first.Case, first.Unit)
		for _, who := range file.Whos() {
			row, _ := file.Row(first.Case, who, first.Unit)
			cell := "–"
			if len(row.Runs) > 0 {
				cell = result.Number(row.Value)
			}
			fmt.Fprintf(table, "\t%s", cell)
		}
		fmt.Fprintln(table, "\t")
	}
	_ = table.Flush() // to standard output
	for _, row := range file.Rows {
		if row.Note != "" {
			fmt.Printf("%s, %s, %s: %s\n", row.Who, row.Case, row.Unit, row.Note)
		}
	}
}
