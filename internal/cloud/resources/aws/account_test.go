package aws_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// TestOtherAccounts checks that a stack can neither read, run nor change resources of another account.
func TestOtherAccounts(t *testing.T) {
	const other = "222222222222"
	away := registry.Scope{Account: other, Region: region}
	for name, test := range map[string]struct{ resource, want string }{
		"code": {resource("AWS::Lambda::Function", `"Role": "r", "Runtime": "nodejs24.x", "Handler": "i.h",
			"Code": {"S3Bucket": "theirs", "S3Key": "code.zip"}`), "Access Denied"},
		"layer content": {resource("AWS::Lambda::LayerVersion", `"Content": {"S3Bucket": "theirs", "S3Key": "code.zip"}`), "Access Denied"},
		"layer": {resource("AWS::Lambda::Function", `"Role": "r", "Runtime": "nodejs24.x", "Handler": "index.h",
			"Code": {"ZipFile": "exports.h = 1"}, "Layers": ["arn:aws:lambda:`+region+`:`+other+`:layer:l:1"]`), "not authorized"},
		"definition": {resource("AWS::StepFunctions::StateMachine", `"RoleArn": "r",
			"DefinitionS3Location": {"Bucket": "theirs", "Key": "machine"}`), "another account"},
		"policy": {resource("AWS::S3::BucketPolicy", `"Bucket": "theirs", "PolicyDocument": {"Statement": []}`), "Access Denied"},
		"assets": {resource("AWS::S3::Bucket", `"BucketName": "cdk-hnb659fds-assets-`+other+`-eu-west-1"`), "already exists"},
		"topic": {resource("AWS::SNS::Subscription", `"TopicArn": "arn:aws:sns:`+region+`:`+other+`:t", "Protocol": "http",
			"Endpoint": "http://127.0.0.1:1/"`), "not authorized"},
		"endpoint": {resource("AWS::SNS::Subscription", `"TopicArn": "arn:aws:sns:`+region+`:`+account+`:t", "Protocol": "lambda",
			"Endpoint": "arn:aws:lambda:`+region+`:`+other+`:function:f"`), "another account"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.objects.Make(w.ctx, registry.Item[registry.Bucket]{Scope: away, Name: "theirs"})
			w.must(err)
			w.put("theirs", "code.zip", archive(t, "index.js", "exports.h = 1"))
			w.put("theirs", "machine", definition("theirs"))
			zip := []byte(archive(t, "index.js", "exports.h = 1"))
			_, err = w.functions.CreateLayer(w.ctx, registry.Item[registry.Layer]{Scope: away, Name: "l"}, registry.Code{Zip: zip})
			w.must(err)
			for _, place := range []registry.Scope{home, away} {
				_, err = w.topics.Create(w.ctx, registry.Item[registry.Topic]{Scope: place, Name: "t"})
				w.must(err)
			}
			status := w.create("mine", template(map[string]string{"R": test.resource}))
			if all := strings.Join(w.events("mine"), "\n"); status != "ROLLBACK_COMPLETE" || !strings.Contains(all, test.want) {
				t.Errorf("%s\n%s", status, all)
			}
			if b, err := w.objects.Bucket(w.ctx, "theirs"); err != nil || len(b.Of.Settings) > 0 {
				t.Errorf("their bucket is %+v, %v", b, err)
			}
		})
	}
}
