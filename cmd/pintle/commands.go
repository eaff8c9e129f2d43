package main

import (
	"bufio"
	"context"
	"os"
	"time"

	"golang.org/x/term"
)

// commandLines are the lines that a user types while a command runs.
type commandLines struct {
	// lines receives each line. No line follows the end of the input.
	lines <-chan string
	// terminal says that the lines come from a terminal, and so from a person.
	terminal bool
}

// maxCommandLine is how many bytes a typed line may have. Longer lines end the input.
const maxCommandLine = 64 << 10

// readCommands reads the standard input line by line. Its goroutine ends with the input or with ctx, or with the process: nothing can
// interrupt a read of a terminal.
func (a *changeCommands) readCommands(ctx context.Context) *commandLines {
	lines := make(chan string)
	c := &commandLines{lines: lines}
	if file, ok := a.stdin.(*os.File); ok {
		c.terminal = term.IsTerminal(int(file.Fd()))
	}
	if c.terminal {
		ignoreBackgroundReads()
	}
	go func() {
		for {
			scanner := bufio.NewScanner(a.stdin)
			scanner.Buffer(nil, maxCommandLine)
			for scanner.Scan() {
				select {
				case lines <- scanner.Text():
				case <-ctx.Done():
					return
				}
			}
			if !readInBackground(scanner.Err()) || pause(ctx, backgroundPause) != nil {
				return
			}
		}
	}()
	return c
}

// backgroundPause is how long a process waits before it tries again whether it runs in the foreground of its terminal.
const backgroundPause = time.Second
