package display

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Lines shows events as plain lines, one each.
type Lines struct {
	out  io.Writer
	zone *time.Location
	// Dated puts the date in front of the time.
	Dated bool
	// Heartbeat is the interval between lines about pending requests. Zero prints none.
	Heartbeat time.Duration

	beat     time.Time // the next one is due; zero before the first tick
	logical  int
	progress map[string]string // the last progress text by logical ID, without digits
}

// Minimum and maximum widths of the columns that grow with their contents.
const (
	leastLogical = 16
	mostLogical  = 40
	statusWidth  = 20 // ROLLBACK_IN_PROGRESS
)

// NewLines returns a watcher that writes lines to out, with times in zone.
func NewLines(out io.Writer, zone *time.Location) *Lines {
	return &Lines{out: out, zone: zone, logical: leastLogical, progress: map[string]string{}}
}

// Events implements [Watcher].
func (l *Lines) Events(events []Event) {
	for _, e := range events {
		l.logical = min(max(l.logical, width(Clean(e.Logical))), mostLogical)
	}
	for _, e := range events {
		delete(l.progress, e.Logical)
		note := firstLine(e.Reason)
		if note == "" && !e.Own && !inProgress(e.Status) {
			note = Clean(e.Physical)
		}
		l.line(e.Time, e.Logical, Clean(e.Status), note)
	}
}

// Tick implements [Watcher]. It prints one line for each reason that holds a resource up, and prints each reason only
// once.
func (l *Lines) Tick(now time.Time, waiting []Waiting) {
	for _, w := range waiting {
		said := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, w.Progress)
		if said == "" || l.progress[w.Logical] == said {
			continue
		}
		l.progress[w.Logical] = said
		text := w.Progress
		if w.Silent {
			text = strings.TrimSuffix(text+"; "+w.failsIn(), "; ") + w.advice()
		}
		l.line(now, w.Logical, "…", Clean(text))
	}
	l.heartbeat(now, waiting)
}

const (
	// mostBeats is how many requests one heartbeat names.
	mostBeats = 5
	// advisedAfter is the age of a request from which its heartbeat shows a remedy.
	advisedAfter = time.Minute
	// beatSlack is how much shorter that may be, since a request begins a moment after the first heartbeat is set.
	beatSlack = 5 * time.Second
)

// heartbeat prints the pending requests when the interval has passed.
func (l *Lines) heartbeat(now time.Time, waiting []Waiting) {
	if l.Heartbeat <= 0 {
		return
	}
	if l.beat.IsZero() {
		l.beat = now.Add(l.Heartbeat)
	}
	if now.Before(l.beat) {
		return
	}
	l.beat = now.Add(l.Heartbeat)
	said, more := 0, 0
	for _, w := range waiting {
		if w.Since.IsZero() {
			continue
		}
		if said == mostBeats {
			more++
			continue
		}
		said++
		l.line(now, w.Logical, "…", Clean(w.beat(now)))
	}
	if more > 0 {
		l.line(now, "", "…", fmt.Sprintf("and %d more pending", more))
	}
}

// beat returns the heartbeat line of a request.
func (w Waiting) beat(now time.Time) string {
	waited := now.Sub(w.Since)
	what := w.Type
	if w.Provider != "" {
		what += ", " + w.Provider
	}
	text := fmt.Sprintf("waiting for %s (%s): %s", w.Logical, what, Span(waited))
	if w.Left >= 0 {
		text += ", " + w.failsIn()
	}
	if w.Progress != "" {
		text += "; " + w.Progress
	}
	if waited >= advisedAfter-beatSlack {
		text += w.advice()
	}
	return text
}

// advice returns the remedy for a request without an answer, with a lead, or "".
func (w Waiting) advice() string {
	if w.Answer == "" {
		return ""
	}
	return "; answer by hand: " + w.Answer
}

// End implements [Watcher].
func (l *Lines) End() {}

func (l *Lines) line(at time.Time, logical, status, note string) {
	layout := "15:04:05"
	if l.Dated {
		layout = "2006-01-02 15:04:05"
	}
	line := at.In(l.zone).Format(layout) + "  " + pad(clip(Clean(logical), mostLogical), l.logical) + "  " +
		pad(status, statusWidth) + "  " + note
	fmt.Fprintln(l.out, strings.TrimRight(line, " "))
}
