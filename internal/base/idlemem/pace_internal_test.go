package idlemem

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	for live, want := range map[uint64]int{
		0: most, 1: most, 10 << 20: most, 32 << 20: most, 40 << 20: 140, 48 << 20: usual, 96 << 20: usual, 1 << 40: usual,
	} {
		if got := percent(live); got != want {
			t.Errorf("with %d bytes alive: %d %%, want %d", live, got, want)
		}
	}
}

// TestPace allocates and releases a large live heap. The following collections adjust the percentage each time.
func TestPace(t *testing.T) {
	t.Setenv("GOGC", "")
	stop := Pace()
	for _, want := range []int{most, usual, most} {
		var lives []byte
		if want == usual {
			lives = make([]byte, roomy)
		}
		for set() != want {
			runtime.GC()
			runtime.Gosched() // finalizers run concurrently
		}
		runtime.KeepAlive(lives)
	}
	stop()
	runtime.GC()
	if got := set(); got != usual {
		t.Errorf("after the end it is %d %%, want %d", got, usual)
	}
}

func TestPaceLeavesGOGCAlone(t *testing.T) {
	t.Setenv("GOGC", "77")
	before := set()
	defer Pace()()
	if got := set(); got != before {
		t.Errorf("it is %d %%, want %d as before", got, before)
	}
}

// set returns the current percentage.
func set() int {
	percent := debug.SetGCPercent(usual)
	debug.SetGCPercent(percent)
	return percent
}
