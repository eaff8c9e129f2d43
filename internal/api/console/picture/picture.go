// Package picture draws operations and stacks as SVG.
//
// Both are pure: the same input gives the same bytes, on every machine, because positions are whole numbers and the time of day
// comes in. What they draw is bounded whatever they are given, and the picture says so where something is left out.
//
// # Style
//
// A picture has no colours of its own. It is legible as it is, in the colour of the text around it, and classes are there for a
// style sheet:
//
//	svg.picture.timeline, svg.picture.timeline.narrow, svg.picture.graph
//	g.row, g.node                 with one of is-waiting, is-running, is-done, is-failed, is-stopped; the chosen node is-chosen
//	.name .status                 texts of a row or a node; the status is always in words
//	.box                          the frame of a node
//	.bar .ghost .ghost.cut        a bar, and the time that is left until its deadline, cut where it leaves the picture
//	.wait                         the line of a row that has not begun
//	.retry                        a mark on a bar
//	.tick .axis .now              lines and texts of the time axis, and the line of the present
//	.edge                         an arrow
//	.note                         what the picture says of itself
//
// # Readers
//
// The root has a title and a description that sums the picture up, statuses included. Its role is img, or group if something in
// it is a link: what is within an image is not there for readers of a screen.
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

// State is what a bar or a box is about, as far as its looks are concerned. Any other than those below looks like [Waiting].
type State string

// The states.
const (
	Waiting State = "waiting" // has not begun
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Stopped State = "stopped" // cancelled, or left out
)

func (s State) known() State {
	switch s {
	case Waiting, Running, Done, Failed, Stopped:
		return s
	}
	return Waiting
}

// Options say how to draw. The zero value is a picture of the defaults.
type Options struct {
	// ID is the id of the root element and the prefix of the ids within it. It must be unique on its page; empty
	// means "timeline" or "graph". Characters other than letters, digits, - and _ become _.
	ID string
	// Title is the picture's name for readers of a screen; empty is "Timeline" or "Dependencies".
	Title string

	// Now is the time of day, where bars that run end. Zero is the latest time of any bar drawn.
	Now time.Time
	// Start is where the time axis begins; zero is the earliest start of a bar drawn. Pages of one timeline share it.
	Start time.Time
	// Width is that of a timeline in pixels, 480 to 4000; zero is 960.
	Width int
	// Narrow draws a timeline as wide as its page, with the texts of a row above its bar: for windows of 320 pixels and more.
	Narrow bool
	// Rows is how many rows of a timeline are drawn at most, 1 to 1000; zero is 100.
	Rows int
	// Offset is how many rows come before the first of those given, and Total how many there are in all: pages of a timeline say
	// which they are. Zero as the total is the number of those known of.
	Offset, Total int

	// Chosen is the id of the node that a graph is about, empty for none. It is marked, and of a graph that is too large to be
	// drawn whole, what is nearest to it is drawn.
	Chosen string
	// Limit is how many nodes of a graph are drawn at most, 1 to 300; zero is 300.
	Limit int
}

// within returns n, or otherwise if n is zero, but no less than least and no more than most.
func within(n, otherwise, least, most int) int {
	if n == 0 {
		n = otherwise
	}
	return min(max(n, least), most)
}

// Sizes of texts in pixels. A character is taken to be as wide as most are in a plain face of that size; wide ones count twice.
const (
	fontSize  = 13
	charWidth = 7
)

// canvas collects a picture.
type canvas struct{ bytes.Buffer }

// printf adds markup. Texts from outside have to be escaped, see [escaped].
func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

// text adds s at x and y, cut to width pixels.
func (c *canvas) text(class string, x, y int, s string, width int) {
	c.printf(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, escaped(cut(s, width/charWidth)))
}

// frame writes the picture, with the root around what is collected: the description, then body. A width of zero is that of
// the page.
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

// link opens a link to target and returns what closes it, both nothing if target is not a link within the page's own server.
func (c *canvas) link(target string) (end string) {
	if !local(target) {
		return ""
	}
	c.printf(`<a href="%s">`, escaped(target))
	return "</a>"
}

// local reports whether target leads to a place of the same server, and is written as URLs are: links come from names that others
// chose.
func local(target string) bool {
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return false
	}
	u, err := url.Parse(target)
	return err == nil && target != "" && u.Scheme == "" && u.Host == "" && !strings.HasPrefix(target, "//")
}

// identifier makes s an id, or fallback one if s is empty.
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

// escaped returns s as it stands in markup, in a text or between quotes. What XML cannot say becomes U+FFFD.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}

// cut returns s, or if it is wider than columns what there is room for, with an ellipsis in the middle: names that are generated
// differ at their ends.
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

// columnsOfRune is 2 for scripts whose characters are wide: Hangul, and from the radicals of Chinese on; else 1.
func columnsOfRune(r rune) int {
	if r >= 0x1100 && r <= 0x115f || r >= 0x2e80 {
		return 2
	}
	return 1
}

// counted returns "1 step", "2 steps".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes n with commas: 10,000.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
