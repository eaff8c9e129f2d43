package cdk_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
)

// patience bounds the waits in tests.
const patience = time.Minute

const region = "eu-west-1"

var built struct {
	sync.Once
	dir, path string
	err       error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // a temporary directory
	}
	os.Exit(code)
}

// pintle returns the path of the program, which is built once for all tests.
func pintle(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "pintle-cdk"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "pintle")
		if out, err := exec.Command("go", "build", "-o", built.path, "../../../cmd/pintle").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// cloud is a `pintle serve --dev` process.
type cloud struct {
	t    *testing.T
	dir  string // its home; the data is below
	url  string
	args []string
	env  []string // additional environment of the process
	cmd  *exec.Cmd
	done chan struct{} // closed when it has exited
}

// newCloud starts a server and waits until it is ready. It ends with the test.
func newCloud(t *testing.T, args ...string) *cloud {
	t.Helper()
	return newCloudIn(t, nil, args...)
}

// newCloudIn is newCloud with additional environment of the server.
func newCloudIn(t *testing.T, environment []string, args ...string) *cloud {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, dir: t.TempDir(), url: "http://" + address, env: environment}
	c.args = append([]string{"serve", "--dev", "--listen", address, "--data", filepath.Join(c.dir, "data"), "--region", region, "--log-level", "debug"}, args...)
	c.start()
	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("the log of the server:\n%s", c.output())
		}
	})
	return c
}

func (c *cloud) start() {
	c.t.Helper()
	log, err := os.OpenFile(c.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	c.cmd = exec.Command(pintle(c.t), c.args...)
	c.cmd.Dir = c.dir
	c.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TMPDIR=" + os.TempDir(), "NO_PROXY=127.0.0.1,localhost"}, c.env...)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan<- struct{}) { // ends with the process
		_ = cmd.Wait() // it is killed at the end
		close(done)
	}(c.cmd, c.done)
	c.until("the server is ready", func() bool {
		response, err := http.Get(c.url + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close() // only the status matters
		return response.StatusCode == http.StatusOK
	})
}

// kill kills the process, as in a power failure.
func (c *cloud) kill() {
	if c.cmd == nil {
		return
	}
	_ = c.cmd.Process.Kill() // it may have exited
	<-c.done
	c.cmd = nil
}

func (c *cloud) logFile() string { return filepath.Join(c.dir, "log") }

func (c *cloud) output() string {
	text, err := os.ReadFile(c.logFile())
	if err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(text), "?")
}

// until waits for a change in another process.
func (c *cloud) until(what string, is func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-c.done:
			c.t.Fatalf("the server ended before %s", what)
		case <-deadline:
			c.t.Fatalf("waited %v in vain until %s", patience, what)
		}
	}
}

func (c *cloud) cloudFormation() *cloudformation.Client {
	return cloudformation.New(cloudformation.Options{BaseEndpoint: aws.String(c.url), Region: region, HTTPClient: awshttp.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
}

// call calls a service and returns its flattened result as texts.
func (c *cloud) call(service, action string, params map[string]any) (map[string]string, error) {
	c.t.Helper()
	client, err := awscall.New(awscall.Config{Region: region, Endpoint: c.url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := client.Call(c.t.Context(), service, action, params)
	texts := map[string]string{}
	for path, v := range awscall.Flatten(out) {
		texts[path] = fmt.Sprint(v)
	}
	return texts, err
}

// status returns the status and the reason of a stack, by its name or ID.
func (c *cloud) status(stack string) (status, reason string) {
	c.t.Helper()
	out, err := c.cloudFormation().DescribeStacks(c.t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil {
		return err.Error(), ""
	}
	return string(out.Stacks[0].StackStatus), aws.ToString(out.Stacks[0].StackStatusReason)
}

// stands checks the status of a stack.
func (c *cloud) stands(stack, want string) {
	c.t.Helper()
	if got, reason := c.status(stack); got != want {
		c.t.Errorf("%s is %s (%s), want %s", stack, got, reason, want)
	}
}

// gone checks that no stack has the name.
func (c *cloud) gone(stack string) {
	c.t.Helper()
	if got, _ := c.status(stack); !strings.Contains(got, "Stack with id "+stack+" does not exist") {
		c.t.Errorf("%s is %s, want it gone", stack, got)
	}
}
