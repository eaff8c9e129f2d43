package store

import (
	"sync"

	"github.com/pintle-dev/pintle/wire"
)

// maxWhereabouts is the number of requests in each of the two generations of the cache.
const maxWhereabouts = 1 << 14

// Whereabouts caches the stacks of recently used requests, which never change. Its methods are safe for concurrent use.
type Whereabouts struct {
	mu         sync.Mutex
	young, old map[wire.RequestID]StackKey
}

// NewWhereabouts returns an empty cache.
func NewWhereabouts() *Whereabouts {
	return &Whereabouts{young: make(map[wire.RequestID]StackKey)}
}

// Get returns the stack of a request, and whether it is cached.
func (w *Whereabouts) Get(id wire.RequestID) (StackKey, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, ok := w.young[id]
	if !ok {
		key, ok = w.old[id]
	}
	return key, ok
}

// Clear empties the cache.
func (w *Whereabouts) Clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.young, w.old = make(map[wire.RequestID]StackKey), nil
}

// Put caches the stack of a request.
func (w *Whereabouts) Put(id wire.RequestID, key StackKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.young) >= maxWhereabouts {
		w.old, w.young = w.young, make(map[wire.RequestID]StackKey)
	}
	w.young[id] = key
}
