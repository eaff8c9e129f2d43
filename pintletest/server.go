package pintletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// tool is the package of the program, as a tool directive in go.mod names it.
	tool = "github.com/pintle-dev/pintle/cmd/pintle"
	// startLimit and stopLimit are how long a server may take to start and to stop.
	startLimit = time.Minute
	stopLimit  = 30 * time.Second
	// shownLog is how much of a server's output a failed test shows, in bytes.
	shownLog = 16 << 10
)

// Server is a running "pintle serve --dev": a local CloudFormation and the services around it, on a port of 127.0.0.1, with its own
// data directory. [StartServer] starts one. Many goroutines can use it at once, except for [Server.Setenv].
type Server struct {
	// URL is the endpoint of every service, such as http://127.0.0.1:40997.
	URL string
	// Region is the region of the stacks.
	Region string
	// Env has the environment variables that point AWS clients in other processes at the server. They contain an access key.
	Env map[string]string
	// Unset lists the variables of this process that would make such clients ignore Env, such as AWS_PROFILE. Remove them.
	Unset []string

	t       testing.TB
	program string
	dir     string // everything of the server is in here
}

// StartServer starts a server for a test and stops it when the test ends:
//
//	func TestStack(t *testing.T) {
//		server := pintletest.StartServer(t, "--project", "..")
//		outputs, err := server.Deploy(t.Context(), "site", template, map[string]string{"Name": "a"})
//		if err != nil {
//			t.Fatal(err)
//		}
//		if outputs["URL"] != "https://a.test" {
//			t.Error(outputs)
//		}
//	}
//
// The options are flags of "pintle serve", with paths relative to the directory of the test. "--project DIR" makes the providers
// in the pintle.yaml of a directory available. Variables such as PINTLE_DATABASE do not set flags here.
//
// The program is the first of these that exists: the path in the environment variable PINTLE, the tool in the go.mod of the test
// (go get -tool github.com/pintle-dev/pintle/cmd/pintle), and pintle on PATH. The test fails if there is none, or if the server
// does not start within a minute.
//
// The server runs as a child process. It also stops if the process of the test is killed or exits without cleaning up. A failed
// test logs the end of the server's output.
func StartServer(t testing.TB, options ...string) *Server {
	t.Helper()
	program, err := findProgram(t.Context())
	if err != nil {
		t.Fatalf("pintletest: %v", err)
	}
	s := &Server{t: t, program: program, dir: t.TempDir()}
	if err := s.start(options); err != nil {
		t.Fatalf("pintletest: start a server: %v", err)
	}
	return s
}

// findProgram returns the path of the program.
func findProgram(ctx context.Context) (string, error) {
	if given := os.Getenv("PINTLE"); given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", fmt.Errorf("the variable PINTLE: %w", err)
		}
		return filepath.Abs(path) // commands run in other directories
	}
	// go builds the tool, and prints the path of the result. Without a tool directive it fails at once.
	if out, err := exec.CommandContext(ctx, "go", "tool", "-n", tool).Output(); err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	path, err := exec.LookPath("pintle")
	if err != nil {
		return "", errors.New("pintle is neither in the variable PINTLE nor a tool in go.mod nor on PATH: run go get -tool " + tool)
	}
	return path, nil
}

// start runs the server until the test ends.
func (s *Server) start(options []string) error {
	output, err := os.Create(s.path("output"))
	if err != nil {
		return err
	}
	cmd := exec.Command(s.program, append([]string{
		"serve", "--dev", "--listen", "127.0.0.1:0", "--data", s.path("data"), "--until-stdin-closes",
	}, options...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), output, output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return errors.Join(err, output.Close())
	}
	err = cmd.Start()
	if err := errors.Join(err, output.Close()); err != nil { // the child has its own descriptor
		return err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // its status is in ProcessState
	}()
	s.t.Cleanup(func() { s.stop(cmd, stdin, exited) })

	ctx, cancel := context.WithTimeoutCause(s.t.Context(), startLimit, fmt.Errorf("it is not ready after %v", startLimit))
	defer cancel()
	for {
		found, err := s.environment(ctx)
		if err == nil {
			s.Env, s.Unset = found.Set, found.Unset
			s.URL, s.Region = s.Env["AWS_ENDPOINT_URL_CLOUDFORMATION"], s.Env["AWS_REGION"]
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("pintle serve: %v\n%s", cmd.ProcessState, s.output())
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop asks the server to stop, and kills it if it does not.
func (s *Server) stop(cmd *exec.Cmd, stdin io.Closer, exited <-chan struct{}) {
	_ = stdin.Close() // the server may have exited before
	late := time.NewTimer(stopLimit)
	defer late.Stop()
	select {
	case <-exited:
	case <-late.C:
		s.t.Errorf("pintletest: the server did not stop within %v", stopLimit)
		_ = cmd.Process.Kill() // it may exit at this moment
		<-exited
	}
	if s.t.Failed() {
		s.t.Logf("the output of pintle serve:\n%s", s.output())
	}
}

// output returns the end of the server's output.
func (s *Server) output() string {
	text, err := os.ReadFile(s.path("output"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-shownLog):])
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

// environment returns the environment of pintle: that of this process, without the variables that set flags.
func environment() []string {
	var list []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PINTLE_") {
			list = append(list, variable)
		}
	}
	return list
}

// clientEnvironment is the output of "pintle env".
type clientEnvironment struct {
	Set   map[string]string `json:"set"`
	Unset []string          `json:"unset"`
}

// environment returns the variables for clients, or an error if the server does not serve yet.
func (s *Server) environment(ctx context.Context) (clientEnvironment, error) {
	var found clientEnvironment
	out, err := s.run(ctx, "env", "--output", "json")
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal(out, &found)
}

// run runs a command of pintle on the data of the server and returns its standard output. The error has the message of the command.
func (s *Server) run(ctx context.Context, command string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.program, append([]string{command, "--data", s.path("data")}, args...)...)
	cmd.Dir, cmd.Env = s.dir, environment()                                  // a pintle.yaml in the directory of the test is for the server
	for _, name := range []string{"AWS_REGION", "ALIBABA_CLOUD_REGION_ID"} { // those of the server, whatever the test has set since
		if region := s.Env[name]; region != "" {
			cmd.Env = append(cmd.Env, name+"="+region)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, message, ok := strings.Cut("\n"+stderr.String(), "\nerror: "); ok {
		return nil, fmt.Errorf("pintle %s: %s", command, strings.TrimSpace(message))
	}
	return nil, fmt.Errorf("pintle %s: %w\n%s", command, err, stderr.Bytes())
}

// Setenv sets the environment variables of this process that point AWS clients at the server, until the test ends. Clients that
// read their configuration afterwards use the server. Like [testing.T.Setenv], it is not for parallel tests.
func (s *Server) Setenv() {
	s.t.Helper()
	for name, value := range s.Env {
		s.t.Setenv(name, value)
	}
	for _, name := range s.Unset {
		s.t.Setenv(name, "") // which restores it
		if err := os.Unsetenv(name); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Deploy creates or updates a stack from a template, JSON or YAML, of CloudFormation or ROS. It waits until the stack is complete
// and returns its outputs. Outputs that hold a secret, such as the value of a NoEcho parameter, are "****".
//
// If the stack does not complete, the error has the resource, the reason, and the end of the provider's log. When ctx ends, the
// operation continues on the server.
func (s *Server) Deploy(ctx context.Context, stack, template string, parameters map[string]string) (outputs map[string]string, err error) {
	dir, err := os.MkdirTemp(s.dir, "deploy-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if parameters == nil {
		parameters = map[string]string{}
	}
	values, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	templateFile, parameterFile := filepath.Join(dir, "template"), filepath.Join(dir, "parameters.json")
	if err := os.WriteFile(templateFile, []byte(template), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(parameterFile, values, 0o600); err != nil { // other users can read command lines
		return nil, err
	}
	out, err := s.run(ctx, "deploy", "--stack", stack, "--template", templateFile, "--parameter-file", parameterFile,
		"--output", "json")
	if err != nil {
		return nil, err
	}
	var result struct {
		Outputs map[string]string `json:"outputs"`
	}
	return result.Outputs, json.Unmarshal(out, &result)
}

// Delete deletes a stack and waits until it is deleted. It is not an error if there is no such stack.
func (s *Server) Delete(ctx context.Context, stack string) error {
	_, err := s.run(ctx, "delete", "--stack", stack, "--output", "json")
	return err
}
