package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// terminal is the standard streams of the process. Commands print their results, notices and documents on it.
type terminal struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// screen describes the terminal that stdout is; nil if it is none.
	screen *display.Screen
}

// say writes a notice for people, which is not a part of the command's output.
func (t *terminal) say(format string, args ...any) {
	fmt.Fprintln(t.stderr, display.Clean(fmt.Sprintf(format, args...)))
}

// document writes the one JSON document of -o json.
func (t *terminal) document(document any) error {
	enc := json.NewEncoder(t.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(document)
}

// width returns the number of columns that help texts may have.
func (t *terminal) width() int {
	if t.screen == nil {
		return pipeWidth
	}
	columns, _ := t.screen.Size()
	return max(columns, narrowWidth)
}

// screenOf describes the terminal that a file is; nil if it is none, or one that cannot move its cursor.
func screenOf(file *os.File) *display.Screen {
	fd := int(file.Fd())
	if kind := os.Getenv("TERM"); kind == "dumb" || kind == "" || !term.IsTerminal(fd) {
		return nil
	}
	return &display.Screen{
		Colour: os.Getenv("NO_COLOR") == "",
		Size: func() (columns, rows int) {
			columns, rows, err := term.GetSize(fd)
			if err != nil || columns <= 0 || rows <= 0 {
				return 80, 24
			}
			return columns, rows
		},
	}
}
