package bucketevents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var (
	home = registry.Scope{Account: "111122223333", Region: "eu-west-1"}
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

const (
	functionARN = "arn:aws:lambda:eu-west-1:111122223333:function:f"
	topicARN    = "arn:aws:sns:eu-west-1:111122223333:t"
	queueARN    = "arn:aws:sqs:eu-west-1:111122223333:q"
)

// world is buckets, topics and rules whose messages arrive in channels.
type world struct {
	t         *testing.T
	catalog   *registry.Catalog
	objects   *objects.Store
	events    *bucketevents.Events
	called    chan map[string]any // the function, or the topic's subscriber
	queued    chan map[string]any
	published chan map[string]any // the rule's target
}

func newWorld(t *testing.T) *world {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := memory.New(memory.Config{})
	must(err)
	w := &world{t: t, catalog: registry.New(rows), called: make(chan map[string]any, 20), published: make(chan map[string]any, 20), queued: make(chan map[string]any, 20)}
	deliver := func(to chan map[string]any, payload []byte) error {
		var message map[string]any
		if err := json.Unmarshal(payload, &message); err != nil {
			return err
		}
		to <- message
		return nil
	}
	w.objects, err = objects.New(objects.Config{
		Dir: t.TempDir(), Buckets: w.catalog.Buckets, Now: func() time.Time { return noon },
		Changed: func(ctx context.Context, bucket registry.Item[registry.Bucket], change objects.Change) {
			w.events.Happened(ctx, bucket, change)
		},
	})
	must(err)
	t.Cleanup(func() { _ = w.objects.Close() })
	subscribed, err := sns.New(sns.Config{
		Catalog: w.catalog, PublicURL: "http://127.0.0.1:1",
		Invoke: func(_ context.Context, _ string, payload []byte) error { return deliver(w.called, payload) },
	})
	must(err)
	t.Cleanup(subscribed.Close)
	_, err = subscribed.Create(t.Context(), registry.Item[registry.Topic]{Scope: home, Name: "t"})
	must(err)
	_, err = subscribed.Subscribe(t.Context(), registry.Item[registry.Subscription]{
		Scope: home, Of: registry.Subscription{Topic: topicARN, Protocol: "lambda", Endpoint: functionARN},
	})
	must(err)
	bus, err := events.New(events.Config{Catalog: w.catalog, Send: func(_ context.Context, _ registry.Scope, _ registry.Target, payload []byte, ended func()) error {
		ended()
		return deliver(w.published, payload)
	}})
	must(err)
	_, err = bus.Put(t.Context(), "", registry.Rule{Place: home, Name: "r", Pattern: `{"source": ["aws.s3"], "detail": {"object": {"key": [{"prefix": "in/"}]}}}`})
	must(err)
	must(bus.PutTargets(t.Context(), home, "r", map[string]registry.Target{"1": {ARN: functionARN}}))
	w.events, err = bucketevents.New(bucketevents.Config{
		Topics: subscribed, Emit: bus.Emit,
		Queue: func(_ context.Context, place registry.Scope, arn, text string) error {
			if place != home || arn != queueARN {
				return fmt.Errorf("%s in %v gets a message", arn, place)
			}
			return deliver(w.queued, []byte(text))
		},
		Invoke: func(_ context.Context, place registry.Scope, arn string, payload []byte) error {
			if place != home || arn != functionARN {
				t.Errorf("%s in %v is called", arn, place)
			}
			return deliver(w.called, payload)
		},
		Exists: func(_ context.Context, _ registry.Scope, arn string) error {
			if arn != functionARN {
				return registry.ErrNotFound
			}
			return nil
		},
	})
	must(err)
	_, err = w.objects.Make(t.Context(), registry.Item[registry.Bucket]{Scope: home, Name: "bucket"})
	must(err)
	return w
}

// configure sets the bucket's configuration, and other settings as pairs.
func (w *world) configure(inside string, settings ...string) bucketevents.Configuration {
	w.t.Helper()
	c, err := bucketevents.Parse(document(inside))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := c.XML()
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.objects.Change(w.t.Context(), "bucket", func(b *registry.Bucket) error {
		b.Settings = map[string]string{bucketevents.Setting: text}
		for i := 0; i < len(settings); i += 2 {
			b.Settings[settings[i]] = settings[i+1]
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) put(key string) objects.Info {
	w.t.Helper()
	info, err := w.objects.Put(w.t.Context(), "bucket", key, strings.NewReader("four"), objects.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

// next returns the name and the object of the next record.
func (w *world) next() (name string, object map[string]any) {
	w.t.Helper()
	record := (<-w.called)["Records"].([]any)[0].(map[string]any)
	return record["eventName"].(string), record["s3"].(map[string]any)["object"].(map[string]any)
}

func TestRecord(t *testing.T) {
	w := newWorld(t)
	c := w.configure(function("s3:ObjectCreated:*", "prefix", "in/"))
	w.put("out/x")
	info := w.put("in/a b+ü")
	message := <-w.called
	record := message["Records"].([]any)[0].(map[string]any)
	for _, name := range []string{"x-amz-request-id", "x-amz-id-2"} {
		if elements := record["responseElements"].(map[string]any); elements[name] == "" {
			t.Errorf("%s is empty", name)
		}
	}
	delete(record, "responseElements")
	want := map[string]any{
		"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "eu-west-1", "eventTime": "2026-11-22T12:00:00.000Z",
		"eventName": "ObjectCreated:Put", "userIdentity": map[string]any{"principalId": "AWS:111122223333"},
		"requestParameters": map[string]any{"sourceIPAddress": "127.0.0.1"},
		"s3": map[string]any{
			"s3SchemaVersion": "1.0", "configurationId": c.Functions[0].ID,
			"bucket": map[string]any{
				"name": "bucket", "ownerIdentity": map[string]any{"principalId": "111122223333"}, "arn": "arn:aws:s3:::bucket",
			},
			"object": map[string]any{
				"key": "in/a+b%2B%C3%BC", "size": float64(4), "eTag": strings.Trim(info.ETag, `"`),
				"sequencer": fmt.Sprintf("%016X", noon.UnixNano()),
			},
		},
	}
	if diff := cmp.Diff(want, record); diff != "" || len(message) != 1 {
		t.Error(diff)
	}
}

// TestChanges checks that every change of an object has an event, and that a call without a change has none.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	w.configure(function("s3:ObjectCreated:*") + function("s3:ObjectRemoved:*") + function("s3:ObjectTagging:*"))
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(name, key string) {
		t.Helper()
		if got, object := w.next(); got != name || object["key"] != key {
			t.Errorf("%s %v, want %s %s", got, object, name, key)
		}
	}
	w.put("a")
	is("ObjectCreated:Put", "a")
	from, err := w.objects.Open(ctx, "bucket", "a", "")
	must(err)
	_, err = w.objects.Copy(ctx, from, "bucket", "b", true, objects.Options{})
	must(errors.Join(err, from.Close()))
	is("ObjectCreated:Copy", "b")
	upload, err := w.objects.Begin(ctx, "bucket", objects.Upload{Key: "c"})
	must(err)
	part, err := w.objects.PutPart(ctx, "bucket", "c", upload.ID, 1, strings.NewReader("x"), objects.Options{})
	must(err)
	_, err = w.objects.Complete(ctx, "bucket", "c", upload.ID, []objects.Given{{Number: 1, ETag: part.ETag}}, objects.Options{})
	must(err)
	is("ObjectCreated:CompleteMultipartUpload", "c")
	must(w.objects.SetTags(ctx, "bucket", "a", map[string]string{"k": "v"}))
	is("ObjectTagging:Put", "a")
	must(w.objects.SetTags(ctx, "bucket", "a", nil))
	is("ObjectTagging:Delete", "a")
	must(w.objects.Delete(ctx, "bucket", "missing", objects.Condition{}))
	must(w.objects.Delete(ctx, "bucket", "a", objects.Condition{}))
	is("ObjectRemoved:Delete", "a")
	must(w.objects.DeleteAll(ctx, "bucket", []string{"b", "missing", "c"}))
	is("ObjectRemoved:Delete", "b")
	is("ObjectRemoved:Delete", "c")
	w.configure(function("s3:ObjectRemoved:DeleteMarkerCreated"), objects.SettingVersioning, "Enabled")
	w.put("d")
	must(w.objects.Delete(ctx, "bucket", "d", objects.Condition{}))
	is("ObjectRemoved:DeleteMarkerCreated", "d")
}

func TestTopic(t *testing.T) {
	w := newWorld(t)
	c := w.configure("<TopicConfiguration><Topic>" + topicARN + "</Topic><Event>s3:ObjectCreated:Put</Event></TopicConfiguration>")
	message := func() (subject string, text map[string]any) {
		t.Helper()
		sns := (<-w.called)["Records"].([]any)[0].(map[string]any)["Sns"].(map[string]any)
		if err := json.Unmarshal([]byte(sns["Message"].(string)), &text); err != nil {
			t.Fatal(err)
		}
		return sns["Subject"].(string), text
	}
	w.events.Test(t.Context(), "bucket", home, c)
	if subject, text := message(); subject != "Amazon S3 Notification" || text["Event"] != "s3:TestEvent" || text["Bucket"] != "bucket" {
		t.Errorf("%s %v", subject, text)
	}
	w.put("k")
	if _, text := message(); text["Records"].([]any)[0].(map[string]any)["eventName"] != "ObjectCreated:Put" {
		t.Errorf("%v", text)
	}
}

func TestQueue(t *testing.T) {
	w := newWorld(t)
	c := w.configure("<QueueConfiguration><Queue>" + queueARN + "</Queue><Event>s3:ObjectCreated:Put</Event></QueueConfiguration>")
	w.events.Test(t.Context(), "bucket", home, c)
	if text := <-w.queued; text["Event"] != "s3:TestEvent" || text["Bucket"] != "bucket" {
		t.Errorf("%v", text)
	}
	w.put("k")
	if text := <-w.queued; text["Records"].([]any)[0].(map[string]any)["eventName"] != "ObjectCreated:Put" {
		t.Errorf("%v", text)
	}
}

func TestEventBus(t *testing.T) {
	w := newWorld(t)
	w.configure("<EventBridgeConfiguration/>")
	w.put("out/x")
	info := w.put("in/a b")
	event := <-w.published
	detail := event["detail"].(map[string]any)
	delete(detail, "request-id")
	want := map[string]any{
		"version": "0", "bucket": map[string]any{"name": "bucket"}, "requester": "111122223333", "source-ip-address": "127.0.0.1", "reason": "PutObject",
		"object": map[string]any{
			"key": "in/a b", "size": float64(4), "etag": strings.Trim(info.ETag, `"`), "sequencer": fmt.Sprintf("%016X", noon.UnixNano()),
		},
	}
	if diff := cmp.Diff(want, detail); diff != "" {
		t.Error(diff)
	}
	if event["detail-type"] != "Object Created" || event["source"] != "aws.s3" || !cmp.Equal(event["resources"], []any{"arn:aws:s3:::bucket"}) {
		t.Errorf("%v", event)
	}
	if err := w.objects.Delete(t.Context(), "bucket", "in/a b", objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	event = <-w.published
	if detail := event["detail"].(map[string]any); event["detail-type"] != "Object Deleted" || detail["deletion-type"] != "Permanently Deleted" {
		t.Errorf("%v", event)
	}
}

func TestCheck(t *testing.T) {
	w := newWorld(t)
	for arn, want := range map[string]string{
		functionARN: "", topicARN: "", queueARN: "",
		functionARN + "2":  "Unable to validate the following destination configurations",
		topicARN + "2":     "Unable to validate the following destination configurations",
		queueARN + ".fifo": "is a FIFO queue, which S3 does not support",
		strings.Replace(functionARN, "1111", "9999", 1):         "Unable to validate the following destination configurations",
		strings.Replace(functionARN, "eu-west", "us-west", 1):   "service region is not valid",
		strings.Replace(functionARN, ":lambda:", ":states:", 1): "The ARN is not well formed",
		"f": "The ARN is not well formed",
	} {
		var c bucketevents.Configuration
		d := []bucketevents.Destination{{Events: []string{"s3:ObjectCreated:*"}}}
		switch {
		case strings.Contains(arn, ":sns:"):
			d[0].Topic, c.Topics = arn, d
		case strings.Contains(arn, ":sqs:"):
			d[0].Queue, c.Queues = arn, d
		default:
			d[0].Function, c.Functions = arn, d
		}
		err := w.events.Check(t.Context(), home, c)
		var refused *bucketevents.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", arn, err, want)
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := bucketevents.New(bucketevents.Config{}); err == nil {
		t.Error("no error")
	}
}

// TestOtherAccount checks that a configuration put without validation calls nothing in another account.
func TestOtherAccount(t *testing.T) {
	w := newWorld(t)
	of := func(list, kind, arn, prefix string) string {
		return "<" + list + "><" + kind + ">" + arn + "</" + kind + "><Event>s3:ObjectCreated:*</Event><Filter><S3Key><FilterRule><Name>prefix</Name><Value>" +
			prefix + "</Value></FilterRule></S3Key></Filter></" + list + ">"
	}
	w.configure(of("CloudFunctionConfiguration", "CloudFunction", "arn:aws:lambda:eu-west-1:444455556666:function:f", "f") +
		of("TopicConfiguration", "Topic", "arn:aws:sns:eu-west-1:444455556666:t", "t") + of("QueueConfiguration", "Queue", queueARN, "q"))
	for _, key := range []string{"f", "t", "q"} {
		w.put(key)
	}
	<-w.queued
	if len(w.called) != 0 {
		t.Error("a function of another account is called")
	}
}
