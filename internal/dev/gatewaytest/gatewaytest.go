// Package gatewaytest starts versitygw, an independent S3 server that verifies signatures, for tests.
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

// Tool is the program that a test needs, as [require.Tool] names it.
const Tool = "versitygw"

// URL is the address of a gateway for clients that use the transport of its [Config].
const URL = "http://127.0.0.1"

// patience is how long a program may take to listen.
const patience = time.Minute

// Config says what a gateway is made with. All of it is needed.
type Config struct {
	// KeyID and Secret are of the only key.
	KeyID, Secret string
	// Region is the one that signatures have to be for.
	Region string
	// Buckets are there from the beginning.
	Buckets []string
}

// New starts a gateway and returns what sends requests there, whatever their host; it ends with the test. It listens on a socket in the
// file system. Where there is no such program the test is skipped, as [require.Tool] has it.
func New(t testing.TB, c Config) *http.Transport {
	t.Helper()
	program := require.Tool(t, Tool)
	dir, err := os.MkdirTemp("", "s3") // the path of a socket may not be as long as t.TempDir's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // only the system's directory for such things is left less tidy
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
		_ = command.Wait() // it is asked to end, or a look finds nobody
		close(exited)
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
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

// await waits until somebody listens.
func await(t testing.TB, dial func(context.Context, string, string) (net.Conn, error), exited <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			_ = conn.Close() // it was only to see
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
