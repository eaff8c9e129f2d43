package aws_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// TestBucketNotifications checks that the notifications in a template become the bucket's configuration. An update
// keeps the configuration of clients if the template's notifications do not change.
func TestBucketNotifications(t *testing.T) {
	w := newWorld(t)
	const prefix = "arn:aws:lambda:eu-west-1:123456789012:function:"
	of := func(function, more string) string {
		return template(map[string]string{"B": resource("AWS::S3::Bucket", `"BucketName": "one", "NotificationConfiguration": {
			"LambdaConfigurations": [{"Event": "s3:ObjectCreated:*", "Function": "`+prefix+function+`",
				"Filter": {"S3Key": {"Rules": [{"Name": "suffix", "Value": ".json"}]}}}],
			"EventBridgeConfiguration": {"EventBridgeEnabled": true}}`+more)})
	}
	configuration := func() bucketevents.Configuration {
		t.Helper()
		b, err := w.catalog.Buckets.Get(w.ctx, registry.Global, "one")
		w.must(err)
		if b.Of.Settings[bucketevents.Setting] == "" {
			return bucketevents.Configuration{}
		}
		c, err := bucketevents.Parse([]byte(b.Of.Settings[bucketevents.Setting]))
		w.must(err)
		return c
	}
	if status := w.create("Bad", of("missing", "")); status != "ROLLBACK_COMPLETE" {
		t.Error(status)
	}
	w.wantEvent("Bad", "B CREATE_FAILED", "Unable to validate the following destination configurations")
	if status := w.create("S", of("a", "")); status != "CREATE_COMPLETE" {
		t.Fatal(status)
	}
	c := configuration()
	if len(c.Functions) != 1 || !strings.HasSuffix(c.Functions[0].Function, ":a") || c.Functions[0].ID == "" || c.EventBridge == nil ||
		c.Functions[0].Filter.Rules[0] != (bucketevents.Rule{Name: "suffix", Value: ".json"}) {
		t.Errorf("%+v", c)
	}
	_, err := w.catalog.Buckets.Change(w.ctx, registry.Global, "one", func(i *registry.Item[registry.Bucket]) error {
		delete(i.Of.Settings, bucketevents.Setting)
		return nil
	})
	w.must(err)
	w.update("S", of("a", `, "Tags": [{"Key": "k", "Value": "v"}]`))
	if c := configuration(); !c.Empty() {
		t.Errorf("what a client put is gone: %+v", c)
	}
	w.update("S", of("b", ""))
	if c := configuration(); len(c.Functions) != 1 || !strings.HasSuffix(c.Functions[0].Function, ":b") {
		t.Errorf("%+v", c)
	}
	w.update("S", template(map[string]string{"B": resource("AWS::S3::Bucket", `"BucketName": "one"`)}))
	if c := configuration(); !c.Empty() {
		t.Errorf("a configuration that is not declared any more stays: %+v", c)
	}
}
