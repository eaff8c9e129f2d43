package idlemem

import (
	"testing"
	"time"
)

// TestWatch simulates a day of a server. Times are processor time, and each line is a check.
func TestWatch(t *testing.T) {
	const busy = every / quiet
	var w watch
	var now time.Duration
	for i, look := range []struct {
		why  string
		uses time.Duration // since the last check
		cost time.Duration // of the Rest, if any
		want bool
	}{
		{"after the start", busy, 10 * time.Millisecond, true},
		{"no activity", 0, 0, false},
		{"hardly any activity", least, 0, false},
		{"little by little it is worth it", time.Millisecond, time.Millisecond, true},
		{"busy", busy + 1, 0, false},
		{"still busy", 10 * busy, 0, false},
		{"idle again", busy, time.Second, true},
		{"used less than a tenth since", 5 * time.Second, 0, false},
		{"nor is it now", 0, 0, false},
		{"now it is", 5 * time.Second, 0, false},
		{"and it is at rest", 1, time.Millisecond, true},
	} {
		now += look.uses
		if got := w.due(now); got != look.want {
			t.Errorf("look %d, %s: a Rest is due: %v, want %v", i, look.why, got, look.want)
		}
		if look.want {
			now += look.cost
			w.rested(now)
		}
	}
}
