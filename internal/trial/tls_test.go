package trial_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/local"
	"github.com/pintle-dev/pintle/internal/require"
	"github.com/pintle-dev/pintle/internal/trial"
	"github.com/pintle-dev/pintle/wire"
)

// What the environment trusts is trusted as well, by whichever name it is told.
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
		run(t, trial.Config{
			Provider: local.Provider{Name: "P", Target: target}, Request: request(),
			Runtime: local.Config{CacheDir: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH"), bundle}},
			Log:     func(line string) { lines = append(lines, line) },
		})
		if !slices.Contains(lines, want) {
			t.Errorf("%s: %q, want %s", bundle, lines, want)
		}
	}
}

// Handlers that speak TLS to a response URL that has none are answered, and trust the door.
func TestTLS(t *testing.T) {
	for _, test := range []struct{ tool, file, code string }{
		{"python3", "h.py", `
import http.client, json, urllib.parse
def handler(event, _):
    u = urllib.parse.urlparse(event["ResponseURL"])
    assert u.scheme == "http"
    body = json.dumps({k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")} | {"Status": "SUCCESS", "PhysicalResourceId": "x"})
    c = http.client.HTTPSConnection(u.netloc)
    c.request("PUT", u.path + "?" + u.query, body)
    assert c.getresponse().status == 200
`},
		{"node", "h.js", `
const https = require('https');
exports.handler = ({ResponseURL, StackId, RequestId, LogicalResourceId}) => new Promise((resolve, reject) => {
  const u = new URL(ResponseURL);
  const body = JSON.stringify({StackId, RequestId, LogicalResourceId, Status: 'SUCCESS', PhysicalResourceId: 'x'});
  https.request({hostname: u.hostname, port: u.port, path: u.pathname + u.search, method: 'PUT', headers: {'content-length': body.length}},
    (r) => r.statusCode === 200 ? resolve() : reject(new Error(r.statusCode))).on('error', reject).end(body);
});
`},
	} {
		t.Run(test.tool, func(t *testing.T) {
			require.Tool(t, test.tool)
			file := filepath.Join(t.TempDir(), test.file)
			if err := os.WriteFile(file, []byte(test.code), 0o600); err != nil {
				t.Fatal(err)
			}
			target, err := local.ParseTarget("", file)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, trial.Config{
				Provider: local.Provider{Name: "P", Target: target}, Runtime: local.Config{CacheDir: t.TempDir()},
				Request: request(), Log: func(line string) { t.Log(line) },
			})
			if r.Problem != nil || r.Response.Status != wire.Success || r.Again != 0 {
				t.Errorf("got %+v", r)
			}
		})
	}
}
