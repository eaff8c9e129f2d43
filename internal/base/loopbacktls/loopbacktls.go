// Package loopbacktls serves HTTP and HTTPS on one loopback port and makes child processes trust its certificate.
//
// A response URL of CloudFormation is always https on port 443. Pintle's own response URL is plain HTTP on another port, so
// that every client can use it without a certificate. Some client libraries ignore the scheme and speak TLS to whatever host
// they get: crhelper, cfn-lambda and many handlers for Node.js. A [Endpoint] answers them as well. It looks at the first byte of
// each connection, and continues with TLS if that byte begins a TLS record.
//
// The certificate is for loopback names only. Its authority is created by [Open], is restricted to those names, and its key
// is dropped before Open returns. No key is ever written to disk. The certificate is valid for ten years, which is longer than
// any process or response URL lives, so nothing renews it. The next Open makes another one.
//
// [Endpoint.Trust] adds the variables to a child's environment that make its TLS libraries trust the certificate in addition to
// everything they trust already.
//
// # Port 443
//
// Handlers that also drop the port connect to port 443. In Python and Node.js the programs of package bootstrap send such a
// connection to the right port. Other programs need a listener on port 443. The endpoint opens one when the first such program
// starts, if this process may bind that port, as root and most containers may, and if it is free.
package loopbacktls

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// handshakeTimeout is how long a connection may take until it has sent its first byte and, if that begins TLS, finished the
// handshake. The connection is closed after that.
const handshakeTimeout = 10 * time.Second

// httpsPort is the port that clients assume if they drop the one of the response URL.
const httpsPort = "443"

// Config configures a [Endpoint].
type Config struct {
	// Listener takes the connections. The endpoint owns it as soon as Open has returned without an error. Required.
	Listener net.Listener
	// Dir is the directory for the files that child processes read. [Open] creates it, and [Endpoint.Close] removes it with
	// everything in it. Required.
	Dir string
	// Log gets a line when the endpoint also listens on port 443, at level debug. Nil discards it.
	Log *slog.Logger
}

// Endpoint is a listener that speaks HTTP and TLS, together with the files that make others trust it. Open one with [Open].
// Its methods may be called concurrently.
type Endpoint struct {
	listener *listener
	ca       []byte // in PEM
	dir      string
	log      *slog.Logger

	mu     sync.Mutex // guards the files and claimed
	made   map[source]string
	listed int
	// claimed says that port 443 was asked for and is ours.
	claimed bool
}

// Open creates a certificate for the listener's address and starts to accept connections, which wait for
// [net.Listener.Accept] of [Endpoint.Listener].
func Open(c Config) (*Endpoint, error) {
	if c.Listener == nil || c.Dir == "" {
		return nil, errors.New("loopback TLS: a listener and a directory are required")
	}
	pair, ca, err := newCertificate(c.Listener.Addr(), time.Now())
	if err != nil {
		return nil, fmt.Errorf("create a certificate for %s: %w", c.Listener.Addr(), err)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("directory of the certificate: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("directory of the certificate: %w", err)
	}
	d := &Endpoint{
		listener: newListener(c.Listener, &tls.Config{
			Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}, // the server reads HTTP/1.1 from these connections, whatever the client offers
		}),
		ca: ca, dir: dir, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), made: map[source]string{},
	}
	return d, nil
}

// Listener returns the listener to serve. Closing it closes the endpoint to new connections, but keeps the files.
func (d *Endpoint) Listener() net.Listener { return d.listener }

// Close closes the listener, unless it is closed already, and removes the files.
func (d *Endpoint) Close() error {
	err := d.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Covers reports whether an endpoint can serve the response URLs that begin with base: they are plain HTTP on loopback. At any other
// address clients get the certificate of whatever is between them and the listener.
func Covers(base *url.URL) bool {
	if base.Scheme != "http" {
		return false
	}
	host := base.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// claimHTTPS also listens on port 443 of the listener's address, if this process may and no other listens there. It is for
// clients that drop the port of the response URL and that cannot be corrected from inside their process. Only one program at a
// time can have the port: a client that belongs to another gets a certificate that it does not trust, and fails as it would
// without this listener. The caller holds mu.
func (d *Endpoint) claimHTTPS() {
	host, port, err := net.SplitHostPort(d.listener.Addr().String())
	if err != nil || d.claimed || port == httpsPort {
		return
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, httpsPort))
	if err != nil || !d.listener.add(l) {
		return
	}
	d.claimed = true
	d.log.Debug("also listening for answers on port 443", "address", l.Addr().String())
}
