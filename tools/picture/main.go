// Picture draws what a command printed as an SVG of a terminal, for the README:
//
//	command 2>&1 | go run ./picture '$ command' > picture.svg
//
// Every argument is a line to show before what stands on standard input.
package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"os"
	"strings"
)

const (
	lineHeight = 19
	charWidth  = 8.1
	margin     = 18
	maxColumns = 118
)

func main() {
	if err := draw(os.Stdout, os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(w io.Writer, head []string, r io.Reader) error {
	lines := head
	scanner := bufio.NewScanner(r)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	if err := scanner.Err(); err != nil {
		return err
	}
	columns := 60
	for i, line := range lines {
		if n := len([]rune(line)); n > maxColumns {
			lines[i] = string([]rune(line)[:maxColumns-1]) + "…"
		}
		columns = max(columns, len([]rune(lines[i])))
	}
	width, height := float64(columns)*charWidth+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="A terminal">
<rect width="100%%" height="100%%" rx="8" fill="#16181d"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13.5" fill="#d7dae0">
`, width, height, width, height)
	for i, line := range lines {
		fmt.Fprintf(w, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n",
			margin, margin+14+i*lineHeight, colour(line), strings.ReplaceAll(html.EscapeString(line), " ", "\u00a0"))
	}
	_, err := fmt.Fprintln(w, "</g>\n</svg>")
	return err
}

// colour tells good from bad at a glance, as the terminal does.
func colour(line string) string {
	switch {
	case strings.HasPrefix(line, "$ "):
		return "#ffffff"
	case strings.Contains(line, "_FAILED") || strings.Contains(line, "ROLLBACK"):
		return "#ff7b72"
	case strings.Contains(line, "_COMPLETE"):
		return "#7ee787"
	case strings.Contains(line, "_IN_PROGRESS"):
		return "#79c0ff"
	}
	return "#d7dae0"
}
