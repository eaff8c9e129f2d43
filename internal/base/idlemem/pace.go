package idlemem

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// roomy is the heap, in bytes, up to which a collection may wait for more garbage than the runtime would let it.
	roomy = 96 << 20
	// most is how much garbage there may be at most, in percent of what lives, and usual what the runtime is content with.
	most, usual = 200, 100
)

// Pace has the collector of garbage run less often while little lives: what a collection costs depends on what lives, and how
// often it runs on what is free to grow. It does so until stop is called. Where the environment sets GOGC it does nothing. One
// call at a time may be in force in a process.
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

// sentinel is garbage from the start: a collection that finds it tells that there was one.
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

// set changes the percentage if that is worth it: it stops the world for a moment.
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

// percent returns how much garbage there may be where so many bytes live.
func percent(live uint64) int {
	if live == 0 {
		return most
	}
	room := int64(roomy) - int64(live)
	return int(min(max(100*room/int64(live), usual), most))
}
