package rpc

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxNonces is the maximum number of nonces in one of the two generations.
const maxNonces = 1 << 16

// nonces holds used nonces, each at least until its call expires. Above the limit, the oldest are dropped.
type nonces struct {
	mu           sync.Mutex
	young, old   map[[sha256.Size]byte]struct{}
	until, ended time.Time // when the last nonce of young, and of old, expires
}

// use reports whether a nonce is new, and remembers it until a time.
func (n *nonces) use(nonce string, now, until time.Time) bool {
	key := sha256.Sum256([]byte(nonce))
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, used := n.young[key]; used {
		return false
	}
	if _, used := n.old[key]; used {
		return false
	}
	if len(n.young) >= maxNonces || len(n.young) > 0 && now.After(n.ended) {
		n.old, n.ended = n.young, n.until
		n.young, n.until = nil, time.Time{}
	}
	if n.young == nil {
		n.young = map[[sha256.Size]byte]struct{}{}
	}
	n.young[key] = struct{}{}
	if until.After(n.until) {
		n.until = until
	}
	return true
}
