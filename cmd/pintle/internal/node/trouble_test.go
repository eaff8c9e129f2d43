package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

// TestLostKeysAreNotReplaced: new keys would open nothing, and stand where the old ones are to be put back.
func TestLostKeysAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	_, stop := start(t, node.Config{Lock: acquire(t, dir)})
	stop()
	file := filepath.Join(dir, "keys")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err := node.Open(t.Context(), node.Config{Lock: acquire(t, dir)})
	if err == nil || !strings.Contains(err.Error(), file+" is missing") || !strings.Contains(err.Error(), "restore it") {
		t.Errorf("Open: %v, want the file and the remedy", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key file was made: %v", err)
	}
}

// TestMovedPort checks the report about requests whose answers go to the port of the last run when that port is taken.
func TestMovedPort(t *testing.T) {
	dir := t.TempDir()
	arrived := make(chan struct{}, 1)
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // it never answers
		arrived <- struct{}{}
	}))
	defer provider.Close()

	var log bytes.Buffer
	config := node.Config{Role: node.Server, AllowPrivate: true, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))}
	again := func(listen string) (*node.Node, func()) {
		config.Lock, config.Listen = acquire(t, dir), listen
		return start(t, config)
	}
	n, stop := again("")
	address := strings.TrimPrefix(n.Record().URL, "http://")
	stop()
	_, stop = again("127.0.0.1:0")
	stop()
	if log.Len() > 0 {
		t.Errorf("nothing waits, and yet: %s", log.String())
	}

	n, stop = again(address)
	owner := n.Record().Owner
	stacks := cloudformation.New(cloudformation.Options{
		BaseEndpoint: aws.String(n.Record().URL), Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider(owner.ID, owner.Secret, ""),
	})
	template := fmt.Sprintf(`{"Resources": {"R": {"Type": "Custom::R", "Properties": {"ServiceToken": %q}}}}`, provider.URL)
	if _, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: &template,
	}); err != nil {
		t.Fatal(err)
	}
	<-arrived
	waits(t, n)
	stop()

	log.Reset()
	other, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_, stop = again("")
	stop()
	_ = other.Close()
	_, port, _ := net.SplitHostPort(address)
	if text := log.String(); !strings.Contains(text, "at port "+port) || !strings.Contains(text, "serve --listen "+address) {
		t.Errorf("logged %q, want the port and the remedy", text)
	}

	log.Reset()
	_, stop = again(address)
	stop()
	if log.Len() > 0 {
		t.Errorf("the port is the same, and yet: %s", log.String())
	}
}

// waits returns when the only request of the stack s waits for its answer.
func waits(t *testing.T, n *node.Node) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-tick.C {
		if _, text := call(t, n.Record().URL, n.Record().Owner, http.MethodGet, "stacks/s/requests", ""); strings.Contains(text, `"waiting"`) {
			return
		}
	}
	t.Fatal("no request waits for an answer")
}
