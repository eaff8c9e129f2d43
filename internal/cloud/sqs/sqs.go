// Package sqs sends messages to SQS queues. Pintle has no queues of its own: the variable AWS_ENDPOINT_URL_SQS in the
// server's environment sets the SQS endpoint to use.
//
// A message is held in memory until its queue has accepted it. The package retries temporary errors for a while, then
// drops the message and logs that. Undelivered messages are lost when the process is killed.
//
// Sources: Amazon SQS API Reference, GetQueueUrl, SendMessage, "Common errors"; Amazon SQS developer guide, "Message
// quotas".
package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Variable is the environment variable with the SQS endpoint.
const Variable = "AWS_ENDPOINT_URL_SQS"

// Defaults of [Config].
const (
	DefaultRetryFor = time.Minute            // for retries of temporary errors
	DefaultBackoff  = 200 * time.Millisecond // before the second try; it doubles
	DefaultDrain    = 5 * time.Second        // for messages in flight when Close is called
)

// Limits that have no setting.
const (
	maxInFlight = 4096             // messages
	maxBytes    = 64 << 20         // total size of the messages
	maxCalls    = 16               // at a time
	maxBackoff  = 10 * time.Second // between two tries
)

// ErrNoEndpoint is the error for a message to a queue when no SQS endpoint is set.
var ErrNoEndpoint = errors.New("Pintle has no SQS queues: set " + Variable + " in the environment of pintle serve to the URL of an SQS that has the queue") //nolint:staticcheck // a name begins it

// ErrBusy is the error for a message when too many are in flight.
var ErrBusy = errors.New("too many messages for queues are in flight")

// Config configures [Queues].
type Config struct {
	// Client returns the client for the SQS queues of an account, and the URL that it calls. A nil client means that
	// no SQS is configured. Required.
	Client func(ctx context.Context, account string) (client *awscall.Client, url string, err error)
	// Log gets delivery errors. Nil discards them.
	Log *slog.Logger
	// RetryFor is how long a message is retried. Zero means [DefaultRetryFor].
	RetryFor time.Duration
	// Backoff is the first pause between two tries. Zero means [DefaultBackoff].
	Backoff time.Duration
	// Drain is how long Close waits for messages in flight. Zero means [DefaultDrain].
	Drain time.Duration
}

// Message is a message for a queue.
type Message struct {
	Body string
	// Group is the message group for a FIFO queue, and empty for other queues.
	Group string
	// Attributes are the message attributes, by name.
	Attributes map[string]Attribute
}

// Attribute is a message attribute. Type is String, Number or Binary, optionally followed by a dot and a label.
type Attribute struct {
	Type   string
	String string
	Binary []byte
}

// size returns the size of a message in bytes.
func (m Message) size() int {
	size := len(m.Body) + len(m.Group)
	for name, a := range m.Attributes {
		size += len(name) + len(a.Type) + len(a.String) + len(a.Binary)
	}
	return size
}

// Queues sends messages. Create it with [New] and close it with [Queues.Close]. Its methods are safe for concurrent
// use.
type Queues struct {
	config Config
	calls  chan struct{} // limits concurrent calls
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	inFlight int
	bytes    int
	closed   bool
}

// New returns queues. It returns an error if config has no client.
func New(config Config) (*Queues, error) {
	if config.Client == nil {
		return nil, errors.New("sqs: Client is required")
	}
	config.RetryFor = cmp.Or(config.RetryFor, DefaultRetryFor)
	config.Backoff = cmp.Or(config.Backoff, DefaultBackoff)
	config.Drain = cmp.Or(config.Drain, DefaultDrain)
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	q := &Queues{config: config, calls: make(chan struct{}, maxCalls)}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q, nil
}

// Send accepts a message for a queue and returns. It does not wait until the queue has the message. It returns
// [ErrNoEndpoint], [ErrBusy], or an error for an ARN that is not that of a queue in the account of place.
func (q *Queues) Send(ctx context.Context, place registry.Scope, arn string, m Message) error {
	queue, name, err := ParseARN(arn)
	if err != nil {
		return err
	}
	if queue.Account != place.Account {
		return fmt.Errorf("%s is a queue of another account", arn)
	}
	client, url, err := q.config.Client(ctx, queue.Account)
	if err != nil {
		return err
	}
	if client == nil {
		return ErrNoEndpoint
	}
	size := m.size()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.inFlight > 0 && (q.inFlight >= maxInFlight || q.bytes+size > maxBytes) {
		return ErrBusy
	}
	q.inFlight++
	q.bytes += size
	s := send{client: client.WithRegion(queue.Region), url: url, arn: arn, name: name, message: m}
	q.wg.Go(func() {
		q.persist(s)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.inFlight--
		q.bytes -= size
	})
	return nil
}

// Close accepts no more messages, waits up to Config.Drain for those in flight, and drops the rest. No goroutine is
// left when it returns.
func (q *Queues) Close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	drained := time.AfterFunc(q.config.Drain, q.cancel)
	q.wg.Wait()
	drained.Stop()
	q.cancel()
}
