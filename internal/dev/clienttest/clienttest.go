// Package clienttest has handlers that send their response with the HTTP clients of several languages. The tests of
// every component that issues response URLs run the same table, so that pintle check accepts no handler that the
// engine cannot run. The handlers also refuse an invocation whose ID equals the request ID.
package clienttest

import (
	"embed"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

//go:embed handlers
var handlers embed.FS

// Handler is a handler and its HTTP clients. Its resource property Client selects the client.
type Handler struct {
	// Target is the path of the file to run, and Env the environment that it needs.
	Target string
	Env    map[string]string
	// Clients are client names, each with the form in which it uses the response URL: CLIENT:url, CLIENT:port or
	// CLIENT:443.
	Clients []string
}

// The forms in which clients use the response URL.
const (
	asItIs   = "url"
	withPort = "port" // https and the port
	assumed  = "443"  // https without the port
)

// Handlers returns a func for each runtime, by name. Each func skips its test if the runtime is missing. address is
// the address of the response URLs. Clients that assume port 443 are left out if that port is not available there.
func Handlers(address string) map[string]func(testing.TB) Handler {
	return map[string]func(testing.TB) Handler{
		"python": python,
		"node":   node,
		"java":   func(t testing.TB) Handler { return java(t, address) },
		"ruby":   func(t testing.TB) Handler { return ruby(t, address) },
	}
}

func python(t testing.TB) Handler {
	tool := require.Tool(t, "python3")
	clients := []string{"http.client", "urllib", "asyncio"}
	for _, module := range []string{"urllib3", "requests"} {
		out, err := exec.Command(tool, "-c", "import "+module+"; print("+module+".__file__)").Output()
		if err != nil {
			t.Logf("left out: %s cannot import %s", tool, module)
			continue
		}
		if strings.Contains(string(out), "/dist-packages/") {
			t.Logf("left out: the %s of Debian trusts no certificates but the system's", module)
			continue
		}
		clients = append(clients, module)
	}
	return Handler{Target: install(t, "client.py"), Clients: forms(clients, asItIs, withPort, assumed)}
}

func node(t testing.TB) Handler {
	require.Tool(t, "node")
	clients := []string{"fetch", "hostname"}
	h := Handler{Target: install(t, "client.cjs")}
	modules := filepath.Join(os.Getenv(require.HandlersVariable), "node_modules")
	if _, err := os.Stat(filepath.Join(modules, "axios")); err == nil {
		clients, h.Env = append(clients, "axios"), map[string]string{"CLIENT_MODULES": modules}
	} else {
		t.Logf("left out: there is no axios in $%s", require.HandlersVariable)
	}
	h.Clients = append(forms(clients, asItIs, withPort, assumed), forms([]string{"agent", "tls"}, withPort, assumed)...)
	h.Clients = append(h.Clients, "host:url", "host:443")
	return h
}

func java(t testing.TB, address string) Handler {
	require.Tool(t, "java")
	require.Tool(t, "javac") // java needs it to run a source file
	return Handler{
		Target:  script(t, "Client.java", "java"),
		Clients: forms([]string{"HttpURLConnection", "HttpClient"}, programForms(t, address)...),
	}
}

func ruby(t testing.TB, address string) Handler {
	require.Tool(t, "ruby")
	return Handler{Target: script(t, "client.rb", "ruby"), Clients: forms([]string{"net/http"}, programForms(t, address)...)}
}

// programForms returns the forms for a program that is not a Python or Node.js handler.
func programForms(t testing.TB, address string) []string {
	l, err := net.Listen("tcp", net.JoinHostPort(address, assumed))
	if err != nil {
		t.Logf("left out: clients that assume port 443: %v", err)
		return []string{asItIs, withPort}
	}
	l.Close()
	return []string{asItIs, withPort, assumed}
}

// forms returns each client in each form.
func forms(clients []string, forms ...string) []string {
	var all []string
	for _, client := range clients {
		for _, form := range forms {
			all = append(all, client+":"+form)
		}
	}
	return all
}

// install writes a handler to a test directory and returns its path.
func install(t testing.TB, name string) string {
	text, err := handlers.ReadFile("handlers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// script installs a program for an interpreter, and returns the path of an executable that runs it.
func script(t testing.TB, name, interpreter string) string {
	path := install(t, name)
	run := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.WriteFile(run, []byte("#!/bin/sh\nexec "+interpreter+" '"+path+"'\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	return run
}
