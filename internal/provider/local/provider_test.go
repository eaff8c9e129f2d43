package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
)

// The test binary is also every provider of the tests: this variable selects the behaviour.
const behaviourVar = "TEST_PROVIDER"

// schemaVar makes the test binary support the schema command. It is a file in which the binary counts its runs, or
// "none".
const schemaVar = "TEST_SCHEMA"

// schemaEndVar is a file with the way to exit instead: killed, or an exit code.
const schemaEndVar = "TEST_SCHEMA_END"

func TestMain(m *testing.M) {
	if behaviour := os.Getenv(behaviourVar); behaviour != "" {
		runProvider(behaviour)
		return
	}
	if mode := os.Getenv(schemaVar); mode != "" && len(os.Args) == 2 && os.Args[1] == "schema" {
		printSchema(mode)
	}
	os.Exit(m.Run())
}

func printSchema(mode string) {
	if mode == "none" {
		os.Exit(2)
	}
	count, _ := os.ReadFile(mode)
	count = append(count, 'x')
	if err := os.WriteFile(mode, count, 0o600); err != nil {
		os.Exit(3)
	}
	switch end, _ := os.ReadFile(os.Getenv(schemaEndVar)); string(end) {
	case "killed":
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		panic(err)
	case "exit":
		os.Exit(2)
	}
	fmt.Printf("{\"mode\": %d}\n", len(count))
	os.Exit(0)
}

// task is the payload of an event: the instructions for the provider.
type task struct {
	Print  []string `json:",omitempty"` // on standard error, first
	Dial   string   `json:",omitempty"` // an address to connect to, and to stay connected to
	Do     string   // a case of runProvider
	Answer string   `json:",omitempty"`
	Code   int      `json:",omitempty"`
}

func (t task) payload() []byte {
	data, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return data
}

func runProvider(behaviour string) {
	api := runtimeClient("http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/")
	switch behaviour {
	case "handle":
	case "fc":
		runFCProgram()
	case "fc-http":
		runFCServer()
	case "init-exit":
		fmt.Println("no database")
		os.Exit(3)
	case "init-kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "init-error":
		api.post("init/error", `{"errorType":"Import","errorMessage":"cannot import X-Amz-Signature=0123456789abcdef"}`)
		os.Exit(1)
	case "init-hang":
		hang()
	case "child": // of a provider
		dial(os.Getenv("TEST_DIAL"))
		hang()
	case "host":
		runHost()
	case "aws-lambda-go":
		lambda.Start(func(_ context.Context, event json.RawMessage) (json.RawMessage, error) {
			fmt.Println("at", os.Getenv("AWS_LAMBDA_RUNTIME_API"))
			return event, nil
		})
	}
	hinted := "" // the invocation whose handler left work running
	for {
		id, payload, header := api.next()
		var t task
		if err := json.Unmarshal(payload, &t); err != nil {
			panic(err)
		}
		for _, line := range t.Print {
			fmt.Fprintln(os.Stderr, line)
		}
		if t.Dial != "" {
			dial(t.Dial)
		}
		switch t.Do {
		case "answer":
			api.post("invocation/"+id+"/response", t.Answer)
		case "describe":
			data, _ := json.Marshal(map[string]any{"Env": os.Environ(), "Header": header, "Pid": os.Getpid()})
			api.post("invocation/"+id+"/response", string(data))
		case "error":
			api.post("invocation/"+id+"/error", t.Answer)
		case "exit":
			os.Exit(t.Code)
		case "panic":
			panic("the provider's own mistake")
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "hang":
			hang()
		case "stubborn":
			signal.Ignore(syscall.SIGTERM)
			dial(t.Answer)
			hang()
		case "last-answer": // after SIGTERM
			terms := make(chan os.Signal, 1)
			signal.Notify(terms, syscall.SIGTERM)
			dial(t.Answer)
			<-terms
			api.post("invocation/"+id+"/response", `"in time"`)
			os.Exit(0)
		case "skip": // no response at all
		case "large":
			api.post("invocation/"+id+"/response", strings.Repeat("x", 6<<20+1))
		case "wrong-id":
			status := api.post("invocation/other/response", `"stolen"`)
			api.post("invocation/"+id+"/response", fmt.Sprint(status))
		case "late-init-error":
			status := api.post("init/error", `{}`)
			api.post("invocation/"+id+"/response", fmt.Sprint(status))
		case "browser":
			api.post("invocation/"+id+"/response", fmt.Sprint(api.asBrowser()))
		case "answer-and-exit":
			api.post("invocation/"+id+"/response", `"bye"`)
			os.Exit(0)
		case "answer-and-compute": // until it is asked to stop
			computing.Store(true)
			go func() {
				for computing.Load() {
				}
			}()
			api.post("invocation/"+id+"/response", "null")
		case "stop-computing":
			computing.Store(false)
			api.post("invocation/"+id+"/response", "null")
		case "hint": // reports remaining work
			request, err := http.NewRequest(http.MethodPost, string(api)+"invocation/"+id+"/response", strings.NewReader("null"))
			if err != nil {
				panic(err)
			}
			request.Header.Set("Pintle-Working", t.Answer)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				panic(err)
			}
			response.Body.Close()
			hinted = id
		case "idle": // reports twice that the work has finished
			path := "invocation/" + hinted + "/idle"
			api.post("invocation/"+id+"/response", fmt.Sprint([]int{api.post(path, ""), api.post(path, "")}))
		case "release": // waits until the test releases it
			conn := dial(t.Answer)
			_, _ = io.ReadAll(conn)
			api.post("invocation/"+id+"/response", "null")
		case "child":
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), behaviourVar+"=child", "TEST_DIAL="+t.Answer)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			dial(t.Answer)
			hang()
		default:
			panic("unknown task " + t.Do)
		}
	}
}

func hang() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1) // otherwise the Go runtime reports a deadlock
	select {}
}

// dial connects and identifies itself. The connection breaks when the process exits.
func dial(addr string) net.Conn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(conn, os.Getpid())
	kept = append(kept, conn)
	return conn
}

// computing means that a goroutine of the provider is using the CPU.
var computing atomic.Bool

var kept []net.Conn // so that connections are not garbage-collected and closed

type runtimeClient string

func (c runtimeClient) next() (id string, payload []byte, header http.Header) {
	response, err := http.Get(string(c) + "invocation/next")
	if err != nil {
		os.Exit(99)
	}
	defer response.Body.Close()
	payload, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		os.Exit(98)
	}
	return response.Header.Get("Lambda-Runtime-Aws-Request-Id"), payload, response.Header
}

func (c runtimeClient) post(path, body string) int {
	response, err := http.Post(string(c)+path, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// asBrowser returns the statuses of calls that a web page in a browser could make.
func (c runtimeClient) asBrowser() []int {
	var statuses []int
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("Origin", "http://example.com") },
		func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		func(r *http.Request) { r.Host = "example.com" },
	} {
		r, err := http.NewRequest(http.MethodGet, string(c)+"invocation/next", nil)
		if err != nil {
			panic(err)
		}
		change(r)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		response.Body.Close()
		statuses = append(statuses, response.StatusCode)
	}
	return statuses
}
