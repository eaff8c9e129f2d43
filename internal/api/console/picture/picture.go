// Package picture draws operations and stacks as SVG.
//
// Both functions are pure: the same input gives the same bytes on every machine. Positions are whole numbers, and the
// current time is an input. The size of the output is limited, and the picture says if anything is omitted.
//
// # Style
//
// A picture has no colours of its own. Without a style sheet, it is legible in the colour of the surrounding text. Its
// classes are:
//
//	svg.picture.timeline, svg.picture.timeline.narrow, svg.picture.graph
//	g.row, g.node                 with one of is-waiting, is-running, is-done, is-failed, is-stopped; the chosen node is-chosen
//	.name .status                 texts of a row or a node; the status is always in words
//	.box                          the frame of a node
//	.bar .ghost .ghost.cut        a bar, and the time until its deadline, cut if it exceeds the picture
//	.wait                         the line of a row that has not begun
//	.retry                        a mark on a bar
//	.tick .axis .now              lines and texts of the time axis, and the line of the current time
//	.edge                         an arrow
//	.note                         remarks of the picture about itself
//
// # Accessibility
//
// The root has a title, and a description that summarizes the picture and its statuses. Its role is img, or group if
// the picture contains a link: screen readers ignore the content of an image.
package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// State is the state of a bar or a box, as far as its style is concerned. An unknown state looks like [Waiting].
type State string

// The states.
const (
	Waiting State = "waiting" // has not begun
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Stopped State = "stopped" // cancelled or skipped
)

func (s State) known() State {
	switch s {
	case Waiting, Running, Done, Failed, Stopped:
		return s
	}
	return Waiting
}

// Options configure the drawing. The zero value selects the defaults.
type Options struct {
	// ID is the id of the root element and the prefix of the ids within it. It must be unique on its page. Empty means
	// "timeline" or "graph". Characters other than letters, digits, - and _ become _.
	ID string
	// Title is the picture's name for screen readers. Empty means "Timeline" or "Dependencies".
	Title string

	// Now is the current time, where running bars end. Zero means the latest time of any drawn bar.
	Now time.Time
	// Start is where the time axis begins. Zero means the earliest start of a drawn bar. Pages of one timeline share
	// it.
	Start time.Time
	// Width is the width of a timeline in pixels, 480 to 4000. Zero means 960.
	Width int
	// Narrow draws a timeline as wide as its page, with the texts of a row above its bar. It fits windows of at least
	// 320 pixels.
	Narrow bool
	// Rows is the maximum number of rows of a timeline, 1 to 1000. Zero means 100.
	Rows int
	// Offset is the number of rows on previous pages, and Total the number of all rows. A page of a timeline shows its
	// range. A total of zero means the known number of rows.
	Offset, Total int

	// Chosen is the id of the selected node of a graph. It may be empty. The node is marked, and if the graph is too
	// large, its neighbourhood is drawn.
	Chosen string
	// Limit is the maximum number of drawn nodes, 1 to 300. Zero means 300.
	Limit int
}

// within returns n, or otherwise if n is zero, limited to the range from least to most.
func within(n, otherwise, least, most int) int {
	if n == 0 {
		n = otherwise
	}
	return min(max(n, least), most)
}

// Text sizes in pixels. The width of a character is the average of sans-serif fonts of that size; wide characters count
// twice.
const (
	fontSize  = 13
	charWidth = 7
)

// canvas builds a picture.
type canvas struct{ bytes.Buffer }

// printf adds markup. External texts must be escaped, see [escaped].
func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text adds s at x and y, truncated to width pixels.
func (c *canvas) text(class string, x, y int, s string, width int) {
	c.printf(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, escaped(cut(s, width/charWidth)))
}

// frame writes the root element with the description and the collected body. A width of zero means the width of the
// page.
func (c *canvas) frame(w io.Writer, kind string, o Options, title, desc string, width, height int, linked bool) error {
	if o.Title != "" {
		title = o.Title
	}
	role := "img"
	if linked {
		role = "group"
	}
	id := identifier(o.ID, strings.ReplaceAll(kind, " ", "-"))
	var head canvas
	head.printf(`<svg xmlns="http://www.w3.org/2000/svg" id="%s" class="picture %s" role="%s"`, id, kind, role)
	head.printf(` aria-labelledby="%s-title" aria-describedby="%s-desc"`, id, id)
	if width > 0 {
		head.printf(` viewBox="0 0 %d %d" width="%d" height="%d"`, width, height, width, height)
	} else {
		head.printf(` width="100%%" height="%d"`, height)
	}
	head.printf(` font-size="%d" fill="currentColor">`+"\n", fontSize)
	head.printf(`<title id="%s-title">%s</title>`+"\n", id, escaped(title))
	head.printf(`<desc id="%s-desc">%s</desc>`+"\n", id, escaped(desc))
	if _, err := head.WriteTo(w); err != nil {
		return err
	}
	c.printf("</svg>\n")
	_, err := c.WriteTo(w)
	return err
}

// link opens a link to target and returns the closing markup. Both are empty if target is not a link within the same
// server.
func (c *canvas) link(target string) (end string) {
	if !local(target) {
		return ""
	}
	c.printf(`<a href="%s">`, escaped(target))
	return "</a>"
}

// local reports whether target is a valid URL path on the same server. Links contain names from users.
func local(target string) bool {
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return false
	}
	u, err := url.Parse(target)
	return err == nil && target != "" && u.Scheme == "" && u.Host == "" && !strings.HasPrefix(target, "//")
}

// identifier converts s to a valid id, or returns fallback if s is empty.
func identifier(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
}

// escaped returns s escaped for texts and attributes. Characters that XML does not allow become U+FFFD.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder never fails
	return b.String()
}

// cut returns s, shortened to columns with an ellipsis in the middle, because generated names differ at their ends.
func cut(s string, columns int) string {
	if columnsOf(s) <= columns {
		return s
	}
	runes := []rune(s)
	head, tail := 0, len(runes)
	for room, front := columns-1, true; ; front = !front {
		next := tail - 1
		if front {
			next = head
		}
		if head >= tail || columnsOfRune(runes[next]) > room {
			return string(runes[:head]) + "…" + string(runes[tail:])
		}
		room -= columnsOfRune(runes[next])
		if front {
			head++
		} else {
			tail--
		}
	}
}

func columnsOf(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOfRune(r)
	}
	return n
}

// columnsOfRune returns 2 for wide characters (Hangul, and all from the CJK radicals on), else 1.
func columnsOfRune(r rune) int {
	if r >= 0x1100 && r <= 0x115f || r >= 0x2e80 {
		return 2
	}
	return 1
}

// counted returns a number with a noun: "1 step", "2 steps".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped formats n with commas: 10,000.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
