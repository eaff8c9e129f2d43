package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/wire"
)

// patience is how long a script waits for an expected event.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pintle":   main,
		"provider": provider,
		"keeper":   keeper,
		"waiter":   waiter,
		"patient":  func() { pintle.Main(newPatient(time.Hour)) },
		"hasty":    func() { pintle.Main(newPatient(3 * time.Second)) },
		"lambdago": lambdaGo,
		"web":      web,
		"listener": listening,
		"ledger":   keepLedger,
		"reader":   runReader,
		"planner":  runPlanner,
	})
}

// TestScript runs commands as a user types them. The commands in addition to testscript's own:
//
//	ready DATA          waits until a server serves the data directory
//	meet RESOURCE       waits until a provider got a request to meet for the resource, and holds it
//	part RESOURCE       lets it continue
//	usage ARGS          runs pintle and wants exit code 2, an error, and nothing on stdout
//	shows TEXT ARGS     runs pintle until it prints the text
//	written FILE        waits until a file exists
//	prints TEXT FILE    waits until a file that a program writes has the text
//	address DATA        sets ADDRESS and HOST to the server's URL, and to its host and port, and
//	                    PINTLE_WEBHOOK_SECRET to the secret for signing requests
//	json FILE PATH WANT compares a value in a JSON document, a path of names and numbers with dots between
//	let NAME FILE PATH  sets a variable to one
func TestScript(t *testing.T) { runScripts(t, filepath.Join("testdata", "script")) }

// TestAWSCLI drives the server with the real AWS CLI.
func TestAWSCLI(t *testing.T) {
	require.Tool(t, "aws")
	runScripts(t, filepath.Join("testdata", "aws"))
}

// TestHandlers is about providers that are functions in Python and Node files.
func TestHandlers(t *testing.T) {
	require.Tool(t, "python3")
	require.Tool(t, "node")
	runScriptsIn(t, filepath.Join("testdata", "handlers"), func(env *testscript.Env) {
		for name, dir := range map[string]string{"INTEGRATIONS": "../../integrations", "HANDLERS": "../../internal/author/check/testdata/handlers"} {
			if path, err := filepath.Abs(dir); err == nil { // else the scripts that need it fail
				env.Setenv(name, path)
			}
		}
	})
}

func runScripts(t *testing.T, dir string) { runScriptsIn(t, dir, nil) }

// runScriptsIn runs scripts in an environment that more was done to. Nil is nothing more.
func runScriptsIn(t *testing.T, dir string, more func(*testscript.Env)) {
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = listener.Close() }) // the script has finished
			env.Values[meetingKey{}] = &meeting{listener: listener.(*net.TCPListener), guests: map[string]net.Conn{}}
			for _, name := range []string{"pintle", "provider", "keeper", "lambdago", "reader", "planner"} {
				path, err := exec.LookPath(name)
				if err != nil {
					return err
				}
				env.Setenv(strings.ToUpper(name), path)
			}
			aws := httptest.NewServer(newServices(filepath.Join(env.WorkDir, "aws.txt")))
			env.Defer(aws.Close)
			env.Setenv("SERVICES", aws.URL)
			env.Setenv("SHELF", filepath.Join(env.WorkDir, "shelf"))
			env.Setenv("MEETING", listener.Addr().String())
			env.Setenv("TZ", "UTC")
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each process lingers for a second
			if err := goEnvironment(env); err != nil {
				return err
			}
			for name, size := range map[string]int{"large.yaml": stacks.MaxBody + 1, "toolarge.yaml": maxTemplate + 1} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, name), []byte(strings.Repeat("#", size)), 0o600); err != nil {
					return err
				}
			}
			env.Setenv("LONG", strings.Repeat("x", wire.MaxResponse))
			env.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			if more != nil {
				more(env)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready":   ready,
			"written": written,
			"prints":  prints,
			"address": address,
			"usage":   usage,
			"shows":   shows,
			"meet":    meet,
			"part":    part,
			"json":    compareJSON,
			"let":     let,
			"moto":    askMoto,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// goEnvironment lets scripts build providers from source with the module and build caches of this machine.
func goEnvironment(env *testscript.Env) error {
	names := []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOROOT"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	values := strings.Split(string(out), "\n")
	for i, name := range names {
		env.Setenv(name, values[i])
	}
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOTOOLCHAIN", "local")
	walkthrough, err := filepath.Abs(filepath.Join("..", "..", "examples", "walkthrough"))
	env.Setenv("WALKTHROUGH", walkthrough)
	env.Setenv("EXAMPLES", filepath.Dir(walkthrough))
	return err
}

// provider is the program behind the scripts' providers. Its properties control it.
func provider() { pintle.Main(scripted()) }

// listening is the same program behind a URL: it writes a project file with that.
func listening() {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	writeProject(os.Args[1], socket, "")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := pintle.RunConfigFromEnvironment(scripted())
	if err != nil {
		panic(err)
	}
	config.Listener = socket
	if err := pintle.Run(ctx, config); err != nil {
		panic(err)
	}
}

// writeProject declares the provider Web at a socket; more are its other keys.
func writeProject(file string, socket net.Listener, more string) {
	text := "stack: web\nproviders:\n  Web: {run: \"http://" + socket.Addr().String() + "/\"" + more + "}\n"
	if err := os.WriteFile(file+"~", []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		panic(err)
	}
}

func scripted() pintle.Handler {
	return pintle.HandlerFunc(func(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
		var p struct {
			Do, On, Say string
			URL         string
			Data        map[string]any
		}
		if err := r.Decode(&p); err != nil {
			return pintle.Answer{}, err
		}
		if p.Say != "" {
			fmt.Println(p.Say)
		}
		if p.On != "" && p.On != string(r.Type) {
			return pintle.Answer{ID: physicalID(r), Attributes: p.Data}, nil
		}
		switch p.Do {
		case "fail":
			return pintle.Answer{ID: physicalID(r)}, errors.New("there is no such thing")
		case "exit":
			os.Exit(3)
		case "meet":
			attend(string(r.LogicalID))
		case "signal":
			return pintle.Answer{ID: physicalID(r)}, signalAt(p.URL, string(r.LogicalID), "by a provider")
		}
		return pintle.Answer{ID: physicalID(r), Attributes: p.Data}, nil
	})
}

func physicalID(r *pintle.Request) pintle.PhysicalID {
	if r.ID != "" {
		return r.ID
	}
	return pintle.PhysicalID("thing-" + string(r.LogicalID))
}

// web is an independent provider behind a URL, without Pintle code. It writes a project file and appends its requests to
// requests.txt. It answers requests whose Do is "body" at once, and others later by a PUT, as cfn-response does.
func web() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	writeProject(os.Args[1], listener, ", delivery: webhook")
	log, err := os.Create("requests.txt")
	if err != nil {
		panic(err)
	}
	panic(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			RequestType, ResponseURL, StackId, RequestId, LogicalResourceId string
			ResourceProperties                                              struct{ Do string }
		}
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(log, request.RequestType)
		answer, _ := json.Marshal(map[string]any{
			"Status": "SUCCESS", "PhysicalResourceId": "web-thing", "StackId": request.StackId,
			"RequestId": request.RequestId, "LogicalResourceId": request.LogicalResourceId,
			"Data": map[string]any{"Said": "by web"},
		})
		if request.ResourceProperties.Do == "body" {
			_, _ = w.Write(answer)
			return
		}
		go func() {
			if request.ResourceProperties.Do == "meet" && request.RequestType == "Create" {
				attend(request.LogicalResourceId)
			}
			put, _ := http.NewRequest(http.MethodPut, request.ResponseURL, bytes.NewReader(answer))
			if response, err := http.DefaultClient.Do(put); err == nil {
				fmt.Fprintln(log, response.Status)
				_ = response.Body.Close()
			}
		}()
	})))
}

// attend waits at the script's meeting until it may part.
func attend(name string) {
	conn, err := net.Dial("tcp", os.Getenv("MEETING"))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, name)
	_, _ = io.Copy(io.Discard, conn) // until the other side says so
	_ = conn.Close()
}

type meetingKey struct{}

// meeting is where a script meets providers.
type meeting struct {
	listener *net.TCPListener
	guests   map[string]net.Conn // by logical ID
}

func meet(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value(meetingKey{}).(*meeting)
	if neg || len(args) != 1 {
		ts.Fatalf("usage: meet RESOURCE, then part RESOURCE")
	}
	ts.Check(m.listener.SetDeadline(time.Now().Add(patience)))
	guest, err := m.listener.Accept()
	ts.Check(err)
	ts.Defer(func() { _ = guest.Close() })
	name, err := bufio.NewReader(guest).ReadString('\n')
	ts.Check(err)
	if name = strings.TrimSpace(name); name != args[0] {
		ts.Fatalf("met %s, want %s", name, args[0])
	}
	m.guests[name] = guest
}

func part(ts *testscript.TestScript, neg bool, args []string) {
	m := ts.Value(meetingKey{}).(*meeting)
	if neg || len(args) != 1 || m.guests[args[0]] == nil {
		ts.Fatalf("usage: meet RESOURCE, then part RESOURCE")
	}
	_ = m.guests[args[0]].Close() // it may have died
	delete(m.guests, args[0])
}

// until waits until something is true.
func until(ts *testscript.TestScript, what string, holds func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if holds() {
			return
		}
	}
	ts.Fatalf("waited in vain: %s", what)
}

func ready(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready DATA")
	}
	until(ts, args[0]+" is served", func() bool {
		record, err := node.ReadRecord(ts.MkAbs(args[0]))
		if err != nil {
			return false
		}
		response, err := http.Get(record.URL + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close() // only its status is needed
		return response.StatusCode == http.StatusOK
	})
}

func address(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: address DATA")
	}
	record, err := node.ReadRecord(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Setenv("ADDRESS", record.URL)
	ts.Setenv("HOST", strings.TrimPrefix(record.URL, "http://"))
	ts.Setenv("PINTLE_WEBHOOK_SECRET", string(record.Webhook))
}

func written(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: written FILE")
	}
	until(ts, args[0]+" is there", func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	})
}

func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: prints TEXT FILE")
	}
	until(ts, args[1]+" has "+args[0], func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[1]))
		return err == nil && strings.Contains(string(text), args[0])
	})
}

func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: shows TEXT ARGS")
	}
	until(ts, "pintle prints "+args[0], func() bool {
		return ts.Exec("pintle", args[1:]...) == nil && strings.Contains(ts.ReadFile("stdout"), args[0])
	})
}

func usage(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("pintle", args...)
	ended, ok := errors.AsType[*exec.ExitError](err)
	if neg || !ok || ended.ExitCode() != exitUsage {
		ts.Fatalf("pintle %s: %v, want exit code %d", strings.Join(args, " "), err, exitUsage)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout is not empty:\n%s", out)
	}
}

func compareJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH WANT")
	}
	got := lookUp(ts, args[0], args[1])
	if (got == args[2]) == neg {
		ts.Fatalf("%s is %q, want %q (negated: %t)", args[1], got, args[2], neg)
	}
}

func let(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: let NAME FILE PATH")
	}
	ts.Setenv(args[0], lookUp(ts, args[1], args[2]))
}

// lookUp returns a value in a JSON document as text.
func lookUp(ts *testscript.TestScript, file, path string) string {
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	var value any
	ts.Check(decoder.Decode(&value))
	if decoder.More() {
		ts.Fatalf("%s holds more than one document", file)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(v) {
				ts.Fatalf("%s: there is no item %s in a list of %d", path, name, len(v))
			}
			value = v[i]
		default:
			value = nil
		}
	}
	return fmt.Sprint(value)
}
