//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	account = "000000000000"
	region  = "eu-west-1"
)

// stage is shared by all rounds: the programs and the app, which is synthesized once.
type stage struct {
	dir, tools string
	pintle     string
	assembly   string // of the app
}

func newStage(ctx context.Context, dir, tools string) (*stage, error) {
	s := &stage{dir: dir, tools: tools, pintle: filepath.Join(dir, "pintle"), assembly: filepath.Join(dir, "assembly")}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, err
	}
	source := strings.TrimSpace(string(root))
	build := exec.CommandContext(ctx, "go", "build", "-o", s.pintle, "./cmd/pintle")
	build.Dir = source
	if _, err := s.time(build); err != nil {
		return nil, err
	}
	app := fmt.Sprintf("node '%s'", filepath.Join(source, "internal/dev/cdk/testdata/core/app.js"))
	_, err = s.time(s.cdk(ctx, "http://127.0.0.1:9", "synth", "--quiet", "--app", app, "--output", s.assembly, "-c", "ledger="+filepath.Join(dir, "ledger")))
	return s, err
}

// cdk returns a CDK command.
func (s *stage) cdk(ctx context.Context, endpoint string, args ...string) *exec.Cmd {
	modules := filepath.Join(s.tools, "node_modules")
	cmd := exec.CommandContext(ctx, filepath.Join(modules, ".bin", "cdk"), append(args, "--no-notices", "--no-color")...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + os.TempDir(), "NODE_PATH=" + modules, "NO_PROXY=127.0.0.1", "CI=1",
		"CDK_DISABLE_CLI_TELEMETRY=true", "CDK_DISABLE_VERSION_CHECK=1", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL=" + endpoint, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=" + region,
	}
	return cmd
}

func (s *stage) deploy(ctx context.Context, endpoint string) (time.Duration, error) {
	return s.time(s.cdk(ctx, endpoint, "deploy", "--app", s.assembly, "--require-approval", "never"))
}

// onStub measures cdk deploy against a stub whose stack takes a fixed time.
func (s *stage) onStub(ctx context.Context, takes time.Duration) (took time.Duration, err error) {
	stub, err := newStub(takes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stub.close()) }()
	return s.deploy(ctx, stub.URL)
}

// onServer measures cdk deploy against an empty server.
func (s *stage) onServer(ctx context.Context, round int) (took time.Duration, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, s.pintle, "serve", "--dev", "--listen", address, "--data", s.data(round), "--region", region)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = s.environment()
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have exited
		if ended := cmd.Wait(); ended != nil && err == nil {
			err = fmt.Errorf("pintle serve: %w\n%s", ended, log.Bytes())
		}
	}()
	for range 500 {
		if response, err := http.Get("http://" + address + "/readyz"); err == nil {
			_ = response.Body.Close() // only the status matters
			if response.StatusCode == http.StatusOK {
				return s.deploy(ctx, "http://"+address)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return 0, errors.New("the server is not ready after ten seconds")
}

// withoutCDK measures the deployment of the template that the CDK generated. It uses the data of a server to which
// the code was uploaded.
func (s *stage) withoutCDK(ctx context.Context, round int) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, s.pintle, "deploy", "--run-functions", "--stack", "again", "--template", filepath.Join(s.assembly, "Tables.template.json"),
		"--data", s.data(round), "--region", region)
	cmd.Dir, cmd.Env = s.dir, s.environment()
	return s.time(cmd)
}

func (s *stage) data(round int) string { return filepath.Join(s.dir, fmt.Sprint("data-", round)) }

func (s *stage) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + os.TempDir(), "NO_PROXY=127.0.0.1"}
}

// time runs a command and returns its duration.
func (s *stage) time(cmd *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return time.Since(began), nil
}
