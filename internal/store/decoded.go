package store

import (
	"slices"
	"sync"

	"github.com/pintle-dev/pintle/wire"
)

// maxDecodedBytes limits the encoded size of the bodies in each of the two generations of the cache.
const maxDecodedBytes = 1 << 20

// decoded caches recently decoded bodies by their encoded bytes. A body is read several times and seldom written, and
// decoding it costs more than reading it. The same bytes always decode to the same body, so the cache needs no
// invalidation.
type decoded struct {
	mu         sync.Mutex
	young, old map[string]any
	size       int // of young's keys
}

func newDecoded() *decoded { return &decoded{young: make(map[string]any)} }

// bodyKey returns the cache key of a body's bytes, or nil if rows of this kind are not cached. No plain part is empty
// or ends with a zero byte, so no two bodies have the same key.
func bodyKey(row Row, plain, values []byte) []byte {
	var kind byte
	switch row.(type) {
	case *RequestBody:
		kind = 'r'
	case *InstanceBody:
		kind = 'i'
	case *StepPlan:
		kind = 's'
	default:
		return nil
	}
	key := make([]byte, 0, 2+len(plain)+len(values))
	key = append(append(key, kind), plain...)
	return append(append(key, 0), values...)
}

// fill fills row from the cache, and reports whether it could. The row gets its own body; the slices and values in it
// are shared, as documented for [View].
func (d *decoded) fill(row Row, key []byte) bool {
	if d == nil || key == nil {
		return false
	}
	d.mu.Lock()
	found, ok := d.young[string(key)]
	if !ok {
		if found, ok = d.old[string(key)]; ok {
			d.put(key, found)
		}
	}
	d.mu.Unlock()
	if !ok {
		return false
	}
	switch row := row.(type) {
	case *RequestBody:
		*row = *found.(*RequestBody)
	case *InstanceBody:
		*row = *found.(*InstanceBody)
	case *StepPlan:
		*row = *found.(*StepPlan)
	}
	return true
}

// keep caches a decoded body. It clips the body's slices, so that an append allocates a new array.
func (d *decoded) keep(row Row, key []byte) {
	if d == nil || key == nil {
		return
	}
	var kept any
	switch row := row.(type) {
	case *RequestBody:
		body := *row
		kept = &body
	case *InstanceBody:
		row.clip()
		body := *row
		kept = &body
	case *StepPlan:
		row.clip()
		plan := *row
		kept = &plan
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.put(key, kept)
}

func (d *decoded) put(key []byte, kept any) {
	if d.size+len(key) > maxDecodedBytes {
		d.old, d.young, d.size = d.young, make(map[string]any), 0
	}
	if _, ok := d.young[string(key)]; !ok {
		d.size += len(key)
	}
	d.young[string(key)] = kept
}

func (d *decoded) forget() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.old, d.young, d.size = nil, make(map[string]any), 0
}

// The clip methods remove the spare capacity of a shared body's slices, so that an append allocates a new array.

func (b *InstanceBody) clip() { b.Signals = slices.Clip(b.Signals) }

func (p *StepPlan) clip() {
	for _, list := range []*[]wire.LogicalID{&p.OldNeeds, &p.NewNeeds, &p.OldFeeds, &p.NewFeeds} {
		*list = slices.Clip(*list)
	}
}
