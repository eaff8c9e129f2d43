//go:build unix

package local_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// pythonFunction returns a Python function for tests.
func pythonFunction(t *testing.T, name, code string, env map[string]string, more map[string]string) local.Provider {
	t.Helper()
	files := map[string]string{"index.py": code}
	for file, text := range more {
		files[file] = text
	}
	dir := tree(t, files)
	target, err := local.FunctionTarget(dir, "python3.13", "index.handler")
	if err != nil {
		t.Fatal(err)
	}
	return local.Provider{
		Name: name, Contract: bootstrap.Lambda, Target: target, Env: env, Timeout: 20 * time.Second,
		Function: &local.Function{Name: name, Runtime: "python3.13"},
	}
}

// functionKit returns a kit with functions.
func functionKit(t *testing.T, idle time.Duration, functions ...local.Provider) *kit {
	t.Helper()
	require.Tool(t, "python3")
	return newKit(t, "", func(c *local.Config, p *local.Provider) {
		c.CacheDir, c.Idle, c.Providers, *p = t.TempDir(), idle, functions[1:], functions[0]
	})
}

func (k *kit) call(name, payload string) local.Outcome {
	k.t.Helper()
	if err := k.Invoke(name, local.Event{ID: "1", Payload: []byte(payload), WantResult: true}); err != nil {
		k.t.Fatal(err)
	}
	return k.next().outcome
}

func (k *kit) returns(name, payload string, result any) {
	k.t.Helper()
	o := k.call(name, payload)
	if err := json.Unmarshal(o.Result, result); o.Kind != local.Returned || err != nil {
		k.t.Fatalf("%s: %+v", name, o)
	}
}

const describing = `
import os, sys
print("loading", flush=True)
def handler(event, context):
    return {"parent": os.getppid(), "group": os.getpgrp() == os.getpid(), "dir": os.getcwd(), "root": os.environ["LAMBDA_TASK_ROOT"],
            "env": dict(os.environ), "path": sys.path[0], "zone": __import__("time").tzname[0], "name": context.function_name}
`

// TestForkedFunctions checks that Python functions have one parent, which has loaded the interpreter. Each has its own
// environment and directory. The memory of a function and of the parent contains nothing of other functions.
func TestForkedFunctions(t *testing.T) {
	const secret = "hunter2-and-more" // written backwards where the test searches for it
	looking := describing + `
def found(pid, secret):
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if rights.startswith("rw") and "[v" not in line:
                begin, end = (int(x, 16) for x in place.split("-"))
                memory.seek(begin)
                if secret in memory.read(end - begin):
                    return True
    return False
describe = handler
def handler(event, context):
    answer = describe(event, context)
    if sys.platform == "linux" and os.getuid() == 0:
        secret = bytearray(reversed(event["drawkcab"].encode()))
        answer["parents"] = found(os.getppid(), secret)
        del secret
        answer["own"] = [b for b in [event["drawkcab"]] if found(os.getpid(), b[::-1].encode() + event["more"].encode())] != []
    return answer
`
	k := functionKit(t, 0,
		pythonFunction(t, "first", describing, map[string]string{"MINE": secret + "-1", "TZ": "Asia/Tokyo"}, nil),
		pythonFunction(t, "second", looking, map[string]string{"PYTHONPATH": "/some/modules"}, nil))
	type described struct {
		Parent, Group any
		Dir, Root     string
		Env           map[string]string
		Path          string
		Zone, Name    string
		Parents       bool
	}
	var first, second described
	k.returns("first", "{}", &first)
	backwards := []rune(secret)
	slices.Reverse(backwards)
	k.returns("second", `{"drawkcab":"`+string(backwards)+`","more":"-1"}`, &second)
	if first.Parent != second.Parent || first.Parent == float64(os.Getpid()) {
		t.Errorf("the parents are %v and %v, and this process is %d", first.Parent, second.Parent, os.Getpid())
	}
	for _, d := range []described{first, second} {
		if d.Group != true || d.Dir != d.Root || d.Path != d.Root {
			t.Errorf("a function is not where it belongs: %+v", d)
		}
	}
	if first.Env["MINE"] != secret+"-1" || first.Zone != "JST" || first.Name != "first" || second.Name != "second" || second.Zone != "UTC" {
		t.Errorf("got %+v and %+v", first, second)
	}
	if second.Env["MINE"] != "" || second.Parents {
		t.Errorf("the second function sees what is the first's: %+v", second)
	}
	if !slices.Contains(k.logged(), "1: loading") {
		t.Errorf("the log is %q", k.logged())
	}
	k.Close()
	if parent, ok := first.Parent.(float64); !ok || !errors.Is(syscall.Kill(int(parent), 0), syscall.ESRCH) {
		t.Errorf("the parent %v lives on", first.Parent)
	}
}

// TestForkedFunctionsThatDiffer checks that a function gets its own interpreter only if it changes the files or
// variables that an interpreter reads at its start.
func TestForkedFunctionsThatDiffer(t *testing.T) {
	code := `
import decimal, os, sys
def handler(event, context):
    forked = None
    if sys.platform == "linux":
        with open("/proc/self/cmdline") as command: # a forked process has that of its parent
            forked = "--template" in command.read()
    return {"forked": forked, "optimize": sys.flags.optimize, "own": getattr(decimal, "mine", False), "argv": [a[-8:] for a in sys.argv],
            "locale": os.environ.get("LC_CTYPE", "")}
`
	k := functionKit(t, 0,
		pythonFunction(t, "plain", code, nil, nil),
		pythonFunction(t, "variable", code, map[string]string{"PYTHONOPTIMIZE": "2"}, nil),
		pythonFunction(t, "module", code, nil, map[string]string{"decimal.py": "mine = True\n"}),
		pythonFunction(t, "locale", code, map[string]string{"LC_CTYPE": "C.utf8"}, nil),
		pythonFunction(t, "library", code, nil, map[string]string{"lib/libx.so.1": ""}))
	// The interpreter sets LC_CTYPE itself if the machine lacks the locale in LANG.
	var library struct{ Locale string }
	k.returns("library", "{}", &library)
	for name, want := range map[string]string{
		"plain":    `{"forked":true,"optimize":0,"own":false,"argv":["index.py"],"locale":"` + library.Locale + `"}`,
		"variable": `{"forked":false,"optimize":2,"own":false,"argv":["index.py"],"locale":"` + library.Locale + `"}`,
		"module":   `{"forked":false,"optimize":0,"own":true,"argv":["index.py"],"locale":"` + library.Locale + `"}`,
		"locale":   `{"forked":false,"optimize":0,"own":false,"argv":["index.py"],"locale":"C.utf8"}`,
		"library":  `{"forked":false,"optimize":0,"own":false,"argv":["index.py"],"locale":"` + library.Locale + `"}`,
	} {
		if runtime.GOOS != "linux" { // other systems do not show whether a process was forked
			want = regexp.MustCompile(`"forked":\w+`).ReplaceAllString(want, `"forked":null`)
		}
		o := k.call(name, "{}")
		if got := strings.ReplaceAll(string(o.Result), " ", ""); got != want {
			t.Errorf("%s: %s, want %s (%+v)", name, got, want, o)
		}
	}
}

// TestForkedFunctionEnds checks that the exit of a forked process is reported like any other.
func TestForkedFunctionEnds(t *testing.T) {
	code := `
import os, signal, subprocess, sys, time
def handler(event, context):
    if event == "exit": os._exit(3)
    if event == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if event == "hang": time.sleep(1000)
    return event
`
	hangs := pythonFunction(t, "hangs", code, nil, nil)
	hangs.Timeout = 100 * time.Millisecond
	k := functionKit(t, 0, pythonFunction(t, "f", code, nil, nil), hangs)
	for _, test := range []struct {
		name, payload string
		want          local.OutcomeKind
		exit          int
		signal        string
	}{
		{"f", `"exit"`, local.Exited, 3, ""},
		{"f", `"kill"`, local.Crashed, 0, "killed"},
		{"f", `"fine"`, local.Returned, 0, ""},
		{"hangs", `"hang"`, local.TimedOut, 0, ""},
		{"hangs", `"fine"`, local.Returned, 0, ""},
	} {
		o := k.call(test.name, test.payload)
		if o.Kind != test.want || o.ExitCode != test.exit || o.Signal != test.signal {
			t.Errorf("%s %s: %+v", test.name, test.payload, o)
		}
	}
}

// TestTemplateDies checks that the processes of a dead template die with it, and that the next process gets a new one.
func TestTemplateDies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a process with its parent")
	}
	code := `
import os, signal, time
def handler(event, context):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)
`
	k := functionKit(t, 0, pythonFunction(t, "f", describing, nil, nil), pythonFunction(t, "g", code, nil, nil))
	var before, after struct{ Parent int }
	k.returns("f", "{}", &before)
	if o := k.call("g", "{}"); o.Kind != local.Crashed {
		t.Errorf("a function whose template died: %+v", o)
	}
	k.returns("f", "{}", &after)
	if before.Parent == after.Parent {
		t.Errorf("the parent is %d still", after.Parent)
	}
}
