package sqs_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
)

var home = registry.Scope{Account: mototest.Account, Region: "eu-west-1"}

const prefix = "arn:aws:sqs:eu-west-1:" + mototest.Account + ":"

type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newQueues returns queues in the SQS at a URL, and their log.
func newQueues(t *testing.T, url string, change func(*sqs.Config)) (*sqs.Queues, *logs) {
	t.Helper()
	log := &logs{}
	config := sqs.Config{
		Client: func(context.Context, string) (*awscall.Client, string, error) {
			if url == "" {
				return nil, "", nil
			}
			return client(t, url), url, nil
		},
		Log: slog.New(slog.NewTextHandler(log, nil)), RetryFor: time.Millisecond, Backoff: time.Microsecond,
	}
	if change != nil {
		change(&config)
	}
	queues, err := sqs.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(queues.Close)
	return queues, log
}

func client(t *testing.T, url string) *awscall.Client {
	t.Helper()
	dialer := &net.Dialer{Control: guard.Anywhere}
	c, err := awscall.New(awscall.Config{
		Region: "us-east-1", Endpoint: url, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTP: &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.WithRegion(home.Region)
}

func TestSend(t *testing.T) {
	url := mototest.New(t)
	queues, log := newQueues(t, url, func(c *sqs.Config) { c.RetryFor = time.Minute })
	made := client(t, url)
	if _, err := made.Call(t.Context(), "sqs", "CreateQueue", map[string]any{"QueueName": "q"}); err != nil {
		t.Fatal(err)
	}
	err := queues.Send(t.Context(), home, prefix+"q", sqs.Message{Body: `{"degrees":180}`, Attributes: map[string]sqs.Attribute{
		"room": {Type: "String", String: "kitchen"}, "heat": {Type: "Number", String: "180"}, "key": {Type: "Binary", Binary: []byte{0, 255}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	queues.Close() // it waits for the message
	got, err := made.Call(t.Context(), "sqs", "ReceiveMessage", map[string]any{
		"QueueUrl": url + "/" + home.Account + "/q", "MessageAttributeNames": []any{"All"},
	})
	flat := awscall.Flatten(got)
	if err != nil || flat["Messages.0.Body"] != `{"degrees":180}` || flat["Messages.0.MessageAttributes.room.StringValue"] != "kitchen" ||
		flat["Messages.0.MessageAttributes.heat.DataType"] != "Number" || flat["Messages.0.MessageAttributes.key.DataType"] != "Binary" {
		t.Errorf("%v %v\n%s", flat, err, log)
	}
}

// TestNotDelivered tests messages that never arrive: the log has the reason and a remedy.
func TestNotDelivered(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	url := mototest.New(t)
	for name, test := range map[string]struct{ url, want, tries string }{
		"missing queue": {url, "create the queue q in the SQS that AWS_ENDPOINT_URL_SQS names", "tries=1 "},
		"dead endpoint": {"http://" + dead.Addr().String(), "see that AWS_ENDPOINT_URL_SQS is the URL of an SQS that is running", ""},
		"metadata":      {"http://169.254.169.254", "is the address of a cloud's metadata service", "tries=1 "},
	} {
		t.Run(name, func(t *testing.T) {
			queues, log := newQueues(t, test.url, nil)
			if err := queues.Send(t.Context(), home, prefix+"q", sqs.Message{Body: "secret text"}); err != nil {
				t.Fatal(err)
			}
			queues.Close()
			if got := log.String(); !strings.Contains(got, test.want) || !strings.Contains(got, test.tries) ||
				!strings.Contains(got, prefix+"q") || strings.Contains(got, "secret text") {
				t.Errorf("the log is %s", got)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	queues, _ := newQueues(t, "", nil)
	for arn, want := range map[string]string{
		prefix + "q":                                   "set AWS_ENDPOINT_URL_SQS in the environment of pintle serve",
		"arn:aws:sqs:eu-west-1:999999999999:q":         "is a queue of another account",
		"arn:aws:sns:eu-west-1:" + home.Account + ":q": "is not the ARN of an SQS queue",
		prefix + "q/../other":                          "is not the ARN of an SQS queue",
		prefix + strings.Repeat("q", 81):               "is not the ARN of an SQS queue",
		prefix + strings.Repeat("q", 76) + ".fifo":     "is not the ARN of an SQS queue",
		"https://sqs.eu-west-1.amazonaws.com/1/" + "q": "is not the ARN of an SQS queue",
	} {
		if err := queues.Send(t.Context(), home, arn, sqs.Message{Body: "x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arn, err, want)
		}
	}
	if _, err := sqs.New(sqs.Config{}); err == nil {
		t.Error("queues without a client")
	}
}

// TestClose checks that Close drops messages that their queue does not accept, and that no further ones are accepted.
func TestClose(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections to it get no response
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	queues, log := newQueues(t, "http://"+silent.Addr().String(), func(c *sqs.Config) { c.Drain = time.Millisecond })
	if err := queues.Send(t.Context(), home, prefix+"q", sqs.Message{Body: "x"}); err != nil {
		t.Fatal(err)
	}
	queues.Close()
	if !strings.Contains(log.String(), "a message was not delivered to a queue") {
		t.Errorf("the log is %s", log)
	}
	if err := queues.Send(t.Context(), home, prefix+"q", sqs.Message{Body: "x"}); !errors.Is(err, sqs.ErrBusy) {
		t.Errorf("%v after Close", err)
	}
}
