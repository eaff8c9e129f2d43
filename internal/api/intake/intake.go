// Package intake bounds and reads the bodies of requests before their sender is known.
//
// A signature often covers the hash of the body, so a server has to read the body before it knows whether the caller may send one. This
// package limits what that costs. A short body stays in memory, and the rest of a longer one goes to a temporary file without a name. All
// bodies that are not released yet share one budget. When the budget is used up, the longest body among them makes way for a shorter one, so
// callers with small requests are served while others send large ones.
package intake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// Defaults of [Config].
const (
	DefaultTotal  = 256 << 20 // bytes
	DefaultMemory = 32 << 10  // bytes
)

// patience is how long a body waits for the one that makes way for it.
const patience = 2 * time.Second

// Errors of [Bodies.Read].
var (
	// ErrTooLong reports a body that is longer than the limit.
	ErrTooLong = errors.New("the body is too long")
	// ErrBusy reports a body that had to make way for others.
	ErrBusy = errors.New("the server is busy with other large requests")
)

// Config configures [Bodies]. Zero fields mean the defaults.
type Config struct {
	// Total limits the bytes of all bodies that are not released, in memory and in files.
	Total int64
	// Memory is how many bytes of one body stay in memory.
	Memory int
	// Dir is the directory of temporary files, which must exist. Empty means [os.TempDir].
	Dir string
}

// Bodies reads bodies within one budget. It is safe for concurrent use. Make one with [New].
type Bodies struct {
	config  Config
	workers chan struct{}

	mu      sync.Mutex
	held    int64
	reading map[*Body]struct{}
	freed   chan struct{} // closed and replaced whenever bytes are given back
}

// New returns bodies with an empty budget.
func New(config Config) *Bodies {
	config.Total = cmp.Or(config.Total, DefaultTotal)
	config.Memory = cmp.Or(config.Memory, DefaultMemory)
	return &Bodies{
		config: config, workers: make(chan struct{}, runtime.GOMAXPROCS(0)),
		reading: map[*Body]struct{}{}, freed: make(chan struct{}),
	}
}

type abortKey struct{}

// WithAbort returns a context for requests of one connection. [Bodies] calls abort when a body of such a request has to make way for others:
// a read from that connection must then return soon. Without it, a body makes way at its next read only.
func WithAbort(ctx context.Context, abort func()) context.Context {
	return context.WithValue(ctx, abortKey{}, abort)
}

// Read reads the body of r, which has at most limit bytes, and replaces it by what it has read. The caller closes r.Body when the request
// is served, and calls [Body.Release] when it knows the sender. The error is [ErrTooLong], [ErrBusy] or that of the connection; r.Body is
// then unchanged.
func (b *Bodies) Read(r *http.Request, limit int64) (*Body, error) {
	abort, _ := r.Context().Value(abortKey{}).(func())
	return b.read(r, limit, &Body{of: b, abort: abort, declared: r.ContentLength})
}

// ReadKnown is [Bodies.Read] of a body whose sender is known, which does not count towards the budget.
func (b *Bodies) ReadKnown(r *http.Request, limit int64) (*Body, error) {
	return b.read(r, limit, &Body{of: b, known: true})
}

func (b *Bodies) read(r *http.Request, limit int64, body *Body) (*Body, error) {
	if r.Body == nil || r.Body == http.NoBody {
		body.sum = sha256.Sum256(nil)
		return body, nil
	}
	if r.ContentLength > limit {
		return nil, ErrTooLong
	}
	b.mu.Lock()
	b.reading[body] = struct{}{}
	b.mu.Unlock()
	err := body.fill(r.Body, limit)
	b.mu.Lock()
	delete(b.reading, body)
	if body.cut {
		err = ErrBusy
	}
	b.mu.Unlock()
	if err != nil {
		_ = body.Close() // of a temporary file that nothing was kept in
		return nil, err
	}
	r.Body = body
	return body, nil
}

// Limit runs f while few others run: as many as there are processors. It is for work that needs memory in proportion to a body before its
// sender is known. f must not wait for the network.
func (b *Bodies) Limit(f func()) {
	b.workers <- struct{}{}
	defer func() { <-b.workers }()
	f()
}

// reserve counts n more bytes of a body, after the longest body has made way if that is necessary.
func (b *Bodies) reserve(body *Body, n int64) error {
	if body.known {
		return nil
	}
	var late <-chan time.Time // once the body has to wait
	for {
		b.mu.Lock()
		if body.cut {
			b.mu.Unlock()
			return ErrBusy
		}
		if b.held+n <= b.config.Total {
			b.held += n
			body.held += n
			b.mu.Unlock()
			return nil
		}
		if !b.makeWay(body, n) {
			b.mu.Unlock()
			return ErrBusy
		}
		freed := b.freed
		b.mu.Unlock()
		if late == nil {
			late = time.After(patience)
		}
		select {
		case <-freed:
		case <-late:
			return ErrBusy
		}
	}
}

// makeWay cuts off the longest bodies until the bytes that they give back suffice for n more bytes of the next one. It returns false if they
// don't suffice: a body makes way only for one that is shorter.
func (b *Bodies) makeWay(next *Body, n int64) bool {
	leaving := int64(0)
	for body := range b.reading {
		if body.cut {
			leaving += body.held
		}
	}
	for b.held-leaving+n > b.config.Total {
		var longest *Body
		for body := range b.reading {
			if !body.cut && body != next && (longest == nil || body.held > longest.held) {
				longest = body
			}
		}
		if longest == nil || longest.held <= max(next.held+n, next.declared) {
			return false
		}
		longest.cut = true
		leaving += longest.held
		if longest.abort != nil {
			longest.abort()
		}
	}
	return true
}

// release gives back what a body holds of the budget.
func (b *Bodies) release(body *Body) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if body.held == 0 {
		return
	}
	b.held -= body.held
	body.held = 0
	close(b.freed)
	b.freed = make(chan struct{})
}
