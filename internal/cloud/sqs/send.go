package sqs

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/base/guard"
)

// callTimeout bounds one try.
const callTimeout = 15 * time.Second

// send is the delivery of a message to a queue.
type send struct {
	client    *awscall.Client
	url       string // of the SQS endpoint
	arn, name string // of the queue
	message   Message
}

// persist retries until the queue has the message, or delivery fails for good.
func (q *Queues) persist(s send) {
	end := time.Now().Add(q.config.RetryFor)
	for tries := 1; ; tries++ {
		err := q.try(s, end)
		if err == nil {
			return
		}
		if final(err) || !time.Now().Before(end) || !backoff.Wait(q.ctx, backoff.Bound(q.config.Backoff, maxBackoff, tries-1)) {
			q.warn(s, tries, err)
			return
		}
	}
}

func (q *Queues) warn(s send, tries int, err error) {
	remedy := "see that " + Variable + " is the URL of an SQS that is running"
	if missing(err) {
		remedy = "create the queue " + s.name + " in the SQS that " + Variable + " names"
	}
	q.config.Log.Warn("a message was not delivered to a queue", slog.String("queue", s.arn), slog.String("sqs", s.url), slog.Int("tries", tries),
		slog.Any("error", err), slog.String("remedy", remedy))
}

// errNoCall is the error for a message that found no free call in time.
var errNoCall = errors.New("no call became free: calls for other messages took too long")

// try sends the message once, if a call is free before end. It looks up the URL of the queue each time, because the
// queue may have been created again.
func (q *Queues) try(s send, end time.Time) error {
	select {
	case q.calls <- struct{}{}:
	default:
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		select {
		case q.calls <- struct{}{}:
		case <-timer.C:
			return errNoCall
		case <-q.ctx.Done():
			return q.ctx.Err()
		}
	}
	defer func() { <-q.calls }()
	ctx, cancel := context.WithTimeout(q.ctx, callTimeout)
	defer cancel()
	found, err := s.client.Call(ctx, "sqs", "GetQueueUrl", map[string]any{"QueueName": s.name})
	if err != nil {
		return err
	}
	input := map[string]any{"QueueUrl": found["QueueUrl"], "MessageBody": s.message.Body}
	if s.message.Group != "" {
		input["MessageGroupId"] = s.message.Group
	}
	if len(s.message.Attributes) > 0 {
		input["MessageAttributes"] = attributes(s.message.Attributes)
	}
	_, err = s.client.Call(ctx, "sqs", "SendMessage", input)
	return err
}

func attributes(of map[string]Attribute) map[string]any {
	all := make(map[string]any, len(of))
	for name, a := range of {
		value := map[string]any{"DataType": a.Type}
		if strings.HasPrefix(a.Type, "Binary") {
			value["BinaryValue"] = a.Binary
		} else {
			value["StringValue"] = a.String
		}
		all[name] = value
	}
	return all
}

// final reports whether a retry would fail too.
func final(err error) bool {
	if _, ok := errors.AsType[*guard.AddressError](err); ok || errors.Is(err, context.Canceled) {
		return true
	}
	answer, ok := errors.AsType[*awscall.Error](err)
	return ok && answer.Status < http.StatusInternalServerError && answer.Status != http.StatusTooManyRequests &&
		!strings.Contains(answer.Code, "Throttl")
}

// missing reports whether an error means that the queue does not exist.
func missing(err error) bool {
	answer, ok := errors.AsType[*awscall.Error](err)
	return ok && (strings.HasSuffix(answer.Code, "NonExistentQueue") || strings.HasSuffix(answer.Code, "QueueDoesNotExist"))
}
