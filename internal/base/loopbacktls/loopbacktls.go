// Package loopbacktls serves HTTP and HTTPS on one loopback port and makes child processes trust its certificate.
//
// A response URL of CloudFormation is always https on port 443. Pintle's own response URL is plain HTTP on another
// port, so that every client can use it without a certificate. Some client libraries ignore the scheme and always use
// TLS: crhelper, cfn-lambda and many handlers for Node.js. An [Endpoint] serves them as well. It inspects the first
// byte of each connection, and continues with TLS if that byte begins a TLS record.
//
// The certificate is valid for loopback names only. [Open] creates an authority restricted to those names, and
// discards its key before it returns. Keys are never written to disk. The certificate is valid for ten years, longer
// than any process or response URL is in use, so it is never renewed. The next Open creates another one.
//
// [Endpoint.Trust] adds variables to a child's environment. They make its TLS libraries trust the certificate in
// addition to everything they already trust.
//
// # Port 443
//
// Handlers that also drop the port connect to port 443. In Python and Node.js, the programs of package bootstrap
// redirect such connections to the right port. Other programs need a listener on port 443. The endpoint opens one
// when the first such program starts, if the port is free and the process may bind it. Root and most containers may.
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

// handshakeTimeout bounds the time until a connection has sent its first byte and, with TLS, finished the handshake.
// The connection is closed after that.
const handshakeTimeout = 10 * time.Second

// httpsPort is the port that clients use if they drop the port of the response URL.
const httpsPort = "443"

// Config configures an [Endpoint].
type Config struct {
	// Listener accepts the connections. The endpoint owns it once Open returns without an error. Required.
	Listener net.Listener
	// Dir is the directory of the files for child processes. [Open] creates it, and [Endpoint.Close] removes it with
	// all its contents. Required.
	Dir string
	// Log gets a debug message when the endpoint also listens on port 443. Nil discards it.
	Log *slog.Logger
}

// Endpoint is a listener for HTTP and TLS, with the files that make clients trust it. Create one with [Open]. Its
// methods are safe for concurrent use.
type Endpoint struct {
	listener *listener
	ca       []byte // in PEM
	dir      string
	log      *slog.Logger

	mu     sync.Mutex // guards the files and claimed
	made   map[source]string
	listed int
	// claimed is set once the endpoint also listens on port 443.
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
			NextProtos: []string{"http/1.1"}, // the server reads only HTTP/1.1 from these connections
		}),
		ca: ca, dir: dir, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), made: map[source]string{},
	}
	return d, nil
}

// Listener returns the listener to serve. Closing it stops new connections, but keeps the files.
func (d *Endpoint) Listener() net.Listener { return d.listener }

// Close closes the listener, unless it is already closed, and removes the files.
func (d *Endpoint) Close() error {
	err := d.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Covers reports whether an endpoint can serve response URLs that begin with base, which means plain HTTP on
// loopback. At any other address, clients may get the certificate of a proxy in front of the listener.
func Covers(base *url.URL) bool {
	if base.Scheme != "http" {
		return false
	}
	host := base.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// claimHTTPS also listens on port 443 of the listener's address, if the process may and the port is free. It serves
// clients that drop the port of the response URL and cannot be corrected inside their process. Only one program at a
// time can have the port. A client of another program gets a certificate that it does not trust, and fails as it
// would without this listener. The caller holds mu.
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
