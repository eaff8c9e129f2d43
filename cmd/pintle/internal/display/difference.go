package display

import (
	"fmt"
	"io"
	"strings"
)

// Sign is the change of a resource or of a value in it.
type Sign byte

// The signs.
const (
	Added   Sign = '+'
	Removed Sign = '-'
	Changed Sign = '~'
)

// Difference shows the changes of an operation: resources, and below each its changed values. On a screen that wants
// colours it is coloured.
type Difference struct {
	out    io.Writer
	colour bool
}

// NewDifference returns a difference that is written to out. screen is the terminal that out is, nil if it is none.
func NewDifference(out io.Writer, screen *Screen) *Difference {
	return &Difference{out: out, colour: screen != nil && screen.Colour}
}

// Resource begins a resource with its name and remarks. It omits empty words.
func (d *Difference) Resource(sign Sign, name string, words ...string) {
	d.line(2, sign, append([]string{d.paint(bold, Clean(name))}, cleaned(words)...))
}

// Value shows a value of the resource: its place, the old and the new value, and the reason, which may be empty. It omits a side
// that does not exist according to the sign.
func (d *Difference) Value(sign Sign, place, before, after, why string) {
	change := Clean(before) + " → " + Clean(after)
	switch sign {
	case Added:
		change = Clean(after)
	case Removed:
		change = Clean(before)
	case Changed:
	}
	words := []string{Clean(place) + ": " + change}
	if why = Clean(why); why != "" {
		words = append(words, d.paint(dim, "("+why+")"))
	}
	d.line(6, sign, words)
}

// Note says something about the resource.
func (d *Difference) Note(text string) { fmt.Fprintf(d.out, "      %s\n", d.paint(dim, Clean(text))) }

// Warn prints a warning about the resource.
func (d *Difference) Warn(text string) {
	fmt.Fprintf(d.out, "      %s\n", d.paint(red, "! "+Clean(text)))
}

func (d *Difference) line(indent int, sign Sign, words []string) {
	fmt.Fprintf(d.out, "%*s%s %s\n", indent, "", d.paint(sign.colour(), string(sign)), strings.Join(words, "  "))
}

func (s Sign) colour() string {
	switch s {
	case Added:
		return green
	case Removed:
		return red
	case Changed:
	}
	return yellow
}

func (d *Difference) paint(colour, text string) string {
	if !d.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func cleaned(words []string) []string {
	var list []string
	for _, word := range words {
		if word = Clean(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}
