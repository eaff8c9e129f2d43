package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/require"
	"github.com/pintle-dev/pintle/pintletest"
)

// newGateway starts versitygw, an S3 in front of a folder, behind a socket in the file system.
func newGateway(t *testing.T) *store {
	t.Helper()
	program := require.Tool(t, "versitygw")
	dir, err := os.MkdirTemp("", "s3") // the path of a socket may not be as long as t.TempDir's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // only the system's folder for such things is left less tidy
	for _, name := range []string{"side", "data", filepath.Join("data", bucket), filepath.Join("data", otherBucket)} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "socket")
	command := exec.Command(program, "--access", keyID, "--secret", secret, "--region", "eu-west-1", "--port", socket, "--quiet",
		"posix", "--sidecar", filepath.Join(dir, "side"), filepath.Join(dir, "data"))
	command.Stderr = t.Output()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { // ends with the program
		_ = command.Wait() // it is killed, or a look finds nobody
		close(exited)
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		<-exited
	})
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		conn, err := dial(t.Context(), "", "")
		if err == nil {
			_ = conn.Close() // it was only to see whether somebody listens
			break
		}
		select {
		case <-exited:
			t.Fatal("versitygw ended")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	s, err := newStore(awscall.Config{Region: "eu-west-1", Endpoint: "http://127.0.0.1", HTTP: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGateway plays both lives against an S3 that somebody else has written.
func TestGateway(t *testing.T) {
	s := newGateway(t)
	const odd = "größe/日本 +&%.txt"
	reads := func(key, want string) func() error {
		return func() error {
			got, err := s.read(t.Context(), object{bucket, key})
			if want == "" && errors.Is(err, errNone) {
				return nil
			}
			if err != nil || got != want {
				return fmt.Errorf("%s has %q, want %q; %w", key, got, want, err)
			}
			return nil
		}
	}
	pintletest.Life{
		Handler: pintle.New(files{s}),
		Steps: []pintletest.Step{
			{Name: "no bucket", Properties: pintletest.Map{"BucketName": "no-bucket", "Contents": "a"}, Fails: "NoSuchBucket"},
			{Properties: file("/a/b.txt", "hello!"), Again: 1, Check: reads("a/b.txt", "hello!"), Attributes: pintletest.Map{
				"ObjectKey": "a/b.txt", "ETag": etag("hello!"), "URL": "http://127.0.0.1/my-bucket/a/b.txt"}},
			{Properties: file("a/b.txt", "new"), Check: reads("a/b.txt", "new")},
			{Properties: file(odd, "grüß Gott 🌍"), Replaces: true, Undone: true, Check: reads("a/b.txt", "new")},
			{Properties: file(odd, "grüß Gott 🌍"), Replaces: true, Check: reads(odd, "grüß Gott 🌍")},
			{Name: "the first is gone", Properties: file(odd, "grüß Gott 🌎"), Check: reads("a/b.txt", "")},
			{Do: pintle.Delete, Check: reads(odd, "")},
			{Name: "late", Properties: file("late", "a"), Late: true, Check: reads("late", "")},
		},
	}.Run(t)
	if _, err := s.put(t.Context(), greeting, "hello", "somebody", false); err != nil {
		t.Fatal(err)
	}
	pintletest.Life{
		Handler: pintle.New(asserts{s}),
		Steps: []pintletest.Step{
			{Properties: expects("hello")},
			{Properties: expects("hallo"), Fails: "they differ from byte 1 on"},
			{Properties: pintletest.Map{"BucketName": bucket, "ObjectKey": "none", "ExpectedContent": "a"}, Fails: "s3://my-bucket/none is not there"},
			{Properties: pintletest.Map{"BucketName": "no-bucket", "ObjectKey": "none", "ExpectedContent": "a"}, Fails: "NoSuchBucket"},
		},
	}.Run(t)
}
