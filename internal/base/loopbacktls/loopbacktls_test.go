package loopbacktls

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// patience bounds the waits in tests.
const patience = 30 * time.Second

func open(t *testing.T) *Endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(Config{Listener: l, Dir: filepath.Join(t.TempDir(), "trust")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// served serves an endpoint with the limits of a real server. It returns the address and a counter of open
// connections.
func served(t *testing.T, d *Endpoint) (address string, connections *sync.WaitGroup) {
	t.Helper()
	connections = &sync.WaitGroup{}
	server := &http.Server{
		ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refuse" { // without reading the body
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			fmt.Fprintf(w, "%s %v", r.Proto, r.ContentLength)
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
			case http.StateClosed, http.StateHijacked:
				connections.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(d.Listener()) // until the listener is closed
	}()
	t.Cleanup(func() {
		server.Close()
		<-done
	})
	return d.Listener().Addr().String(), connections
}

// pool returns a certificate pool that trusts the endpoint.
func pool(t *testing.T, d *Endpoint) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(d.ca) {
		t.Fatal("no certificate")
	}
	return pool
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestBothProtocols(t *testing.T) {
	d := open(t)
	address, _ := served(t, d)
	for _, http2 := range []bool{false, true} {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool(t, d)}, ForceAttemptHTTP2: http2,
		}}
		for _, scheme := range []string{"http", "https"} {
			for range 2 { // the second on the same connection
				if got := get(t, client, scheme+"://"+address); got != "HTTP/1.1 0" {
					t.Errorf("%s: got %q", scheme, got)
				}
			}
		}
		client.CloseIdleConnections()
	}
}

// TestRefusalIsRead checks that a client that sends its body first receives a refusal sent before the body was read.
func TestRefusalIsRead(t *testing.T) {
	d := open(t)
	address, _ := served(t, d)
	body := bytes.Repeat([]byte("x"), 1<<20)
	dial := map[string]func() (net.Conn, error){
		"http":  func() (net.Conn, error) { return net.Dial("tcp", address) },
		"https": func() (net.Conn, error) { return tls.Dial("tcp", address, &tls.Config{RootCAs: pool(t, d)}) },
	}
	for scheme, dial := range dial {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "PUT /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(body))
		_, _ = conn.Write(body) // the connection may be closed early
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", scheme, err)
		} else if response.Body.Close(); response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %s", scheme, response.Status)
		}
		conn.Close()
	}
}

// TestCertificate checks that the certificate is valid long enough, is for loopback only, and is accepted by a strict
// verifier.
func TestCertificate(t *testing.T) {
	d := open(t)
	pair := d.listener.config.Certificates[0]
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().AddDate(9, 0, 0)
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool(t, d), CurrentTime: later}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "example.com", Roots: pool(t, d)}); err == nil {
		t.Error("it is for example.com too")
	}
	block, _ := pem.Decode(d.ca)
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if leaf.IsCA || len(leaf.AuthorityKeyId) == 0 || !bytes.Equal(leaf.AuthorityKeyId, authority.SubjectKeyId) {
		t.Errorf("the leaf is %+v", leaf)
	}
	if len(authority.PermittedIPRanges) != 2 || len(authority.PermittedDNSDomains) != 1 || !authority.PermittedDNSDomainsCritical {
		t.Errorf("the authority may certify more than loopback: %+v", authority)
	}
	// No file contains a key.
	env := map[string]string{}
	if err := d.Trust(env, false); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(d.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("PRIVATE KEY")) {
			t.Errorf("%s holds a key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCovers(t *testing.T) {
	for text, want := range map[string]bool{
		"http://127.0.0.1:4600": true, "http://127.0.0.2": true, "http://[::1]:1/x": true, "http://localhost:9": true,
		"https://127.0.0.1": false, "http://pintle.example:4600": false, "http://10.0.0.1:4600": false, "http://[fe80::1]": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Covers(u); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

// TestTrust checks that certificates trusted by the environment stay trusted, and that its options are kept.
func TestTrust(t *testing.T) {
	d := open(t)
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, []byte("OF THE HOUSE"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(env map[string]string, name string) (house, door bool) {
		text, err := os.ReadFile(env[name])
		if err != nil {
			return false, false
		}
		return bytes.Contains(text, []byte("OF THE HOUSE")), bytes.HasSuffix(text, d.ca)
	}
	for _, test := range []struct{ set, check string }{
		{"NODE_EXTRA_CA_CERTS", "NODE_EXTRA_CA_CERTS"}, {"DENO_CERT", "DENO_CERT"}, {"SSL_CERT_FILE", "SSL_CERT_FILE"},
		{"REQUESTS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}, {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"}, {"CURL_CA_BUNDLE", "CURL_CA_BUNDLE"},
	} {
		env := map[string]string{test.set: own}
		if err := d.Trust(env, false); err != nil {
			t.Fatal(err)
		}
		if house, door := read(env, test.check); !house || !door {
			t.Errorf("%s: %s is %s: %v, %v", test.set, test.check, env[test.check], house, door)
		}
		if house, door := read(env, AuthorityFile); house || !door {
			t.Errorf("%s: %v, %v", AuthorityFile, house, door)
		}
		if _, ok := env["AWS_CA_BUNDLE"]; ok {
			t.Error("AWS_CA_BUNDLE was set")
		}
	}
	env := map[string]string{"REQUESTS_CA_BUNDLE": t.TempDir(), "AWS_CA_BUNDLE": own}
	dir := env["REQUESTS_CA_BUNDLE"]
	if err := d.Trust(env, false); err != nil || env["REQUESTS_CA_BUNDLE"] != dir || env["AWS_CA_BUNDLE"] != own {
		t.Errorf("got %v, %v", env, err)
	}

	// The file is written again only after its source changes.
	env = map[string]string{"SSL_CERT_FILE": own}
	again := map[string]string{"SSL_CERT_FILE": own}
	if err := errors.Join(d.Trust(env, false), d.Trust(again, false)); err != nil || env["SSL_CERT_FILE"] != again["SSL_CERT_FILE"] {
		t.Errorf("got %s and %s, %v", env["SSL_CERT_FILE"], again["SSL_CERT_FILE"], err)
	}
	if err := os.WriteFile(own, []byte("OF THE HOUSE, REBUILT"), 0o600); err != nil {
		t.Fatal(err)
	}
	again = map[string]string{"SSL_CERT_FILE": own}
	if err := d.Trust(again, false); err != nil || again["SSL_CERT_FILE"] == env["SSL_CERT_FILE"] {
		t.Errorf("got %s, %v", again["SSL_CERT_FILE"], err)
	}
}

func TestTrustJava(t *testing.T) {
	system := firstFile(bundles())
	if system == "" {
		t.Skip("the system has no bundle of certificates")
	}
	d := open(t)
	env := map[string]string{"JAVA_TOOL_OPTIONS": "-Xmx64m"}
	if err := d.Trust(env, true); err != nil {
		t.Fatal(err)
	}
	rest, ok := strings.CutPrefix(env["JAVA_TOOL_OPTIONS"], "-Xmx64m -Djavax.net.ssl.trustStore=")
	file, _, _ := strings.Cut(rest, " ")
	text, err := os.ReadFile(file)
	if !ok || err != nil {
		t.Fatalf("got %q, %v", env["JAVA_TOOL_OPTIONS"], err)
	}
	trusted, err := pkcs12.DecodeTrustStore(text, trustStorePassword)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := os.ReadFile(system)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(certificates(bundle)) + 1; len(trusted) != want {
		t.Errorf("it holds %d certificates, want %d", len(trusted), want)
	}
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		env := map[string]string{name: "-Djavax.net.ssl.trustStore=/own"}
		if err := d.Trust(env, true); err != nil || env[name] != "-Djavax.net.ssl.trustStore=/own" || name != javaOptions && env[javaOptions] != "" {
			t.Errorf("%s: got %q, %v", name, env[javaOptions], err)
		}
	}
	env = map[string]string{}
	if err := d.Trust(env, false); err != nil || env[javaOptions] != "" {
		t.Errorf("a script has %q, %v", env[javaOptions], err)
	}
}

// TestGarbageDoesNotBlockOthers checks that invalid and slow input does not block other clients.
func TestGarbageDoesNotBlockOthers(t *testing.T) {
	d := open(t)
	address, connections := served(t, d)
	hello := recordedHello(t)
	garbage := [][]byte{
		nil, {0x16}, hello[:len(hello)/2], {0x16, 0x03, 0x01, 0xff, 0xff}, bytes.Repeat([]byte{0x16}, 4096),
		[]byte("PU"), []byte("\x00\x00\x00\x00"), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), bytes.Repeat([]byte("A"), 64<<10), {0x80, 0x2e, 0x01},
	}
	var open []net.Conn
	for i := range 1000 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Skipf("after %d connections: %v", i, err)
		}
		defer conn.Close()
		open = append(open, conn)
		_ = conn.SetWriteDeadline(time.Now().Add(patience))
		_, _ = conn.Write(garbage[i%len(garbage)]) // the server may have closed it
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, d)}}, Timeout: patience}
	for _, scheme := range []string{"http", "https"} {
		if got := get(t, client, scheme+"://"+address); got != "HTTP/1.1 0" {
			t.Errorf("%s: got %q", scheme, got)
		}
	}
	// A client that does not trust the endpoint.
	if conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: x509.NewCertPool()}); err == nil {
		conn.Close()
		t.Error("a client without the certificate trusts it")
	}
	client.CloseIdleConnections()
	for _, conn := range open {
		conn.Close()
	}
	none := make(chan struct{})
	go func() {
		connections.Wait()
		close(none)
	}()
	select {
	case <-none:
	case <-time.After(patience):
		t.Error("connections are still counted")
	}
}

// recordedHello returns the first message of a TLS client.
func recordedHello(t *testing.T) []byte {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	go func() {
		_ = tls.Client(there, &tls.Config{ServerName: "localhost"}).Handshake() // ends with the pipe
		there.Close()
	}()
	hello := make([]byte, 4096)
	n, err := here.Read(hello)
	if err != nil || n < 100 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	return hello[:n]
}

// TestHandshakeTimeout checks that a connection is closed if its client does not finish the handshake in time, even
// if the client sends bytes continuously.
func TestHandshakeTimeout(t *testing.T) {
	hello := recordedHello(t)
	for name, send := range map[string]func(net.Conn){
		"silence": func(net.Conn) {},
		"half":    func(c net.Conn) { _, _ = c.Write(hello[:len(hello)/2]) },
		"slow": func(c net.Conn) {
			for _, b := range hello {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		},
		"deaf": func(c net.Conn) { _, _ = c.Write(hello) }, // does not read the response
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pair, _, err := newCertificate(&net.TCPAddr{}, time.Now())
				if err != nil {
					t.Fatal(err)
				}
				here, there := net.Pipe()
				defer here.Close()
				var sent sync.WaitGroup
				sent.Go(func() { send(here) })
				c := &conn{Conn: there, config: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
				began := time.Now()
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Error("a byte was read")
				}
				if took := time.Since(began); took != handshakeTimeout {
					t.Errorf("it took %v", took)
				}
				sent.Wait()
			})
		})
	}
}

// TestClose checks that the listener can be closed at any time and repeatedly. It then accepts no connections, and
// its files are removed.
func TestClose(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "trust")
	d, err := Open(Config{Listener: l, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", l.Addr().String()) // never accepted
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := d.Listener().Close(); err != nil {
		t.Error(err)
	}
	if err := d.Listener().Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Listener().Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
