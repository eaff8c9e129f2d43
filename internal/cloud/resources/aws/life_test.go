package aws_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
)

// life is the life cycle of a resource of a type.
type life struct {
	resourceType string
	// first, changed and replaced are properties. changed updates first in place, and replaced replaces the resource.
	// Empty ones are skipped.
	first, changed, replaced string
	// look describes the object with an ID, or returns "" if it does not exist.
	look func(w *world, id string) string
	// is and becomes are the descriptions with first and with changed. They may contain %s for the ID's last part.
	is, becomes string
	// prepare creates the dependencies of the resource.
	prepare func(w *world)
	// alike means that another type has the same implementation, so crashes need not be tested for both.
	alike bool
}

func found(w *world, text string, err error) string {
	w.t.Helper()
	if errors.Is(err, registry.ErrNotFound) {
		return ""
	}
	w.must(err)
	return text
}

// recorded returns a look func for records.
func recorded(resourceType string, place registry.Scope) func(*world, string) string {
	return func(w *world, id string) string {
		r, err := w.catalog.Records.Get(w.ctx, place, resourceType+"/"+id)
		return found(w, string(r.Of.Properties), err)
	}
}

// definition returns a state machine definition.
func definition(comment string) string {
	return `{"Comment":"` + comment + `","StartAt":"A","States":{"A":{"Type":"Succeed"}}}`
}

func last(id string) string { return id[strings.LastIndex(id, ":")+1:] }

var identities = registry.Scope{Account: account, Region: "-"}

func lives() []life {
	machine := func(comment string) string {
		return fmt.Sprintf(`"RoleArn": "r", "DefinitionString": %q`, definition(comment))
	}
	policy := `"PolicyDocument": {"Version": "2012-10-17", "Max": 5}`
	return []life{
		{
			resourceType: "AWS::Lambda::Function",
			first:        `"Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"ZipFile": "1"}, "Environment": {"Variables": {"WORD": {"Ref": "Secret"}}}`,
			changed:      `"Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"S3Bucket": "code", "S3Key": "k.zip"}, "Timeout": 60, "MemorySize": 256, "ReservedConcurrentExecutions": 0`,
			replaced:     `"FunctionName": "other", "Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"S3Bucket": "code", "S3Key": "k.zip"}`,
			look: func(w *world, id string) string {
				f, err := w.catalog.Functions.Get(w.ctx, home, id)
				return found(w, fmt.Sprintf("%s %d %d %v reserved %t", f.Of.Handler, f.Of.Timeout, f.Of.Memory, f.Of.Environment, f.Of.Concurrency != nil), err)
			},
			is: "index.handler 3 128 map[WORD:hunter2&more] reserved false", becomes: "index.handler 60 256 map[] reserved true",
			prepare: func(w *world) { w.put("code", "k.zip", archive(w.t, "index.js", "exports.handler = async () => 1")) },
		},
		{
			resourceType: "AWS::Events::Rule",
			first: `"ScheduleExpression": "rate(5 minutes)", "Targets": [` +
				`{"Id": "a", "Arn": "arn:aws:lambda:eu-west-1:123456789012:function:a", "Input": "1", "RetryPolicy": {"MaximumRetryAttempts": 2}}]`,
			changed: `"EventPattern": {"detail": {"n": [{"numeric": [">", 0]}]}}, "State": "DISABLED", "Tags": [{"Key": "k", "Value": "v"}], "Targets": [` +
				`{"Id": "b", "Arn": "arn:aws:lambda:eu-west-1:123456789012:function:b", "InputTransformer": {"InputPathsMap": {"n": "$.detail.n"}, "InputTemplate": "<n>"}}]`,
			replaced: `"Name": "other", "ScheduleExpression": "cron(0 0 * * ? *)"`,
			look: func(w *world, id string) string {
				there, err := w.rules.Get(w.ctx, home, id)
				if err != nil {
					return found(w, "", err)
				}
				text := fmt.Sprint(there.Schedule, there.Pattern, there.Disabled, there.Tags)
				targets, err := w.rules.Targets(w.ctx, home, id)
				w.must(err)
				for id, t := range targets {
					text += " " + id + last(t.ARN) + string(t.Rest)
				}
				return text
			},
			is:      `rate(5 minutes)false map[] aa{"RetryPolicy":{"MaximumRetryAttempts":"2"}}`,
			becomes: `{"detail":{"n":[{"numeric":[">",0]}]}}true map[k:v] bb`,
		},
		{
			resourceType: "AWS::SNS::Topic",
			first:        `"Subscription": [{"Protocol": "lambda", "Endpoint": "arn:aws:lambda:eu-west-1:123456789012:function:a"}]`,
			changed:      `"DisplayName": "d", "Tags": [{"Key": "k", "Value": "v"}], "Subscription": [{"Protocol": "lambda", "Endpoint": "arn:aws:lambda:eu-west-1:123456789012:function:b"}]`,
			replaced:     `"TopicName": "other"`,
			look: func(w *world, id string) string {
				there, err := w.catalog.Topics.Get(w.ctx, home, last(id))
				if err != nil {
					return found(w, "", err)
				}
				text := fmt.Sprint(there.Of.Attributes, there.Of.Tags)
				list, err := w.topics.Subscriptions(w.ctx, id)
				w.must(err)
				for _, s := range list {
					text += " " + last(s.Of.Endpoint)
				}
				return text
			},
			is: "map[] map[] a", becomes: "map[DisplayName:d] map[k:v] b",
		},
		{
			resourceType: "AWS::SNS::Subscription",
			first:        `"TopicArn": "arn:aws:sns:eu-west-1:123456789012:t", "Protocol": "https", "Endpoint": "https://127.0.0.1:1/"`,
			changed:      `"TopicArn": "arn:aws:sns:eu-west-1:123456789012:t", "Protocol": "https", "Endpoint": "https://127.0.0.1:1/", "RawMessageDelivery": true`,
			replaced:     `"TopicArn": "arn:aws:sns:eu-west-1:123456789012:t", "Protocol": "https", "Endpoint": "https://127.0.0.1:2/"`,
			look: func(w *world, id string) string {
				s, err := w.topics.Subscription(w.ctx, id)
				return found(w, fmt.Sprint(s.Of.Protocol, " ", s.Of.Attributes), err)
			},
			is: "https map[]", becomes: "https map[RawMessageDelivery:true]",
			prepare: func(w *world) {
				_, err := w.topics.Create(w.ctx, registry.Item[registry.Topic]{Scope: home, Name: "t"})
				w.must(err)
			},
		},
		{
			resourceType: "AWS::StepFunctions::StateMachine",
			first:        machine("1"), changed: machine("2"), replaced: machine("2") + `, "StateMachineName": "other"`,
			look: func(w *world, id string) string {
				m, err := w.catalog.Machines.Get(w.ctx, home, last(id))
				return found(w, m.Of.Definition+" "+m.Of.Role, err)
			},
			is: definition("1") + " r", becomes: definition("2") + " r",
		},
		{
			resourceType: "AWS::Logs::LogGroup",
			first:        `"RetentionInDays": 7`, changed: `"RetentionInDays": "14"`, replaced: `"LogGroupName": "/other/group"`,
			look: func(w *world, id string) string {
				g, err := w.catalog.Groups.Get(w.ctx, home, id)
				return found(w, fmt.Sprint(g.Of.Retention), err)
			},
			is: "7", becomes: "14",
		},
		{
			resourceType: "AWS::S3::Bucket",
			first:        `"Tags": [{"Key": "a", "Value": 1}]`, changed: `"Tags": [{"Key": "a", "Value": 2}], "VersioningConfiguration": {"Status": "Enabled"}, "OwnershipControls": {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}`, replaced: `"BucketName": "other.bucket"`,
			look: func(w *world, id string) string {
				b, err := w.catalog.Buckets.Get(w.ctx, registry.Global, id)
				return found(w, fmt.Sprint(b.Of.Tags, b.Of.Owner, b.Of.Settings), err)
			},
			is: "map[a:1] {123456789012 eu-west-1} map[]", becomes: "map[a:2] {123456789012 eu-west-1} map[ownershipControls:<OwnershipControls xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" +
				"<Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls> versioning:Enabled]",
		},
		{
			resourceType: "AWS::S3::BucketPolicy",
			first:        `"Bucket": "one", "PolicyDocument": {"Version": "1", "Max": 5}`, changed: `"Bucket": "one", "PolicyDocument": "{}"`,
			replaced: `"Bucket": "two", "PolicyDocument": {}`,
			look: func(w *world, id string) string {
				b, err := w.catalog.Buckets.Get(w.ctx, registry.Global, id)
				return found(w, b.Of.Settings["policy"], err)
			},
			is: `{"Version":"1","Max":5}`, becomes: "{}",
			prepare: func(w *world) { w.put("one", "k", ""); w.put("two", "k", "") },
		},
		{
			resourceType: "AWS::SSM::Parameter",
			first:        `"Type": "String", "Value": {"Ref": "Secret"}`, changed: `"Type": "String", "Value": "2", "Description": "d", "AllowedPattern": "[0-9]", "Tags": {"a": "b"}`,
			replaced: `"Name": "/other/parameter", "Type": "StringList", "Value": "1,2"`,
			look: func(w *world, id string) string {
				p, err := w.own.Parameter(w.ctx, home, id, 0)
				if errors.Is(err, store.ErrNotFound) {
					return ""
				}
				w.must(err)
				return fmt.Sprint(p.Type, " ", p.Value, " ", p.Description)
			},
			is: "String hunter2&more ", becomes: "String 2 d",
		},
		{
			resourceType: "AWS::Lambda::LayerVersion",
			first:        `"Content": {"S3Bucket": "code", "S3Key": "k.zip"}`, replaced: `"Content": {"S3Bucket": "code", "S3Key": "k.zip"}, "LayerName": "other"`,
			look: func(w *world, id string) string {
				_, name, _ := strings.Cut(id, ":layer:")
				_, err := w.catalog.Layers.Get(w.ctx, home, name)
				return found(w, "there", err)
			},
			is:      "there",
			prepare: func(w *world) { w.put("code", "k.zip", archive(w.t, "python/x.py", "x = 1")) },
		},
		{
			resourceType: "AWS::Lambda::Permission", alike: true,
			first:    `"Action": "lambda:InvokeFunction", "FunctionName": "f", "Principal": "sns.amazonaws.com"`,
			replaced: `"Action": "lambda:InvokeFunction", "FunctionName": "f", "Principal": "s3.amazonaws.com"`,
			look:     recorded("AWS::Lambda::Permission", home),
			is:       `{"Action":"lambda:InvokeFunction","FunctionName":"f","Principal":"sns.amazonaws.com"}`,
		},
		{
			resourceType: "AWS::IAM::Role",
			first:        `"AssumeRolePolicyDocument": {"A": 1}`, changed: `"AssumeRolePolicyDocument": {"A": 2}, "MaxSessionDuration": 3600`,
			replaced: `"AssumeRolePolicyDocument": {"A": 2}, "RoleName": "other"`,
			look:     recorded("AWS::IAM::Role", identities),
			is:       `{"AssumeRolePolicyDocument":{"A":1}}`, becomes: `{"AssumeRolePolicyDocument":{"A":2},"MaxSessionDuration":"3600"}`,
		},
		{
			resourceType: "AWS::IAM::Policy", alike: true,
			first: policy + `, "PolicyName": "p"`, changed: policy + `, "PolicyName": "q", "Roles": ["r"]`,
			look: recorded("AWS::IAM::Policy", home),
			is:   `{"PolicyDocument":{"Version":"2012-10-17","Max":5},"PolicyName":"p"}`, becomes: `{"PolicyDocument":{"Version":"2012-10-17","Max":5},"PolicyName":"q","Roles":["r"]}`,
		},
		{
			resourceType: "AWS::IAM::ManagedPolicy", alike: true,
			first: policy, changed: policy + `, "Roles": ["r"]`, replaced: policy + `, "Description": "d"`,
			look: recorded("AWS::IAM::ManagedPolicy", identities),
			is:   `{"PolicyDocument":{"Version":"2012-10-17","Max":5}}`, becomes: `{"PolicyDocument":{"Version":"2012-10-17","Max":5},"Roles":["r"]}`,
		},
		{
			resourceType: "AWS::SNS::TopicPolicy", alike: true,
			first: policy + `, "Topics": ["t"]`, changed: policy + `, "Topics": ["u"]`,
			look: recorded("AWS::SNS::TopicPolicy", home),
			is:   `{"PolicyDocument":{"Version":"2012-10-17","Max":5},"Topics":["t"]}`, becomes: `{"PolicyDocument":{"Version":"2012-10-17","Max":5},"Topics":["u"]}`,
		},
		{
			resourceType: "AWS::SecretsManager::Secret", alike: true,
			first: `"SecretString": "one", "Tags": [{"Key": "a", "Value": 1}]`, changed: `"SecretString": "two", "Description": "d", "KmsKeyId": "k"`,
			replaced: `"Name": "other/secret", "SecretString": "two"`,
			look: func(w *world, id string) string {
				there, v, err := w.secrets.Version(w.ctx, home, id, "", "")
				if errors.Is(err, registry.ErrNotFound) {
					return ""
				}
				w.must(err)
				return fmt.Sprint(*v.Text, " ", there.Of.Tags, there.Of.Description, there.Of.Key)
			},
			is: "one map[a:1]", becomes: "two map[]dk",
		},
		{
			resourceType: "AWS::SecretsManager::SecretTargetAttachment", alike: true,
			first: `"SecretId": "s", "TargetId": "d", "TargetType": "AWS::RDS::DBInstance"`, changed: `"SecretId": "s", "TargetId": "e", "TargetType": "AWS::RDS::DBInstance"`,
			replaced: `"SecretId": "t", "TargetId": "d", "TargetType": "AWS::RDS::DBInstance"`,
			look:     recorded("AWS::SecretsManager::SecretTargetAttachment", home),
			is:       `{"SecretId":"s","TargetId":"d","TargetType":"AWS::RDS::DBInstance"}`, becomes: `{"SecretId":"s","TargetId":"e","TargetType":"AWS::RDS::DBInstance"}`,
		},
		{
			resourceType: "AWS::SecretsManager::ResourcePolicy", alike: true,
			first: `"SecretId": "s", "ResourcePolicy": {"Max": 5}`, changed: `"SecretId": "s", "ResourcePolicy": {"Max": 6}`,
			replaced: `"SecretId": "t", "ResourcePolicy": {"Max": 6}`,
			look:     recorded("AWS::SecretsManager::ResourcePolicy", home),
			is:       `{"SecretId":"s","ResourcePolicy":{"Max":5}}`, becomes: `{"SecretId":"s","ResourcePolicy":{"Max":6}}`,
		},
		{
			resourceType: "AWS::SecretsManager::RotationSchedule", alike: true,
			first: `"SecretId": "s"`, changed: `"SecretId": "s", "RotationRules": {"AutomaticallyAfterDays": 30}`, replaced: `"SecretId": "t"`,
			look: recorded("AWS::SecretsManager::RotationSchedule", home),
			is:   `{"SecretId":"s"}`, becomes: `{"SecretId":"s","RotationRules":{"AutomaticallyAfterDays":"30"}}`,
		},
		{
			resourceType: "AWS::ECR::Repository", alike: true,
			first: `"EmptyOnDelete": true`, changed: `"EmptyOnDelete": false`, replaced: `"RepositoryName": "other/repository"`,
			look: recorded("AWS::ECR::Repository", home), is: `{"EmptyOnDelete":"true"}`, becomes: `{"EmptyOnDelete":"false"}`,
		},
		{
			resourceType: "AWS::SQS::Queue", alike: true,
			first: `"DelaySeconds": 1`, changed: `"DelaySeconds": 2`, replaced: `"DelaySeconds": 2, "QueueName": "other"`,
			look: recorded("AWS::SQS::Queue", home), is: `{"DelaySeconds":"1"}`, becomes: `{"DelaySeconds":"2"}`,
		},
		{
			resourceType: "AWS::KMS::Key", alike: true,
			first: `"Description": "a"`, changed: `"Description": "b"`,
			look: recorded("AWS::KMS::Key", home), is: `{"Description":"a"}`, becomes: `{"Description":"b"}`,
		},
		{
			resourceType: "AWS::KMS::Alias", alike: true,
			first: `"AliasName": "alias/a", "TargetKeyId": "1"`, changed: `"AliasName": "alias/a", "TargetKeyId": "2"`,
			replaced: `"AliasName": "alias/b", "TargetKeyId": "1"`,
			look:     recorded("AWS::KMS::Alias", home), is: `{"AliasName":"alias/a","TargetKeyId":"1"}`, becomes: `{"AliasName":"alias/a","TargetKeyId":"2"}`,
		},
	}
}

// failing is a resource that cannot be created, after the resource under test.
var failing = resource("AWS::S3::BucketPolicy", `"Bucket": "nowhere", "PolicyDocument": {}`, `"DependsOn": "X"`)

// TestLives takes a resource of each type through create, update, replacement, failure with rollback, and delete. It
// repeats that with every request served twice.
func TestLives(t *testing.T) {
	for _, l := range lives() {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprint(l.resourceType, ", twice ", twice), func(t *testing.T) {
				w := newWorld(t)
				w.twice = twice
				if l.prepare != nil {
					l.prepare(w)
				}
				l.run(w)
			})
		}
	}
}

func (l life) run(w *world) {
	t := w.t
	of := func(properties string) map[string]string {
		return map[string]string{"X": resource(l.resourceType, properties)}
	}
	with := func(properties string) string {
		all := of(properties)
		all["Y"] = failing
		return template(all)
	}
	see := func(when, status, wantStatus, id, want string) {
		t.Helper()
		if status != wantStatus {
			t.Fatalf("%s: %s\n%s", when, status, strings.Join(w.events("S"), "\n"))
		}
		if got := l.look(w, id); got != want {
			t.Errorf("%s there is %q, want %q", when, got, want)
		}
	}
	status := w.create("Fails", with(l.first))
	if status != "ROLLBACK_COMPLETE" {
		t.Fatalf("create that fails: %s\n%s", status, strings.Join(w.events("Fails"), "\n"))
	}
	w.wantEvent("Fails", "Y CREATE_FAILED", "The specified bucket does not exist")
	for _, line := range w.events("Fails") {
		if id, ok := strings.CutPrefix(line, "X CREATE_COMPLETE "); ok {
			see("after a create that was rolled back", status, status, id, "")
		}
	}

	status = w.create("S", template(of(l.first)))
	id, is, properties := w.id("S", "X"), l.is, l.first
	see("created", status, "CREATE_COMPLETE", id, is)
	if l.changed != "" {
		status = w.update("S", with(l.changed))
		see("after an update that was rolled back", status, "UPDATE_ROLLBACK_COMPLETE", id, is)
		is, properties = l.becomes, l.changed
		status = w.update("S", template(of(l.changed)))
		see("updated", status, "UPDATE_COMPLETE", id, is)
		if now := w.id("S", "X"); now != id {
			t.Errorf("an update in place of %s made %s", id, now)
		}
	}
	if l.replaced != "" {
		status = w.update("S", with(l.replaced))
		see("after a replacement that was rolled back", status, "UPDATE_ROLLBACK_COMPLETE", id, is)
		if now := w.id("S", "X"); now != id {
			t.Errorf("a rolled back replacement of %s left %s", id, now)
		}
		status = w.update("S", template(of(l.replaced)))
		see("the old one after a replacement", status, "UPDATE_COMPLETE", id, "")
		if id = w.id("S", "X"); l.look(w, id) == "" {
			t.Errorf("the new one, %s, is not there", id)
		}
		properties = l.replaced
	}
	_ = properties
	status = w.delete("S")
	see("deleted", status, "DELETE_COMPLETE", id, "")
	if left := append(w.records(home), w.records(identities)...); len(left) > 0 {
		t.Errorf("what is left on record: %q", left)
	}
}
