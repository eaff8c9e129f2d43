package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Screen is a terminal.
type Screen struct {
	// Size returns its width and height in characters; it is asked before each drawing.
	Size func() (columns, rows int)
	// Colour says that colours are wanted.
	Colour bool
}

// Table shows each resource in a row that is redrawn in place.
type Table struct {
	out    io.Writer
	screen *Screen
	stack  string

	status  string
	began   time.Time
	ended   time.Time // zero until the stack's status is final
	rows    []*row
	byName  map[string]*row
	waiting map[string]Waiting
	drawn   int // lines on the screen
	last    string
}

type row struct {
	logical, kind, status, physical, reason string
	began, ended                            time.Time
}

// NewTable returns a watcher of the stack that draws on a screen by writing to out.
func NewTable(out io.Writer, screen *Screen, stack string) *Table {
	return &Table{out: out, screen: screen, stack: stack, byName: map[string]*row{}}
}

// Events implements [Watcher].
func (t *Table) Events(events []Event) {
	for _, e := range events {
		if e.Own {
			t.own(e)
			continue
		}
		name := t.nameOf(e)
		r := t.byName[name]
		if r == nil {
			r = &row{logical: Clean(e.Logical), began: e.Time}
			t.byName[name], t.rows = r, append(t.rows, r)
		}
		switch {
		case inProgress(e.Status) && e.Status != r.status:
			r.began, r.ended = e.Time, time.Time{}
		case !inProgress(e.Status):
			r.ended = e.Time
		}
		r.kind, r.status = Clean(e.Type), Clean(e.Status)
		if e.Physical != "" {
			r.physical = Clean(e.Physical)
		}
		r.reason = ""
		if bad(e.Status) {
			r.reason = firstLine(e.Reason)
		}
	}
}

// nameOf returns the key of an event's row. The replacement of a resource keeps the row of the resource. While the
// cleanup deletes the replaced one, that one has a row of its own.
func (t *Table) nameOf(e Event) string {
	r := t.byName[e.Logical]
	if r == nil || !strings.Contains(t.status, "CLEANUP") || !strings.HasPrefix(e.Status, "DELETE_") ||
		e.Physical == "" || r.physical == "" || r.physical == Clean(e.Physical) {
		return e.Logical
	}
	return e.Logical + "\x00" + e.Physical
}

func (t *Table) own(e Event) {
	if t.began.IsZero() {
		t.began = e.Time
	}
	t.status, t.ended = Clean(e.Status), time.Time{}
	if !inProgress(e.Status) {
		t.ended = e.Time
	}
}

// Tick implements [Watcher].
func (t *Table) Tick(now time.Time, waiting []Waiting) {
	t.waiting = make(map[string]Waiting, len(waiting))
	for _, w := range waiting {
		t.waiting[w.Logical] = w
	}
	t.draw(now)
}

// End implements [Watcher]. The last drawing stays.
func (t *Table) End() { t.waiting, t.last, t.drawn = nil, "", 0 }

func (t *Table) draw(now time.Time) {
	columns, height := t.screen.Size()
	lines := t.lines(now, columns, max(height-1, 4))
	text := strings.Join(lines, "\n") + "\n"
	if text == t.last {
		return
	}
	up := ""
	if t.drawn > 0 {
		up = fmt.Sprintf("\x1b[%dA\r\x1b[J", t.drawn)
	}
	fmt.Fprint(t.out, up+text)
	t.drawn, t.last = len(lines), text
}

// lines renders the table. Every line fits the width: one that wrapped would break the way back up.
func (t *Table) lines(now time.Time, columns, height int) []string {
	end := now
	if !t.ended.IsZero() {
		end = t.ended
	}
	head := clip(Clean(t.stack), max(columns-50, 20))
	lines := []string{head}
	if t.status != "" {
		room := columns - width(head) - 2
		lines[0] = t.paint(bold, head) + "  " + t.paintStatus(clip(t.status, room))
		if took := Span(end.Sub(t.began)); room-width(t.status)-2 >= width(took) {
			lines[0] += "  " + took
		}
	}
	advice := t.advice(columns)
	shown, left := t.choose(max(height-3-len(advice), 1))
	cells := make([][]string, len(shown))
	widths := make([]int, note)
	for i, r := range shown {
		cells[i] = t.cells(r, now)
		for j, cell := range cells[i][:note] {
			widths[j] = max(widths[j], width(cell))
		}
	}
	widths[0], widths[1] = min(widths[0], max(columns/3, 12)), min(widths[1], max(columns/4, 8))
	if columns < 80 {
		widths[1] = 0 // the type is the least important
	}
	for i, r := range shown {
		lines = append(lines, t.line(cells[i], widths, columns, r))
	}
	if left > 0 {
		lines = append(lines, clip(fmt.Sprintf("  and %d more", left), columns))
	}
	return append(lines, advice...)
}

// mostAdvice is the maximum number of remedies for silent resources below the table.
const mostAdvice = 3

// advice returns the lines below the rows with remedies for handlers that returned without an answer. A command that is wider than the
// screen continues on the next line.
func (t *Table) advice(columns int) (lines []string) {
	var silent []Waiting
	for _, w := range t.waiting {
		if w.Silent && w.Answer != "" {
			silent = append(silent, w)
		}
	}
	slices.SortFunc(silent, func(a, b Waiting) int { return strings.Compare(a.Logical, b.Logical) })
	for _, w := range silent[:min(len(silent), mostAdvice)] {
		lines = append(lines, clip("  "+Clean(w.Logical)+": "+Clean(w.Progress), columns))
		for text := "    " + Clean(w.Answer); text != ""; {
			line := cutColumns(text, max(columns, 20))
			lines, text = append(lines, line), text[len(line):]
		}
	}
	return lines
}

// cutColumns returns as much of the beginning of a text as fits.
func cutColumns(text string, most int) string {
	room := most
	for i, r := range text {
		if room -= columns(r); room < 0 {
			return text[:i]
		}
	}
	return text
}

// note is the last of the cells: resource, type, status, elapsed, and whatever else is to be said.
const note = 4

func (t *Table) cells(r *row, now time.Time) []string {
	end := now
	if !r.ended.IsZero() {
		end = r.ended
	}
	cells := []string{r.logical, r.kind, r.status, Span(end.Sub(r.began)), r.physical}
	if w, ok := t.waiting[r.logical]; ok && r.ended.IsZero() {
		if w.Progress != "" {
			cells[note] = Clean(w.Progress)
		}
		if w.Left >= 0 {
			cells[note] = strings.TrimSpace(w.failsIn() + "  " + cells[note])
		}
	}
	if r.reason != "" {
		cells[note] = r.reason
	}
	return cells
}

func (t *Table) line(cells []string, widths []int, columns int, r *row) string {
	line, room := "", columns
	put := func(text, painted string) {
		if room -= width(text); room >= 0 {
			line += painted
		}
	}
	for j, w := range widths {
		if w == 0 {
			continue
		}
		cell := pad(clip(cells[j], w), w)
		if width(cell)+2 > room {
			return line
		}
		painted := cell
		switch j {
		case 2:
			painted = t.paintStatus(cell)
		case 3:
			painted = t.paint(dim, cell)
		}
		put("  "+cell, "  "+painted)
	}
	if last := clip(cells[note], room-2); last != "" {
		if r.reason != "" {
			put("  "+last, "  "+t.paint(red, last))
		} else {
			put("  "+last, "  "+last)
		}
	}
	return line
}

// choose returns as many rows as fit: first those in progress, then failed ones, then the rest.
func (t *Table) choose(room int) (shown []*row, left int) {
	if len(t.rows) <= room {
		return t.rows, 0
	}
	room = max(room-1, 1) // for the line that says how many are left out
	wanted := map[*row]bool{}
	for _, want := range []func(*row) bool{
		func(r *row) bool { return inProgress(r.status) },
		func(r *row) bool { return bad(r.status) },
		func(*row) bool { return true },
	} {
		for _, r := range t.rows {
			if len(wanted) < room && want(r) {
				wanted[r] = true
			}
		}
	}
	for _, r := range t.rows {
		if wanted[r] {
			shown = append(shown, r)
		}
	}
	return shown, len(t.rows) - len(shown)
}

// The colours, as parameters of SGR.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (t *Table) paint(colour, text string) string {
	if !t.screen.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// paintStatus paints a status, which may be padded.
func (t *Table) paintStatus(text string) string {
	switch status := strings.TrimRight(text, " …"); {
	case bad(status):
		return t.paint(red, text)
	case inProgress(status):
		return t.paint(yellow, text)
	}
	return t.paint(green, text)
}
