// Package gatewaytest starts versitygw for tests. It is an independent S3 server that verifies signatures.
package gatewaytest

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Tool is the name of the required program for [require.Tool].
const Tool = "versitygw"

// URL is the address of a gateway for clients that use the transport of [New].
const URL = "http://127.0.0.1"

// patience bounds the time until a program listens.
const patience = time.Minute

// Config configures a gateway. All fields are required.
type Config struct {
	// KeyID and Secret are the only access key.
	KeyID, Secret string
	// Region is the region of signatures.
	Region string
	// Buckets are created at the start.
	Buckets []string
}

// New starts a gateway that ends with the test. It returns a transport that sends all requests there, regardless of
// their host. The gateway listens on a Unix socket. If the program is not installed, New skips the test; see
// [require.Tool].
func New(t testing.TB, c Config) *http.Transport {
	t.Helper()
	program := require.Tool(t, Tool)
	dir, err := os.MkdirTemp("", "s3") // the path from t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a failure only leaves a temporary directory behind
	folders := []string{"side", "data"}
	for _, bucket := range c.Buckets {
		folders = append(folders, filepath.Join("data", bucket))
	}
	for _, name := range folders {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "socket")
	command := exec.Command(program, "--access", c.KeyID, "--secret", c.Secret, "--region", c.Region, "--port", socket, "--quiet",
		"posix", "--sidecar", filepath.Join(dir, "side"), filepath.Join(dir, "data"))
	command.Stderr = t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { // ends with the program
		_ = command.Wait() // it was stopped, or await reports the failure
		close(exited)
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have exited
		<-exited
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	await(t, dial, exited)
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// await waits until the socket accepts connections.
func await(t testing.TB, dial func(context.Context, string, string) (net.Conn, error), exited <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			_ = conn.Close() // only a probe
			return
		}
		select {
		case <-exited:
			t.Fatal(Tool + " ended")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
