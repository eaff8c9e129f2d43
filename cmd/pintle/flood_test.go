package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// floodMemory is the memory limit of the manifests in deploy/kubernetes, in bytes.
const floodMemory = 512 << 20

// TestFloodMemory has 1,000 connections send bodies of which no signature is good, as fast as they are taken, and leaves them open. The server
// keeps answering a caller with a good key, and never needs more memory than our manifests allow.
func TestFloodMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak of a process's memory is read from /proc")
	}
	const id, secret = "AKIDFLOOD", "a secret of a key"
	server := serveWithKey(t, id, secret)
	host := strings.TrimPrefix(server.url, "http://")
	forged := func(service string) string {
		r, err := http.NewRequest(http.MethodPost, server.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		guessed := aws.Credentials{AccessKeyID: id, SecretAccessKey: "guessed"}
		if err := v4.NewSigner().SignHTTP(t.Context(), guessed, r, strings.Repeat("0", 64), service, "eu-west-1", time.Now()); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("Authorization: %s\r\nX-Amz-Date: %s\r\n", r.Header.Get("Authorization"), r.Header.Get("X-Amz-Date"))
	}
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	floods := []struct {
		path, header string
		declared     int
	}{
		{"/", form + forged("cloudformation"), 1_000_000},
		{"/", form, 4_000_000}, // may be a call of ROS
		{"/?AccessKeyId=" + id + "&Action=ListStacks", form, 4_000_000},
		{"/2015-03-31/functions", forged("lambda"), 60_000_000},
		{"/bucket/key", forged("s3"), 200_000_000},
	}
	var connections sync.WaitGroup
	opened := make(chan net.Conn, 1000)
	defer func() {
		close(opened)
		for conn := range opened {
			conn.Close()
		}
		connections.Wait()
	}()
	part := []byte("k=" + strings.Repeat("x", 64<<10))
	for i := range cap(opened) {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		opened <- conn
		flood := floods[i%len(floods)]
		connections.Go(func() {
			_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n", flood.path, host, flood.header, flood.declared)
			for sent := 0; err == nil && sent < min(flood.declared, 8_000_000)-len(part); sent += len(part) {
				_, err = conn.Write(part)
			}
			_, _ = io.Copy(io.Discard, conn) // until either end closes it
		})
	}
	client := cloudformation.New(cloudformation.Options{
		BaseEndpoint: &server.url, Region: "eu-west-1", RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second},
	})
	var slowest time.Duration
	for range 50 {
		began := time.Now()
		if _, err := client.ListStacks(t.Context(), &cloudformation.ListStacksInput{}); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(began))
	}
	peak := peakMemory(t, server.cmd.Process.Pid)
	t.Logf("the slowest of 50 calls took %v; peak memory %d MiB", slowest, peak>>20)
	if peak > floodMemory {
		t.Errorf("the server needed %d MiB", peak>>20)
	}
}

// peakMemory returns the most memory that a process had, in bytes.
func peakMemory(t *testing.T, process int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
