package main

import (
	"os"

	"golang.org/x/term"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

// terminal describes the terminal that a file is; nil if it is none, or one that cannot move its cursor.
func terminal(file *os.File) *display.Screen {
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
