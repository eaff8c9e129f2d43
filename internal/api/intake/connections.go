package intake

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Connections limits how many connections are open on which no request was authenticated. A new connection is always accepted: if there are
// too many, the oldest makes way, so a caller with good keys is served however many strangers hold connections open.
type Connections struct {
	limit   int // of all
	address int // of one address
	heading int // of those whose header is not there yet: thousands of fields take ten times the memory that they have on the wire

	open sync.WaitGroup

	mu        sync.Mutex
	strangers map[net.Conn]*stranger
	headings  int                  // how many of them have an incomplete header
	addresses map[netip.Prefix]int // how many strangers each has
}

// stranger is a connection on which no request was authenticated.
type stranger struct {
	conn    net.Conn
	address netip.Prefix
	since   time.Time
	pending time.Time // since when its header is incomplete; zero once it is complete
}

func (s *stranger) heading() bool { return !s.pending.IsZero() }

// minPending is how long a header may be incomplete before its connection makes way for others: in a burst of ordinary clients no header is
// there at first.
const minPending = time.Second

// NewConnections returns limits of so many connections, half of them from one address.
func NewConnections(limit int) *Connections {
	return &Connections{
		limit: limit, address: max(1, limit/2), heading: max(1, limit/4),
		strangers: map[net.Conn]*stranger{}, addresses: map[netip.Prefix]int{},
	}
}

// State is the ConnState of an [http.Server]. That has no way to wait for handlers that it cut off. A connection is new before it gets its
// goroutine and closed at the end of it, so counting them does.
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

// Parsed reports that the header of a request with this context is there.
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

// Verified reports that a request with this context was authenticated, so its connection is no longer closed to make way for others.
func (c *Connections) Verified(ctx context.Context) {
	if conn, ok := ctx.Value(connKey{}).(net.Conn); ok {
		c.remove(conn)
	}
}

func (c *Connections) add(conn net.Conn) {
	now := time.Now() // of the sockets, whose clock this is
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

// head notes that the next request of a connection begins.
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

// evict closes the connection that choose returns, if it returns one. It calls choose with the lock held.
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

// behind returns the connection that makes way if there are too many without a header.
func (c *Connections) behind() *stranger {
	if c.headings <= c.heading { // without a look at each of them, since every request of a stranger comes here
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

// oldest returns the oldest stranger of an address; if heading is set, the one of those without a header that has been so for longest.
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

// busiest returns the address with the most strangers, of those without a header if that is wanted.
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

// addressOf returns what counts as the address of a peer: a network of 64 bits for IPv6, which one host may have as a whole.
func addressOf(conn net.Conn) netip.Prefix {
	peer, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{} // of a socket without addresses
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

// abort closes a connection without waiting for its peer. The end of TLS would be written to it first.
func abort(conn net.Conn) {
	if below, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = below.NetConn()
	}
	_ = conn.Close() // the peer gets no reason
}
