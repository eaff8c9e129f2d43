//go:build unix

package measure

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// Build builds pintle into folder as users do, and returns the program's path.
func Build(ctx context.Context, folder string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/pintle-dev/pintle").Output()
	if err != nil {
		return "", fmt.Errorf("run it in the folder bench: go list: %w", err)
	}
	path := filepath.Join(folder, "pintle")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/pintle")
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return path, nil
}

// Server is a pintle serve process on loopback.
type Server struct {
	*Process
	Client *cloudformation.Client
	Took   time.Duration // time until it was ready
}

// Serve starts pintle serve with a data directory, which is created if necessary. It uses a PostgreSQL database or, if
// dsn is empty, a file in the data directory. It logs as by default, and gets the additional args; with --dev it accepts
// the calls of Client. It must be stopped.
func Serve(ctx context.Context, program, data, dsn string, args ...string) (*Server, error) {
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	all := append([]string{"serve", "--listen", address, "--data", data}, args...)
	if dsn != "" {
		all = append(all, "--database", dsn, "--key-file", filepath.Join(data, "..", "keys"), "--public-url", "http://"+address)
	}
	process, err := Start(ctx, filepath.Dir(data), nil, program, all...)
	if err != nil {
		return nil, err
	}
	took, err := process.Ready(ctx, "http://"+address+"/readyz")
	if err != nil {
		process.Kill()
		return nil, err
	}
	client := cloudformation.New(cloudformation.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://" + address), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("bench", "bench", ""),
	})
	return &Server{Process: process, Client: client, Took: took}, nil
}

// Ends waits until no operation of a stack is in progress and returns its final status. It polls every 10 ms.
func (s *Server) Ends(ctx context.Context, stack string) (types.StackStatus, error) {
	for {
		out, err := s.Client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
		if err != nil {
			return "", err
		}
		if len(out.Stacks) != 1 {
			return "", errors.New("a stack is not there")
		}
		if status := out.Stacks[0].StackStatus; !strings.HasSuffix(string(status), "_IN_PROGRESS") {
			return status, nil
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
