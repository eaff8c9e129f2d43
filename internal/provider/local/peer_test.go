package local_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/clienttest"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// secretAddress is the address of a Runtime API with a secret.
var secretAddress = regexp.MustCompile(`^127\.0\.0\.1:\d+/[A-Z2-7]{26}$`)

// TestSecretAddress checks that the address contains a secret where the system does not report the user of a
// connection, and that requests without it get no event.
func TestSecretAddress(t *testing.T) {
	for _, contract := range []struct{ name, variable, next string }{
		{"lambda", "AWS_LAMBDA_RUNTIME_API", "/2018-06-01/runtime/invocation/next"},
		{"fc", "FC_RUNTIME_API", "/2020-11-11/runtime/invocation/next"},
	} {
		t.Run(contract.name, func(t *testing.T) {
			where := filepath.Join(t.TempDir(), "address")
			if err := syscall.Mkfifo(where, 0o600); err != nil {
				t.Fatal(err)
			}
			program := "#!/bin/sh\necho \"it is $" + contract.variable + "\"\necho \"$" + contract.variable + "\" >\"$WHERE\"\nexec sleep 60\n"
			k := newScriptKit(t, map[string]string{"bootstrap": program},
				project.Provider{Target: "bootstrap", Runtime: contract.name, Env: map[string]string{"WHERE": where}}, nil)
			k.HideUsers()
			if err := k.Invoke("P", local.Event{ID: "e", Invocation: "i-e", Payload: []byte(`{"ResponseURL": "a URL"}`)}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(where)
			if err != nil {
				t.Fatal(err)
			}
			address := strings.TrimSpace(string(text))
			if !secretAddress.MatchString(address) {
				t.Fatalf("the address is %q", address)
			}
			host, secret, _ := strings.Cut(address, "/")
			for _, path := range []string{
				contract.next, "/" + contract.next, "/" + strings.Repeat("A", len(secret)) + contract.next, "/" + secret[:25] + contract.next,
				"/" + secret + "A" + contract.next, "/" + strings.ToLower(secret) + contract.next, "//" + secret + contract.next,
				"/x/../" + contract.next, "/pintle/aws", "/" + contract.next + "?" + secret,
			} {
				if status, body := ask(t, host, path); status != http.StatusForbidden || strings.Contains(body, secret) {
					t.Errorf("%s: %d %s", path, status, body)
				}
			}
			if status, body := ask(t, host, "/"+secret+contract.next); status != http.StatusOK || !strings.Contains(body, "a URL") {
				t.Errorf("with the secret: %d %s", status, body)
			}
			k.Close()
			if log := strings.Join(append(k.logged(), k.next().outcome.Log...), "\n"); strings.Contains(log, secret) || !strings.Contains(log, "it is "+host) {
				t.Errorf("the log has the secret, or nothing:\n%s", log)
			}
		})
	}
}

// ask sends a request with an unchanged path.
func ask(t *testing.T, host, path string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var b strings.Builder
	_ = response.Write(&b)
	return response.StatusCode, b.String()
}

// TestClientsWithSecret checks that third-party clients of the Runtime API and Pintle's own programs accept an address
// with a secret.
func TestClientsWithSecret(t *testing.T) {
	echo := json.RawMessage(`{"a":1}`)
	for _, behaviour := range []string{"aws-lambda-go", "fc", "fc-http"} {
		t.Run(behaviour, func(t *testing.T) {
			k := newKit(t, behaviour, nil)
			k.HideUsers()
			var o local.Outcome
			if behaviour == "aws-lambda-go" {
				o = k.send("1", string(echo))
			} else {
				o = k.sendFC("1", `{"Do": "describe"}`)
			}
			if o.Kind != local.Returned {
				t.Errorf("%+v", o)
			}
		})
	}
	t.Run("java", func(t *testing.T) {
		require.Tool(t, "java")
		dir := t.TempDir()
		clienttest.Classes(t, dir, filepath.Join("testdata", "java", "Handlers.java"), true)
		for handler, want := range map[string]local.OutcomeKind{"dev.pintle.Handlers::plain": local.Returned, "dev.pintle.None": local.Errored} {
			target, err := local.FunctionTarget(dir, "java17", handler)
			if err != nil {
				t.Fatal(err)
			}
			k := newKit(t, "", func(c *local.Config, p *local.Provider) {
				c.Environ, c.CacheDir = javaHome("/none"), t.TempDir()
				*p = local.Provider{
					Name: "P", Contract: bootstrap.Lambda, Target: target, Handler: handler, Function: &local.Function{Name: "f", Runtime: "java17"},
				}
			})
			if o := k.send("1", `{"color": "red"}`); o.Kind != want {
				t.Errorf("%s: %+v", handler, o)
			}
		}
	})
	for name, files := range map[string]map[string]string{
		"python": {"user.py": "import os\ndef handler(event, context):\n    print('at', os.environ['AWS_LAMBDA_RUNTIME_API'])\n"},
		"node":   {"user.js": "exports.handler = async () => { console.log('at', process.env.AWS_LAMBDA_RUNTIME_API); };\n"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Tool(t, map[string]string{"python": "python3", "node": "node"}[name])
			file := map[string]string{"python": "user.py", "node": "user.js"}[name]
			k := newScriptKit(t, files, project.Provider{Target: file}, nil)
			o := k.send("1", `{}`)
			at := regexp.MustCompile(`at 127\.0\.0\.1:\d+/(.*)`).FindStringSubmatch(strings.Join(k.logged(), "\n"))
			if o.Kind != local.Returned || at == nil || regexp.MustCompile("[A-Z2-7]{26}").MatchString(at[1]) {
				t.Errorf("%+v: %q", o, at)
			}
		})
	}
}
