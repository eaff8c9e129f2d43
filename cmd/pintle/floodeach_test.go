package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
)

// floodWorld is a server with a key, and the settings of its legitimate callers.
type floodWorld struct {
	*served
	host       string
	id, secret string
	client     *http.Client // without connections that were authenticated before
}

// TestFloodOfEachListener attacks each kind of listener on its own with 1,000 connections: most hold an unfinished request or handshake open,
// and the others send complete requests without a good signature as fast as they are refused, many at a time, and connect again when they are cut off.
// Callers with keys, and providers with response URLs, are served meanwhile.
func TestFloodOfEachListener(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	w := newFloodWorld(t)
	session, answer, signal := w.console(), w.answer(), w.signal()
	call := func(service, method, path, body string) func() error {
		return func() error { return w.signed(service, method, path, body) }
	}
	must(t, w.signed("s3", http.MethodPut, "/flood-bucket", ""))
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	forged := func(service string) string {
		r, err := http.NewRequest(http.MethodPost, w.url, nil)
		must(t, err)
		must(t, v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: w.id, SecretAccessKey: "guessed"}, r, strings.Repeat("0", 64), service, "eu-west-1", time.Now()))
		return fmt.Sprintf("Authorization: %s\r\nX-Amz-Date: %s\r\n", r.Header.Get("Authorization"), r.Header.Get("X-Amz-Date"))
	}
	for _, test := range []struct {
		name   string
		method string
		path   string
		header string
		tls    bool
		legal  func() error
	}{
		{"CloudFormation", "POST", "/", form + forged("cloudformation"), false, call("cloudformation", http.MethodPost, "/", "Action=ListStacks&Version=2010-05-15")},
		{"ROS", "POST", "/?AccessKeyId=" + w.id + "&Action=ListStacks", form, false, w.ros},
		{"S3", "PUT", "/flood-bucket/key", forged("s3"), false, call("s3", http.MethodPut, "/flood-bucket/key", "text")},
		{"Lambda", "POST", "/2015-03-31/functions", forged("lambda"), false, call("lambda", http.MethodGet, "/2015-03-31/functions/", "")},
		{"response URLs", "PUT", "/response/x?X-Amz-Signature=00", "", false, answer},
		{"signal URLs", "PUT", "/signal/x?X-Amz-Signature=00", "", false, signal},
		{"console", "POST", "/console/sign-in", form, false, session},
		{"TLS", "POST", "/", form + forged("cloudformation"), true, w.overTLS},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: 10\r\n\r\n0123456789", test.method, test.path, w.host, test.header)
			before := slowestOf(t, test.legal)
			stop := w.flood(t, request, test.tls)
			defer stop()
			t.Logf("the slowest of 10 calls took %v, and %v in the flood", before, slowestOf(t, test.legal))
		})
	}
}

// slowestOf makes 10 calls, all of which succeed, and returns how long the slowest of them took.
func slowestOf(t *testing.T, call func() error) (slowest time.Duration) {
	t.Helper()
	for range 10 {
		began := time.Now()
		err := call()
		for range 2 { // as the SDKs do: on a slow machine a handshake may take longer than it may
			if err != nil {
				err = call()
			}
		}
		if err != nil {
			t.Error(err)
		}
		slowest = max(slowest, time.Since(began).Round(time.Millisecond))
	}
	return slowest
}

func newFloodWorld(t *testing.T) *floodWorld {
	t.Helper()
	const id, secret = "AKIDFLOOD", "a secret of a key"
	server := serveWithKey(t, id, secret, "--run-functions", "--log-level", "warn")
	client := &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return &floodWorld{server, strings.TrimPrefix(server.url, "http://"), id, secret, client}
}

// flood opens 1,000 connections and returns when all have sent something. stop closes them.
func (w *floodWorld) flood(t *testing.T, request string, secure bool) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var open, sent sync.WaitGroup
	dial := func() (net.Conn, error) {
		conn, err := net.Dial("tcp", w.host)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	head, _, _ := strings.Cut(request, "\r\n\r\n")
	halves := []string{"", request[:10], head, head + "\r\n\r\n012"}
	if secure {
		halves = []string{"", "\x16", "\x16\x03\x01\x02\x00\x01"}
	}
	const connections, senders = 1000, 50
	for i := range connections {
		sent.Add(1)
		open.Go(func() {
			once := sync.OnceFunc(sent.Done)
			defer once()
			for ctx.Err() == nil {
				conn, err := dial()
				if err != nil {
					return
				}
				if i >= senders {
					_, _ = io.WriteString(conn, halves[i%len(halves)]) // it may have had to make way
					once()
					<-ctx.Done()
					return
				}
				if secure {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
				}
				go func() { _, _ = io.Copy(io.Discard, conn) }() // ends when either end closes it
				for err == nil {
					_, err = io.WriteString(conn, strings.Repeat(request, 20))
					once()
				}
				conn.Close()
			}
		})
	}
	sent.Wait()
	return func() {
		cancel()
		open.Wait()
	}
}

// do sends a request, whose reply has to be a success.
func (w *floodWorld) do(r *http.Request) error {
	reply, err := w.client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", r.Method, r.URL.Path, reply.Status, text)
	}
	return err
}

// signed calls a service of AWS with the good key.
func (w *floodWorld) signed(service, method, path, body string) error {
	return w.signedAt(w.url, service, method, path, body)
}

func (w *floodWorld) signedAt(root, service, method, path, body string) error {
	r, err := http.NewRequest(method, root+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if service == "cloudformation" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	sum := sha256.Sum256([]byte(body))
	hash := hex.EncodeToString(sum[:])
	r.Header.Set("X-Amz-Content-Sha256", hash)
	key := aws.Credentials{AccessKeyID: w.id, SecretAccessKey: w.secret}
	if err := v4.NewSigner().SignHTTP(context.Background(), key, r, hash, service, "eu-west-1", time.Now()); err != nil {
		return err
	}
	return w.do(r)
}

func (w *floodWorld) overTLS() error {
	return w.signedAt("https://"+w.host, "cloudformation", http.MethodPost, "/", "Action=ListStacks&Version=2010-05-15")
}

func (w *floodWorld) ros() error {
	client, err := rosclient.New(rosclient.Config{
		Endpoint: w.url, Region: "cn-hangzhou", HTTP: w.client,
		Keys: func(context.Context) (rosclient.Keys, error) { return rosclient.Keys{ID: w.id, Secret: w.secret}, nil },
	})
	if err != nil {
		return err
	}
	return client.Call(context.Background(), "ListStacks", nil, nil)
}

// aws is a client of CloudFormation with the good key.
func (w *floodWorld) aws() *cloudformation.Client {
	return cloudformation.New(cloudformation.Options{
		BaseEndpoint: &w.url, Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider(w.id, w.secret, ""),
	})
}

// answer creates a resource whose provider does not answer. The returned function answers for it; every answer after the first is acknowledged too.
func (w *floodWorld) answer() func() error {
	w.t.Helper()
	provider := newHTTPProvider(w.t)
	template := `{"Resources": {"A": {"Type": "Custom::A", "Properties": {"ServiceToken": "` + provider.URL + `"}}}}`
	_, err := w.aws().CreateStack(w.t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("answers"), TemplateBody: &template})
	must(w.t, err)
	w.until("the provider has the request", func() bool { return len(provider.got()) > 0 })
	request := provider.got()[0]
	document, err := json.Marshal(map[string]any{
		"Status": "SUCCESS", "PhysicalResourceId": "a", "StackId": request["StackId"], "RequestId": request["RequestId"], "LogicalResourceId": request["LogicalResourceId"],
	})
	must(w.t, err)
	return w.put(fmt.Sprint(request["ResponseURL"]), document)
}

// signal creates a wait condition. The returned function sends a signal with a new ID.
func (w *floodWorld) signal() func() error {
	w.t.Helper()
	template := `{"Resources": {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`
	_, err := w.aws().CreateStack(w.t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("signals"), TemplateBody: &template})
	must(w.t, err)
	var target string
	w.until("the stack has its handle", func() bool {
		out, err := w.aws().DescribeStackResource(w.t.Context(), &cloudformation.DescribeStackResourceInput{
			StackName: aws.String("signals"), LogicalResourceId: aws.String("H"),
		})
		if err != nil {
			return false
		}
		target = aws.ToString(out.StackResourceDetail.PhysicalResourceId)
		return strings.HasPrefix(target, "http")
	})
	return w.put(target, []byte(`{"Status": "SUCCESS", "UniqueId": "one", "Data": "d", "Reason": "r"}`))
}

func (w *floodWorld) put(target string, document []byte) func() error {
	return func() error {
		r, err := http.NewRequest(http.MethodPut, target, bytes.NewReader(document))
		if err != nil {
			return err
		}
		r.Header["Content-Type"] = []string{""}
		return w.do(r)
	}
}

// console signs in. The returned function gets the first page.
func (w *floodWorld) console() func() error {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	must(w.t, err)
	browser := *w.client
	browser.Jar = jar
	signIn := *w
	signIn.client = &browser
	get := func(target string) error {
		r, err := http.NewRequest(http.MethodGet, target, nil)
		if err != nil {
			return err
		}
		return signIn.do(r)
	}
	link := strings.TrimSpace(ownCommand(w.t, w.dir, "console"))
	must(w.t, get(link))
	root, err := url.JoinPath(w.url, "console/")
	must(w.t, err)
	return func() error { return get(root) }
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
