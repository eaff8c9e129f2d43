//go:build unix

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/bench/measure"
)

// target is a program that is measured.
type target struct {
	name string
	note string // a description for readers
	own  bool   // it must start
	// command returns the program, its arguments and additional environment variables, to listen at a host and port of
	// loopback. The program may write into folder.
	command func(b bench, address, folder string) (program string, args, env []string)
	// ready is a path that answers 200 when the target is ready.
	ready string
}

// targets returns all targets, in the order of the tables.
func targets() []target {
	return []target{
		{
			name: "pintle", own: true, ready: "/readyz", note: "pintle serve --dev, on SQLite",
			command: func(b bench, address, folder string) (string, []string, []string) {
				return b.program, []string{"serve", "--dev", "--listen", address, "--data", filepath.Join(folder, "data")}, nil
			},
		},
		{
			name: "moto", ready: "/moto-api/", note: "5.2.1, with its functions run in its own process, not in Docker",
			command: func(b bench, address, _ string) (string, []string, []string) {
				_, port, _ := net.SplitHostPort(address) // the address has a port
				server := filepath.Join(b.peers, "motoserver.py")
				return "python3", []string{server, port}, []string{"PYTHONPATH=" + filepath.Join(b.peers, "moto")}
			},
		},
		{
			name: "ministack", ready: "/_ministack/health", note: "1.5.33, with its own executor of functions, not Docker",
			command: func(b bench, address, folder string) (string, []string, []string) {
				host, port, _ := net.SplitHostPort(address) // the address has both
				return "python3", []string{"-m", "ministack"}, []string{
					"PYTHONPATH=" + filepath.Join(b.peers, "ministack"), "BIND_HOST=" + host, "MINISTACK_HOST=" + host, "GATEWAY_PORT=" + port,
					"LAMBDA_EXECUTOR=local", "IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0", "STATE_DIR=" + filepath.Join(folder, "state"),
				}
			},
		},
		{
			name: "localstack", ready: "/_localstack/health", note: "2026.8.2, started by its own command",
			command: func(b bench, address, folder string) (string, []string, []string) {
				return "python3", []string{"-c", "from localstack_cli.cli.main import main; main()", "start", "--no-banner"}, []string{
					"PYTHONPATH=" + filepath.Join(b.peers, "localstack"), "GATEWAY_LISTEN=" + address, "DISABLE_EVENTS=1",
					"LOCALSTACK_VOLUME_DIR=" + filepath.Join(folder, "volume"),
				}
			},
		},
	}
}

func names() []string {
	var list []string
	for _, t := range targets() {
		list = append(list, t.name)
	}
	return list
}

// running is a started target.
type running struct {
	*measure.Process
	target
	stacks
	took   time.Duration // time until it was ready
	folder string
}

// start starts a target in its own directory and waits until it is ready. It must be stopped.
func (b bench) start(ctx context.Context, t target) (*running, error) {
	if b.peers == "" && !t.own {
		return nil, fmt.Errorf("%s names no folder that tools/peers/install has made", Variable)
	}
	folder, err := os.MkdirTemp(b.temporary, t.name+"-")
	if err != nil {
		return nil, err
	}
	address, err := measure.FreeAddress()
	if err != nil {
		return nil, err
	}
	program, args, env := t.command(b, address, folder)
	env = append(env, "NO_PROXY=127.0.0.1,localhost", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_DEFAULT_REGION=us-east-1", "PYTHONDONTWRITEBYTECODE=",
		"TMPDIR="+folder, "XDG_CACHE_HOME="+filepath.Join(folder, "cache"))
	process, err := measure.Start(ctx, folder, env, program, args...)
	if err != nil {
		return nil, err
	}
	r := &running{Process: process, target: t, folder: folder}
	if r.took, err = process.Ready(ctx, "http://"+address+t.ready); err != nil {
		process.Kill()
		return nil, err
	}
	r.client = cloudformation.New(cloudformation.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + address), RetryMaxAttempts: 3,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	return r, nil
}

// stop ends the target and removes its files.
func (r *running) stop() error {
	if err := r.Stop(); err != nil {
		return err
	}
	return os.RemoveAll(r.folder)
}
