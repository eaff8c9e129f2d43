// Package bucketevents sends the events of buckets to functions, topics, queues and the default event bus.
//
// An event is sent once the change of the object is durable. Destinations keep events in memory, so undelivered
// events are lost when the process is killed.
//
// Sources: Amazon S3 User Guide, "Event message structure", "EventBridge event message structure", "Configuring event
// notifications using object key name filtering"; API Reference, PutBucketNotificationConfiguration.
package bucketevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/wire"
)

// Config configures [Events]. All fields except Log are required.
type Config struct {
	// Invoke sends an event to a function on behalf of an account and region. It returns once the event is accepted.
	Invoke func(ctx context.Context, place registry.Scope, functionARN string, payload []byte) error
	// Exists returns an error if a function does not exist.
	Exists func(ctx context.Context, place registry.Scope, functionARN string) error
	// Topics sends events to topics.
	Topics *sns.Topics
	// Queue sends a text to a queue on behalf of an account and region.
	Queue func(ctx context.Context, place registry.Scope, queueARN, text string) error
	// Emit puts an event of a service on the default event bus of an account and region.
	Emit func(ctx context.Context, place registry.Scope, e events.Entry) error
	// Log gets delivery errors. Nil discards them.
	Log *slog.Logger
}

// Events sends the events of buckets. It is safe for concurrent use.
type Events struct{ config Config }

// New returns events. It returns an error if config is incomplete.
func New(config Config) (*Events, error) {
	if config.Invoke == nil || config.Exists == nil || config.Topics == nil || config.Queue == nil || config.Emit == nil {
		return nil, errors.New("bucketevents: Invoke, Exists, Topics, Queue and Emit are required")
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Events{config}, nil
}

// Check returns S3's error if a destination in a configuration is invalid: a function or topic that does not exist or
// is not in the bucket's account and region, or a FIFO queue. It does not check whether a queue exists.
func (e *Events) Check(ctx context.Context, owner registry.Scope, c Configuration) error {
	for _, d := range c.all() {
		arn := d.Topic + d.Queue + d.Function
		parts := strings.SplitN(arn, ":", 7)
		service := map[bool]string{d.Topic != "": "sns", d.Queue != "": "sqs", d.Function != "": "lambda"}[true]
		switch {
		case len(parts) < 6 || parts[0] != "arn" || parts[2] != service:
			return invalid("The ARN is not well formed")
		case parts[3] != owner.Region:
			return invalid("The notification destination service region is not valid for the bucket location constraint")
		}
		var err error
		switch {
		case parts[4] != owner.Account:
			err = registry.ErrNotFound // other accounts have no resources here
		case d.Queue != "" && strings.HasSuffix(arn, ".fifo"):
			return invalid("Unable to validate the following destination configurations: %.300s is a FIFO queue, which S3 does not support", arn)
		case d.Function != "":
			err = e.config.Exists(ctx, owner, arn)
		case d.Topic != "":
			_, err = e.config.Topics.Topic(ctx, arn)
		}
		if errors.Is(err, registry.ErrNotFound) {
			return invalid("Unable to validate the following destination configurations: %.300s does not exist", arn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Test sends S3's test event to the topics and queues of a new configuration.
func (e *Events) Test(ctx context.Context, bucket string, owner registry.Scope, c Configuration) {
	text, err := json.Marshal(map[string]string{
		"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": stamp(time.Now()), "Bucket": bucket,
		"RequestId": requestID(), "HostId": hostID(),
	})
	if err != nil {
		panic(err) // texts always marshal
	}
	for _, d := range slices.Concat(c.Topics, c.Queues) {
		e.send(ctx, bucket, owner, d, text)
	}
}

// Happened sends the event of a change to the destinations in the bucket's configuration.
func (e *Events) Happened(ctx context.Context, bucket registry.Item[registry.Bucket], change objects.Change) {
	text := bucket.Of.Settings[Setting]
	if text == "" {
		return
	}
	c, err := Parse([]byte(text))
	if err != nil {
		e.config.Log.WarnContext(ctx, "the notification configuration of a bucket cannot be read", "bucket", bucket.Name, "error", err)
		return
	}
	ctx = context.WithoutCancel(ctx)
	event := name(change, bucket)
	sequencer := fmt.Sprintf("%016X", change.At.UnixNano())
	for _, d := range c.all() {
		if d.wants(event, change.Key) {
			e.send(ctx, bucket.Name, bucket.Of.Owner, d, record(bucket, d.ID, event, change, sequencer))
		}
	}
	if c.EventBridge != nil {
		if err := e.config.Emit(ctx, bucket.Of.Owner, entry(bucket, event, change, sequencer)); err != nil {
			e.config.Log.WarnContext(ctx, "an event of a bucket was not put on the event bus", "bucket", bucket.Name, "event", event, "error", err)
		}
	}
}

// send sends a text to a destination on behalf of the bucket's owner.
func (e *Events) send(ctx context.Context, bucket string, owner registry.Scope, d Destination, text []byte) {
	var err error
	switch parts := strings.SplitN(d.Function+d.Topic, ":", 6); {
	case d.Queue == "" && (len(parts) < 6 || parts[4] != owner.Account): // the configuration was put without validation
		err = errors.New("it is not of the bucket's account, and no policy here permits the call")
	case d.Function != "":
		err = e.config.Invoke(ctx, registry.Scope{Account: owner.Account, Region: parts[3]}, d.Function, text)
	case d.Topic != "":
		_, err = e.config.Topics.Publish(ctx, d.Topic, sns.Message{Subject: "Amazon S3 Notification", Message: string(text)})
	default:
		err = e.config.Queue(ctx, owner, d.Queue, string(text))
	}
	if err != nil {
		e.config.Log.WarnContext(ctx, "an event of a bucket was not delivered", "bucket", bucket, "to", d.Function+d.Topic+d.Queue, "error", err)
	}
}

// name returns the event name of a change.
func name(change objects.Change, bucket registry.Item[registry.Bucket]) string {
	if change.Kind == objects.Deleted && bucket.Of.Settings[objects.SettingVersioning] == "Enabled" {
		return "ObjectRemoved:DeleteMarkerCreated"
	}
	return string(change.Kind)
}

type object map[string]any

// record returns the message for functions, topics and queues.
func record(bucket registry.Item[registry.Bucket], id, event string, change objects.Change, sequencer string) []byte {
	owner := bucket.Of.Owner
	// Keys are encoded as in a URL query, except slashes.
	of := object{"key": strings.ReplaceAll(url.QueryEscape(change.Key), "%2F", "/"), "sequencer": sequencer}
	if strings.HasPrefix(event, "ObjectCreated:") {
		of["size"] = change.Size
	}
	if !strings.HasPrefix(event, "ObjectRemoved:") {
		of["eTag"] = strings.Trim(change.ETag, `"`)
	}
	if event == "ObjectRemoved:DeleteMarkerCreated" {
		of["eTag"] = "d41d8cd98f00b204e9800998ecf8427e" // a marker is empty
	}
	text, err := json.Marshal(object{"Records": []object{{
		"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": owner.Region, "eventTime": stamp(change.At), "eventName": event,
		"userIdentity":      object{"principalId": "AWS:" + owner.Account},
		"requestParameters": object{"sourceIPAddress": sourceAddress},
		"responseElements":  object{"x-amz-request-id": requestID(), "x-amz-id-2": hostID()},
		"s3": object{
			"s3SchemaVersion": "1.0", "configurationId": id, "object": of,
			"bucket": object{"name": bucket.Name, "ownerIdentity": object{"principalId": owner.Account}, "arn": bucketARN(bucket)},
		},
	}}})
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return text
}

// entry returns the event for EventBridge.
func entry(bucket registry.Item[registry.Bucket], event string, change objects.Change, sequencer string) events.Entry {
	of := object{"key": change.Key, "sequencer": sequencer}
	detail := object{
		"version": "0", "bucket": object{"name": bucket.Name}, "object": of, "request-id": requestID(), "requester": bucket.Of.Owner.Account,
		"source-ip-address": sourceAddress,
	}
	kind := "Object Created"
	switch change.Kind {
	case objects.PutObject:
		detail["reason"] = "PutObject"
	case objects.Copied:
		detail["reason"] = "CopyObject"
	case objects.Completed:
		detail["reason"] = "CompleteMultipartUpload"
	case objects.Deleted:
		kind, detail["reason"], detail["deletion-type"] = "Object Deleted", "DeleteObject", "Permanently Deleted"
		if event == "ObjectRemoved:DeleteMarkerCreated" {
			detail["deletion-type"] = "Delete Marker Created"
		}
	case objects.Tagged:
		kind = "Object Tags Added"
	case objects.Untagged:
		kind = "Object Tags Deleted"
	}
	if change.Kind != objects.Deleted {
		of["etag"] = strings.Trim(change.ETag, `"`)
		of["size"] = change.Size
	}
	text, err := json.Marshal(detail)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return events.Entry{
		Source: "aws.s3", DetailType: kind, Detail: string(text), Resources: []string{bucketARN(bucket)}, Time: change.At,
	}
}

// sourceAddress is the client address in all events.
const sourceAddress = "127.0.0.1"

func bucketARN(bucket registry.Item[registry.Bucket]) string {
	return "arn:" + wire.Partition(bucket.Of.Owner.Region) + ":s3:::" + bucket.Name
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func requestID() string { return strings.ToUpper(strings.ReplaceAll(uuid.NewString(), "-", "")[:16]) }

func hostID() string { return strings.ReplaceAll(uuid.NewString()+uuid.NewString(), "-", "") }
