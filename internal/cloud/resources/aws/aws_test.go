package aws_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestTypesWithoutACloud checks that a type without its dependencies can be declared, and that requests for it fail
// with the reason. Every type is known to be emulated.
func TestTypesWithoutACloud(t *testing.T) {
	all := aws.Types(aws.Config{})
	types, err := native.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range types.Names() {
		if !native.InCloud(name) {
			t.Errorf("%s is not known to be of the cloud", name)
		}
		for _, kind := range []wire.RequestType{wire.Create, wire.Update, wire.Delete} {
			_, err := types.Serve(t.Context(), &store.Request{ID: "r", Logical: "X", Type: kind, Body: &store.RequestBody{
				StackID: wire.NewStackID(region, account, "S", "0"), ResourceType: name,
			}})
			if err == nil || err.Error() != "local cloud emulation is off: start the server with --dev or --run-functions" {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
		}
	}
	if len(all) != 25 {
		t.Errorf("there are %d types", len(all))
	}
}

// made replaces the twelve random characters at the end of generated names, and the IDs that are derived from
// requests.
func made(text string, w *world, stack string, logicals ...string) string {
	for _, logical := range logicals {
		id := w.id(stack, logical)
		if i := strings.LastIndex(id, logical+"-"); i >= 0 && len(id) == i+len(logical)+13 {
			text = strings.ReplaceAll(text, id[i+len(logical)+1:], "RANDOM")
		}
	}
	return text
}

func TestRefAndGetAtt(t *testing.T) {
	w := newWorld(t)
	w.put("code", "k.zip", archive(t, "index.js", "exports.handler = async () => 1"))
	attributes := []string{
		"F", "F.Arn", "F.SnapStartResponse.ApplyOn", "F.SnapStartResponse.OptimizationStatus", "V", "V.Version", "V.FunctionArn",
		"L", "L.LayerVersionArn", "T", "T.TopicArn", "T.TopicName", "M", "M.Arn", "M.Name", "M.StateMachineRevisionId",
		"G", "G.Arn", "P", "P.Type", "P.Value", "R", "R.Arn", "Repository", "Repository.Arn", "Repository.RepositoryUri",
		"MP", "MP.AttachmentCount", "MP.CreateDate", "MP.DefaultVersionId", "MP.IsAttachable", "MP.UpdateDate", "MP.PolicyArn",
		"B.Arn", "B.DomainName", "B.DualStackDomainName", "B.RegionalDomainName", "B.WebsiteURL", "A",
	}
	var outputs []string
	for _, a := range attributes {
		if logical, name, ok := strings.Cut(a, "."); ok {
			outputs = append(outputs, `{"Fn::GetAtt": ["`+logical+`", "`+name+`"]}`)
		} else {
			outputs = append(outputs, `{"Ref": "`+a+`"}`)
		}
	}
	status := w.create("S", template(map[string]string{
		"F": resource("AWS::Lambda::Function", `"Runtime": "nodejs24.x", "Handler": "index.handler", "Role": {"Fn::GetAtt": ["R", "Arn"]}, "Code": {"S3Bucket": "code", "S3Key": "k.zip"}`),
		"V": resource("AWS::Lambda::Version", `"FunctionName": {"Ref": "F"}`),
		"L": resource("AWS::Lambda::LayerVersion", `"Content": {"S3Bucket": "code", "S3Key": "k.zip"}`),
		"T": resource("AWS::SNS::Topic", ``), "M": resource("AWS::StepFunctions::StateMachine", `"RoleArn": "r", "DefinitionString": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"`),
		"G":  resource("AWS::Logs::LogGroup", `"LogGroupName": {"Fn::Join": ["", ["/aws/lambda/", {"Ref": "F"}]]}`),
		"P":  resource("AWS::SSM::Parameter", `"Type": "String", "Value": "v"`),
		"R":  resource("AWS::IAM::Role", `"AssumeRolePolicyDocument": {}, "Path": "/a/b/"`),
		"MP": resource("AWS::IAM::ManagedPolicy", `"PolicyDocument": {}, "ManagedPolicyName": "mp", "Roles": [{"Ref": "R"}, "x"]`),
		"B":  resource("AWS::S3::Bucket", `"BucketName": "bucket"`), "A": resource("AWS::KMS::Alias", `"AliasName": "alias/a", "TargetKeyId": {"Ref": "K"}`),
		"K": resource("AWS::KMS::Key", ``), "Repository": resource("AWS::ECR::Repository", ``),
	}, outputs...))
	if status != "CREATE_COMPLETE" {
		t.Fatalf("%s\n%s", status, strings.Join(w.events("S"), "\n"))
	}
	var got []string
	repository := w.id("S", "Repository")
	for i, value := range w.outputs("S") {
		value = strings.ReplaceAll(value, repository, "REPOSITORY")
		got = append(got, attributes[i]+" "+made(value, w, "S", "F", "T", "M", "P", "R"))
	}
	const lambda, place = "arn:aws:lambda:eu-west-1:123456789012:", ":eu-west-1:123456789012:"
	want := []string{
		"F S-F-RANDOM", "F.Arn " + lambda + "function:S-F-RANDOM", "F.SnapStartResponse.ApplyOn None",
		"F.SnapStartResponse.OptimizationStatus Off",
		"V " + lambda + "function:S-F-RANDOM:1", "V.Version 1", "V.FunctionArn " + lambda + "function:S-F-RANDOM:1",
		"L " + lambda + "layer:L:1", "L.LayerVersionArn " + lambda + "layer:L:1",
		"T arn:aws:sns" + place + "S-T-RANDOM", "T.TopicArn arn:aws:sns" + place + "S-T-RANDOM", "T.TopicName S-T-RANDOM",
		"M arn:aws:states" + place + "stateMachine:M-RANDOM", "M.Arn arn:aws:states" + place + "stateMachine:M-RANDOM", "M.Name M-RANDOM",
		"M.StateMachineRevisionId INITIAL",
		"G /aws/lambda/S-F-RANDOM", "G.Arn arn:aws:logs" + place + "log-group:/aws/lambda/S-F-RANDOM:*",
		"P CFN-P-RANDOM", "P.Type String", "P.Value v", "R S-R-RANDOM", "R.Arn arn:aws:iam::123456789012:role/a/b/S-R-RANDOM",
		"Repository REPOSITORY", "Repository.Arn arn:aws:ecr" + place + "repository/REPOSITORY",
		"Repository.RepositoryUri 123456789012.dkr.ecr.eu-west-1.amazonaws.com/REPOSITORY",
		"MP arn:aws:iam::123456789012:policy/mp", "MP.AttachmentCount 2", "MP.CreateDate 2026-11-22T01:02:03Z", "MP.DefaultVersionId v1",
		"MP.IsAttachable true", "MP.UpdateDate 2026-11-22T01:02:03Z", "MP.PolicyArn arn:aws:iam::123456789012:policy/mp",
		"B.Arn arn:aws:s3:::bucket", "B.DomainName bucket.s3.amazonaws.com",
		"B.DualStackDomainName bucket.s3.dualstack.eu-west-1.amazonaws.com", "B.RegionalDomainName bucket.s3.eu-west-1.amazonaws.com",
		"B.WebsiteURL http://bucket.s3-website-eu-west-1.amazonaws.com", "A alias/a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if lower := strings.ToLower(repository); lower != repository || !strings.HasPrefix(repository, "s-repository-") {
		t.Errorf("the repository is called %s", repository)
	}
	key := w.id("S", "K")
	if len(key) != 36 || strings.Count(key, "-") != 4 {
		t.Errorf("the key is called %s", key)
	}
	if status := w.delete("S"); status != "DELETE_COMPLETE" {
		t.Errorf("%s\n%s", status, strings.Join(w.events("S"), "\n"))
	}
	list, err := w.catalog.Functions.List(w.ctx, home, "", 10)
	w.must(err)
	if len(list) > 0 {
		t.Errorf("functions that are left: %+v", list)
	}
	if want := []string{"arn:aws:states:eu-west-1:123456789012:stateMachine:"}; len(w.aborted) != 1 || !strings.HasPrefix(w.aborted[0], want[0]) {
		t.Errorf("aborted %q", w.aborted)
	}
}

// named are resources with a name, and the service's error for a name that is taken.
var named = []struct{ resourceType, properties, name string }{
	{"AWS::Lambda::Function", `"FunctionName": "one", "Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"ZipFile": "1"}`, "one"},
	{"AWS::SNS::Topic", `"TopicName": "one"`, "one"},
	{"AWS::StepFunctions::StateMachine", `"StateMachineName": "one", "RoleArn": "r", "DefinitionString": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"`, "one"},
	{"AWS::Logs::LogGroup", `"LogGroupName": "one"`, "one"},
	{"AWS::S3::Bucket", `"BucketName": "one"`, "one"},
	{"AWS::SSM::Parameter", `"Name": "one", "Type": "String", "Value": "v"`, "one"},
	{"AWS::SecretsManager::Secret", `"Name": "one"`, "one"},
	{"AWS::IAM::Role", `"RoleName": "one", "AssumeRolePolicyDocument": {}`, "one"},
	{"AWS::IAM::ManagedPolicy", `"ManagedPolicyName": "one", "PolicyDocument": {}`, "arn:aws:iam::123456789012:policy/one"},
	{"AWS::ECR::Repository", `"RepositoryName": "one"`, "one"},
	{"AWS::KMS::Alias", `"AliasName": "alias/one", "TargetKeyId": "k"`, "alias/one"},
}

// TestNamesInUse checks that an object of another resource is neither taken over nor removed.
func TestNamesInUse(t *testing.T) {
	for _, test := range named {
		t.Run(test.resourceType, func(t *testing.T) {
			w := newWorld(t)
			w.twice = true
			text := template(map[string]string{"X": resource(test.resourceType, test.properties)})
			if status := w.create("First", text); status != "CREATE_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("First"), "\n"))
			}
			if status := w.create("Second", text); status != "ROLLBACK_COMPLETE" {
				t.Errorf("a second one of the name: %s", status)
			}
			w.wantEvent("Second", "X CREATE_FAILED", test.name+" already exists in stack "+string(w.stack("First").ID))
			// Another logical ID of the same stack.
			if status := w.update("First", template(map[string]string{
				"X": resource(test.resourceType, test.properties), "Z": resource(test.resourceType, test.properties),
			})); status != "UPDATE_ROLLBACK_COMPLETE" {
				t.Errorf("a second one in the stack: %s", status)
			}
			if status := w.delete("Second"); status != "DELETE_COMPLETE" {
				t.Errorf("delete of the second: %s", status)
			}
			// The object still exists; otherwise the name would be free.
			if status := w.create("Third", text); status != "ROLLBACK_COMPLETE" {
				t.Errorf("a third one of the name: %s", status)
			}
			if status := w.delete("First"); status != "DELETE_COMPLETE" {
				t.Errorf("delete of the first: %s", status)
			}
			if status := w.create("Fourth", text); status != "CREATE_COMPLETE" {
				t.Errorf("a fourth one, when the first is deleted: %s\n%s", status, strings.Join(w.events("Fourth"), "\n"))
			}
		})
	}
}

// TestNamesOfClients checks that a client's object with the name does not change.
func TestNamesOfClients(t *testing.T) {
	w := newWorld(t)
	w.put("one", "k", "")
	_, err := w.own.Put(w.ctx, store.Parameter{ParameterKey: store.ParameterKey{Account: account, Region: region, Name: "one"}, Type: "String", Value: "v"}, false)
	w.must(err)
	_, err = w.catalog.Groups.Put(w.ctx, registry.Item[registry.LogGroup]{Scope: home, Name: "one"})
	w.must(err)
	for _, resourceType := range []string{"AWS::S3::Bucket", "AWS::SSM::Parameter", "AWS::Logs::LogGroup"} {
		i := slices.IndexFunc(named, func(n struct{ resourceType, properties, name string }) bool { return n.resourceType == resourceType })
		name := strings.ReplaceAll(resourceType, "::", "")
		w.twice = true
		if status := w.create(name, template(map[string]string{"X": resource(resourceType, named[i].properties)})); status != "ROLLBACK_COMPLETE" {
			t.Errorf("%s: %s", resourceType, status)
		}
		w.wantEvent(name, "X CREATE_FAILED", ": one already exists")
	}
	if p, err := w.own.Parameter(w.ctx, home, "one", 0); err != nil || p.Version != 1 {
		t.Errorf("parameter %+v, error %v", p, err)
	}
	if _, err := w.catalog.Groups.Get(w.ctx, home, "one"); err != nil {
		t.Errorf("log group: %v", err)
	}
	if left := w.records(home); len(left) > 0 {
		t.Errorf("records %q", left)
	}
}

// TestParameterThatAClientHasDeleted checks that the name of a parameter that a client deleted is free after a while.
func TestParameterThatAClientHasDeleted(t *testing.T) {
	w := newWorld(t)
	of := func(text string) string {
		return template(map[string]string{"X": resource("AWS::SSM::Parameter", `"Name": "one", "Type": "String", "Value": "`+text+`"`)})
	}
	w.create("First", of("1"))
	w.must(w.own.Delete(w.ctx, home, "one"))
	if status := w.create("Soon", of("2")); status != "ROLLBACK_COMPLETE" {
		t.Errorf("at once: %s", status)
	}
	w.now = w.now.Add(resources.DefaultPatience)
	w.twice = true
	if status := w.create("Later", of("3")); status != "CREATE_COMPLETE" {
		t.Errorf("later: %s\n%s", status, strings.Join(w.events("Later"), "\n"))
	}
	w.delete("First")
	if p, err := w.own.Parameter(w.ctx, home, "one", 0); err != nil || p.Value != "3" {
		t.Errorf("parameter %q, error %v", p.Value, err)
	}
	w.delete("Later")
	if _, err := w.own.Parameter(w.ctx, home, "one", 0); err == nil {
		t.Error("the parameter is still there")
	}
}

func TestNameOfALayer(t *testing.T) {
	w := newWorld(t)
	w.put("code", "k.zip", archive(t, "python/x.py", "x = 1"))
	logical := strings.Repeat("Layer", 40)
	w.create("S", template(map[string]string{
		logical: resource("AWS::Lambda::LayerVersion", `"Content": {"S3Bucket": "code", "S3Key": "k.zip"}`),
		"L":     resource("AWS::Lambda::LayerVersion", `"Content": {"S3Bucket": "code", "S3Key": "k.zip"}, "LayerName": "arn:aws:lambda:eu-west-1:123456789012:layer:named"`),
	}))
	for id, want := range map[string]string{logical: logical[:140], "L": "named"} {
		if got := w.id("S", id); got != "arn:aws:lambda:eu-west-1:123456789012:layer:"+want+":1" {
			t.Errorf("%s is %s", id, got)
		}
	}
}

// TestReplacementOfTheSameName checks that an update cannot replace a resource under the same name.
func TestReplacementOfTheSameName(t *testing.T) {
	w := newWorld(t)
	of := func(path string) string {
		return template(map[string]string{"X": resource("AWS::IAM::Role", `"RoleName": "one", "Path": "`+path+`", "AssumeRolePolicyDocument": {}`)})
	}
	w.create("S", of("/a/"))
	if status := w.update("S", of("/b/")); status != "UPDATE_ROLLBACK_COMPLETE" {
		t.Errorf("%s", status)
	}
	w.wantEvent("S", "X UPDATE_FAILED", "CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename one and update the stack again.")
	if got := recorded("AWS::IAM::Role", identities)(w, "one"); !strings.Contains(got, "/a/") {
		t.Errorf("the role is %s", got)
	}
}

func TestUpdateOfMissingResource(t *testing.T) {
	for _, l := range lives() {
		if l.changed == "" {
			continue
		}
		t.Run(l.resourceType, func(t *testing.T) {
			w := newWorld(t)
			if l.prepare != nil {
				l.prepare(w)
			}
			w.create("S", template(map[string]string{"X": resource(l.resourceType, l.first)}))
			id := w.id("S", "X")
			w.clear()
			w.update("S", template(map[string]string{"X": resource(l.resourceType, l.changed)}))
			w.wantEvent("S", "X UPDATE_FAILED", "Resource of type '"+l.resourceType+"' with identifier '"+id+"' was not found.")
			if status := w.delete("S"); status != "DELETE_COMPLETE" {
				t.Errorf("delete: %s\n%s", status, strings.Join(w.events("S"), "\n"))
			}
		})
	}
}

// clear removes all objects, as a client might.
func (w *world) clear() {
	w.t.Helper()
	clearShelf(w, w.catalog.Functions)
	clearShelf(w, w.catalog.Topics)
	clearShelf(w, w.catalog.Subscriptions)
	clearShelf(w, w.catalog.Machines)
	clearShelf(w, w.catalog.Groups)
	clearShelf(w, w.catalog.Rules)
	clearShelf(w, w.catalog.Targets)
	clearShelf(w, w.catalog.Buckets)
	clearShelf(w, w.catalog.Secrets)
	list, err := w.catalog.Records.List(w.ctx, home, "", 100)
	w.must(err)
	for _, r := range list {
		if name, ok := strings.CutPrefix(r.Name, "AWS::SSM::Parameter/"); ok {
			w.must(w.own.Delete(w.ctx, home, name))
		}
	}
	clearShelf(w, w.catalog.Records)
}

func clearShelf[T any](w *world, shelf *registry.Collection[T]) {
	w.t.Helper()
	for _, place := range []registry.Scope{home, identities, registry.Global} {
		list, err := shelf.List(w.ctx, place, "", 100)
		w.must(err)
		for _, i := range list {
			w.must(shelf.Delete(w.ctx, place, i.Name, 0))
		}
	}
}

func TestBucketPolicies(t *testing.T) {
	w := newWorld(t)
	w.twice = true
	policy := func(logical string) string {
		return template(map[string]string{logical: resource("AWS::S3::BucketPolicy", `"Bucket": "one", "PolicyDocument": {"By": "`+logical+`"}`)})
	}
	there := func() string {
		b, err := w.objects.Bucket(w.ctx, "one")
		w.must(err)
		return b.Of.Settings["policy"]
	}
	client := func(text string) {
		w.must(w.objects.Change(w.ctx, "one", func(b *registry.Bucket) error {
			if b.Settings == nil {
				b.Settings = map[string]string{}
			}
			b.Settings["policy"] = text
			return nil
		}))
	}
	w.put("one", "k", "")
	client("client's")
	w.create("A", policy("A"))
	w.wantEvent("A", "A CREATE_FAILED", "The bucket policy already exists on bucket one.")
	if got := there(); got != "client's" {
		t.Errorf("the policy is %s", got)
	}
	client("")
	w.create("B", policy("B"))
	w.create("C", policy("C"))
	w.wantEvent("C", "C CREATE_FAILED", "The bucket policy already exists on bucket one.")
	if got := there(); got != `{"By":"B"}` {
		t.Errorf("the policy is %s", got)
	}
	client("changed") // like the CDK's function that empties buckets
	w.delete("B")
	if got := there(); got != "" {
		t.Errorf("the policy is %s", got)
	}
	// Another logical ID replaces it in one update.
	w.create("D", policy("D"))
	if status := w.update("D", policy("E")); status != "UPDATE_ROLLBACK_COMPLETE" || there() != `{"By":"D"}` {
		t.Errorf("%s %s", status, there())
	}
}

func TestBucketThatIsNotEmpty(t *testing.T) {
	w := newWorld(t)
	w.create("S", template(map[string]string{"X": resource("AWS::S3::Bucket", `"BucketName": "one"`)}))
	w.put("one", "k", "v")
	if status := w.delete("S"); status != "DELETE_FAILED" {
		t.Errorf("%s", status)
	}
	w.wantEvent("S", "X DELETE_FAILED one: The bucket you tried to delete is not empty")
	w.must(w.objects.Delete(w.ctx, "one", "k", objects.Condition{}))
	if status := w.delete("S"); status != "DELETE_COMPLETE" {
		t.Errorf("%s", status)
	}
}

// TestBootstrap checks that the CDK's bootstrap stack takes over the built-in resources.
func TestBootstrap(t *testing.T) {
	w := newWorld(t)
	bucket := "cdk-hnb659fds-assets-" + account + "-" + region
	w.put(bucket, "asset.zip", "z")
	w.twice = true
	text := template(map[string]string{
		"StagingBucket": resource("AWS::S3::Bucket", `"BucketName": "`+bucket+`", "BucketEncryption": {"ServerSideEncryptionConfiguration": []}, "VersioningConfiguration": {"Status": "Enabled"}`,
			`"UpdateReplacePolicy": "Retain"`, `"DeletionPolicy": "Retain"`),
		"Version": resource("AWS::SSM::Parameter", `"Name": "/cdk-bootstrap/hnb659fds/version", "Type": "String", "Value": "30"`),
	})
	if status := w.create("CDKToolkit", text); status != "CREATE_COMPLETE" {
		t.Fatalf("%s\n%s", status, strings.Join(w.events("CDKToolkit"), "\n"))
	}
	version := func() string {
		p, err := w.own.Parameter(w.ctx, home, ssm.Bootstrap, 0)
		w.must(err)
		return p.Value
	}
	if got := version(); got != "30" {
		t.Errorf("version %s", got)
	}
	if status := w.delete("CDKToolkit"); status != "DELETE_COMPLETE" {
		t.Errorf("%s\n%s", status, strings.Join(w.events("CDKToolkit"), "\n"))
	}
	if got := version(); got != ssm.BootstrapVersion {
		t.Errorf("version after the delete %s", got)
	}
	o, err := w.objects.Open(w.ctx, bucket, "asset.zip", "")
	w.must(err)
	w.must(o.Close())
}

func TestInvalidNames(t *testing.T) {
	w := newWorld(t)
	for i, test := range []struct{ resourceType, properties, want string }{
		{"AWS::IAM::Role", `"RoleName": "a b", "AssumeRolePolicyDocument": {}`, "Property validation failure: [Value of property {/RoleName} must be 1 to 64 characters that match"},
		{"AWS::Logs::LogGroup", `"LogGroupName": ""`, "{/LogGroupName} must not be empty"},
		{"AWS::Logs::LogGroup", `"LogGroupName": "a b"`, "{/LogGroupName} must be 1 to 512 characters"},
		{"AWS::Lambda::Function", `"FunctionName": "", "Role": "r", "Code": {}`, "{/FunctionName} must not be empty"},
		{"AWS::S3::Bucket", `"BucketName": "No_Bucket"`, "the specified bucket is not valid"},
		{"AWS::S3::Bucket", `"OwnershipControls": {"Rules": [{"ObjectOwnership": "Mine"}]}`, "Value of property ObjectOwnership must be BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter"},
		{"AWS::SNS::Topic", `"TopicName": "a b"`, "Invalid parameter: Topic Name"},
		{"AWS::Logs::LogGroup", `"LogGroupName": {"Ref": "Secret"}`, "Value of property LogGroupName must not be a secret: names are shown"},
		{"AWS::IAM::ManagedPolicy", `"PolicyDocument": {}, "Path": {"Fn::Sub": "/${Secret}/"}`, "Value of property Path must not be a secret: names are shown"},
		{"AWS::Logs::LogGroup", `"RetentionInDays": 2`, "{/RetentionInDays} must be one of [1 3 5"},
		{"AWS::Lambda::Version", `"FunctionName": "a b"`, "{/FunctionName} must be 1 to 140 characters"},
		{"AWS::Lambda::Version", `"FunctionName": "nowhere"`, "Function not found: arn:aws:lambda:eu-west-1:123456789012:function:nowhere"},
		{"AWS::SSM::Parameter", `"Type": "SecureString", "Value": "v"`, "{/Type} must be String or StringList"},
		{"AWS::SSM::Parameter", `"Type": "String", "Value": "v", "AllowedPattern": "[0-9]+"`, "Parameter value, cannot be validated against allowedPattern: [0-9]+"},
		{"AWS::SecretsManager::Secret", `"SecretString": "a", "GenerateSecretString": {}`, "You can't specify both SecretString and GenerateSecretString"},
		{"AWS::SecretsManager::Secret", `"GenerateSecretString": {"GenerateStringKey": "k"}`, "must have both SecretStringTemplate and GenerateStringKey, or neither"},
		{"AWS::SecretsManager::Secret", `"GenerateSecretString": {"SecretStringTemplate": "[]", "GenerateStringKey": "k"}`, "Value of property SecretStringTemplate must be a JSON object"},
		{"AWS::SecretsManager::Secret", `"GenerateSecretString": {"PasswordLength": "long"}`, "Value of property PasswordLength must be of type Integer"},
		{"AWS::SecretsManager::Secret", `"GenerateSecretString": {"PasswordLength": 4097}`, "must be between 1 and 4096. (Service: SecretsManager, Error Code: InvalidParameterException)"},
		{"AWS::SecretsManager::Secret", `"GenerateSecretString": {"IncludeSpace": "perhaps"}`, "Value of property IncludeSpace must be of type Boolean"},
		{"AWS::SecretsManager::Secret", `"GenerateSecretString": {"Length": 4}`, "Encountered unsupported property Length"},
		{"AWS::SSM::Parameter", `"Type": "String", "Value": ""`, "{/Value} must have 1 to 4096 characters"},
		{"AWS::S3::BucketPolicy", `"Bucket": "nowhere", "PolicyDocument": "no JSON"`, "Value of property PolicyDocument must be an object, or its text as JSON"},
		{"AWS::SNS::Topic", `"Subscription": [{"Protocol": "lambda"}]`, "Value of property Subscription must be a list of objects with the members Endpoint and Protocol"},
		{"AWS::SNS::Topic", `"Tags": ["x"]`, "Value of property Tags must be a list of objects with the members Key and Value"},
		{"AWS::Lambda::Function", `"Role": "r", "PackageType": "Image", "Code": {"ImageUri": "x"}`, "functions from container images are not supported"},
		{"AWS::Lambda::Function", `"Role": "r", "Runtime": "provided.al2", "Code": {"ZipFile": "x"}`, "ZipFile works only with Node.js and Python runtimes"},
		{"AWS::Lambda::Function", `"Role": "r", "Runtime": "nodejs24.x", "Handler": "h.h", "Code": {}`, "Code must have an S3Bucket and an S3Key"},
		{"AWS::Lambda::Function", `"Role": "r", "Runtime": "nodejs24.x", "Handler": "h.h", "Code": {"ZipFile": "x"}, "Environment": {"Variables": {"WORD": ["x"]}}`, "Value of property Variables must be an object with String (or simple type) properties"},
		{"AWS::Lambda::Function", `"Role": "r", "Runtime": "nodejs24.x", "Handler": "h.h", "Code": {"S3Bucket": "cdk-hnb659fds-assets-123456789012-eu-west-1", "S3Key": "k"}`, "S3 Error Code: NoSuchKey. S3 Error Message: The specified key does not exist."},
		{"AWS::StepFunctions::StateMachine", `"RoleArn": "r", "DefinitionString": "{"`, "Invalid State Machine Definition: 'the definition is not JSON, from byte 1 on'"},
		{"AWS::StepFunctions::StateMachine", `"RoleArn": "r"`, "exactly one of Definition, DefinitionString and DefinitionS3Location must be given"},
		{"AWS::StepFunctions::StateMachine", `"RoleArn": "r", "DefinitionS3Location": {"Bucket": "nowhere", "Key": "k"}`, "read the definition s3://nowhere/k: "},
	} {
		stack := "S" + strings.Repeat("x", i+1)
		if status := w.create(stack, template(map[string]string{"X": resource(test.resourceType, test.properties)})); status != "ROLLBACK_COMPLETE" {
			t.Errorf("%s %s: %s", test.resourceType, test.properties, status)
		}
		w.wantEvent(stack, "X CREATE_FAILED", test.want)
	}
}

// TestVersions checks that the version of an unchanged function belongs to another resource.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	of := func(code string, versions ...string) string {
		all := map[string]string{"F": resource("AWS::Lambda::Function", `"Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "FunctionName": "f", "Code": {"ZipFile": "`+code+`"}`)}
		for _, v := range versions {
			all[v] = resource("AWS::Lambda::Version", `"FunctionName": {"Fn::GetAtt": ["F", "Arn"]}`)
		}
		return template(all)
	}
	w.twice = true
	w.create("S", of("1", "A"))
	if got, want := w.id("S", "A"), "arn:aws:lambda:eu-west-1:123456789012:function:f:1"; got != want {
		t.Errorf("version %s, want %s", got, want)
	}
	w.update("S", of("1", "A", "B"))
	w.wantEvent("S", "B CREATE_FAILED", "A version for this Lambda function exists ( 1 ). Modify the function to create a new version.")
	if status := w.update("S", of("2", "B")); status != "UPDATE_COMPLETE" || !strings.HasSuffix(w.id("S", "B"), "function:f:2") {
		t.Errorf("%s %s", status, w.id("S", "B"))
	}
	if _, err := w.catalog.Functions.Get(w.ctx, home, "f:1"); err == nil {
		t.Error("the first version is still there")
	}
	if _, err := w.catalog.Functions.Get(w.ctx, home, "f:2"); err != nil {
		t.Error(err)
	}
	wrong := strings.Replace(of("3", "C"), `"FunctionName": {"Fn`, `"CodeSha256": "x", "FunctionName": {"Fn`, 1)
	w.update("S", wrong)
	w.wantEvent("S", "C CREATE_FAILED", "CodeSHA256 (x) is different from current CodeSHA256 in $LATEST (")
}

func TestDefinitions(t *testing.T) {
	w := newWorld(t)
	w.put("code", "machine.json", definition("${A}"))
	for i, test := range []struct{ properties, want string }{
		{`"DefinitionString": "{\"StartAt\": \"${A}\", \"Comment\": \"${A}${C}$${A\", \"States\": {\"B${B}\": {\"Type\": \"Succeed\"}}}", "DefinitionSubstitutions": {"A": "B5", "B": 5}`,
			`{"StartAt": "B5", "Comment": "B5${C}$${A", "States": {"B5": {"Type": "Succeed"}}}`},
		{`"DefinitionString": "{\"StartAt\": \"${A}\", \"States\": {\"${A}\": {\"Type\": \"Succeed\"}}}"`,
			`{"StartAt": "${A}", "States": {"${A}": {"Type": "Succeed"}}}`},
		{`"Definition": {"StartAt": "${A}", "TimeoutSeconds": 50, "States": {"${A}": {"Type": "Pass", "End": true, "Result": ["${A}", 1.50]}}}, "DefinitionSubstitutions": {"A": "a\"b"}`,
			`{"StartAt":"a\"b","TimeoutSeconds":50,"States":{"a\"b":{"Type":"Pass","End":true,"Result":["a\"b",1.50]}}}`},
		{`"DefinitionS3Location": {"Bucket": "code", "Key": "machine.json"}, "DefinitionSubstitutions": {"A": {"Ref": "Secret"}}`, definition("hunter2&more")},
	} {
		stack := "S" + strings.Repeat("x", i+1)
		status := w.create(stack, template(map[string]string{"X": resource("AWS::StepFunctions::StateMachine", `"RoleArn": "r", `+test.properties)}))
		if status != "CREATE_COMPLETE" {
			t.Errorf("%s: %s\n%s", test.properties, status, strings.Join(w.events(stack), "\n"))
			continue
		}
		m, err := w.catalog.Machines.Get(w.ctx, home, last(w.id(stack, "X")))
		w.must(err)
		if m.Of.Definition != test.want || m.Of.Stack != w.stack(stack).ID {
			t.Errorf("%s is %s of %s, want %s", test.properties, m.Of.Definition, m.Of.Stack, test.want)
		}
	}
}

// TestExecutionsOfAMachine checks that the executions of a machine end with it.
func TestExecutionsOfAMachine(t *testing.T) {
	w := newWorld(t)
	task := `{"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:123456789012:function:f", "End": true}}}`
	w.create("S", template(map[string]string{"M": resource("AWS::StepFunctions::StateMachine", fmt.Sprintf(`"RoleArn": "r", "DefinitionString": %q`, task))}))
	machine := w.id("S", "M")
	m, err := w.catalog.Machines.Get(w.ctx, home, last(machine))
	w.must(err)
	started, err := w.engine.StartExecution(w.ctx, engine.MachineExecution{
		Machine: machine, Stack: m.Of.Stack, Definition: m.Of.Definition, Input: []byte(`{}`),
	})
	w.must(err)
	w.update("S", template(map[string]string{"G": resource("AWS::Logs::LogGroup", "")}))
	ended, err := w.engine.Execution(w.ctx, started.ARN)
	w.must(err)
	if ended.Status != store.ExecutionAborted {
		t.Errorf("the execution is %s", ended.Status)
	}
}

// TestSecrets checks that a value derived from a secret is secret, also as an attribute.
func TestSecrets(t *testing.T) {
	w := newWorld(t)
	w.create("S", template(map[string]string{
		"P": resource("AWS::SSM::Parameter", `"Type": "String", "Value": {"Ref": "Secret"}`),
		"F": resource("AWS::Lambda::Function", `"Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"ZipFile": {"Ref": "Secret"}},
			"FunctionName": "f", "Environment": {"Variables": {"V1": {"Fn::Sub": "a ${Secret}"}, "V2": "open"}}`),
	}, `{"Fn::GetAtt": ["P", "Value"]}`, `{"Fn::Sub": "a ${P.Value}"}`, `{"Fn::GetAtt": ["P", "Type"]}`))
	values := w.stack("S").OutputValues
	if got := string(values.Masked().JSON()); strings.Contains(got, "hunter2") || !strings.Contains(got, `"O2":"String"`) {
		t.Errorf("outputs %s", got)
	}
	f, err := w.catalog.Functions.Get(t.Context(), registry.Scope{Account: account, Region: region}, "f")
	if err != nil || !slices.Equal(f.Of.Hidden, []string{"V1"}) {
		t.Errorf("of the function's variables %v are hidden, %v", f.Of.Hidden, err)
	}
}

// slow is an S3 that never answers.
type slow struct{ aws.Buckets }

func (slow) Make(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error) {
	<-ctx.Done()
	return item, ctx.Err()
}

func TestPatience(t *testing.T) {
	w := newWorld(t)
	types, err := native.New(aws.Types(aws.Config{Catalog: w.catalog, Objects: slow{w.objects}, Notifications: w, Patience: 1})...)
	w.must(err)
	_, err = types.Serve(t.Context(), &store.Request{ID: "r", Logical: "X", Type: wire.Create, Body: &store.RequestBody{
		StackID: wire.NewStackID(region, account, "S", "0"), ResourceType: "AWS::S3::Bucket",
	}})
	if err == nil || err.Error() != "it took longer than 1ns: context deadline exceeded" {
		t.Errorf("%v", err)
	}
}

// TestSubscriptionElsewhere checks a topic in another region than the stack's.
func TestSubscriptionElsewhere(t *testing.T) {
	w := newWorld(t)
	there := registry.Scope{Account: account, Region: "us-east-1"}
	_, err := w.topics.Create(w.ctx, registry.Item[registry.Topic]{Scope: there, Name: "t"})
	w.must(err)
	const topic = "arn:aws:sns:us-east-1:" + account + ":t"
	text := func(raw string) string {
		return template(map[string]string{"S": resource("AWS::SNS::Subscription", `"TopicArn": "`+topic+`", "Region": "us-east-1", "Protocol": "https",
			"Endpoint": "https://127.0.0.1:1/", "RawMessageDelivery": `+raw)})
	}
	if status := w.create("s", text("false")); status != "CREATE_COMPLETE" {
		t.Fatal(w.events("s"))
	}
	if status := w.update("s", text("true")); status != "UPDATE_COMPLETE" {
		t.Error(w.events("s"))
	}
	w.delete("s")
	if left, err := w.topics.Subscriptions(w.ctx, topic); err != nil || len(left) > 0 {
		t.Errorf("after the stack's delete there is %v, %v", left, err)
	}
}

// TestGeneratedSecret checks that a secret gets a new value only when its declaration changes.
func TestGeneratedSecret(t *testing.T) {
	for _, twice := range []bool{false, true} {
		w := newWorld(t)
		w.twice = twice
		text := func(more string) string {
			return template(map[string]string{"S": resource("AWS::SecretsManager::Secret", more)})
		}
		value := func() string {
			t.Helper()
			_, v, err := w.secrets.Version(w.ctx, home, w.id("s", "S"), "", "")
			w.must(err)
			return *v.Text
		}
		const generate = `"GenerateSecretString": {"SecretStringTemplate": "{\"user\": \"me\", \"port\": 5432}", "GenerateStringKey": "password", "PasswordLength": "10", "ExcludeCharacters": "abc"`
		if status := w.create("s", text(generate+`}`)); status != "CREATE_COMPLETE" {
			t.Fatal(w.events("s"))
		}
		first := value()
		var is struct {
			User, Password string
			Port           int
		}
		w.must(json.Unmarshal([]byte(first), &is))
		if is.User != "me" || is.Port != 5432 || len(is.Password) != 10 || strings.ContainsAny(is.Password, "abc") {
			t.Errorf("the secret is %+v", is)
		}
		if w.update("s", text(generate+`}, "Description": "d"`)); value() != first {
			t.Error("another description has changed the value")
		}
		if w.update("s", text(generate+`, "IncludeSpace": true}, "Description": "d"`)); value() == first {
			t.Error("another declaration has not changed the value")
		}
		there, err := w.secrets.Find(w.ctx, home, w.id("s", "S"))
		w.must(err)
		if len(there.Of.Versions) != 2 {
			t.Errorf("there are %d versions", len(there.Of.Versions))
		}
		if w.update("s", text(`"Description": "d"`)); value() == "" {
			t.Error("the value is gone with its declaration")
		}
		w.delete("s")
	}
}
