package main

import (
	"fmt"
	"slices"
	"strings"
)

// The marks of a generated block are comments on lines of their own, so that pages do not show them.
const (
	blockBegins = "<!-- bench:"
	blockEnds   = "<!-- /bench:"
	markEnds    = " -->"
)

// block is the text between the marks with its name.
type block struct{ name, text string }

// fill returns the page with the text of every block between its marks. Every block needs marks, and all marks need a
// block.
func fill(page string, blocks []block) (string, error) {
	var filled []string
	var open string // the block whose old text is being skipped
	var seen []string
	for line := range strings.Lines(page) {
		text := strings.TrimRight(line, "\r\n")
		if name, ok := mark(text, blockBegins); ok {
			i := slices.IndexFunc(blocks, func(b block) bool { return b.name == name })
			switch {
			case open != "":
				return "", fmt.Errorf("the block %s begins inside of %s", name, open)
			case i < 0:
				return "", fmt.Errorf("nothing makes the block %s", name)
			case slices.Contains(seen, name):
				return "", fmt.Errorf("the block %s is there twice", name)
			}
			filled = append(filled, line, "\n", strings.TrimSpace(blocks[i].text), "\n\n")
			open, seen = name, append(seen, name)
			continue
		}
		if name, ok := mark(text, blockEnds); ok {
			if name != open {
				return "", fmt.Errorf("the block %s ends and has not begun", name)
			}
			open = ""
		}
		if open == "" {
			filled = append(filled, line)
		}
	}
	if open != "" {
		return "", fmt.Errorf("the block %s does not end", open)
	}
	for _, b := range blocks {
		if !slices.Contains(seen, b.name) {
			return "", fmt.Errorf("the page has no place for the block %s: add the lines %s%s%s and %s%s%s", b.name,
				blockBegins, b.name, markEnds, blockEnds, b.name, markEnds)
		}
	}
	return strings.Join(filled, ""), nil
}

func mark(line, begins string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(line, begins)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, markEnds)
}

// table is a Markdown table.
type table struct {
	head []string
	rows [][]string
}

func (t table) String() string {
	var text strings.Builder
	write := func(cells []string) {
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(cell, "|", `\|`), "\n", " ")
		}
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	write(slices.Clone(t.head))
	text.WriteString("|" + strings.Repeat("---|", len(t.head)) + "\n")
	for _, row := range t.rows {
		write(slices.Clone(row))
	}
	return text.String()
}
