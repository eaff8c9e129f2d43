// Package intake bounds and reads the bodies of requests before their sender is known.
//
// A signature often covers the hash of the body, so a server has to read the body before it can authenticate the
// caller. This package limits the cost. A short body stays in memory, and the rest of a longer one goes to an anonymous
// temporary file. All unreleased bodies share one budget. When the budget is used up, the longest body is aborted in
// favour of a shorter one. So callers with small requests are served while others send large ones.
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

// patience is how long a body waits for the abort of a longer one.
const patience = 2 * time.Second

// Errors of [Bodies.Read].
var (
	// ErrTooLong is the error of a body that exceeds the limit.
	ErrTooLong = errors.New("the body is too long")
	// ErrBusy is the error of a body that was aborted in favour of others.
	ErrBusy = errors.New("the server is busy with other large requests")
)

// Config configures [Bodies]. Zero fields mean the defaults.
type Config struct {
	// Total limits the bytes of all unreleased bodies, in memory and in files.
	Total int64
	// Memory is the maximum number of bytes of one body in memory.
	Memory int
	// Dir is the directory of temporary files. It must exist. Empty means [os.TempDir].
	Dir string
}

// Bodies reads bodies within one budget. It is safe for concurrent use. Make one with [New].
type Bodies struct {
	config  Config
	workers chan struct{}

	mu      sync.Mutex
	held    int64
	reading map[*Body]struct{}
	freed   chan struct{} // closed and replaced when bytes are freed
}

// New returns bodies with an unused budget.
func New(config Config) *Bodies {
	config.Total = cmp.Or(config.Total, DefaultTotal)
	config.Memory = cmp.Or(config.Memory, DefaultMemory)
	return &Bodies{
		config: config, workers: make(chan struct{}, runtime.GOMAXPROCS(0)),
		reading: map[*Body]struct{}{}, freed: make(chan struct{}),
	}
}

type abortKey struct{}

// WithAbort returns a context for the requests of one connection. [Bodies] calls abort to abort the body of such a
// request: a read from that connection must then return soon. Without it, a body is aborted only at its next read.
func WithAbort(ctx context.Context, abort func()) context.Context {
	return context.WithValue(ctx, abortKey{}, abort)
}

// Read reads the body of r, which may have at most limit bytes, and replaces it with the bytes that were read. The
// caller closes r.Body after the request, and calls [Body.Release] when it knows the sender. The error is [ErrTooLong],
// [ErrBusy] or that of the connection. In case of an error, r.Body is unchanged.
func (b *Bodies) Read(r *http.Request, limit int64) (*Body, error) {
	abort, _ := r.Context().Value(abortKey{}).(func())
	return b.read(r, limit, &Body{of: b, abort: abort, declared: r.ContentLength})
}

// ReadKnown is like [Bodies.Read] for a known sender. The body does not count towards the budget.
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
		_ = body.Close() // an empty temporary file
		return nil, err
	}
	r.Body = body
	return body, nil
}

// Limit runs f, with at most one concurrent call per processor. It is for work that needs memory in proportion to a
// body before the sender is known. f must not wait for the network.
func (b *Bodies) Limit(f func()) {
	b.workers <- struct{}{}
	defer func() { <-b.workers }()
	f()
}

// reserve reserves n more bytes for a body. If necessary, it aborts the longest body.
func (b *Bodies) reserve(body *Body, n int64) error {
	if body.known {
		return nil
	}
	var late <-chan time.Time // set once the body has to wait
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

// makeWay aborts the longest bodies until they free enough bytes for n more bytes of the next one. It returns false if
// that is impossible, because a body is aborted only for a shorter one.
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

// release returns a body's share of the budget.
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
