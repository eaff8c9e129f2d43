// Package mototest starts moto for tests that make AWS calls. Moto is a stand-in for AWS in Python.
package mototest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Module is the required Python module for [require.Python].
const Module = "moto.server"

// Account is the account of a caller without a role. The caller of an assumed role is in the role's account.
const Account = "123456789012"

// The server listens on a free port, and exits when its standard input is closed.
const script = `
import sys, logging
from moto.server import ThreadedMotoServer
logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("listening on %s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read() # until the test is done
server.stop()
`

var listening = regexp.MustCompile(`listening on (\S+)`)

// New starts a server that ends with the test, and returns its URL for AWS_ENDPOINT_URL. If moto is not installed,
// New skips the test; see [require.Python]. The server does not verify signatures, so it accepts any key.
func New(t testing.TB) string {
	t.Helper()
	return NewAs(t, Account)
}

// NewAs is New with another account of callers without a role.
func NewAs(t testing.TB, account string) string {
	t.Helper()
	python := require.Python(t, Module)
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, python, "-c", script)
	cmd.Env = append(os.Environ(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "NO_PROXY=127.0.0.1",
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=us-east-1")
	if account != Account { // moto then gives the account to roles of others, too
		cmd.Env = append(cmd.Env, "MOTO_ACCOUNT_ID="+account)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // stops it; so does cancel
		cancel()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			return "http://" + found[1]
		}
	}
	t.Fatalf("moto does not start: %v", lines.Err())
	return ""
}
