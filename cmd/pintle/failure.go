package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/internal/base/suggest"
)

// The exit codes.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitIncomplete = 3 // of check: nothing was found, but a scenario that was asked for could not run
)

// failure is an error as a command ends with it.
type failure struct {
	code  int
	err   error
	hints []string
	// detail explains the failure of an operation; nil for other errors.
	detail *failureDocument
}

// Error returns the error's text.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func usageError(err error, hints ...string) *failure {
	return &failure{code: exitUsage, err: err, hints: hints}
}

func usagef(hint, format string, args ...any) *failure {
	return usageError(fmt.Errorf(format, args...), hint)
}

func failed(err error, hints ...string) *failure {
	return &failure{code: exitFailed, err: err, hints: hints}
}

// readable shortens an error of the SDK for people.
func readable(err error) error {
	if apiErr, ok := errors.AsType[*awscall.Error](err); ok {
		return fmt.Errorf("%s (%s)", apiErr.Message, apiErr.Code)
	}
	if broken, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("cannot reach the engine: %w", broken)
	}
	return err
}

// print writes the error, its explanation and its remedy.
func (f *failure) print(w io.Writer) {
	text := display.CleanLines(f.err.Error())
	fmt.Fprintf(w, "error: %s\n", strings.ReplaceAll(text, "\n", "\n       "))
	if f.detail != nil {
		f.detail.print(w)
	}
	for _, hint := range f.hints {
		if hint != "" {
			fmt.Fprintf(w, "hint:  %s\n", strings.ReplaceAll(display.CleanLines(hint), "\n", "\n       "))
		}
	}
}

// didYouMean returns the hint that names the known name nearest to an unknown one; empty if none is near.
func didYouMean(name string, known []string) string {
	if near := suggest.Name(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
