package sns_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
)

func (w *world) publish(t *testing.T, m sns.Message) string {
	t.Helper()
	id, err := w.Publish(t.Context(), topicARN, m)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// verify checks the signature of a document as a subscriber does.
func (w *world) verify(t *testing.T, document map[string]any, certificateURL string) {
	t.Helper()
	path, ok := strings.CutPrefix(certificateURL, publicURL)
	if !ok {
		t.Fatalf("the certificate is at %s", certificateURL)
	}
	recorder := httptest.NewRecorder()
	w.Signer().Certificate().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	block, _ := pem.Decode(recorder.Body.Bytes())
	if recorder.Code != http.StatusOK || block == nil {
		t.Fatalf("%d %s", recorder.Code, recorder.Body)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if document["Type"] == "SubscriptionConfirmation" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	var text string
	for _, name := range names {
		if value, ok := document[name].(string); ok {
			text += name + "\n" + value + "\n"
		}
	}
	hash, digest := crypto.SHA1, []byte(nil)
	if document["SignatureVersion"] == "2" {
		sum := sha256.Sum256([]byte(text))
		hash, digest = crypto.SHA256, sum[:]
	} else {
		sum := sha1.Sum([]byte(text))
		digest = sum[:]
	}
	signature, err := base64.StdEncoding.DecodeString(document["Signature"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if err := rsa.VerifyPKCS1v15(certificate.PublicKey.(*rsa.PublicKey), hash, digest, signature); err != nil {
		t.Errorf("version %v: %v", document["SignatureVersion"], err)
	}
}

func object(t *testing.T, text []byte) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal(text, &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

func TestPublishToFunction(t *testing.T) {
	w := newWorld(t, nil)
	w.topic(t, nil)
	arn := w.subscribe(t, "lambda", functionARN, nil)
	id := w.publish(t, sns.Message{Subject: "s", Message: "a & b", Attributes: map[string]sns.Attribute{"n": {Type: "Number", String: "1"}}})
	got := <-w.invoked
	if got.function != functionARN {
		t.Errorf("invoked %s", got.function)
	}
	record := object(t, got.payload)["Records"].([]any)[0].(map[string]any)
	delivered := record["Sns"].(map[string]any)
	w.verify(t, delivered, delivered["SigningCertUrl"].(string))
	for _, name := range []string{"Signature", "Timestamp", "SigningCertUrl"} {
		delete(delivered, name)
	}
	if diff := cmp.Diff(map[string]any{
		"EventSource": "aws:sns", "EventVersion": "1.0", "EventSubscriptionArn": arn, "Sns": map[string]any{
			"Type": "Notification", "MessageId": id, "TopicArn": topicARN, "Subject": "s", "Message": "a & b", "SignatureVersion": "1",
			"UnsubscribeUrl":    publicURL + "/?Action=Unsubscribe&SubscriptionArn=" + url.QueryEscape(arn),
			"MessageAttributes": map[string]any{"n": map[string]any{"Type": "Number", "Value": "1"}},
		},
	}, record); diff != "" {
		t.Error(diff)
	}
	w.publish(t, sns.Message{Message: `{"default": "d", "lambda": "l", "http": 1}`, Structure: "json"})
	delivered = object(t, (<-w.invoked).payload)["Records"].([]any)[0].(map[string]any)["Sns"].(map[string]any)
	if delivered["Message"] != "l" || delivered["Subject"] != nil {
		t.Errorf("by protocol, without a subject: %v", delivered)
	}
}

// TestPublishToURL checks that a URL gets only its token until it has returned that.
func TestPublishToURL(t *testing.T) {
	w, ctx := newWorld(t, nil), t.Context()
	w.topic(t, map[string]string{"SignatureVersion": "2"})
	target, posts := serve(t, nil)
	arn := w.subscribe(t, "http", target+"/in?key=hunter2", nil)
	asked := <-posts
	confirmation := object(t, []byte(asked.body))
	w.verify(t, confirmation, confirmation["SigningCertURL"].(string))
	link, err := url.Parse(confirmation["SubscribeURL"].(string))
	if err != nil {
		t.Fatal(err)
	}
	token := confirmation["Token"].(string)
	if diff := cmp.Diff(url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {topicARN}, "Token": {token}}, link.Query()); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{
		"x-amz-sns-message-type": "SubscriptionConfirmation", "x-amz-sns-message-id": confirmation["MessageId"].(string),
		"x-amz-sns-topic-arn": topicARN, "x-amz-sns-subscription-arn": "", "Content-Type": "text/plain; charset=UTF-8",
	}
	for name, value := range want {
		if got := asked.header.Get(name); got != value {
			t.Errorf("%s: %s", name, got)
		}
	}
	w.publish(t, sns.Message{Message: "too early"})
	if known, functions, others, err := w.Subscribers(ctx, topicARN); !known || len(functions)+others != 0 || err != nil {
		t.Errorf("before it has confirmed: %v %v %d %v", known, functions, others, err)
	}
	if w.subscribe(t, "http", target+"/in?key=hunter2", nil) != arn || object(t, []byte((<-posts).body))["Token"] != token {
		t.Error("asked once more, it is another subscription or token")
	}
	_, err = w.Confirm(ctx, topicARN, "x", true)
	refused(t, "another token", err, "InvalidParameter", "Invalid parameter: Token")
	for range 2 {
		if got, err := w.Confirm(ctx, topicARN, token, false); got != arn || err != nil {
			t.Errorf("confirmed %s, %v", got, err)
		}
	}
	id := w.publish(t, sns.Message{Message: "<on time>", Subject: "s"})
	reported := <-posts
	document := object(t, []byte(reported.body))
	w.verify(t, document, document["SigningCertURL"].(string))
	for _, name := range []string{"Signature", "Timestamp", "SigningCertURL"} {
		delete(document, name)
	}
	if diff := cmp.Diff(map[string]any{
		"Type": "Notification", "MessageId": id, "TopicArn": topicARN, "Subject": "s", "Message": "<on time>", "SignatureVersion": "2",
		"UnsubscribeURL": publicURL + "/?Action=Unsubscribe&SubscriptionArn=" + url.QueryEscape(arn),
	}, document); diff != "" {
		t.Error(diff)
	}
	if got := reported.header.Get("x-amz-sns-subscription-arn"); got != arn {
		t.Errorf("x-amz-sns-subscription-arn: %s", got)
	}
	if err := w.SetSubscriptionAttribute(ctx, arn, "RawMessageDelivery", "true"); err != nil {
		t.Fatal(err)
	}
	w.publish(t, sns.Message{Message: "raw"})
	if reported := <-posts; reported.body != "raw" || reported.header.Get("x-amz-sns-rawdelivery") != "true" {
		t.Errorf("raw: %s %v", reported.body, reported.header)
	}
	if err := w.Unsubscribe(ctx, arn); err != nil {
		t.Fatal(err)
	}
	w.publish(t, sns.Message{Message: "too late"})
	w.Close()
	if len(posts) != 0 {
		t.Errorf("posted: %+v", <-posts)
	}
}

func TestRetry(t *testing.T) {
	w := newWorld(t, nil)
	w.topic(t, nil)
	target, posts := serve(t, func(n int) int {
		return []int{500, 429, 200, 404}[min(n, 4)-1]
	})
	w.subscribe(t, "http", target+"/in?key=hunter2", nil)
	for range 2 {
		<-posts
	}
	token := object(t, []byte((<-posts).body))["Token"].(string)
	if _, err := w.Confirm(t.Context(), topicARN, token, false); err != nil {
		t.Fatal(err)
	}
	w.publish(t, sns.Message{Message: "m"})
	<-posts
	w.Close()
	if text := w.log.String(); !strings.Contains(text, `tries=1 error="404 Not Found"`) || strings.Contains(text, "hunter2") || len(posts) != 0 {
		t.Errorf("%d posts left, log:\n%s", len(posts), text)
	}
	_, err := w.Publish(t.Context(), topicARN, sns.Message{Message: "m"})
	refused(t, "after Close", err, "ServiceUnavailable", "The server is stopping. Please try again.")
}

// TestRetryOfFunction checks that a failed call of a function is retried, and that one of a missing function is not.
func TestRetryOfFunction(t *testing.T) {
	var calls atomic.Int32
	done := make(chan struct{})
	w := newWorld(t, func(c *sns.Config) {
		c.Invoke = func(_ context.Context, _ string, _ []byte) error {
			switch calls.Add(1) {
			case 1:
				return errors.New("busy")
			case 2:
				defer close(done)
			}
			if calls.Load() > 2 {
				return registry.ErrNotFound
			}
			return nil
		}
	})
	w.topic(t, nil)
	w.subscribe(t, "lambda", functionARN, nil)
	w.publish(t, sns.Message{Message: "m"})
	<-done
	w.publish(t, sns.Message{Message: "m"})
	w.Close()
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
	if text := w.log.String(); strings.Count(text, "a message was not delivered") != 1 {
		t.Error(text)
	}
}

func TestPrivate(t *testing.T) {
	w := newWorld(t, func(c *sns.Config) { c.AllowPrivate = false })
	w.topic(t, nil)
	target, posts := serve(t, nil)
	w.subscribe(t, "http", target, nil)
	w.Close()
	if text := w.log.String(); !strings.Contains(text, "127.0.0.1 is not a public address") || !strings.Contains(text, "tries=1") || len(posts) != 0 {
		t.Error(text)
	}
}

func TestPublishRefuses(t *testing.T) {
	w := newWorld(t, nil)
	w.topic(t, nil)
	attribute := func(name, kind, value string) sns.Message {
		return sns.Message{Message: "m", Attributes: map[string]sns.Attribute{name: {Type: kind, String: value}}}
	}
	for name, test := range map[string]struct {
		m             sns.Message
		code, message string
	}{
		"empty":        {sns.Message{}, "InvalidParameter", "Invalid parameter: Empty message"},
		"long":         {sns.Message{Message: strings.Repeat("m", sns.MaxMessage+1)}, "InvalidParameter", "Invalid parameter: Message too long"},
		"long subject": {sns.Message{Message: "m", Subject: strings.Repeat("s", 100)}, "InvalidParameter", "Invalid parameter: Subject"},
		"line break":   {sns.Message{Message: "m", Subject: "a\nb"}, "InvalidParameter", "Invalid parameter: Subject"},
		"structure":    {sns.Message{Message: "m", Structure: "xml"}, "InvalidParameter", "Invalid parameter: Message Structure - it is json or left out"},
		"no JSON":      {sns.Message{Message: "m", Structure: "json"}, "InvalidParameter", "Invalid parameter: Message Structure - JSON message body failed to parse"},
		"no default":   {sns.Message{Message: `{"http": "m"}`, Structure: "json"}, "InvalidParameter", "Invalid parameter: Message Structure - No default entry in JSON message body"},
		"type": {attribute("a", "Date", "x"), "ParameterValueInvalid",
			"The message attribute 'a' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String."},
		"empty value": {attribute("a", "String", ""), "ParameterValueInvalid",
			"The message attribute 'a' must contain non-empty message attribute value for message attribute type 'String'."},
		"number": {attribute("a", "Number", "x"), "ParameterValueInvalid", "Could not cast message attribute 'a' value to number."},
		"binary": {attribute("a", "Binary", "*"), "ParameterValueInvalid", "The message attribute 'a' of the type Binary is not base64."},
		"name":   {attribute("a..b", "String", "x"), "ParameterValueInvalid", "The message attribute name 'a..b' is not valid: it has letters, digits, and _ - . between them."},
	} {
		_, err := w.Publish(t.Context(), topicARN, test.m)
		refused(t, name, err, test.code, test.message)
	}
	_, err := w.Publish(t.Context(), topicARN+"2", sns.Message{Message: "m"})
	refused(t, "no topic", err, "NotFound", "Topic does not exist")
	if known, _, _, err := w.Subscribers(t.Context(), topicARN+"2"); known || err != nil {
		t.Errorf("a topic that is not: %v %v", known, err)
	}
	w.publish(t, sns.Message{Message: strings.Repeat("m", sns.MaxMessage), Subject: strings.Repeat("s", 99)})
}

// TestThrottled checks that too many messages in flight are refused, and accepted again once there is room.
func TestThrottled(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, func(c *sns.Config) {
		c.Invoke = func(ctx context.Context, _ string, _ []byte) error {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil
		}
	})
	w.topic(t, nil)
	w.subscribe(t, "lambda", functionARN, nil)
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		_, err = w.Publish(t.Context(), topicARN, sns.Message{Message: strings.Repeat("m", sns.MaxMessage)})
	}
	refused(t, "the last", err, "Throttled", "Too many messages are under way. Please try again.")
	close(release)
	for {
		if _, err = w.Publish(t.Context(), topicARN, sns.Message{Message: "m"}); err == nil {
			return
		}
	}
}

// TestKey checks that all nodes share one key, and that it is replaced before its certificate expires.
func TestKey(t *testing.T) {
	w := newWorld(t, nil)
	now := time.Now()
	path := func() string {
		t.Helper()
		other, err := sns.New(sns.Config{
			Catalog: w.catalog, Invoke: func(context.Context, string, []byte) error { return nil }, PublicURL: publicURL, AllowPrivate: true,
			Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		recorder := httptest.NewRecorder()
		other.Signer().Certificate().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, notification.CertificatePath+"0.pem", nil))
		if recorder.Code != http.StatusNotFound {
			t.Errorf("another certificate: %d", recorder.Code)
		}
		item, err := w.catalog.Keys.Get(t.Context(), registry.Global, "sns")
		if err != nil {
			t.Fatal(err)
		}
		return string(item.Of.Secret)
	}
	first := path()
	if path() != first {
		t.Error("another node has another key")
	}
	now = now.Add(10*365*24*time.Hour - 24*time.Hour)
	if path() == first {
		t.Error("the key was not made anew")
	}
}

func TestCarrier(t *testing.T) {
	w := newWorld(t, nil)
	w.topic(t, nil)
	w.subscribe(t, "lambda", functionARN, nil)
	carrier := sns.Carrier{Topics: w.Topics}
	if err := carrier.Publish(t.Context(), topicARN, "s", "m"); err != nil {
		t.Fatal(err)
	}
	if got := string((<-w.invoked).payload); !strings.Contains(got, `"Subject":"s","Message":"m"`) {
		t.Error(got)
	}
	reported, ok := errors.AsType[*sns.Error](carrier.Publish(t.Context(), topicARN+"2", "s", "m"))
	if !ok || reported.Temporary() {
		t.Errorf("%v", reported)
	}
}

// TestHops checks that a message published by a function's destination carries the number of functions in the chain,
// and that a loop error is not retried.
func TestHops(t *testing.T) {
	hops := make(chan int, 2)
	w := newWorld(t, func(c *sns.Config) {
		c.Invoke = func(ctx context.Context, _ string, _ []byte) error {
			hops <- trace.Hops(ctx)
			return fmt.Errorf("refused: %w", trace.ErrLoop)
		}
	})
	w.topic(t, nil)
	w.subscribe(t, "lambda", functionARN, nil)
	for _, n := range []int{7, 0} {
		if _, err := w.Publish(trace.WithHops(t.Context(), n), topicARN, sns.Message{Message: "m"}); err != nil {
			t.Fatal(err)
		}
		if got := <-hops; got != n {
			t.Errorf("%d hops, want %d", got, n)
		}
	}
	w.Close()
	if log := w.log.String(); strings.Count(log, "tries=1") != 2 {
		t.Errorf("the log is\n%s", log)
	}
}
