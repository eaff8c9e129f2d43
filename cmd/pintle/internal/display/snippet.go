package display

import (
	"fmt"
	"strings"
)

// snippetColumns is how much of a line a snippet shows, around its mark.
const snippetColumns = 100

// Snippet shows a line of a file with its number, and below it a mark under length characters from column on, counted
// from 1. A column of 0 marks nothing. Text far from the mark is cut off.
func Snippet(number int, text string, column, length int) string {
	before, marked, after := []rune(text), []rune(nil), []rune(nil)
	if column > 0 && column <= len(before) {
		end := min(column-1+max(length, 1), len(before))
		before, marked, after = before[:column-1], before[column-1:end], before[end:]
	}
	head := ""
	left := plainLine(before)
	middle := plainLine(marked)
	right := plainLine(after)
	if marked == nil {
		left, right = "", left
	}
	if room := max(snippetColumns/2, snippetColumns-width(middle)-width(right)); width(left) > room {
		runes := []rune(left)
		for width(string(runes)) > room {
			runes = runes[1:]
		}
		head, left = "…", string(runes)
	}
	middle = clip(middle, snippetColumns/2)
	if room := snippetColumns - width(left) - width(middle); width(right) > room {
		right = clip(right, room)
	}
	gutter := fmt.Sprintf("%5d | ", number)
	lines := gutter + head + left + middle + right + "\n"
	if marked == nil {
		return lines
	}
	blank := strings.Repeat(" ", len(gutter)-2) + "| "
	return lines + blank + strings.Repeat(" ", width(head)+width(left)) + "^" + strings.Repeat("~", max(width(middle)-1, 0)) + "\n"
}

// tabColumns is the width of a tab.
const tabColumns = 4

// plainLine returns a printable form of a part of a line. A character that a terminal cannot show takes one column, so that it is
// visible.
func plainLine(part []rune) string {
	text := strings.ReplaceAll(string(part), "\t", strings.Repeat(" ", tabColumns))
	return strings.Map(func(r rune) rune {
		if Clean(string(r)) == "" && r != ' ' {
			return '·'
		}
		return r
	}, text)
}
