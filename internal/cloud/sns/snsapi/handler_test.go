package snsapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/sns/snsapi"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	topicARN    = "arn:aws:sns:eu-west-1:111122223333:T"
	functionARN = "arn:aws:lambda:eu-west-1:111122223333:function:f"
)

// world is the API on a minimal endpoint, and the topics behind it.
type world struct {
	*client.Client
	url     string
	topics  *sns.Topics
	invoked chan string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var door http.Handler
	ready := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-ready
		door.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	w := &world{url: server.URL, invoked: make(chan string, 100)}
	w.topics, err = sns.New(sns.Config{
		Catalog: registry.New(rows), PublicURL: server.URL, AllowPrivate: true, Backoff: time.Millisecond, RetryFor: time.Second, Drain: time.Millisecond, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Invoke: func(_ context.Context, _ string, payload []byte) error {
			w.invoked <- string(payload)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.topics.Close)
	service, err := snsapi.New(snsapi.Config{Topics: w.topics, Caller: func(ctx context.Context) (api.Caller, bool) {
		caller, ok := ctx.Value(signed{}).(api.Caller)
		return caller, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	door = http.HandlerFunc(func(w2 http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, notification.CertificatePath):
			w.topics.Signer().Certificate().ServeHTTP(w2, r)
		case snsapi.Unsigned(r):
			snsapi.Follow(service).ServeHTTP(w2, r)
		default:
			caller := api.Caller{Account: "111122223333", Region: "eu-west-1"}
			if strings.Contains(r.Header.Get("Authorization"), "Credential=OTHER/") {
				caller.Account = "444455556666"
			}
			service.ServeHTTP(w2, r.WithContext(context.WithValue(r.Context(), signed{}, caller)))
		}
	})
	close(ready)
	w.Client = w.client("AKID")
	return w
}

type signed struct{}

func (w *world) client(key string) *client.Client {
	return client.New(client.Options{
		Region: "eu-west-1", BaseEndpoint: &w.url, Credentials: credentials.NewStaticCredentialsProvider(key, "SECRET", ""), RetryMaxAttempts: 1,
	})
}

func code(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Sprint(err)
	}
	return api.ErrorCode() + ": " + api.ErrorMessage()
}

func (w *world) topic(t *testing.T) {
	t.Helper()
	out, err := w.CreateTopic(t.Context(), &client.CreateTopicInput{
		Name: aws.String("T"), Attributes: map[string]string{"DisplayName": "one", "SignatureVersion": "2"},
		Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	})
	if err != nil || *out.TopicArn != topicARN {
		t.Fatalf("%+v %v", out, err)
	}
}

func TestNew(t *testing.T) {
	if _, err := snsapi.New(snsapi.Config{}); err == nil {
		t.Error("no error")
	}
}

func TestTopics(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.topic(t)
	w.topic(t)
	_, err := w.CreateTopic(ctx, &client.CreateTopicInput{Name: aws.String("T"), Attributes: map[string]string{"DisplayName": "two"}})
	if got := code(err); got != "InvalidParameter: Invalid parameter: Attributes Reason: Topic already exists with different attributes" {
		t.Error(got)
	}
	if _, err := w.SetTopicAttributes(ctx, &client.SetTopicAttributesInput{
		TopicArn: aws.String(topicARN), AttributeName: aws.String("DisplayName"), AttributeValue: aws.String("three"),
	}); err != nil {
		t.Error(err)
	}
	attributes, err := w.GetTopicAttributes(ctx, &client.GetTopicAttributesInput{TopicArn: aws.String(topicARN)})
	if err != nil || attributes.Attributes["DisplayName"] != "three" || attributes.Attributes["TopicArn"] != topicARN || !json.Valid([]byte(attributes.Attributes["Policy"])) {
		t.Errorf("%+v %v", attributes, err)
	}
	if _, err := w.TagResource(ctx, &client.TagResourceInput{ResourceArn: aws.String(topicARN), Tags: []types.Tag{{Key: aws.String("c"), Value: aws.String("d")}}}); err != nil {
		t.Error(err)
	}
	if _, err := w.UntagResource(ctx, &client.UntagResourceInput{ResourceArn: aws.String(topicARN), TagKeys: []string{"a"}}); err != nil {
		t.Error(err)
	}
	tags, err := w.ListTagsForResource(ctx, &client.ListTagsForResourceInput{ResourceArn: aws.String(topicARN)})
	if err != nil || len(tags.Tags) != 1 || *tags.Tags[0].Key != "c" || *tags.Tags[0].Value != "d" {
		t.Errorf("%+v %v", tags, err)
	}
	other := w.client("OTHER")
	_, err = other.DeleteTopic(ctx, &client.DeleteTopicInput{TopicArn: aws.String(topicARN)})
	if got := code(err); got != "AuthorizationError: The account 444455556666 is not authorized to do this with "+topicARN {
		t.Error(got)
	}
	for range 2 {
		if _, err := w.DeleteTopic(ctx, &client.DeleteTopicInput{TopicArn: aws.String(topicARN)}); err != nil {
			t.Error(err)
		}
	}
	_, err = w.GetTopicAttributes(ctx, &client.GetTopicAttributesInput{TopicArn: aws.String(topicARN)})
	var gone *types.NotFoundException
	if !errors.As(err, &gone) || gone.ErrorMessage() != "Topic does not exist" {
		t.Error(err)
	}
	_, err = w.ListTagsForResource(ctx, &client.ListTagsForResourceInput{ResourceArn: aws.String(topicARN)})
	if got := code(err); got != "ResourceNotFound: Resource does not exist" {
		t.Error(got)
	}
	_, err = w.GetTopicAttributes(ctx, &client.GetTopicAttributesInput{TopicArn: aws.String("T")})
	if got := code(err); got != "InvalidParameter: Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1" {
		t.Error(got)
	}
	_, err = w.GetTopicAttributes(ctx, &client.GetTopicAttributesInput{TopicArn: aws.String("arn:aws:sns:us-east-1:111122223333:T")})
	if got := code(err); got != "InvalidParameter: Invalid parameter: TopicArn" {
		t.Error(got)
	}
}

func TestLists(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var want []string
	for i := range 101 {
		out, err := w.CreateTopic(ctx, &client.CreateTopicInput{Name: aws.String(fmt.Sprintf("T%03d", i))})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, *out.TopicArn)
		if _, err := w.Subscribe(ctx, &client.SubscribeInput{TopicArn: out.TopicArn, Protocol: aws.String("lambda"), Endpoint: aws.String(functionARN)}); err != nil {
			t.Fatal(err)
		}
	}
	var got, subscribed []string
	for pages := client.NewListTopicsPaginator(w.Client, &client.ListTopicsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range page.Topics {
			got = append(got, *topic.TopicArn)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for pages := client.NewListSubscriptionsPaginator(w.Client, &client.ListSubscriptionsInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Subscriptions {
			subscribed = append(subscribed, *s.TopicArn)
		}
	}
	if diff := cmp.Diff(want, subscribed); diff != "" {
		t.Error(diff)
	}
	_, err := w.ListTopics(ctx, &client.ListTopicsInput{NextToken: aws.String("x")})
	if got := code(err); got != "InvalidParameter: Invalid parameter: NextToken" {
		t.Error(got)
	}
}

// TestPending checks that an unconfirmed URL is shown as pending.
func TestPending(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.topic(t)
	in := &client.SubscribeInput{TopicArn: aws.String(topicARN), Protocol: aws.String("http"), Endpoint: aws.String("http://127.0.0.1:1/")}
	if out, err := w.Subscribe(ctx, in); err != nil || *out.SubscriptionArn != "pending confirmation" {
		t.Errorf("%+v %v", out, err)
	}
	in.ReturnSubscriptionArn = true
	if out, err := w.Subscribe(ctx, in); err != nil || !strings.HasPrefix(*out.SubscriptionArn, topicARN+":") {
		t.Errorf("%+v %v", out, err)
	}
	list, err := w.ListSubscriptionsByTopic(ctx, &client.ListSubscriptionsByTopicInput{TopicArn: aws.String(topicARN)})
	if err != nil || len(list.Subscriptions) != 1 || *list.Subscriptions[0].SubscriptionArn != "PendingConfirmation" {
		t.Errorf("%+v %v", list, err)
	}
	_, err = w.ConfirmSubscription(ctx, &client.ConfirmSubscriptionInput{TopicArn: aws.String(topicARN), Token: aws.String("x")})
	if got := code(err); got != "InvalidParameter: Invalid parameter: Token" {
		t.Error(got)
	}
}

func TestFunctions(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.topic(t)
	made, err := w.Subscribe(ctx, &client.SubscribeInput{TopicArn: aws.String(topicARN), Protocol: aws.String("lambda"), Endpoint: aws.String(functionARN)})
	if err != nil || !strings.HasPrefix(*made.SubscriptionArn, topicARN+":") {
		t.Fatalf("%+v %v", made, err)
	}
	list, err := w.ListSubscriptionsByTopic(ctx, &client.ListSubscriptionsByTopicInput{TopicArn: aws.String(topicARN)})
	if err != nil || len(list.Subscriptions) != 1 || *list.Subscriptions[0].SubscriptionArn != *made.SubscriptionArn || *list.Subscriptions[0].Endpoint != functionARN {
		t.Errorf("%+v %v", list, err)
	}
	out, err := w.Publish(ctx, &client.PublishInput{TargetArn: aws.String(topicARN), Message: aws.String("one"), Subject: aws.String("s"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"text":   {DataType: aws.String("String"), StringValue: aws.String("x")},
			"binary": {DataType: aws.String("Binary"), BinaryValue: []byte{1, 2}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	event := <-w.invoked
	for _, want := range []string{*out.MessageId, `"Message":"one"`, `"Subject":"s"`, `"binary":{"Type":"Binary","Value":"AQI="}`, `"text":{"Type":"String","Value":"x"}`} {
		if !strings.Contains(event, want) {
			t.Errorf("%s is not in %s", want, event)
		}
	}
	batch, err := w.PublishBatch(ctx, &client.PublishBatchInput{TopicArn: aws.String(topicARN), PublishBatchRequestEntries: []types.PublishBatchRequestEntry{
		{Id: aws.String("a"), Message: aws.String("two")}, {Id: aws.String("b"), Message: aws.String("three"), Subject: aws.String("\n")},
	}})
	if err != nil || len(batch.Successful) != 1 || *batch.Successful[0].Id != "a" || len(batch.Failed) != 1 || *batch.Failed[0].Message != "Invalid parameter: Subject" {
		t.Errorf("%+v %v", batch, err)
	}
	if event := <-w.invoked; !strings.Contains(event, `"Message":"two"`) {
		t.Error(event)
	}
	long := strings.Repeat("%", sns.MaxMessage)
	if _, err := w.Publish(ctx, &client.PublishInput{TopicArn: aws.String(topicARN), Message: &long}); err != nil {
		t.Errorf("the longest message: %v", err)
	}
	entry := func(id, message string) types.PublishBatchRequestEntry {
		return types.PublishBatchRequestEntry{Id: &id, Message: &message}
	}
	for want, entries := range map[string][]types.PublishBatchRequestEntry{
		"BatchEntryIdsNotDistinct: Two or more batch entries in the request have the same Id.":                {entry("a", "m"), entry("a", "m")},
		"InvalidBatchEntryId: The Id of a batch entry in a batch request doesn't abide by the specification.": {entry("a b", "m")},
		"BatchRequestTooLong: The length of all the messages put together is more than the limit.":            {entry("a", long), entry("b", "m")},
		"TooManyEntriesInBatchRequest: The batch request contains more entries than permissible.":             make11(entry),
	} {
		_, err := w.PublishBatch(ctx, &client.PublishBatchInput{TopicArn: aws.String(topicARN), PublishBatchRequestEntries: entries})
		if got := code(err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for want, in := range map[string]*client.PublishInput{
		"InvalidParameter: Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter":     {Message: aws.String("m")},
		"InvalidParameter: Invalid parameter: PhoneNumber Reason: this version of Pintle sends no text messages": {Message: aws.String("m"), PhoneNumber: aws.String("+1")},
		"InvalidParameter: Invalid parameter: Subject":                                                           {Message: aws.String("m"), TopicArn: aws.String(topicARN), Subject: aws.String("")},
		"NotFound: Topic does not exist":                                                                         {Message: aws.String("m"), TopicArn: aws.String(topicARN + "2")},
		"InvalidParameter: Invalid parameter: Empty message":                                                     {Message: aws.String(""), TopicArn: aws.String(topicARN)},
		"ParameterValueInvalid: Could not cast message attribute 'n' value to number.": {
			Message: aws.String("m"), TopicArn: aws.String(topicARN),
			MessageAttributes: map[string]types.MessageAttributeValue{"n": {DataType: aws.String("Number"), StringValue: aws.String("x")}},
		},
	} {
		_, err := w.Publish(ctx, in)
		if got := code(err); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, err := w.Unsubscribe(ctx, &client.UnsubscribeInput{SubscriptionArn: made.SubscriptionArn}); err != nil {
		t.Error(err)
	}
	_, err = w.GetSubscriptionAttributes(ctx, &client.GetSubscriptionAttributesInput{SubscriptionArn: made.SubscriptionArn})
	if got := code(err); got != "NotFound: Subscription does not exist" {
		t.Error(got)
	}
}

func make11(entry func(id, message string) types.PublishBatchRequestEntry) (entries []types.PublishBatchRequestEntry) {
	for i := range 11 {
		entries = append(entries, entry(fmt.Sprint(i), "m"))
	}
	return entries
}

// TestProvider checks that a provider at a URL confirms its subscription and answers requests. It uses the SDK's
// verification, which checks every message.
func TestProvider(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	answers := make(chan string, 1)
	responses := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answers <- string(body)
	}))
	defer responses.Close()
	server, err := pintle.NewServer(pintle.ServerConfig{
		Handlers: []pintle.Handler{pintle.HandlerFunc(func(context.Context, *pintle.Request) (pintle.Answer, error) {
			return pintle.Answer{ID: "site-1"}, nil
		})},
		Topics: []string{topicARN}, SNSEndpoint: w.url,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer done.Done()
		server.ServeHTTP(w, r)
	}))
	defer provider.Close()
	w.topic(t)
	done.Add(1)
	out, err := w.Subscribe(ctx, &client.SubscribeInput{TopicArn: aws.String(topicARN), Protocol: aws.String("http"), Endpoint: aws.String(provider.URL)})
	if err != nil || *out.SubscriptionArn != "pending confirmation" && !strings.HasPrefix(*out.SubscriptionArn, topicARN+":") { // or already confirmed
		t.Fatalf("%+v %v", out, err)
	}
	done.Wait()
	list, err := w.ListSubscriptionsByTopic(ctx, &client.ListSubscriptionsByTopicInput{TopicArn: aws.String(topicARN)})
	if err != nil || len(list.Subscriptions) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	arn := list.Subscriptions[0].SubscriptionArn
	attributes, err := w.GetSubscriptionAttributes(ctx, &client.GetSubscriptionAttributesInput{SubscriptionArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"SubscriptionArn": *arn, "TopicArn": topicARN, "Owner": "111122223333", "Protocol": "http", "Endpoint": provider.URL, "RawMessageDelivery": "false",
		"PendingConfirmation": "false", "ConfirmationWasAuthenticated": "false", "SubscriptionPrincipal": "arn:aws:iam::111122223333:root",
	}, attributes.Attributes); diff != "" {
		t.Error(diff)
	}
	done.Add(1)
	request := wire.Request{
		RequestType: wire.Create, ServiceToken: topicARN, ResponseURL: responses.URL + "/r", StackID: "arn:aws:cloudformation:eu-west-1:111122223333:stack/s/1",
		RequestID: "r-1", LogicalResourceID: "L", ResourceType: "Custom::Site", ResourceProperties: json.RawMessage(`{"ServiceToken":"` + topicARN + `"}`),
	}
	text, err := request.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Publish(ctx, &client.PublishInput{TopicArn: aws.String(topicARN), Message: aws.String(string(text))}); err != nil {
		t.Fatal(err)
	}
	if answer := <-answers; !strings.Contains(answer, `"PhysicalResourceId":"site-1"`) {
		t.Error(answer)
	}
	done.Wait()

	// The link in every message ends the subscription, and no other call can be made that way.
	link := w.url + "/?" + url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {*arn}}.Encode()
	get := func(link string) (int, string) {
		t.Helper()
		response, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	for range 2 {
		if status, body := get(link); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	}
	function, err := w.Subscribe(ctx, &client.SubscribeInput{TopicArn: aws.String(topicARN), Protocol: aws.String("lambda"), Endpoint: aws.String(functionARN)})
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(w.url + "/?" + url.Values{"Action": {"Unsubscribe"}, "SubscriptionArn": {*function.SubscriptionArn}}.Encode()); status != http.StatusForbidden {
		t.Errorf("of a function: %d %s", status, body)
	}
	for link, want := range map[string]bool{
		"/?Action=Unsubscribe": true, "/?Action=ConfirmSubscription": true, "/?Action=Publish": false, "/": false,
	} {
		if got := snsapi.Unsigned(httptest.NewRequest(http.MethodGet, link, nil)); got != want {
			t.Errorf("%s needs no signature: %v", link, got)
		}
		if snsapi.Unsigned(httptest.NewRequest(http.MethodPost, link, nil)) {
			t.Errorf("POST %s needs no signature", link)
		}
	}
}

// TestUnsigned checks that only the links work without a signature.
func TestUnsigned(t *testing.T) {
	w := newWorld(t)
	service, err := snsapi.New(snsapi.Config{Topics: w.topics, Caller: func(context.Context) (api.Caller, bool) { return api.Caller{}, false }})
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"Action=CreateTopic&Name=T", "Action=DeleteTopic&TopicArn=" + topicARN, "Action=ListTopics", "Action=ListSubscriptions",
		"Action=GetTopicAttributes&TopicArn=" + topicARN, "Action=SetTopicAttributes&AttributeName=a&TopicArn=" + topicARN,
		"Action=ListTagsForResource&ResourceArn=" + topicARN, "Action=TagResource&Tags=&ResourceArn=" + topicARN,
		"Action=UntagResource&TagKeys=&ResourceArn=" + topicARN, "Action=Subscribe&Protocol=lambda&TopicArn=" + topicARN,
		"Action=ListSubscriptionsByTopic&TopicArn=" + topicARN, "Action=GetSubscriptionAttributes&SubscriptionArn=" + topicARN + ":x",
		"Action=SetSubscriptionAttributes&AttributeName=a&SubscriptionArn=" + topicARN + ":x", "Action=Publish&Message=m&TopicArn=" + topicARN,
		"Action=PublishBatch&PublishBatchRequestEntries.member.1.Id=a&PublishBatchRequestEntries.member.1.Message=m&TopicArn=" + topicARN,
	} {
		recorder := httptest.NewRecorder()
		service.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/?Version="+snsapi.Version+"&"+query, nil))
		if recorder.Code != http.StatusForbidden || !strings.Contains(recorder.Body.String(), "<Code>MissingAuthenticationToken</Code>") {
			t.Errorf("%s: %d %s", query, recorder.Code, recorder.Body)
		}
	}
}

const script = `
import boto3, botocore.config, sys
sns = boto3.client("sns", endpoint_url=sys.argv[1], region_name="eu-west-1", aws_access_key_id="AKID", aws_secret_access_key="SECRET",
    config=botocore.config.Config(proxies={}, retries={"total_max_attempts": 1}))
arn = sns.create_topic(Name="T", Attributes={"DisplayName": "one"}, Tags=[{"Key": "a", "Value": "b"}])["TopicArn"]
assert sns.get_topic_attributes(TopicArn=arn)["Attributes"]["DisplayName"] == "one"
sub = sns.subscribe(TopicArn=arn, Protocol="lambda", Endpoint=sys.argv[2], Attributes={"RawMessageDelivery": "false"})["SubscriptionArn"]
assert sns.get_subscription_attributes(SubscriptionArn=sub)["Attributes"]["Endpoint"] == sys.argv[2]
assert [s["SubscriptionArn"] for s in sns.list_subscriptions()["Subscriptions"]] == [sub]
sns.publish(TopicArn=arn, Message="héllo", MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
out = sns.publish_batch(TopicArn=arn, PublishBatchRequestEntries=[{"Id": "1", "Message": "two"}])
assert [s["Id"] for s in out["Successful"]] == ["1"] and not out.get("Failed"), out
try:
    sns.publish(TopicArn=arn + "2", Message="m")
    raise Exception("published to nothing")
except sns.exceptions.NotFoundException as e:
    assert e.response["Error"]["Message"] == "Topic does not exist"
sns.unsubscribe(SubscriptionArn=sub)
sns.delete_topic(TopicArn=arn)
assert sns.list_topics()["Topics"] == []
`

func TestBoto3(t *testing.T) {
	python, w := require.Python(t, "boto3"), newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", script, w.url, functionARN)
	cmd.Env = append(os.Environ(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1")
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	all := <-w.invoked + <-w.invoked
	if !strings.Contains(all, `"Message":"héllo"`) || !strings.Contains(all, `"Message":"two"`) {
		t.Error(all)
	}
}
