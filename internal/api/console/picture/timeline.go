package picture

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Bar is a row of a timeline: one step.
type Bar struct {
	// Name is the name of the step, and Status its status in words.
	Name, Status string
	State        State
	// Link is the path of a page with details on the same server. Other links are ignored, and so is an empty one.
	Link string
	// Start is when the step began, zero if it has not begun. End is when it ended, zero while it runs. An end before
	// the start is treated as equal to the start.
	Start, End time.Time
	// Deadline is when the running step times out. Zero means never.
	Deadline time.Time
	// Retries are the times of retries.
	Retries []time.Time
}

// ended reports whether the bar has begun and ended.
func (b Bar) ended() bool { return !b.Start.IsZero() && !b.End.IsZero() }

// runs reports whether the bar has begun and not ended.
func (b Bar) runs() bool { return !b.Start.IsZero() && b.End.IsZero() }

// Measures of a timeline, in pixels.
const (
	axisHeight  = 28
	rowHeight   = 40
	labelWidth  = 340
	chartMargin = 16
	barHeight   = 16
	noteHeight  = 28

	narrowRow    = 58   // the height of a row
	narrowName   = 308  // the width of its name
	narrowText   = 364  // and of the text below, in a smaller font
	narrowUnits  = 1000 // parts of the page's width, the unit of bar positions
	narrowTicks  = 4
	narrowMargin = 8
	maxTicks     = 8
	maxRetries   = 50
)

// Timeline draws bars in the order given, one per row, below a time axis that counts from its start. A running bar ends
// at the current time, and a ghost shows the time until its deadline. A deadline may be an hour away while a step takes
// a second, so ghosts get at most half of the axis. A row that has not begun has a line up to the current time.
// Timeline draws at most [Options].Rows rows, and names the range if there are more. The only errors are those of w.
func Timeline(w io.Writer, bars []Bar, o Options) error {
	known := o.Offset + len(bars)
	bars = bars[:min(len(bars), within(o.Rows, 100, 1, 1000))]
	total := max(o.Total, known)
	width := within(o.Width, 960, 480, 4000)
	a := newAxis(bars, o, width)
	kind := "timeline"
	if o.Narrow {
		kind, width = "timeline narrow", 0
	}

	var c canvas
	bottom := axisHeight + len(bars)*a.rowHeight()
	a.draw(&c, bottom)
	linked := false
	for i, b := range bars {
		linked = linked || local(b.Link)
		a.row(&c, b, axisHeight+i*a.rowHeight())
	}
	height, part := bottom, ""
	if len(bars) < total {
		part = fmt.Sprintf("Rows %s to %s of %s.", grouped(o.Offset+min(1, len(bars))), grouped(o.Offset+len(bars)), grouped(total))
		c.text("note", a.textLeft(), bottom+18, part, max(width, narrowText))
		c.printf("\n")
		height += noteHeight
	}
	return c.frame(w, kind, o, "Timeline", a.describe(bars, part), width, height, linked)
}

// axis maps times to pixels.
type axis struct {
	start time.Time
	now   time.Time
	span  time.Duration // from left to right, 1 ms to 100 years
	left  int
	right int
	// narrow means that horizontal positions are thousandths of the page's width.
	narrow bool
}

func (a axis) rowHeight() int {
	if a.narrow {
		return narrowRow
	}
	return rowHeight
}

func (a axis) textLeft() int {
	if a.narrow {
		return 0
	}
	return 4
}

// at formats a position or a width as an attribute.
func (a axis) at(x int) string {
	if a.narrow {
		return fmt.Sprintf("%d.%d%%", x/10, x%10)
	}
	return strconv.Itoa(x)
}

func newAxis(bars []Bar, o Options, width int) axis {
	a := axis{start: o.Start, now: o.Now, left: labelWidth, right: width - chartMargin}
	if o.Narrow {
		a.left, a.right, a.narrow = narrowMargin, narrowUnits-narrowMargin, true
	}
	var latest time.Time
	for _, b := range bars {
		if b.Start.IsZero() {
			continue
		}
		if o.Start.IsZero() && (a.start.IsZero() || b.Start.Before(a.start)) {
			a.start = b.Start
		}
		latest = later(latest, later(b.Start, b.End))
	}
	if a.now.IsZero() {
		a.now = latest
	}
	if a.start.IsZero() {
		a.start = a.now
	}
	end := later(latest, a.start)
	deadline := end
	for _, b := range bars {
		if b.runs() {
			end = later(end, a.now)
			deadline = later(deadline, b.Deadline)
		}
	}
	elapsed := end.Sub(a.start)
	if deadline.After(end) {
		end = end.Add(min(deadline.Sub(end), elapsed))
	}
	a.span = min(max(end.Sub(a.start), time.Millisecond), 36525*day)
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// x returns the position of t, limited to the axis.
func (a axis) x(t time.Time) int {
	d := min(max(t.Sub(a.start), 0), a.span)
	// Integer arithmetic in fractions of the span, so that a year does not overflow and every machine rounds alike.
	const parts = 1 << 20
	unit := max(a.span/parts, 1)
	return a.left + int(int64(d/unit)*int64(a.right-a.left)/int64(max(a.span/unit, 1)))
}

func (a axis) draw(c *canvas, bottom int) {
	most := maxTicks
	if a.narrow {
		most = narrowTicks
	}
	step := tickStep(a.span, most)
	for d := time.Duration(0); d <= a.span; d += step {
		x := a.x(a.start.Add(d))
		c.printf(`<line class="tick" x1="%s" y1="%d" x2="%s" y2="%d" stroke="currentColor" stroke-opacity="0.2"/>`,
			a.at(x), axisHeight-6, a.at(x), bottom)
		anchor := "middle"
		switch edge := (a.right - a.left) / 24; { // otherwise the picture's edge would cut it off
		case a.right-x < 24, a.narrow && a.right-x < edge:
			anchor = "end"
		case a.narrow && d == 0:
			anchor = "start"
		}
		c.printf(`<text class="axis" x="%s" y="%d" text-anchor="%s">%s</text>`+"\n", a.at(x), axisHeight-12, anchor, tickLabel(d))
	}
	if now := a.now.Sub(a.start); now > 0 && now <= a.span {
		x := a.x(a.now)
		c.printf(`<line class="now" x1="%s" y1="%d" x2="%s" y2="%d" stroke="currentColor" stroke-dasharray="2 2"/>`+"\n",
			a.at(x), axisHeight-6, a.at(x), bottom)
	}
}

// row draws b with its upper edge at y.
func (a axis) row(c *canvas, b Bar, y int) {
	times := a.times(b)
	c.printf(`<g class="row is-%s">`, b.State.known())
	end := c.link(b.Link)
	c.printf("<title>%s</title>", escaped(strings.Join([]string{b.Name, b.Status, times, retries(b)}, " · ")))
	name, width, top := labelWidth-16, labelWidth-16, y+(rowHeight-barHeight)/2
	if a.narrow {
		name, width, top = narrowName, narrowText, y+38
	}
	c.text("name", a.textLeft(), y+16, b.Name, name)
	status := times
	if b.Status != "" { // truncated before the times
		room := width/charWidth - columnsOf(" · "+times)
		status = cut(b.Status, max(room, 8)) + " · " + times
	}
	c.text("status", a.textLeft(), y+32, status, width)
	c.printf("%s", end)
	switch {
	case b.Start.IsZero():
		c.printf(`<line class="wait" x1="%s" y1="%d" x2="%s" y2="%d" stroke="currentColor" stroke-opacity="0.5" stroke-dasharray="1 5"/>`,
			a.at(a.left), top+barHeight/2, a.at(a.x(a.now)), top+barHeight/2)
	default:
		a.bar(c, b, top)
	}
	c.printf("</g>\n")
}

func (a axis) bar(c *canvas, b Bar, top int) {
	until := b.End
	if b.runs() {
		until = a.now
	}
	x, right := a.x(b.Start), a.x(until)
	right = max(right, x+a.least()) // so that a step of no duration is visible
	c.printf(`<rect class="bar" x="%s" y="%d" width="%s" height="%d" rx="3" fill-opacity="0.6"/>`, a.at(x), top, a.at(right-x), barHeight)
	if b.runs() && b.Deadline.After(a.now) {
		class := "ghost"
		if b.Deadline.Sub(a.start) > a.span {
			class = "ghost cut"
		}
		c.printf(`<rect class="%s" x="%s" y="%d" width="%s" height="%d" rx="3" fill-opacity="0.1" stroke="currentColor"`+
			` stroke-dasharray="3 3"/>`, class, a.at(right), top, a.at(max(a.x(b.Deadline)-right, 0)), barHeight)
	}
	for _, t := range b.Retries[:min(len(b.Retries), maxRetries)] {
		x := a.x(t)
		if a.narrow { // SVG paths do not support percentages
			c.printf(`<circle class="retry" cx="%s" cy="%d" r="4"><title>tried again after %s</title></circle>`,
				a.at(x), top+barHeight/2, span(t.Sub(b.Start)))
			continue
		}
		c.printf(`<path class="retry" d="M%d %dl4 6l-4 6l-4 -6z"><title>tried again after %s</title></path>`,
			x, top+2, span(t.Sub(b.Start)))
	}
}

// least returns the width of the smallest bar.
func (a axis) least() int {
	if a.narrow {
		return 6
	}
	return 2
}

// times returns the duration of b, or its elapsed and remaining time.
func (a axis) times(b Bar) string {
	switch {
	case b.ended():
		return span(b.End.Sub(b.Start))
	case !b.runs():
		return "waits"
	case b.Deadline.IsZero():
		return span(a.now.Sub(b.Start))
	case b.Deadline.After(a.now):
		return span(a.now.Sub(b.Start)) + " · " + span(b.Deadline.Sub(a.now)) + " left"
	}
	return span(a.now.Sub(b.Start)) + " · no time left"
}

// retries returns the number of retries as a text.
func retries(b Bar) string {
	if len(b.Retries) == 1 {
		return "1 retry"
	}
	return grouped(len(b.Retries)) + " retries"
}

// describe summarizes the picture in a sentence or two.
func (a axis) describe(bars []Bar, part string) string {
	counts := map[State]int{}
	for _, b := range bars {
		counts[b.State.known()]++
	}
	var said []string
	for _, s := range []State{Failed, Running, Waiting, Stopped, Done} {
		if counts[s] > 0 {
			said = append(said, fmt.Sprintf("%s %s", grouped(counts[s]), s))
		}
	}
	text := counted(len(bars), "step")
	if len(said) > 0 {
		text += ": " + strings.Join(said, ", ")
	}
	if !a.now.IsZero() {
		text += fmt.Sprintf("; %s since the beginning", span(a.now.Sub(a.start)))
	}
	return strings.TrimSpace(text + ". " + part)
}
