package harness_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/dev/clienttest"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// TestTLSInherited checks that the certificates that the environment trusts stay trusted, whichever variable names
// them.
func TestTLSInherited(t *testing.T) {
	require.Tool(t, "python3")
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, []byte("OF THE HOUSE"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "h.py")
	if err := os.WriteFile(file, []byte(`
import os
def handler(event, _):
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
        path = os.environ[name]
        text = open(path).read() if os.path.isfile(path) else ""
        print(name, "OF THE HOUSE" in text, "BEGIN CERTIFICATE" in text)
    raise ValueError("that is all")
`), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := local.ParseTarget("", file)
	if err != nil {
		t.Fatal(err)
	}
	for bundle, want := range map[string]string{
		"REQUESTS_CA_BUNDLE=" + own: "REQUESTS_CA_BUNDLE True True", "CURL_CA_BUNDLE=" + own: "REQUESTS_CA_BUNDLE True True",
		"REQUESTS_CA_BUNDLE=" + filepath.Dir(own): "REQUESTS_CA_BUNDLE False False", "SSL_CERT_FILE=" + own: "SSL_CERT_FILE True True",
		"NODE_EXTRA_CA_CERTS=" + own: "NODE_EXTRA_CA_CERTS True True",
	} {
		var lines []string
		run(t, harness.Config{
			Provider: local.Provider{Name: "P", Target: target}, Request: request(),
			Runtime: local.Config{CacheDir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH"), bundle}},
			Log:     func(line string) { lines = append(lines, line) },
		})
		if !slices.Contains(lines, want) {
			t.Errorf("%s: %q, want %s", bundle, lines, want)
		}
	}
}

// The clients of several languages can answer, in all forms in which they use a response URL. The engine's tests have the same
// table.
func TestClients(t *testing.T) {
	const address = "127.0.77.1" // of no other test, so that port 443 is free
	listen := net.JoinHostPort(address, "0")
	if l, err := net.Listen("tcp", listen); err != nil {
		listen = "127.0.0.1:0" // only Linux has all of 127.0.0.0/8
	} else {
		l.Close()
	}
	for name, make := range clienttest.Handlers(address) {
		t.Run(name, func(t *testing.T) {
			h := make(t)
			target, err := local.ParseTarget("", h.Target)
			if err != nil {
				t.Fatal(err)
			}
			s, err := harness.Open(t.Context(), harness.SessionConfig{
				Provider: local.Provider{Name: "P", Target: target, Env: h.Env}, Listen: listen,
				Runtime: local.Config{CacheDir: t.TempDir()}, Log: func(_ wire.RequestID, line string) { t.Log(line) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i, client := range h.Clients {
				r := request()
				r.RequestID = wire.RequestID(fmt.Sprintf("r-%03d", i))
				r.ResourceProperties = fmt.Appendf(nil, `{"Client": %q}`, client)
				e, err := s.Send(t.Context(), harness.Order{Request: r})
				if err != nil {
					t.Fatal(err)
				}
				if e.Problem != nil || e.Response.Status != wire.Success || e.Again != 0 || len(e.Attempts) != 1 {
					t.Errorf("%s: got %+v", client, e.Result)
				}
			}
		})
	}
}
