package aws_test

import (
	"errors"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// off returns the types of a server without emulation, over the store of the world.
func (w *world) off(recording bool) *native.Registry {
	w.t.Helper()
	types, err := native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "http://127.0.0.1:1/", nil },
		Off:       aws.Off(w.catalog, recording),
	})
	w.must(err)
	return types
}

// all is a template with resources that a server without emulation must not treat as records.
var all = template(map[string]string{
	"Role":     resource("AWS::IAM::Role", `"AssumeRolePolicyDocument": {}`),
	"Group":    resource("AWS::Logs::LogGroup", ``),
	"Function": resource("AWS::Lambda::Function", `"Code": {"ZipFile": "exports.handler = 1"}, "Runtime": "nodejs24.x", "Handler": "index.handler", "Role": {"Fn::GetAtt": ["Role", "Arn"]}`),
	"Version":  resource("AWS::Lambda::Version", `"FunctionName": {"Ref": "Function"}`),
	"Layer":    resource("AWS::Lambda::LayerVersion", `"Content": {"S3Bucket": "assets", "S3Key": "layer.zip"}`),
	"Allowed":  resource("AWS::Lambda::Permission", `"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": "Function"}, "Principal": "sns.amazonaws.com"`),
	"Topic":    resource("AWS::SNS::Topic", ``),
	"Follows": resource("AWS::SNS::Subscription",
		`"Protocol": "lambda", "TopicArn": {"Ref": "Topic"}, "Endpoint": {"Fn::GetAtt": ["Function", "Arn"]}`),
	"Machine": resource("AWS::StepFunctions::StateMachine",
		`"RoleArn": "arn:aws:iam::123456789012:role/r", "DefinitionString": {"Fn::Sub": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Task\", \"Resource\": \"${Function.Arn}\", \"End\": true}}}"}`),
	"Bucket":    resource("AWS::S3::Bucket", ``),
	"Policy":    resource("AWS::S3::BucketPolicy", `"Bucket": {"Ref": "Bucket"}, "PolicyDocument": {}`),
	"Login":     resource("AWS::SecretsManager::Secret", `"GenerateSecretString": {}`),
	"Parameter": resource("AWS::SSM::Parameter", `"Type": "String", "Value": "v"`),
})

// TestOff checks that a server without emulation does not treat emulated resources as records, because it would then
// forget them.
func TestOff(t *testing.T) {
	w := newWorld(t)
	w.put("assets", "layer.zip", archive(t, "a.js", "x"))
	if status := w.create("s", all); status != "CREATE_COMPLETE" {
		t.Fatalf("%s\n%q", status, w.events("s"))
	}
	_, err := w.engine.Delete(w.ctx, engine.DeleteStack{Stack: w.ref("s")})
	w.must(err)
	seen := map[wire.LogicalID]bool{}
	for len(w.inbox) > 0 {
		r := w.inbox[0]
		w.inbox = w.inbox[1:]
		seen[r.Logical] = true
		for _, recording := range []bool{false, true} {
			if _, err := w.off(recording).Serve(w.ctx, &r); !errors.Is(err, native.ErrAgain) {
				t.Errorf("the Delete of %s does not wait for the cloud: %v", r.Logical, err)
			}
		}
		result, err := w.types.Serve(w.ctx, &r)
		w.must(err)
		if _, err := w.off(false).Serve(w.ctx, &r); err != nil {
			t.Errorf("the Delete of %s, which is gone: %v", r.Logical, err)
		}
		w.must(w.engine.Report(w.ctx, r.ID, engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}))
	}
	if len(seen) != 13 {
		t.Errorf("only these were looked at: %v", seen)
	}
}

// TestCreatesWaitWithoutEmulation checks that a Create that an earlier server accepted waits, unless records are wanted.
func TestCreatesWaitWithoutEmulation(t *testing.T) {
	w := newWorld(t)
	stack := wire.StackID("arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1")
	for _, of := range []struct {
		kind      string
		recording bool
		waits     bool
	}{
		{"AWS::Lambda::Function", false, true}, {"AWS::Lambda::Function", true, false}, {"AWS::EC2::Instance", false, false},
	} {
		r := store.Request{ID: "1", Logical: "A", Type: wire.Create, Body: &store.RequestBody{ResourceType: of.kind, StackID: stack}}
		if _, err := w.off(of.recording).Serve(w.ctx, &r); errors.Is(err, native.ErrAgain) != of.waits {
			t.Errorf("%+v: %v", of, err)
		}
	}
	// Another resource's object with the name does not affect a record.
	_, err := w.catalog.Functions.Put(w.ctx, registry.Item[registry.Function]{Scope: home, Name: "mine"})
	w.must(err)
	r := store.Request{ID: "2", Logical: "A", Type: wire.Delete, Body: &store.RequestBody{ResourceType: "AWS::Lambda::Function", StackID: stack, PhysicalID: "mine"}}
	if _, err := w.off(false).Serve(w.ctx, &r); err != nil {
		t.Error(err)
	}
}
