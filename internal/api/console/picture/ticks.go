package picture

import (
	"fmt"
	"time"
)

// day is always 24 hours: an axis counts from its start and ignores the calendar.
const day = 24 * time.Hour

// tickSteps are the readable intervals between ticks, ascending.
var tickSteps = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 5 * day,
}

// tickStep returns the smallest interval with at most most ticks on an axis of that span, not counting the first.
func tickStep(span time.Duration, most int) time.Duration {
	for _, step := range tickSteps {
		if span/step <= time.Duration(most) {
			return step
		}
	}
	step := 10 * day
	for span/step > time.Duration(most) {
		step *= 2
	}
	return step
}

// tickLabel formats d without units that are zero: 0, 500 ms, 30 s, 1 min 30 s, 2 h.
func tickLabel(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	if d < time.Second {
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
	if d < 10*time.Second && d%time.Second != 0 {
		return fmt.Sprintf("%d.%d s", d/time.Second, d%time.Second/(100*time.Millisecond))
	}
	return span(d)
}

// span formats a duration in its two largest units. A negative duration counts as 0, because clocks differ.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < 10*time.Second && d%time.Second >= 100*time.Millisecond:
		return fmt.Sprintf("%d.%d s", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return pair(int(d/time.Minute), "min", int(d%time.Minute/time.Second), "s")
	case d < day:
		return pair(int(d/time.Hour), "h", int(d%time.Hour/time.Minute), "min")
	}
	return pair(int(d/day), "d", int(d%day/time.Hour), "h")
}

func pair(n int, unit string, rest int, small string) string {
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, small)
}
