package loopbacktls

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// tlsRecord is the first byte of a TLS handshake. An HTTP request begins with a letter.
const tlsRecord = 0x16

// listener accepts connections with and without TLS, on one or more addresses.
type listener struct {
	net.Listener // the first
	config       *tls.Config
	accepted     chan accepted
	closing      chan struct{}
	loops        sync.WaitGroup

	mu     sync.Mutex
	closed bool
	others []net.Listener
}

type accepted struct {
	conn net.Conn
	err  error
}

func newListener(first net.Listener, config *tls.Config) *listener {
	l := &listener{Listener: first, config: config, accepted: make(chan accepted), closing: make(chan struct{})}
	l.loops.Go(func() { l.accept(first, true) })
	return l
}

// add also accepts connections from other, which l then owns. If l is closed, add closes other and returns false.
func (l *listener) add(other net.Listener) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		other.Close()
		return false
	}
	l.others = append(l.others, other)
	l.loops.Go(func() { l.accept(other, false) })
	return true
}

// accept passes on connections until l is closed. It also passes on errors of the first listener. An error of another
// listener closes only that one.
func (l *listener) accept(from net.Listener, first bool) {
	for {
		conn, err := from.Accept()
		if err != nil && !first {
			from.Close()
			return
		}
		select {
		case l.accepted <- accepted{conn, err}:
		case <-l.closing:
			if conn != nil {
				conn.Close()
			}
			return
		}
	}
}

// Accept returns the next connection without waiting for its first byte, which the connection's own goroutine reads.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		if a.err != nil {
			return nil, a.err
		}
		return &conn{Conn: a.conn, config: l.config}, nil
	case <-l.closing:
		return nil, net.ErrClosed
	}
}

// Close closes all listeners and waits for their goroutines. It returns [net.ErrClosed] if l was closed before.
func (l *listener) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	others := l.others
	l.others = nil
	l.mu.Unlock()
	if again {
		return net.ErrClosed
	}
	close(l.closing)
	errs := []error{l.Listener.Close()}
	for _, other := range others {
		if err := other.Close(); !errors.Is(err, net.ErrClosed) { // its own loop may have closed it
			errs = append(errs, err)
		}
	}
	l.loops.Wait()
	return errors.Join(errs...)
}

// conn is a connection that uses TLS if its client does. The first Read or Write decides.
type conn struct {
	net.Conn // the network connection
	config   *tls.Config
	once     sync.Once
	plain    *prefixed                // without TLS; set by once
	secure   atomic.Pointer[tls.Conn] // with TLS; Close may read it at any time
	err      error                    // of the decision
}

// decide waits for the first byte. If that begins a TLS record, it also waits for the end of the handshake.
func (c *conn) decide() {
	timer := time.AfterFunc(handshakeTimeout, func() { c.Conn.Close() })
	defer timer.Stop()
	first := make([]byte, 1)
	if _, c.err = io.ReadFull(c.Conn, first); c.err != nil {
		return
	}
	beginning := &prefixed{Conn: c.Conn, first: first}
	if first[0] != tlsRecord {
		c.plain = beginning
		return
	}
	secure := tls.Server(beginning, c.config)
	c.secure.Store(secure)
	c.err = secure.Handshake()
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	if c.once.Do(c.decide); c.err != nil {
		return 0, c.err
	}
	if c.plain != nil {
		return c.plain.Read(p)
	}
	return c.secure.Load().Read(p)
}

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (int, error) {
	if c.once.Do(c.decide); c.err != nil {
		return 0, c.err
	}
	if c.plain != nil {
		return c.Conn.Write(p)
	}
	return c.secure.Load().Write(p)
}

// ReadFrom implements [io.ReaderFrom]. With it, http.Server lets the kernel send files over plain connections.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	if c.once.Do(c.decide); c.err != nil {
		return 0, c.err
	}
	if from, ok := c.Conn.(io.ReaderFrom); ok && c.plain != nil {
		return from.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// CloseWrite closes the writing side. http.Server calls it so that a client can read a response that was sent before
// the request was fully read.
func (c *conn) CloseWrite() error {
	if secure := c.secure.Load(); secure != nil {
		return secure.CloseWrite()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// NetConn returns the network connection, like [tls.Conn.NetConn].
func (c *conn) NetConn() net.Conn { return c.Conn }

// Close implements [net.Conn]. With TLS, it sends the client a close notification.
func (c *conn) Close() error {
	if secure := c.secure.Load(); secure != nil {
		return secure.Close()
	}
	return c.Conn.Close()
}

// prefixed is a connection whose first byte was already read.
type prefixed struct {
	net.Conn
	first []byte
}

func (c *prefixed) Read(p []byte) (int, error) {
	if len(c.first) > 0 && len(p) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
