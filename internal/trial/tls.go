package trial

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A response URL of a service is https, and there are clients that take no notice of what it says and speak TLS: crhelper, and
// many that are made for Node.js. So both are spoken at the door on loopback, and the processes are told to trust its certificate.

// tlsRecord is the first byte of whoever speaks TLS; of a request of HTTP it is a letter.
const tlsRecord = 0x16

// bundles are where systems keep the certificates that they trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// certificate makes one for loopback that is good for a day, with its key, and its text in PEM.
func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "pintle on loopback"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// trust writes files into dir that trust one more certificate than what the environment and the system do, and returns the
// variables that name them, as Node.js, OpenSSL (and Python and Go with it) and Python's requests read them. The last has
// certificates of its own where it is told of none: it is left alone if what it trusts is not known.
func trust(dir string, more []byte, environ []string) (map[string]string, error) {
	inherited := func(name string) string {
		for _, kv := range environ {
			if text, ok := strings.CutPrefix(kv, name+"="); ok {
				return text
			}
		}
		return ""
	}
	env := map[string]string{}
	for name, files := range map[string][]string{
		"NODE_EXTRA_CA_CERTS": {inherited("NODE_EXTRA_CA_CERTS")},
		"SSL_CERT_FILE":       append([]string{inherited("SSL_CERT_FILE")}, bundles...),
		"REQUESTS_CA_BUNDLE":  {cmp.Or(inherited("REQUESTS_CA_BUNDLE"), inherited("CURL_CA_BUNDLE"))},
	} {
		text := more
		if name == "REQUESTS_CA_BUNDLE" {
			if files[0] == "" {
				files = bundles
			}
			if !slices.ContainsFunc(files, func(file string) bool { info, err := os.Stat(file); return err == nil && info.Mode().IsRegular() }) {
				continue // nothing, or a folder
			}
		}
		for _, file := range files {
			if there, err := os.ReadFile(file); err == nil {
				text = append(append(bytes.TrimRight(there, "\n"), '\n'), more...)
				break
			}
		}
		path := filepath.Join(dir, strings.ToLower(name)+".pem")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("trust the door's certificate: %w", err)
		}
		env[name] = path
	}
	return env, nil
}

// secure has the session speak TLS as well, and its processes trust it.
func (s *Session) secure(listener net.Listener) (net.Listener, error) {
	pair, text, err := certificate()
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the answers: %w", err)
	}
	if s.dir, err = os.MkdirTemp("", "pintle-trial-"); err != nil {
		return nil, err
	}
	environ := s.config.Runtime.Environ
	if environ == nil {
		environ = os.Environ()
	}
	env, err := trust(s.dir, text, environ)
	if err != nil {
		return nil, err
	}
	maps.Copy(env, s.config.Runtime.Env) // which comes first
	s.config.Runtime.Env = env
	return bothListener{listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}, nil
}

// bothListener takes connections with TLS and without.
type bothListener struct {
	net.Listener
	config *tls.Config
}

func (l bothListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &bothConn{Conn: conn, config: l.config}, nil
}

// bothConn is a connection that speaks what its client begins with.
type bothConn struct {
	net.Conn // that of the network
	config   *tls.Config
	once     sync.Once
	spoken   net.Conn // what requests are read from and answers written to, once it has been read from
	err      error    // if that could not be found out
}

// listen finds out what the client speaks.
func (c *bothConn) listen() {
	first := make([]byte, 1)
	if _, c.err = io.ReadFull(c.Conn, first); c.err != nil {
		return
	}
	c.spoken = &prefixed{Conn: c.Conn, first: first}
	if first[0] == tlsRecord {
		c.spoken = tls.Server(c.spoken, c.config)
	}
}

func (c *bothConn) Read(p []byte) (int, error) {
	if c.once.Do(c.listen); c.err != nil {
		return 0, c.err
	}
	return c.spoken.Read(p)
}

func (c *bothConn) Write(p []byte) (int, error) {
	if c.once.Do(c.listen); c.err != nil {
		return 0, c.err
	}
	return c.spoken.Write(p)
}

// prefixed is a connection of which the beginning has been read.
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
