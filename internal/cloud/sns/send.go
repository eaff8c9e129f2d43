package sns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
)

// send is the delivery of one message to one subscriber.
type send struct {
	to   registry.Item[registry.Subscription]
	id   string // of the message
	kind string
	raw  bool
	body []byte
	// attributes are the attributes of a raw message for a queue.
	attributes map[string]sqs.Attribute
	hops       int // see [trace.WithHops]
}

// carry starts all of these deliveries or none. It returns an error if too many are in flight.
func (t *Topics) carry(sends ...*send) error {
	size := 0
	for _, s := range sends {
		size += len(s.body)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return &Error{Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable, Message: "The server is stopping. Please try again."}
	case t.underWay > 0 && (t.underWay+len(sends) > maxUnderWay || t.bytes+size > maxBytes):
		return &Error{Code: "Throttled", Status: http.StatusTooManyRequests, Message: "Too many messages are under way. Please try again."}
	}
	t.underWay += len(sends)
	t.bytes += size
	for _, s := range sends {
		t.wg.Go(func() {
			defer t.landed(s)
			t.persist(s)
		})
	}
	return nil
}

func (t *Topics) landed(s *send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay--
	t.bytes -= len(s.body)
}

// persist retries until the subscriber has the message, or delivery fails for good.
func (t *Topics) persist(s *send) {
	end := time.Now().Add(t.config.RetryFor)
	for n := 0; ; n++ {
		final, err := t.try(s)
		if err == nil {
			return
		}
		if final || t.ctx.Err() != nil || !time.Now().Before(end) || !backoff.Wait(t.ctx, backoff.Random(t.config.Backoff, maxBackoff, n)) {
			t.config.Log.Warn("a message was not delivered", "topic", s.to.Of.Topic, "message", s.id, "type", s.kind, "to", name(s.to.Of), "tries", n+1, "error", err)
			return
		}
	}
}

// try delivers the message once. A final error is not worth a retry.
func (t *Topics) try(s *send) (final bool, err error) {
	if s.to.Of.Protocol == "lambda" {
		err := t.config.Invoke(trace.WithHops(t.ctx, s.hops), s.to.Of.Endpoint, s.body)
		return errors.Is(err, registry.ErrNotFound) || errors.Is(err, trace.ErrLoop), err
	}
	if s.to.Of.Protocol == "sqs" {
		err := t.config.Queue(t.ctx, s.to.Scope, s.to.Of.Endpoint, sqs.Message{Body: string(s.body), Attributes: s.attributes})
		return !errors.Is(err, sqs.ErrBusy), err
	}
	select {
	case t.posts <- struct{}{}:
		defer func() { <-t.posts }()
	case <-t.ctx.Done():
		return true, t.ctx.Err()
	}
	return t.post(t.ctx, s)
}

func (t *Topics) post(ctx context.Context, s *send) (final bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.to.Of.Endpoint, bytes.NewReader(s.body))
	if err != nil {
		return true, errors.New("the endpoint is not a URL")
	}
	subscription := ""
	if s.kind == notification.Notification {
		subscription = ARN(s.to.Scope, s.to.Name)
	}
	request.Header = notification.Header(s.kind, s.id, s.to.Of.Topic, subscription)
	if s.raw {
		request.Header.Set("x-amz-sns-rawdelivery", "true")
	}
	response, err := t.client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the URL, which may contain a password
		}
		var forbidden *guard.AddressError
		return errors.As(err, &forbidden), err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be reused
	status := response.StatusCode
	if status >= 200 && status <= 299 {
		return false, nil
	}
	return status < 500 && status != http.StatusTooManyRequests, fmt.Errorf("%d %s", status, http.StatusText(status))
}

// name returns a subscriber's name for the log, without the query and the user of a URL, which may contain keys.
func name(s registry.Subscription) string {
	if confirmed(s.Protocol) {
		return s.Endpoint
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		return s.Protocol
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
