package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/loopbacktls"
	"github.com/pintle-dev/pintle/internal/dev/clienttest"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/internal/store"
)

// serving returns a running node, which ends with the test.
func serving(t *testing.T, c Config) *Node {
	t.Helper()
	lock, err := Acquire(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c.Lock = lock
	n, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// The clients of several languages can answer the engine, in all forms in which they use a response URL. The tests of package
// trial have the same table.
func TestClients(t *testing.T) {
	const address = "127.0.77.2" // of no other test, so that port 443 is free
	listen := net.JoinHostPort(address, "0")
	if l, err := net.Listen("tcp", listen); err != nil {
		listen = "" // only Linux has all of 127.0.0.0/8
	} else {
		l.Close()
	}
	for name, make := range clienttest.Handlers(address) {
		t.Run(name, func(t *testing.T) {
			h := make(t)
			n := serving(t, Config{Listen: listen})
			d, err := Define(filepath.Dir(h.Target), project.Provider{Name: "P", Target: h.Target, Env: h.Env, Concurrency: 1}, nil)
			if err == nil {
				err = n.Define(t.Context(), "P", d)
			}
			if err != nil {
				t.Fatal(err)
			}
			var template strings.Builder
			template.WriteString("Resources:\n")
			for i, client := range h.Clients {
				fmt.Fprintf(&template, "  R%d:\n    Type: Custom::R\n    Properties: {ServiceToken: 'arn:aws:lambda:us-east-1:111111111111:function:P', ServiceTimeout: 60, Client: '%s'}\n",
					i, client)
			}
			name := store.StackName{Account: n.account, Region: "us-east-1", Name: "s"}
			started, err := n.engine.Create(t.Context(), engine.CreateStack{Template: template.String(), Name: name})
			if err != nil {
				t.Fatal(err)
			}
			ref := engine.Ref{Account: name.Account, Region: name.Region, Stack: string(started.StackID), ByID: true}
			settled(t, n, ref)
			s, err := n.engine.Find(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			resources, err := n.engine.Resources(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			made := 0
			for _, r := range resources {
				if string(r.PhysicalID) == string(r.Logical) {
					made++
					continue
				}
				t.Errorf("%s: %+v", r.Logical, r)
			}
			if made != len(h.Clients) {
				t.Errorf("%d of %d resources were made, of %q", made, len(h.Clients), h.Clients)
			}
		})
	}
}

// Whatever comes to the engine's port, others are served meanwhile, and a node that stops waits for none of it.
func TestBadInput(t *testing.T) {
	n := serving(t, Config{})
	address := n.listener.Addr().String()
	for i := range 200 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([][]byte{{}, {0x16}, {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, []byte("PUT /resp")}[i%4]); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{}
	if err := n.tls.Trust(env, false); err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(env[loopbacktls.AuthorityFile])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	for _, scheme := range []string{"http", "https"} {
		response, err := client.Get(scheme + "://" + address + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s", scheme, response.Status)
		}
	}
}

// Only a node whose response URLs lead straight to its listener speaks TLS there.
func TestDoorIsForLoopback(t *testing.T) {
	public, err := url.Parse("http://pintle.example:4600/")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{"public URL": {PublicURL: public}, "reader": {Role: Reader}} {
		if n := serving(t, c); n.tls != nil {
			t.Errorf("%s: it speaks TLS", name)
		}
	}
}
