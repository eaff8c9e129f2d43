//go:build unix

package main

import (
	"errors"
	"os/signal"
	"syscall"
)

// ignoreBackgroundReads lets the process continue in the background of its terminal ("pintle dev &"). By default the system stops a
// background process that reads its terminal.
func ignoreBackgroundReads() { signal.Ignore(syscall.SIGTTIN) }

// readInBackground reports whether a read of the terminal failed because the process runs in the background.
func readInBackground(err error) bool { return errors.Is(err, syscall.EIO) }
