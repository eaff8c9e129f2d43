// Package ministacktest starts ministack for tests. Ministack is a stand-in for AWS in Python, with a CloudFormation
// that updates and replaces resources.
package ministacktest

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Account is the account of callers whose access key is not a number of twelve digits.
const Account = "000000000000"

// patience is how long ministack may take to start.
const patience = time.Minute

// New starts a server that ends with the test, and returns its URL. If ministack is not installed, New skips the test;
// see [require.Tool]. The server does not verify signatures, so it accepts any key.
func New(t testing.TB) string {
	t.Helper()
	program := require.Tool(t, "ministack")
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "BIND_HOST=127.0.0.1", "GATEWAY_PORT="+port, "NO_PROXY=127.0.0.1", "SFTP_ENABLED=0", "IOT_MTLS_ENABLED=0",
		"S3_DATA_DIR="+t.TempDir(), "LOG_LEVEL=ERROR", "DOCKER_HOST=unix:///nonexistent")
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	url := "http://" + address
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(url + "/_ministack/health")
		if err == nil {
			_ = response.Body.Close() // only the status counts
			if response.StatusCode == http.StatusOK {
				return url
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("ministack does not start: %v", err)
		}
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
