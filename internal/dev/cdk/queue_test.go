package cdk_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
)

// otherSQS is an SQS next to the server.
type otherSQS struct {
	t   *testing.T
	url string
}

func (q otherSQS) call(action string, params map[string]any) map[string]any {
	q.t.Helper()
	client, err := awscall.New(awscall.Config{
		Region: region, Endpoint: q.url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		q.t.Fatal(err)
	}
	out, err := client.Call(q.t.Context(), "sqs", action, params)
	if err != nil {
		q.t.Fatal(err)
	}
	return out
}

func (q otherSQS) creates(names ...string) {
	q.t.Helper()
	for _, name := range names {
		attributes := map[string]any{}
		if strings.HasSuffix(name, ".fifo") {
			attributes = map[string]any{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
		}
		q.call("createQueue", map[string]any{"QueueName": name, "Attributes": attributes})
	}
}

// takes waits for the next message of a queue and returns it flattened.
func (q otherSQS) takes(a *app, name string) map[string]any {
	q.t.Helper()
	url := q.call("getQueueUrl", map[string]any{"QueueName": name})["QueueUrl"]
	var message map[string]any
	a.cloud.until("the queue "+name+" has a message", func() bool {
		out := q.call("receiveMessage", map[string]any{
			"QueueUrl": url, "MessageAttributeNames": []any{"All"}, "AttributeNames": []any{"All"},
		})
		list, _ := out["Messages"].([]any)
		if len(list) == 0 {
			return false
		}
		message, _ = list[0].(map[string]any)
		q.call("deleteMessage", map[string]any{"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]})
		return true
	})
	return awscall.Flatten(message)
}

func body(t *testing.T, message map[string]any) map[string]any {
	t.Helper()
	var of map[string]any
	if err := json.Unmarshal([]byte(message["Body"].(string)), &of); err != nil {
		t.Fatalf("%v: %v", message, err)
	}
	return of
}

// TestQueues tests queues in the SQS that the server's environment sets. They get the events of a bucket, a topic and
// a rule.
func TestQueues(t *testing.T) {
	a := newApp(t, "queues")
	queues := otherSQS{t, mototest.New(t)}
	queues.creates("objects", "envelopes", "texts", "events", "ordered.fifo")
	a.cloud.kill()
	a.cloud.env = []string{"AWS_ENDPOINT_URL_SQS=" + queues.url}
	a.cloud.start()
	got := a.deploys(nil)["Queues"]

	if test := body(t, queues.takes(a, "objects")); test["Event"] != "s3:TestEvent" {
		t.Errorf("%v", test)
	}
	ask := func(service, action string, params map[string]any) {
		t.Helper()
		if _, err := a.cloud.call(service, action, params); err != nil {
			t.Fatal(err)
		}
	}
	ask("s3", "putObject", map[string]any{"Bucket": got["BucketName"], "Key": "in/a", "Body": "x"})
	record := awscall.Flatten(body(t, queues.takes(a, "objects")))
	if record["Records.0.eventName"] != "ObjectCreated:Put" || record["Records.0.s3.object.key"] != "in/a" ||
		record["Records.0.s3.bucket.name"] != got["BucketName"] {
		t.Errorf("%v", record)
	}

	ask("sns", "publish", map[string]any{"TopicArn": got["TopicArn"], "Subject": "Oven", "Message": "hot",
		"MessageAttributes": map[string]any{"room": map[string]any{"DataType": "String", "StringValue": "kitchen"}}})
	envelope := awscall.Flatten(body(t, queues.takes(a, "envelopes")))
	for name, want := range map[string]any{
		"Type": "Notification", "TopicArn": got["TopicArn"], "Subject": "Oven", "Message": "hot", "MessageAttributes.room.Value": "kitchen",
	} {
		if envelope[name] != want {
			t.Errorf("%s is %v, want %v", name, envelope[name], want)
		}
	}
	if text := queues.takes(a, "texts"); text["Body"] != "hot" || text["MessageAttributes.room.StringValue"] != "kitchen" {
		t.Errorf("%v", text)
	}

	ask("eventbridge", "putEvents", map[string]any{"Entries": []any{
		map[string]any{"Source": "kitchen", "DetailType": "Heat", "Detail": `{"degrees":180}`},
	}})
	for _, name := range []string{"events", "ordered.fifo"} {
		message := queues.takes(a, name)
		event := awscall.Flatten(body(t, message))
		if event["detail-type"] != "Heat" || event["detail.degrees"] != float64(180) || event["region"] != region {
			t.Errorf("%s: %v", name, event)
		}
		if group := message["Attributes.MessageGroupId"]; name == "ordered.fifo" && group != "oven" {
			t.Errorf("the group is %v", group)
		}
	}
	ask("s3", "deleteObject", map[string]any{"Bucket": got["BucketName"], "Key": "in/a"})
	a.destroys()
}

// TestNoQueues tests the same app on a server whose environment sets no SQS.
func TestNoQueues(t *testing.T) {
	a := newApp(t, "queues")
	got := a.deploys(nil)["Queues"]
	for _, ask := range []struct {
		service, action string
		params          map[string]any
	}{
		{"s3", "putObject", map[string]any{"Bucket": got["BucketName"], "Key": "in/a", "Body": "x"}},
		{"sns", "publish", map[string]any{"TopicArn": got["TopicArn"], "Message": "hot"}},
		{"eventbridge", "putEvents", map[string]any{"Entries": []any{map[string]any{"Source": "kitchen", "DetailType": "Heat", "Detail": `{}`}}}},
	} {
		if _, err := a.cloud.call(ask.service, ask.action, ask.params); err != nil {
			t.Fatal(err)
		}
	}
	wanted := map[string]bool{":objects": true, ":envelopes": true, ":texts": true, ":events": true, ":ordered.fifo": true}
	a.cloud.until("the log says what was dropped: "+strings.Join(slices.Sorted(maps.Keys(wanted)), " "), func() bool {
		for line := range strings.Lines(a.cloud.output()) {
			for name := range wanted {
				if strings.Contains(line, name) && strings.Contains(line, "set AWS_ENDPOINT_URL_SQS in the environment of pintle serve") {
					delete(wanted, name)
				}
			}
		}
		return len(wanted) == 0
	})
	if _, err := a.cloud.call("s3", "deleteObject", map[string]any{"Bucket": got["BucketName"], "Key": "in/a"}); err != nil {
		t.Fatal(err)
	}
	a.destroys()
}
