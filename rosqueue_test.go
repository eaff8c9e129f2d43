package pintle_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

const queueSecret = "secret-of-the-access-key"

// queue is a queue of SMQ with its consumer API. It delivers each message once, with the given dequeue count, and changes
// its receipt in every reply.
type queue struct {
	*httptest.Server
	messages chan queued
	deleted  chan string // receipts
	hidden   chan string // the duration of each call that hides a message
	refuse   chan int    // statuses for the next calls
	mu       sync.Mutex
	receipts int
}

type queued struct {
	body  string
	count int
}

func newQueue(t *testing.T) *queue {
	q := &queue{messages: make(chan queued, 10), deleted: make(chan string, 10), hidden: make(chan string, 100), refuse: make(chan int, 10)}
	receipt := func() string {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.receipts++
		return fmt.Sprintf("r+%d/=", q.receipts)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /queues/q/messages", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("waitseconds") != "30" {
			t.Errorf("waits %s", r.URL.RawQuery)
		}
		select {
		case m := <-q.messages:
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprintf(w, `<?xml version="1.0"?><Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageId>m-1</MessageId>`+
				`<ReceiptHandle>%s</ReceiptHandle><DequeueCount>%d</DequeueCount><MessageBody>`, receipt(), m.count)
			if err := xml.EscapeText(w, []byte(m.body)); err != nil {
				t.Error(err)
			}
			fmt.Fprint(w, `</MessageBody></Message>`)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("PUT /queues/q/messages", func(w http.ResponseWriter, r *http.Request) {
		q.hidden <- r.URL.Query().Get("VisibilityTimeout")
		fmt.Fprintf(w, `<ChangeVisibility xmlns="http://mns.aliyuncs.com/doc/v1/"><ReceiptHandle>%s</ReceiptHandle><NextVisibleTime>1</NextVisibleTime></ChangeVisibility>`, receipt())
	})
	mux.HandleFunc("DELETE /queues/q/messages", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		q.deleted <- r.URL.Query().Get("ReceiptHandle")
	})
	q.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case status := <-q.refuse:
			w.WriteHeader(status)
			code := map[int]string{404: "MessageNotExist", 403: "AccessDenied", 500: "InternalError"}[status]
			fmt.Fprintf(w, `<Error xmlns="http://mns.aliyuncs.com/doc/v1/"><Code>%s</Code><Message>no</Message></Error>`, code)
			return
		default:
		}
		if got, want := r.Header.Get("Authorization"), "MNS key-id:"+queueSignature(r); got != want || r.Header.Get("security-token") != "token" {
			t.Errorf("%s %s: authorization %s, want %s", r.Method, r.URL, got, want)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(q.Close)
	return q
}

// queueSignature follows the text of SMQ's page about signatures.
func queueSignature(r *http.Request) string {
	mac := hmac.New(sha1.New, []byte(queueSecret))
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\nx-mns-version:2015-06-06\n%s", r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"),
		r.Header.Get("Date"), r.RequestURI)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (q *queue) config(log watched) pintle.RunConfig {
	return pintle.RunConfig{ServerConfig: pintle.ServerConfig{Logger: slog.New(slog.NewTextHandler(log, nil))}, Queue: q.URL + "/queues/q", QueueCredentials: func(context.Context) (pintle.ROSCredentials, error) {
		return pintle.ROSCredentials{KeyID: "key-id", Secret: pintle.NewSecret(queueSecret), SecurityToken: pintle.NewSecret("token")}, nil
	}}
}

func TestROSQueue(t *testing.T) {
	c, q := newROS(t), newQueue(t)
	log := watched{make(chan string, 1000)}
	q.refuse <- 404 // the queue is empty
	stop := run(t, q.config(log))
	create := c.request(t, wire.Create, "", "", "")
	for _, tt := range []struct {
		name   string
		m      queued
		answer string
		gone   bool // deleted
	}{
		{"raw", queued{create, 1}, "SUCCESS", true},
		{"the same again", queued{create, 2}, "SUCCESS", true},
		{"base64", queued{base64.StdEncoding.EncodeToString([]byte(c.request(t, wire.Create, "", "fail", ""))), 1}, "disk full", true},
		{"from a topic", queued{`<Notification><TopicName>t</TopicName><Message>` + base64.StdEncoding.EncodeToString([]byte(create)) + `</Message></Notification>`, 1}, "SUCCESS", true},
		{"no request", queued{"hello", 1}, "", true},
		{"refused", queued{c.request(t, wire.Create, "", "", "&refuse=1"), 1}, "SUCCESS", false},
		{"refused for the last time", queued{c.request(t, wire.Create, "", "", "&refuse=1"), 5}, "SUCCESS", true},
	} {
		q.messages <- tt.m
		if tt.answer != "" {
			c.answered(t, tt.name, tt.answer)
		}
		if got := <-q.hidden; got != "60" {
			t.Errorf("%s: hidden for %s", tt.name, got)
		}
		if tt.gone {
			q.mu.Lock()
			want := fmt.Sprintf("r+%d/=", q.receipts)
			q.mu.Unlock()
			if got := <-q.deleted; got != want {
				t.Errorf("%s: deleted by the receipt %s, want %s", tt.name, got, want)
			}
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if len(q.deleted) > 0 {
		t.Errorf("deleted %s", <-q.deleted)
	}
	close(log.lines)
	for line := range log.lines {
		for _, secret := range []string{queueSecret, rosSignature, "r+", "ReceiptHandle", "hunter2"} {
			if strings.Contains(line, secret) {
				t.Errorf("the log shows %s: %s", secret, line)
			}
		}
	}
}

func TestROSQueueRefused(t *testing.T) {
	q := newQueue(t)
	q.refuse <- 403
	err := pintle.Run(t.Context(), withHandler(q.config(watched{make(chan string, 10)})))
	if err == nil || !strings.Contains(err.Error(), "403 AccessDenied: no") {
		t.Errorf("error %v", err)
	}
	t.Setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "")
	t.Setenv("PINTLE_PROVIDER_QUEUE", q.URL+"/queues/q")
	keyless, err := pintle.RunConfigFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	err = pintle.Run(t.Context(), withHandler(keyless))
	if err == nil || !strings.Contains(err.Error(), "ALIBABA_CLOUD_ACCESS_KEY_ID or ALIBABA_CLOUD_ACCESS_KEY_SECRET is not set") {
		t.Errorf("error %v", err)
	}
}

// A message stays hidden while its request is handled, however long that takes.
func TestROSQueueKeepsMessage(t *testing.T) {
	c, q := newROS(t), newQueue(t)
	now := &steppedClock{steps: make(chan struct{})}
	config := q.config(watched{make(chan string, 100)})
	store, err := pintle.NewMemoryStore(0)
	if err != nil {
		t.Fatal(err)
	}
	config.Idempotency = steppedStore{store, now}
	began, goOn := make(chan struct{}), make(chan struct{})
	config.Handlers = []pintle.Handler{pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) {
		close(began)
		<-goOn
		return pintle.Answer{}, errors.New("late")
	})}
	stop := run(t, config)
	q.messages <- queued{c.request(t, wire.Create, "", "", ""), 1}
	<-began
	<-q.hidden
	for range 3 {
		now.steps <- struct{}{}
		<-q.hidden
	}
	close(goOn)
	c.answered(t, "late", "late")
	<-q.deleted
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func withHandler(c pintle.RunConfig) pintle.RunConfig {
	c.Handlers = []pintle.Handler{pintle.HandlerFunc(site)}
	return c
}

// steppedStore gives its server a clock.
type steppedStore struct {
	pintle.IdempotencyStore
	clock clock.Clock
}

func (s steppedStore) Clock() clock.Clock { return s.clock }

// steppedClock is the system clock, but the test ends each sleep.
type steppedClock struct{ steps chan struct{} }

func (c *steppedClock) Now() time.Time { return time.Now() }

func (c *steppedClock) Sleep(ctx context.Context, _ time.Duration) error {
	select {
	case <-c.steps:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *steppedClock) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, at)
}
