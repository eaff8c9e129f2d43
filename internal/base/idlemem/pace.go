package idlemem

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// roomy is the heap size, in bytes, up to which garbage may grow beyond the runtime's default.
	roomy = 96 << 20
	// most is the maximum GC percentage, and usual the runtime's default.
	most, usual = 200, 100
)

// Pace reduces the frequency of garbage collection while the live heap is small. The cost of a collection depends on
// the live heap, and the frequency on how far the heap may grow. Pace works until stop is called. It does nothing if
// the environment sets GOGC. Only one call may be active in a process.
func Pace() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	p := &pace{percent: usual}
	p.collected()
	return p.stop
}

type pace struct {
	mu      sync.Mutex
	stopped bool
	percent int
}

// sentinel is an unreachable object whose collection signals a garbage collection.
type sentinel struct{ pace *pace }

// collected is called after each collection.
func (p *pace) collected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		p.set(percent(live[0].Value.Uint64()))
	}
	runtime.SetFinalizer(&sentinel{p}, func(s *sentinel) { s.pace.collected() })
}

// set changes the percentage if the difference is worth it, because a change stops the world briefly.
func (p *pace) set(percent int) {
	if 4*max(percent, p.percent) < 5*min(percent, p.percent) && percent != usual || percent == p.percent {
		return
	}
	p.percent = percent
	debug.SetGCPercent(percent)
}

func (p *pace) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	debug.SetGCPercent(usual)
}

// percent returns the GC percentage for a live heap, in bytes.
func percent(live uint64) int {
	if live == 0 {
		return most
	}
	room := int64(roomy) - int64(live)
	return int(min(max(100*room/int64(live), usual), most))
}
