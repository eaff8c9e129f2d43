package aws_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestQueueOfEarlierVersion updates and deletes a queue from a version that only recorded the type, with an ID that
// is not a URL.
func TestQueueOfEarlierVersion(t *testing.T) {
	w := newWorld(t)
	const id = "stack-Queue-ABCDEFGHIJKL"
	serve := func(kind wire.RequestType) value.Value {
		t.Helper()
		result, err := w.types.Serve(w.ctx, &store.Request{ID: "r-" + wire.RequestID(kind), Type: kind, Logical: "Queue", Body: &store.RequestBody{
			Dialect: "cloudformation", StackID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/stack/id", Region: region,
			ResourceType: "AWS::SQS::Queue", PhysicalID: id, OldProperties: value.Object(),
			Properties: value.Object(value.Member{Key: "VisibilityTimeout", Value: value.Str("60")}),
		}})
		if err != nil || kind == wire.Update && result.PhysicalID != id {
			t.Fatalf("%s: %q, %v", kind, result.PhysicalID, err)
		}
		return result.Attributes
	}
	attributes := serve(wire.Update)
	for name, want := range map[string]string{
		"Arn": "arn:aws:sqs:eu-west-1:123456789012:" + id, "QueueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/" + id,
	} {
		if got, _ := attributes.Get(name); got.Text() != want {
			t.Errorf("%s is %q, want %q", name, got.Text(), want)
		}
	}
	serve(wire.Delete)
}
