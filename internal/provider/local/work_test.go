package local_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// Handlers that leave work running, which ends when the gate replies.
const (
	pythonLeaves = `
import concurrent.futures, subprocess, sys, threading, urllib.request

pool = concurrent.futures.ThreadPoolExecutor(2)

def wait(gate):
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(gate).read()

def handler(event, context):
    do, gate = event["do"], event["gate"]
    if do == "thread":
        threading.Thread(target=wait, args=(gate,), name="Worker-1").start()
    if do == "daemon":
        threading.Thread(target=wait, args=(gate,), name="Worker-2", daemon=True).start()
    if do == "pool":
        pool.submit(wait, gate)
    if do == "idle pool":
        pool.submit(int).result()
    if do == "child":
        subprocess.Popen([sys.executable, "-c",
            "import sys, urllib.request; urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1]).read()", gate])
    if do == "two":
        for name in ["W-1", "W-2"]:
            threading.Thread(target=wait, args=(gate,), name=name).start()
`
	nodeLeaves = `
const http = require('http');
exports.handler = async ({do: what, gate}) => {
  if (what === 'request') http.get(gate, (answer) => answer.resume());
  if (what === 'timer') { const t = setInterval(() => {}, 50); http.get(gate, (a) => { a.resume(); clearInterval(t); }); }
  if (what === 'finished') await new Promise((resolve) => http.get(gate, (a) => { a.resume(); a.on('end', resolve); }));
};
`
)

// still waits until the process is working for the event, or if want is false, until it is not.
func still(t *testing.T, work func(context.Context) string, want bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		said := work(ctx)
		if (said != "") == want {
			return said
		}
		if ctx.Err() != nil {
			t.Fatalf("it says %q; is it to work: %v", said, want)
		}
	}
}

func TestWork(t *testing.T) {
	tests := []struct{ language, do, says string }{
		{"python", "thread", "1 thread (Worker-1)"},
		{"python", "daemon", "1 thread (Worker-2)"},
		{"python", "pool", "1 thread (ThreadPoolExecutor"},
		{"python", "idle pool", ""},
		{"python", "nothing", ""},
		{"python", "child", "a child process"},
		{"python", "two", "2 threads (W-1, W-2)"},
		{"node", "request", "open in its event loop: "},
		{"node", "timer", "1 Timeout"},
		{"node", "finished", ""},
		{"node", "nothing", ""},
	}
	kits := map[string]*kit{}
	for language, files := range map[string]map[string]string{
		"python": {"index.py": pythonLeaves}, "node": {"index.js": nodeLeaves},
	} {
		require.Tool(t, map[string]string{"python": "python3", "node": "node"}[language])
		kits[language] = newScriptKit(t, files, project.Provider{Target: "."}, nil)
	}
	for _, test := range tests {
		t.Run(test.language+" "+test.do, func(t *testing.T) {
			if test.do == "child" && runtime.GOOS != "linux" {
				t.Skip("only Linux shows the children of a process")
			}
			open := make(chan struct{})
			gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.do != "finished" {
					<-open
				}
				_, _ = io.WriteString(w, "ok")
			}))
			defer gate.Close()
			k := kits[test.language]
			k.t = t
			if got := k.send("1", `{"do": "`+test.do+`", "gate": "`+gate.URL+`"}`); got.Kind != local.Returned {
				t.Fatalf("%v %q", got, got.Log)
			}
			if test.says != "" {
				if said := still(t, k.work, true); !strings.Contains(said, test.says) {
					t.Errorf("it says %q, want %q", said, test.says)
				}
			}
			close(open)
			still(t, k.work, false)
		})
	}
}

// TestWorkOfAnExecutable checks that an executable that computes after its return is detected by its CPU use, on Linux.
func TestWorkOfAnExecutable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows what a process uses")
	}
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency = 1 })
	k.run("1", task{Do: "answer-and-compute"})
	work := k.work
	if said := still(t, work, true); said != "it uses the CPU" {
		t.Errorf("it says %q", said)
	}
	k.run("2", task{Do: "stop-computing"})
	still(t, work, false)
	k.Close()
	if said := work(t.Context()); said != "" {
		t.Errorf("a process that has ended: %q", said)
	}
}

// TestRemainingWorkIsNotReported checks that remaining work is reported neither for a Lambda function, because Lambda stops it, nor
// for a provider that runs inside this process.
func TestRemainingWorkIsNotReported(t *testing.T) {
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Function = &local.Function{} })
	if k.run("1", task{Do: "answer"}); k.work != nil {
		t.Error("work of a function")
	}
	inside := newInsideKit(t, events(func(context.Context, local.Host, string) string { return "1" }), nil)
	if inside.send("1", "1"); inside.work != nil {
		t.Error("work of a part of this process")
	}
}

// TestWorkIsBounded checks that a runner's report is truncated, redacted, and accepted once.
func TestWorkIsBounded(t *testing.T) {
	k := newKit(t, "handle", func(_ *local.Config, p *local.Provider) { p.Concurrency = 1 })
	k.run("1", task{Do: "hint", Answer: strings.Repeat("secret123 ", 100)}, "secret123")
	said := k.work(t.Context())
	if len(said) == 0 || len(said) > 200 || strings.Contains(said, "secret123") {
		t.Errorf("it says %q", said)
	}
	if got := k.run("2", task{Do: "idle"}); string(got.Result) != "[202 400]" {
		t.Errorf("the two reports were answered with %s", got.Result)
	}
}
