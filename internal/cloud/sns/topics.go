// Package sns is the local stand-in for Amazon SNS: topics, subscriptions, and the delivery of messages to functions
// and URLs.
//
// Topics and subscriptions are rows of the [registry.Catalog]. Messages are not. When [Topics.Publish] returns, this
// process holds the message in memory. It sends the message to each subscriber separately and retries temporary
// errors for a while. Then it drops the message and logs that. Messages in flight are lost when the process is
// killed, as SNS loses them when a subscriber is unavailable for too long. A caller that needs the result of a
// delivery calls [Topics.Subscribers] first, and delivers the message itself.
//
// # Functions
//
// Functions get the event that Lambda makes of a notification, with one record. A subscription of a function is
// confirmed at once.
//
// # Queues
//
// Queues get the message in the same format as URLs, or the raw text with the message attributes as SQS attributes. A
// subscription of a queue is confirmed at once.
//
// # URLs
//
// URLs get POST requests with the headers x-amz-sns-*. The first is a SubscriptionConfirmation with a token.
// Notifications follow once the subscriber has returned the token through [Topics.Confirm]. Connections into private
// networks are refused unless [Config.AllowPrivate] is set.
//
// # Signatures
//
// Every message is signed as in SNS, with version 1 (SHA-1) or 2 (SHA-256), depending on the topic attribute
// SignatureVersion. All nodes share the key. It is created on first use and stored in the catalog; see package
// notification.
//
// Sources: Amazon SNS API Reference, version 2010-03-31; SNS developer guide, "HTTP/HTTPS notification JSON format",
// "Verifying the signatures of Amazon SNS messages", "Message delivery retries"; AWS Lambda developer guide,
// "Invoking Lambda functions with Amazon SNS notifications".
package sns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
)

// Defaults of [Config].
const (
	DefaultRetryFor = time.Minute            // for retries of temporary errors
	DefaultBackoff  = 200 * time.Millisecond // upper bound of the first pause between two tries
	DefaultDrain    = 5 * time.Second        // for deliveries in flight when Close is called
)

// Limits that have no setting.
const (
	// maxUnderWay is the maximum number of deliveries in flight, and maxBytes their maximum total size.
	maxUnderWay = 4096
	maxBytes    = 64 << 20
	// maxPosts is the maximum number of concurrent posts.
	maxPosts = 64
	// postTimeout bounds a post to a URL. Source: SNS developer guide, 15 seconds.
	postTimeout = 15 * time.Second
	// maxBackoff is the maximum pause between two tries.
	maxBackoff = 10 * time.Second
)

// Config configures [Topics].
type Config struct {
	// Catalog stores the topics, the subscriptions and the key. Required.
	Catalog *registry.Catalog
	// Invoke sends an event to a function. It returns when the event is accepted, not when the function has run. An
	// error that is [registry.ErrNotFound] or [trace.ErrLoop] is final. Any other error is retried. The context has
	// the hops of the message: see [trace.WithHops]. Required.
	Invoke func(ctx context.Context, functionARN string, payload []byte) error
	// Queue accepts a message for a queue that subscribes to a topic in the scope place. It returns when the message
	// is accepted, not when the queue has it. An error that is [sqs.ErrBusy] is worth a retry. Nil means that topics
	// do not support queues.
	Queue func(ctx context.Context, place registry.Scope, queueARN string, m sqs.Message) error
	// PublicURL is the URL of this server for subscribers. Certificates and links in messages are below it. Required.
	PublicURL string
	// AllowPrivate allows URLs in private networks, including this machine.
	AllowPrivate bool
	// Log gets delivery errors. Nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// RetryFor is how long a delivery is retried. Zero means [DefaultRetryFor].
	RetryFor time.Duration
	// Backoff is the upper bound of the first pause between two tries. The bound doubles up to ten seconds, and each
	// pause is a random part of it. Zero means [DefaultBackoff].
	Backoff time.Duration
	// Drain is how long Close waits for deliveries in flight. Zero means [DefaultDrain].
	Drain time.Duration
}

// Topics stores the local topics and delivers their messages. Create it with [New] and close it with [Topics.Close].
// Its methods are safe for concurrent use.
type Topics struct {
	config Config
	client *http.Client
	signer *notification.Signer
	posts  chan struct{} // limits concurrent posts

	ctx    context.Context // of deliveries in flight
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	underWay int
	bytes    int
	closed   bool
}

// New returns topics. It returns an error if config is invalid.
func New(config Config) (*Topics, error) {
	switch {
	case config.Catalog == nil || config.Invoke == nil || config.PublicURL == "":
		return nil, errors.New("topics: the catalog, Invoke and the public URL are required")
	case config.RetryFor < 0 || config.Backoff < 0 || config.Drain < 0:
		return nil, errors.New("topics: RetryFor, Backoff and Drain must not be negative")
	}
	config.RetryFor = cmp.Or(config.RetryFor, DefaultRetryFor)
	config.Backoff = cmp.Or(config.Backoff, DefaultBackoff)
	config.Drain = cmp.Or(config.Drain, DefaultDrain)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	signer, err := notification.NewSigner(notification.Config{
		Keys: config.Catalog.Keys, PublicURL: config.PublicURL, Log: config.Log, Now: config.Now,
	})
	if err != nil {
		return nil, err
	}
	transport := guard.Transport(config.AllowPrivate)
	transport.ForceAttemptHTTP2, transport.MaxIdleConnsPerHost = true, maxPosts
	t := &Topics{
		config: config,
		signer: signer,
		posts:  make(chan struct{}, maxPosts),
		client: &http.Client{
			Timeout:       postTimeout,
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t, nil
}

// Signer returns the signer of the messages, which serves their certificate.
func (t *Topics) Signer() *notification.Signer { return t.signer }

// Close accepts no more messages, waits up to Config.Drain for deliveries in flight, and drops the rest. No goroutine
// is left when it returns.
func (t *Topics) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	drained := time.AfterFunc(t.config.Drain, t.cancel)
	t.wg.Wait()
	drained.Stop()
	t.cancel()
	t.client.CloseIdleConnections()
}

// Error is an SNS error.
type Error struct {
	// Code is SNS's code, such as InvalidParameter, and Status is its HTTP status.
	Code   string
	Status int
	// Message is the text for users. It contains no secret.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Temporary reports whether the same call may succeed later.
func (e *Error) Temporary() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
}

// Is reports that an error with the code NotFound is [registry.ErrNotFound].
func (e *Error) Is(target error) bool { return target == registry.ErrNotFound && e.Code == "NotFound" }

func invalid(format string, args ...any) error {
	return &Error{Code: "InvalidParameter", Status: http.StatusBadRequest, Message: "Invalid parameter: " + fmt.Sprintf(format, args...)}
}

func notFound(what string) error {
	return &Error{Code: "NotFound", Status: http.StatusNotFound, Message: what + " does not exist"}
}
