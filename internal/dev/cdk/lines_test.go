package cdk_test

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// lineTimes records the lines that a command prints and their times. Use one value for both streams of a command, and
// read it after Run.
type lineTimes struct {
	lines   []string
	times   []time.Time
	partial []byte
}

// Write implements [io.Writer].
func (l *lineTimes) Write(p []byte) (int, error) {
	now := time.Now()
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.lines, l.times = append(l.lines, string(line)), append(l.times, now)
		l.partial = bytes.Clone(rest)
	}
}

// after returns the index of the first line from an index on that has a prefix.
func (l *lineTimes) after(prefix string, from int) (int, bool) {
	at := slices.IndexFunc(l.lines[min(from, len(l.lines)):], func(line string) bool {
		return strings.HasPrefix(line, prefix)
	})
	return from + at, at >= 0
}

// String implements [fmt.Stringer].
func (l *lineTimes) String() string { return strings.Join(l.lines, "\n") }
