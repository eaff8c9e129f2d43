package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/bench/result"
)

// report is generated from a directory of results: the blocks of the page, and its pictures by file name.
type report struct {
	folder   string // of results
	seen     string // the directory of pictures, relative to the page
	pictures map[string]string
}

// The units in the rows of package proof and command compare that the page selects by name.
const (
	perSecond     = "cycles/s"
	processorTime = "µs of processor time per cycle"
	pintle        = "pintle"
	floor         = "floor"
)

// blocks returns all blocks of the page.
func (r *report) blocks() ([]block, error) {
	var list []block
	for _, kind := range []struct {
		name, result, target string
		text                 func(result.File) string
	}{
		{"idle", "proof-idle", "make proof", r.figures},
		{"start", "proof-start", "make proof", r.figures},
		{"waiting", "proof-waiting", "make proof", r.waiting},
		{"cycles", "proof-cycles", "make proof", r.cycles},
		{"stacks", "proof-stacks", "make proof", r.stacks},
		{"compare-sqlite", "compare-sqlite", "make compare", r.compared},
		{"compare-postgres", "compare-postgres", "make compare", r.compared},
		{"peers", "peers", "make peers", r.sideBySide},
		{"peers-behaviour", "peers-behaviour", "make peers", r.behaviour},
	} {
		f, err := result.Read(r.folder, kind.result)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			list = append(list, block{kind.name, missing(kind.target)})
		case err != nil:
			return nil, err
		default:
			list = append(list, block{kind.name, kind.text(f) + made(f)})
		}
	}
	verdicts, err := r.verdicts()
	return append(list, block{"goals", verdicts}), err
}

// missing returns the text for figures that were not measured.
func missing(target string) string {
	return "Not measured yet. Run `" + target + "` and `make report` to fill this in."
}

// made returns the origin of figures.
func made(f result.File) string {
	commit := ""
	if f.Commit != "" {
		commit = ", commit " + f.Commit
	}
	return fmt.Sprintf("\nMeasured on %s: %s%s.\n", f.Made.Format("2 January 2006"), f.Machine, commit)
}

// verdicts returns the table of all goals.
func (r *report) verdicts() (string, error) {
	files, err := result.ReadAll(r.folder, "proof-")
	if err != nil {
		return "", err
	}
	t := table{head: []string{"what", "measured", "goal", ""}}
	for _, f := range files {
		for _, goal := range f.Goals {
			value, asked := strings.TrimSpace(result.Number(goal.Value)+" "+goal.Unit), goal.Asked()
			if goal.Unit == "" {
				value, asked = result.Number(100*goal.Value)+" %", "at least "+percent(goal.Limit)
			}
			verdict := goal.Verdict()
			if !goal.Met() {
				verdict = "**not met**"
			}
			t.rows = append(t.rows, []string{goal.Name, value, asked, verdict})
		}
	}
	if len(t.rows) == 0 {
		return missing("make proof"), nil
	}
	return t.String(), nil
}

// percent rounds to whole percents where that is precise enough.
func percent(part float64) string {
	if part < 0.095 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// cell returns a figure with its unit, or nothing: a row may have only a note.
func cell(row result.Row, ok bool) string {
	if !ok || len(row.Runs) == 0 {
		return ""
	}
	return strings.TrimSpace(result.Number(row.Value) + " " + row.Unit)
}

// figures returns a table of all rows. It is for results without a comparison.
func (r *report) figures(f result.File) string {
	t := table{head: []string{"", "", ""}}
	for _, row := range f.Rows {
		t.rows = append(t.rows, []string{row.Case, cell(row, true), row.Note})
	}
	return t.String()
}

func (r *report) waiting(f result.File) string {
	var groups []group
	goal := 0.0
	for _, g := range f.Goals {
		groups = append(groups, group{g.Name, []float64{g.Value}})
		goal = g.Limit
	}
	for i, g := range groups { // "100,000 requests, sqlite, peak memory": the picture's title has the number
		_, short, found := strings.Cut(g.name, " requests, ")
		if found {
			groups[i].name = strings.ReplaceAll(short, " memory", "")
		}
	}
	title := "Memory of a server while requests wait"
	return r.figures(f) + r.picture("waiting.svg", title, bars(title, "MB", []string{pintle}, groups, goal))
}

// picture stores a picture and returns the Markdown that shows it.
func (r *report) picture(name, alt, svg string) string {
	r.pictures[name] = svg
	return fmt.Sprintf("\n![%s](%s/%s)\n", alt, r.seen, name)
}

func (r *report) cycles(f result.File) string {
	t := table{head: []string{"", "cycles/s", "floor", "share of the floor", "µs of processor time", "floor's"}}
	var groups []group
	for _, what := range f.Cases() {
		row := []string{what}
		for _, who := range []string{pintle, floor} {
			got, _ := f.Row(what, who, perSecond)
			row = append(row, result.Number(got.Value))
		}
		ratio, ok := f.Ratio(what, perSecond, pintle, floor)
		if ok {
			groups = append(groups, group{what, []float64{100 * ratio}})
		}
		row = append(row, percent(ratio))
		for _, who := range []string{pintle, floor} {
			got, _ := f.Row(what, who, processorTime)
			row = append(row, result.Number(got.Value))
		}
		t.rows = append(t.rows, row)
	}
	goal := 0.0
	if len(f.Goals) > 0 {
		goal = 100 * f.Goals[0].Limit
	}
	title := "The cycle of a request as a share of its floor"
	return t.String() + r.picture("cycles.svg", title, bars(title, "%", []string{pintle}, groups, goal))
}

// stacks has a row for each operation, and draws how the time grows with the number of resources.
func (r *report) stacks(f result.File) string {
	t := table{head: []string{"", "time", "processor time", "peak memory"}}
	lines := map[string]*curve{}
	var order []string
	var rest []string
	for _, what := range f.Cases() {
		took, timed := f.Row(what, pintle, "s")
		if !timed { // of all operations together, or a ratio
			for _, row := range f.Rows {
				if row.Case == what {
					rest = append(rest, fmt.Sprintf("- %s: %s%s\n", what, cell(row, true), after(row.Note)))
				}
			}
			continue
		}
		cpu, hasCPU := f.Row(what, pintle, "s CPU")
		cpu.Unit = "s"
		peak, hasPeak := f.Row(what, pintle, "MB at the peak")
		peak.Unit = "MB"
		t.rows = append(t.rows, []string{what, cell(took, true), cell(cpu, hasCPU), cell(peak, hasPeak)})
		if store, size, operation, ok := stackCase(what); ok && took.Value > 0 {
			name := store + ", " + operation
			if lines[name] == nil {
				lines[name] = &curve{name: name}
				order = append(order, name)
			}
			lines[name].x, lines[name].y = append(lines[name].x, size), append(lines[name].y, took.Value)
		}
	}
	var list []curve
	for _, name := range order {
		list = append(list, *lines[name])
	}
	text := t.String() + "\n" + strings.Join(rest, "")
	if len(list) > 0 {
		title := "Time of a stack of independent resources"
		text += r.picture("stacks.svg", title, curves(title, "resources", "s", list))
	}
	return text
}

func after(note string) string {
	if note == "" {
		return ""
	}
	return ", " + note
}

// stackCase parses "sqlite, 1,000 resources, create".
func stackCase(what string) (store string, size float64, operation string, ok bool) {
	store, rest, _ := strings.Cut(what, ", ")
	number, operation, ok := strings.Cut(rest, " resources, ")
	if !ok {
		return "", 0, "", false
	}
	_, err := fmt.Sscanf(strings.ReplaceAll(number, ",", ""), "%f", &size)
	return store, size, operation, err == nil && size > 0
}

// compared returns a table of the cycles of all entrants, with their share of the floor's rate, and a picture.
func (r *report) compared(f result.File) string {
	cases, whos := f.Cases(), f.Whos()
	t := table{head: append([]string{""}, cases...)}
	groups := make([]group, len(cases))
	for i, what := range cases {
		groups[i] = group{what, nil}
	}
	var notes []string
	for _, who := range whos {
		row := []string{who}
		for i, what := range cases {
			value := math.NaN()
			text := ""
			if got, ok := f.Row(what, who, perSecond); ok {
				value, text = got.Value, result.Number(got.Value)
				if ratio, ok := f.Ratio(what, perSecond, who, floor); ok && who != floor {
					text += " (" + percent(ratio) + ")"
				}
				if note := "- " + who + ": " + got.Note + "\n"; got.Note != "" && !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
			}
			row = append(row, text)
			groups[i].values = append(groups[i].values, value)
		}
		t.rows = append(t.rows, row)
	}
	title := "Cycles per second, " + strings.TrimPrefix(f.Name, "compare-")
	text := "Cycles per second, with the share of the floor's rate in parentheses:\n\n" + t.String() +
		r.picture(f.Name+".svg", title, bars(title, "", whos, groups, 0))
	if rest := r.others(f, perSecond); rest != "" {
		text += "\n" + rest
	}
	if len(notes) > 0 {
		text += "\n" + strings.Join(notes, "")
	}
	return text
}

// others has a table for each unit but one, with a column for each entrant.
func (r *report) others(f result.File, but string) string {
	var units []string
	for _, row := range f.Rows {
		if row.Unit != but && !slices.Contains(units, row.Unit) {
			units = append(units, row.Unit)
		}
	}
	var text []string
	for _, unit := range units {
		t := table{head: []string{unit}}
		cases := slices.DeleteFunc(f.Cases(), func(what string) bool {
			return !slices.ContainsFunc(f.Rows, func(row result.Row) bool { return row.Case == what && row.Unit == unit })
		})
		t.head = append(t.head, cases...)
		for _, who := range f.Whos() {
			row := []string{who}
			for _, what := range cases {
				got, ok := f.Row(what, who, unit)
				got.Unit = ""
				row = append(row, cell(got, ok))
			}
			if strings.Join(row[1:], "") != "" {
				t.rows = append(t.rows, row)
			}
		}
		text = append(text, t.String())
	}
	return strings.Join(text, "\n")
}

// sideBySide has a row for each figure and a column for each entrant.
func (r *report) sideBySide(f result.File) string {
	whos := f.Whos()
	t := table{head: append([]string{""}, whos...)}
	var notes []string
	done := map[[2]string]bool{}
	for _, first := range f.Rows {
		key := [2]string{first.Case, first.Unit}
		if done[key] {
			continue
		}
		done[key] = true
		row := []string{strings.TrimSuffix(first.Case+", "+first.Unit, ", ")}
		for _, who := range whos {
			got, ok := f.Row(first.Case, who, first.Unit)
			got.Unit = ""
			row = append(row, cell(got, ok))
			if note := fmt.Sprintf("- %s, %s: %s\n", who, got.Case, got.Note); got.Note != "" && !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		if strings.Join(row[1:], "") != "" {
			t.rows = append(t.rows, row)
		}
	}
	return strings.TrimRight(t.String()+"\n"+strings.Join(notes, ""), "\n") + "\n"
}

// behaviour has a row for each behaviour, with a mark for each entrant that acts like the real service. It also describes
// the other results.
func (r *report) behaviour(f result.File) string {
	whos := f.Whos()
	t := table{head: append([]string{""}, whos...)}
	var notes []string
	for _, what := range f.Cases() {
		row := []string{what}
		for _, who := range whos {
			i := slices.IndexFunc(f.Rows, func(row result.Row) bool { return row.Case == what && row.Who == who })
			if i < 0 {
				row = append(row, "")
				continue
			}
			got := f.Rows[i]
			if got.Value == 1 {
				row = append(row, "yes")
				continue
			}
			if len(got.Runs) == 0 {
				row = append(row, "")
			} else {
				row = append(row, "no")
			}
			notes = append(notes, fmt.Sprintf("- %s, %s: %s\n", who, what, cmp.Or(got.Note, "otherwise")))
		}
		if strings.Join(row[1:], "") != "" {
			t.rows = append(t.rows, row)
		}
	}
	text := t.String()
	if len(notes) > 0 {
		text += "\nObserved where the answer is no:\n\n" + strings.Join(notes, "")
	}
	return text
}
