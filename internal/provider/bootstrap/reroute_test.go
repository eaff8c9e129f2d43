package bootstrap_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// TestReroute checks that connections to port 443 are redirected only for loopback hosts in a response URL. It looks at
// the port of the connection; no program listens on it.
func TestReroute(t *testing.T) {
	python := `
import sys
sys.path.insert(0, sys.argv[1])
import pintle_reroute, socket
asked = []
socket.socket.connect = lambda self, address: asked.append("%s:%s" % address[:2])
def ask(event, *address):
    pintle_reroute.learn(event)
    socket.socket().connect(address)
`
	node := `
const net = require('net');
const asked = [];
net.Socket.prototype.connect = (options) => { asked.push(options.host + ':' + options.port); return {}; };
const {learn} = require(process.argv[1] + '/reroute.cjs');
function ask(event, host, port) {
  learn(event);
  new net.Socket().connect({host, port});
}
`
	calls := `
ask({"ResponseURL": "http://10.0.0.1:4600/x", "StackId": "s"}, "10.0.0.1", 443)
ask({"ResponseURL": "https://127.0.0.1:4600/x"}, "127.0.0.1", 443)
ask({"ResourceProperties": {"ResponseURL": "http://127.0.0.1:1/x"}}, "127.0.0.1", 443)
ask({"ResponseURL": "http://127.0.0.1:bad/x"}, "127.0.0.1", 443)
ask({"ResponseURL": "http://127.0.0.1:4600/x"}, "127.0.0.1", 443)
ask({}, "127.0.0.1", 8443)
ask({}, "127.0.0.2", 443)
ask({"Records": [{"Sns": {"Message": "{\"ResponseURL\": \"http://127.0.0.2:4601/x\"}"}}]}, "127.0.0.2", 443)
ask({"ResponseURL": "http://127.0.0.2:4602/x"}, "127.0.0.2", 443)
`
	want := "10.0.0.1:443 127.0.0.1:443 127.0.0.1:443 127.0.0.1:443 127.0.0.1:4600 127.0.0.1:8443 127.0.0.2:443 127.0.0.2:4601 127.0.0.2:4602"
	for _, test := range []struct {
		tool     string
		language bootstrap.Language
		args     []string
	}{
		{"python3", bootstrap.Python, []string{"-c", python + calls + `print(" ".join(asked))`}},
		{"node", bootstrap.Node, []string{"-e", node + calls + `console.log(asked.join(' '))`}},
	} {
		t.Run(test.tool, func(t *testing.T) {
			require.Tool(t, test.tool)
			program, err := test.language.Install(t.TempDir(), test.tool)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(program.Interpreter, append(test.args, filepath.Dir(program.Script))...).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("got %s, %v\nwant %s", got, err, want)
			}
		})
	}
}
