package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/server"
)

// half returns a request whose rest is never sent.
func half(method, target, host, length, body string, header http.Header) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, host)
	for name, values := range header {
		fmt.Fprintf(&b, "%s: %s\r\n", name, values[0])
	}
	if length != "" {
		fmt.Fprintf(&b, "Content-Length: %s\r\n\r\n%s", length, body)
	}
	return b.String()
}

// forged returns the headers of a request with the ID of an existing key and a signature with another secret.
func forged(t *testing.T, service string) http.Header {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	guessed := aws.Credentials{AccessKeyID: "AKKNOWN", SecretAccessKey: "guessed"}
	if err := v4.NewSigner().SignHTTP(t.Context(), guessed, r, strings.Repeat("0", 64), service, region, time.Now()); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.Header
}

// TestFlood opens far more connections with unfinished requests than the server has slots, of every kind that needs
// no key. It then calls every endpoint with valid keys.
func TestFlood(t *testing.T) {
	const turns, strangers = 4, 64
	w := newWorld(t, func(_ *world, config *server.Config) {
		config.Dev, config.Concurrency, config.Connections = false, turns, strangers
		config.Intake = intake.New(intake.Config{Total: 1 << 20, Dir: t.TempDir()})
		config.Keys = func(id string) (sigv4.Key, bool) {
			return sigv4.Key{ID: id, Secret: "secret", Account: "000000000000"}, id == "AKKNOWN"
		}
		config.Console = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "a page")
		})
		config.Services = map[string]server.Service{"lambda": {
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, n)
			}),
			Refuse: server.JSONService(nil).Refuse, Paths: true, Timeout: time.Minute,
		}}
		config.Bodies = map[string]int64{"lambda": 8 << 20}
	})
	client := cloudformation.New(cloudformation.Options{
		BaseEndpoint: &w.url, Region: region, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKKNOWN", "secret", ""),
		// Use a new connection for every call, because an authenticated one would be safe.
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second},
	})
	name := "s"
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(template("1"))}); err != nil {
		t.Fatal(err)
	}
	request := w.take()

	host := strings.TrimPrefix(w.url, "http://")
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	long := strings.Repeat("x", 60<<10)
	kinds := []string{
		"",     // nothing
		"\x16", // the beginning of a TLS record
		half(http.MethodPost, "/", host, "", "", form),
		half(http.MethodPost, "/", host, "1000", "A", form),
		half(http.MethodPost, "/?AccessKeyId=AKKNOWN", host, "1000", "A", form),
		half(http.MethodPost, "/", host, "1000000", long, forged(t, "cloudformation")),
		half(http.MethodPost, "/x", host, "8000000", long, forged(t, "lambda")),
		half(http.MethodPut, "/"+server.ResponsePath+"/x", host, "1000", "{", nil),
		half(http.MethodPut, "/"+server.SignalPath+"/x", host, "1000", "{", nil),
		half(http.MethodPost, "/console/signin", host, "1000", "a", form),
		half(http.MethodPost, "/pintle/v1/stacks", host, "1000", "a", form),
	}
	for i := range 4 * strangers {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, kinds[i%len(kinds)]); err != nil {
			t.Logf("connection %d: %v", i, err) // it was closed for another one
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 3 * turns {
		if _, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, target := range []string{w.url + "/healthz", w.url + "/readyz", w.url + "/console/"} {
		if status, _, body := w.send(http.MethodGet, target, "", nil); status != http.StatusOK {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	if status, _, body := w.send(http.MethodPost, w.url+"/console/x", "a=b", form); status != http.StatusOK {
		t.Errorf("a form of the console: %d %s", status, body)
	}
	if status, body := w.upload("AKKNOWN", 5<<20); status != http.StatusOK || body != fmt.Sprint(5<<20) {
		t.Errorf("an upload with its hash declared: %d %s", status, body)
	}
	call := rosCall(http.MethodPost, "ListStacks", "secret", "AccessKeyId", "AKKNOWN", "RegionId", region)
	if status, body := w.ros(http.MethodPost, call, nil); status != http.StatusOK {
		t.Errorf("ROS: %d %v", status, body)
	}
	if status, _, body := w.put(w.responseURL(request), success(request, "x")); status != http.StatusOK {
		t.Errorf("an answer: %d %s", status, body)
	}
	if got := w.status("s"); got != "CREATE_COMPLETE" {
		t.Errorf("the stack is %s", got)
	}
}

// TestSlowSender makes a provider with a valid URL stop in the middle of its answer, on a server with one slot.
func TestSlowSender(t *testing.T) {
	w := newWorld(t, func(_ *world, config *server.Config) { config.Concurrency = 1 })
	slow, other := w.create("slow"), w.create("other")
	target, err := url.Parse(w.responseURL(slow))
	w.must(err)
	conn, err := net.Dial("tcp", target.Host)
	w.must(err)
	defer conn.Close()
	_, err = io.WriteString(conn, half(http.MethodPut, target.RequestURI(), target.Host, "1000", "{", http.Header{"Content-Type": {""}}))
	w.must(err)
	if status, _, body := w.put(w.responseURL(other), success(other, "x")); status != http.StatusOK {
		t.Errorf("another answer: %d %s", status, body)
	}
}

// upload posts zeros to lambda, signed with the secret of a known key, with the hash of the body in a header.
func (w *world) upload(key string, size int) (int, string) {
	w.t.Helper()
	body := strings.Repeat("\x00", size)
	r, err := http.NewRequest(http.MethodPost, w.url+"/x", strings.NewReader(body))
	w.must(err)
	sum := hashOf(body)
	r.Header.Set("X-Amz-Content-Sha256", sum)
	w.must(v4.NewSigner().SignHTTP(w.t.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}, r, sum, "lambda", region, time.Now()))
	reply, err := http.DefaultClient.Do(r)
	w.must(err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	w.must(err)
	return reply.StatusCode, string(text)
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
