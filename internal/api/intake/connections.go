package intake

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Connections limits the number of open connections without an authenticated request. A new connection is always
// accepted: above the limit, the oldest one is closed. So a caller with valid keys is served regardless of how many
// connections strangers hold open.
type Connections struct {
	limit   int // of all connections
	address int // of one address
	heading int // of connections with an incomplete header: thousands of fields use ten times more memory than bytes on the wire

	open sync.WaitGroup

	mu        sync.Mutex
	strangers map[net.Conn]*stranger
	headings  int                  // number of strangers with an incomplete header
	addresses map[netip.Prefix]int // number of strangers by address
}

// stranger is a connection without an authenticated request.
type stranger struct {
	conn    net.Conn
	address netip.Prefix
	since   time.Time
	pending time.Time // when the incomplete header began; zero once it is complete
}

func (s *stranger) heading() bool { return !s.pending.IsZero() }

// minPending is how long a header may be incomplete before its connection can be closed. In a burst of ordinary
// clients, no header is complete at first.
const minPending = time.Second

// NewConnections returns a limit of so many connections, half of them from one address.
func NewConnections(limit int) *Connections {
	return &Connections{
		limit: limit, address: max(1, limit/2), heading: max(1, limit/4),
		strangers: map[net.Conn]*stranger{}, addresses: map[netip.Prefix]int{},
	}
}

// State is the ConnState of an [http.Server]. It counts connections, because a server cannot wait for handlers that it
// has interrupted. A connection is new before its goroutine starts and closed when its goroutine ends.
func (c *Connections) State(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
		c.add(conn)
	case http.StateIdle:
		c.head(conn)
	case http.StateClosed, http.StateHijacked:
		c.remove(conn)
		c.open.Done()
	}
}

// Wait returns when all connections are closed.
func (c *Connections) Wait() { c.open.Wait() }

type connKey struct{}

// Context is the ConnContext of an [http.Server].
func (c *Connections) Context(ctx context.Context, conn net.Conn) context.Context {
	ctx = WithAbort(ctx, func() { abort(conn) })
	return context.WithValue(ctx, connKey{}, conn)
}

// Parsed reports that the header of a request with this context is complete.
func (c *Connections) Parsed(ctx context.Context) {
	conn, ok := ctx.Value(connKey{}).(net.Conn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.strangers[conn]; s != nil && s.heading() {
		s.pending = time.Time{}
		c.headings--
	}
}

// Verified reports that a request with this context was authenticated, so its connection does not count towards the
// limits any more.
func (c *Connections) Verified(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(net.Conn); ok {
		c.remove(conn)
	}
}

func (c *Connections) add(conn net.Conn) {
	now := time.Now() // the sockets use this clock
	c.evict(func() *stranger {
		s := &stranger{conn: conn, address: addressOf(conn), since: now, pending: now}
		c.strangers[conn] = s
		c.headings++
		c.addresses[s.address]++
		switch {
		case c.addresses[s.address] > c.address:
			return c.oldest(s.address, false)
		case len(c.strangers) > c.limit:
			return c.oldest(c.busiest(false), false)
		}
		return c.behind()
	})
}

// head records that the next request of a connection begins.
func (c *Connections) head(conn net.Conn) {
	c.evict(func() *stranger {
		s := c.strangers[conn]
		if s == nil {
			return nil
		}
		if !s.heading() {
			c.headings++
		}
		s.pending = time.Now()
		return c.behind()
	})
}

// evict closes the connection that choose returns, if any. It calls choose with the lock held.
func (c *Connections) evict(choose func() *stranger) {
	c.mu.Lock()
	leaves := choose()
	if leaves != nil {
		c.forget(leaves)
	}
	c.mu.Unlock()
	if leaves != nil {
		abort(leaves.conn)
	}
}

// behind returns the connection to close if too many have an incomplete header.
func (c *Connections) behind() *stranger {
	if c.headings <= c.heading { // fast path: every request of a stranger gets here
		return nil
	}
	address := c.busiest(true)
	if leaves := c.oldest(address, true); time.Since(leaves.pending) >= minPending {
		return leaves
	}
	return nil
}

func (c *Connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.strangers[conn]; s != nil {
		c.forget(s)
	}
}

func (c *Connections) forget(s *stranger) {
	delete(c.strangers, s.conn)
	if s.heading() {
		c.headings--
	}
	if c.addresses[s.address]--; c.addresses[s.address] == 0 {
		delete(c.addresses, s.address)
	}
}

// oldest returns the oldest stranger of an address. If heading is set, it returns the one whose header has been
// incomplete for longest.
func (c *Connections) oldest(address netip.Prefix, heading bool) (oldest *stranger) {
	age := func(s *stranger) time.Time {
		if heading {
			return s.pending
		}
		return s.since
	}
	for _, s := range c.strangers {
		if s.address == address && (s.heading() || !heading) && (oldest == nil || age(s).Before(age(oldest))) {
			oldest = s
		}
	}
	return oldest
}

// busiest returns the address with the most strangers. If heading is set, it counts only those with an incomplete
// header.
func (c *Connections) busiest(heading bool) (busiest netip.Prefix) {
	counts := map[netip.Prefix]int{}
	for _, s := range c.strangers {
		if s.heading() || !heading {
			counts[s.address]++
		}
	}
	most := 0
	for address, n := range counts {
		if n > most {
			busiest, most = address, n
		}
	}
	return busiest
}

// addressOf returns the address of a peer for counting. For IPv6 it is the /64 network, because one host may own a
// whole network.
func addressOf(conn net.Conn) netip.Prefix {
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{} // a socket without addresses
	}
	address := peer.Addr().Unmap().WithZone("")
	bits := 64
	if address.Is4() {
		bits = 32
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// abort closes the underlying connection without waiting for its peer. Closing a TLS connection would first write to
// it.
func abort(conn net.Conn) {
	if below, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = below.NetConn()
	}
	_ = conn.Close() // the peer gets no reason
}
