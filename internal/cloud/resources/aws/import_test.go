package aws_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

func newRef(stack string) engine.Ref {
	return engine.Ref{Account: account, Region: region, Stack: stack}
}

// imports imports one resource into a new stack and returns the stack's last status.
func (w *world) imports(stack, text string, resources ...engine.ImportResource) string {
	w.t.Helper()
	planned, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Options: capabilities, Stack: newRef(stack), Name: "import", Template: text, Import: true, Resources: resources,
	})
	w.must(err)
	set, err := w.store.ChangeSet(w.ctx, planned.ID)
	w.must(err)
	if set.State != store.ChangeSetAvailable {
		return set.Reason
	}
	_, err = w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{Ref: w.ref(stack), Name: "import"}})
	w.must(err)
	return w.serveAll(stack)
}

// TestImportOfEveryType checks that another stack can import a resource that a deleted stack retained. The resource
// has the same attributes, and is deleted with the new stack.
func TestImportOfEveryType(t *testing.T) {
	const keep, drop = `"DeletionPolicy": "Retain"`, `"DeletionPolicy": "Delete"`
	machine := `"RoleArn": "r", "DefinitionString": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"`
	for _, of := range []struct{ kind, attribute, properties string }{
		{"AWS::Lambda::Function", "Arn", `"Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"S3Bucket": "code", "S3Key": "k.zip"}`},
		{"AWS::Lambda::Version", "FunctionArn", `"FunctionName": "made"`},
		{"AWS::Lambda::EventInvokeConfig", "", `"FunctionName": "made", "Qualifier": "$LATEST", "MaximumRetryAttempts": 1`},
		{"AWS::Lambda::LayerVersion", "LayerVersionArn", `"Content": {"S3Bucket": "code", "S3Key": "k.zip"}`},
		{"AWS::SNS::Topic", "TopicArn", ``},
		{"AWS::SNS::Subscription", "Arn", `"TopicArn": "arn:aws:sns:eu-west-1:123456789012:there", "Protocol": "https", "Endpoint": "https://example.com"`},
		{"AWS::Events::Rule", "Arn", `"ScheduleExpression": "rate(1 day)"`},
		{"AWS::StepFunctions::StateMachine", "Arn", machine},
		{"AWS::Logs::LogGroup", "Arn", `"RetentionInDays": 7`},
		{"AWS::S3::Bucket", "Arn", ``},
		{"AWS::S3::BucketPolicy", "", `"Bucket": "code", "PolicyDocument": {}`},
		{"AWS::SSM::Parameter", "Value", `"Type": "String", "Value": "v"`},
		{"AWS::SecretsManager::Secret", "Id", `"SecretString": "hush"`},
		{"AWS::SecretsManager::ResourcePolicy", "Id", `"SecretId": "there", "ResourcePolicy": {}`},
		{"AWS::SecretsManager::RotationSchedule", "Id", `"SecretId": "there"`},
		{"AWS::SecretsManager::SecretTargetAttachment", "Id", `"SecretId": "there", "TargetId": "db", "TargetType": "AWS::RDS::DBInstance"`},
		{"AWS::ECR::Repository", "Arn", ``},
		{"AWS::IAM::Role", "Arn", `"AssumeRolePolicyDocument": {}`},
		{"AWS::IAM::Policy", "Id", `"PolicyName": "p", "PolicyDocument": {}, "Roles": ["r"]`},
		{"AWS::IAM::ManagedPolicy", "PolicyArn", `"PolicyDocument": {}`},
		{"AWS::SQS::Queue", "Arn", ``},
		{"AWS::KMS::Key", "Arn", ``},
		{"AWS::KMS::Alias", "", `"AliasName": "alias/a", "TargetKeyId": "k"`},
		{"AWS::SNS::TopicPolicy", "Id", `"PolicyDocument": {}, "Topics": ["arn:aws:sns:eu-west-1:123456789012:there"]`},
	} {
		t.Run(strings.ReplaceAll(of.kind, "::", "."), func(t *testing.T) {
			w := newWorld(t)
			w.put("code", "k.zip", archive(t, "index.js", "exports.handler = async () => 1"))
			there := map[string]string{"T": resource("AWS::SNS::Topic", `"TopicName": "there"`), "S": resource("AWS::SecretsManager::Secret", `"Name": "there"`),
				"F": resource("AWS::Lambda::Function", `"FunctionName": "made", "Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r", "Code": {"S3Bucket": "code", "S3Key": "k.zip"}`)}
			if status := w.create("There", template(there)); status != "CREATE_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("There"), "\n"))
			}
			outputs := []string{`{"Ref": "R"}`}
			if of.attribute != "" {
				outputs = append(outputs, `{"Fn::GetAtt": ["R", "`+of.attribute+`"]}`)
			}
			kept := map[string]string{"R": resource(of.kind, of.properties, keep)}
			if status := w.create("First", template(kept, outputs...)); status != "CREATE_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("First"), "\n"))
			}
			want, id := strings.Join(w.outputs("First"), " "), w.id("First", "R")
			schema := w.types.Schema(of.kind)
			r := engine.ImportResource{Type: of.kind, Logical: "R", Identifier: map[string]string{schema.Identifier[0]: id}}
			if of.kind == "AWS::Events::Rule" {
				r.Identifier["Arn"] = "arn:aws:events:eu-west-1:123456789012:rule/" + id
			}
			if of.kind == "AWS::Lambda::EventInvokeConfig" {
				r.Identifier = map[string]string{"FunctionName": "made", "Qualifier": "$LATEST"}
			}
			taken := w.imports("Taken", template(kept), r)
			if !strings.Contains(taken, " already exists in stack arn:aws:cloudformation:eu-west-1:123456789012:stack/First/") {
				t.Errorf("while the first stack has it: %s", taken)
			}
			if status := w.delete("First"); status != "DELETE_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("First"), "\n"))
			}
			w.twice = true
			if status := w.imports("Second", template(kept), r); status != "IMPORT_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("Second"), "\n"))
			}
			w.twice = false
			if status := w.update("Second", template(map[string]string{"R": resource(of.kind, of.properties, drop)}, outputs...)); status != "UPDATE_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("Second"), "\n"))
			}
			if got := strings.Join(w.outputs("Second"), " "); got != want {
				t.Errorf("imported: %s\nmade: %s", got, want)
			}
			if status := w.delete("Second"); status != "DELETE_COMPLETE" {
				t.Fatalf("%s\n%s", status, strings.Join(w.events("Second"), "\n"))
			}
			if reason := w.imports("Third", template(kept), r); !strings.Contains(reason, "not found") && !strings.Contains(reason, "does not exist") &&
				!strings.Contains(reason, "doesn't have an EventInvokeConfig") {
				t.Errorf("when it is deleted: %s", reason)
			}
		})
	}
	for _, one := range aws.Types(aws.Config{}) {
		if schema := one.Schema(); schema.Identifier != nil && schema.Dialect != wire.CloudFormation {
			t.Errorf("%s has an identifier", schema.Name)
		}
	}
}

// TestImportIsOfOneStack checks that only the first of two stacks that planned to import a resource gets it.
func TestImportIsOfOneStack(t *testing.T) {
	w := newWorld(t)
	text := template(map[string]string{"R": resource("AWS::S3::Bucket", `"BucketName": "mine"`, `"DeletionPolicy": "Retain"`)})
	w.put("mine", "k", "text")
	r := engine.ImportResource{Type: "AWS::S3::Bucket", Logical: "R", Identifier: map[string]string{"BucketName": "mine"}}
	_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Options: capabilities, Stack: newRef("Late"), Name: "import", Template: text, Import: true, Resources: []engine.ImportResource{r},
	})
	w.must(err)
	if status := w.imports("Early", text, r); status != "IMPORT_COMPLETE" {
		t.Fatalf("%s\n%s", status, strings.Join(w.events("Early"), "\n"))
	}
	_, err = w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{Ref: w.ref("Late"), Name: "import"}})
	w.must(err)
	if status := w.serveAll("Late"); status != "IMPORT_ROLLBACK_COMPLETE" {
		t.Fatalf("%s\n%s", status, strings.Join(w.events("Late"), "\n"))
	}
	if events := strings.Join(w.events("Late"), "\n"); !strings.Contains(events, "mine already exists in stack arn:aws:cloudformation:") {
		t.Error(events)
	}
	if status := w.delete("Late"); status != "DELETE_COMPLETE" {
		t.Errorf("%s\n%s", status, strings.Join(w.events("Late"), "\n"))
	}
	if _, err := w.catalog.Buckets.Get(w.ctx, registry.Global, "mine"); err != nil {
		t.Error(err)
	}
}

// TestRolledBackImportRestoresHolder checks that a resource whose import is rolled back has its previous holder, and can be imported
// again.
func TestRolledBackImportRestoresHolder(t *testing.T) {
	w := newWorld(t)
	const retain = `"DeletionPolicy": "Retain"`
	retained := resource("AWS::SNS::Topic", `"TopicName": "retained"`, retain)
	if status := w.create("First", template(map[string]string{"T": retained})); status != "CREATE_COMPLETE" {
		t.Fatal(status)
	}
	arn := w.id("First", "T")
	w.delete("First")
	topic, err := w.catalog.Topics.Get(w.ctx, registry.Scope{Account: account, Region: region}, "retained")
	w.must(err)
	w.put("mine", "k", "text")
	w.put("gone", "k", "text")
	bucket := func(name string) string { return resource("AWS::S3::Bucket", `"BucketName": "`+name+`"`, retain) }
	named := func(logical wire.LogicalID, name string) engine.ImportResource {
		return engine.ImportResource{Type: "AWS::S3::Bucket", Logical: logical, Identifier: map[string]string{"BucketName": name}}
	}
	ofTopic := engine.ImportResource{Type: "AWS::SNS::Topic", Logical: "T", Identifier: map[string]string{"TopicArn": arn}}
	_, err = w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Options: capabilities, Stack: newRef("Failed"), Name: "import", Import: true,
		Template:  template(map[string]string{"T": retained, "B": bucket("mine"), "Gone": bucket("gone")}),
		Resources: []engine.ImportResource{ofTopic, named("B", "mine"), named("Gone", "gone")},
	})
	w.must(err)
	w.must(w.catalog.Buckets.Delete(w.ctx, registry.Global, "gone", 0))
	_, err = w.engine.ExecuteChangeSet(w.ctx, engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{Ref: w.ref("Failed"), Name: "import"}})
	w.must(err)
	w.twice = true
	if status := w.serveAll("Failed"); status != "IMPORT_ROLLBACK_COMPLETE" {
		t.Fatalf("%s\n%s", status, strings.Join(w.events("Failed"), "\n"))
	}
	w.twice = false
	there, err := w.catalog.Buckets.Get(w.ctx, registry.Global, "mine")
	if err != nil || there.Owner != "" {
		t.Errorf("the bucket of a client is held by %q, %v", there.Owner, err)
	}
	again, err := w.catalog.Topics.Get(w.ctx, topic.Scope, topic.Name)
	if err != nil || again.Owner != topic.Owner {
		t.Errorf("the topic is held by %q, and was by %q, %v", again.Owner, topic.Owner, err)
	}
	if status := w.imports("Second", template(map[string]string{"T": retained, "B": bucket("mine")}), ofTopic, named("B", "mine")); status != "IMPORT_COMPLETE" {
		t.Fatalf("%s\n%s", status, strings.Join(w.events("Second"), "\n"))
	}
}

// TestUndoReturnsOnlyImportedResources checks that undoing an import returns only the resources that this import took, whenever the
// request is served.
func TestUndoReturnsOnlyImportedResources(t *testing.T) {
	w := newWorld(t)
	w.put("mine", "k", "text")
	request := func(id wire.RequestID, kind wire.RequestType, more func(*store.RequestBody)) *store.Request {
		r := w.request(kind, "AWS::S3::Bucket", `"BucketName": "mine"`, "", "mine")
		r.ID = id
		if more != nil {
			more(r.Body)
		}
		return r
	}
	disown := func(of wire.RequestID, before string) *store.Request {
		return request("disown-"+of, store.TypeDisown, func(b *store.RequestBody) { b.Import, b.Holder = of, before })
	}
	stack := request("", store.TypeImport, nil).Body.StackID
	held := func(by string) {
		t.Helper()
		there, err := w.catalog.Buckets.Get(w.ctx, registry.Global, "mine")
		if w.must(err); there.Owner != by {
			t.Fatalf("the bucket is held by %q, want %q", there.Owner, by)
		}
	}
	first, second := registry.OwnerOf(stack, "X", "first"), registry.OwnerOf(stack, "X", "second")
	w.serve(request("first", store.TypeImport, nil))
	held(first)
	w.serve(request("second", store.TypeImport, nil)) // planned before the first one took it
	held(second)
	w.serve(disown("first", ""))
	held(second)
	w.serve(disown("second", first)) // planned while the first one had it
	held("")
	w.serve(disown("second", "other"))
	held("")

	other := request("third", store.TypeImport, func(b *store.RequestBody) { b.StackID = wire.NewStackID(region, account, "Other", "1") })
	w.serve(other)
	if _, err := w.types.Serve(w.ctx, request("fourth", store.TypeImport, nil)); err == nil {
		t.Error("a resource of another stack was imported")
	}
	w.serve(disown("third", ""))
	held(registry.OwnerOf(other.Body.StackID, "X", "third"))
}

// TestImportAfterDisown checks that a client's parameter can be imported although the import that held it when this one was planned has
// been undone since.
func TestImportAfterDisown(t *testing.T) {
	w := newWorld(t)
	_, err := w.own.Put(w.ctx, store.Parameter{
		ParameterKey: store.ParameterKey{Account: account, Region: region, Name: "/mine"}, Type: store.ParameterString, Value: "v",
	}, false)
	w.must(err)
	request := func(id wire.RequestID, kind wire.RequestType, holder string) *store.Request {
		r := w.request(kind, "AWS::SSM::Parameter", `"Name": "/mine", "Type": "String", "Value": "v"`, "", "/mine")
		r.ID, r.Body.Holder = id, holder
		return r
	}
	first := request("first", store.TypeImport, "")
	w.serve(first)
	disown := request("disown", store.TypeDisown, "")
	disown.Body.Import = "first"
	w.serve(disown)
	w.serve(request("second", store.TypeImport, registry.OwnerOf(first.Body.StackID, "X", "first")))
}

// TestImportOfAnotherRegion checks that a bucket in another region than the stack's is refused.
func TestImportOfAnotherRegion(t *testing.T) {
	w := newWorld(t)
	w.put("far", "k", "text")
	_, err := w.catalog.Buckets.Change(w.ctx, registry.Global, "far", func(b *registry.Item[registry.Bucket]) error {
		b.Of.Owner.Region = "us-west-2"
		return nil
	})
	w.must(err)
	text := template(map[string]string{"B": resource("AWS::S3::Bucket", `"BucketName": "far"`, `"DeletionPolicy": "Retain"`)})
	got := w.imports("Near", text, engine.ImportResource{Type: "AWS::S3::Bucket", Logical: "B", Identifier: map[string]string{"BucketName": "far"}})
	if want := "Bucket far is in the region us-west-2: import it into a stack of that region"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestImportDuringCreate checks that a stack already holds a resource whose Create was served but not answered
// yet.
func TestImportDuringCreate(t *testing.T) {
	w := newWorld(t)
	text := template(map[string]string{"R": resource("AWS::SSM::Parameter", `"Name": "mine", "Type": "String", "Value": "v"`, `"DeletionPolicy": "Retain"`)})
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: "Maker"}, Template: text, Options: capabilities,
	})
	w.must(err)
	_, err = w.types.Serve(w.ctx, &w.inbox[0])
	w.must(err)
	r := engine.ImportResource{Type: "AWS::SSM::Parameter", Logical: "R", Identifier: map[string]string{"Name": "mine"}}
	if got := w.imports("Other", text, r); !strings.Contains(got, "mine already exists in stack ") {
		t.Errorf("while it is created: %s", got)
	}
}

// TestFindInvalidIdentifier checks that an invalid identifier means a missing resource, not an internal error.
func TestFindInvalidIdentifier(t *testing.T) {
	w := newWorld(t)
	for _, name := range w.types.NamesOf(wire.CloudFormation) {
		if w.types.Schema(name).Identifier == nil {
			continue
		}
		for _, text := range []string{
			"", "/", ":", "|", "a|b|c", "arn:", "arn:aws:secretsmanager:eu-west-1:1:secret", "arn:aws:secretsmanager::::", "arn:aws:sns:x",
			"arn:aws:events:eu-west-1:123456789012:rule/", "none:1", "arn:aws:lambda:eu-west-1:123456789012:function:none:1", strings.Repeat("x", 5000), "é\x00\xff",
			"arn:aws:secretsmanager:eu-west-1:123456789012:secret:none-abcdef", "arn:aws:sns:eu-west-1:123456789012:t:id:more",
		} {
			_, err := w.types.Find(w.ctx, &store.Request{Type: store.TypeImport, Logical: "R", Body: &store.RequestBody{
				StackID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/id", Region: region, ResourceType: name, Properties: value.Object(),
				PhysicalID: wire.PhysicalID(text),
			}})
			if _, missing := errors.AsType[*native.MissingError](err); !missing {
				t.Errorf("%s %.60q: %v", name, text, err)
			}
		}
	}
}

// TestImportOfOneResourceTwice checks that one resource under two logical IDs is refused, however it is named.
func TestImportOfOneResourceTwice(t *testing.T) {
	w := newWorld(t)
	w.create("Maker", template(map[string]string{"S": resource("AWS::SecretsManager::Secret", `"Name": "one"`, `"DeletionPolicy": "Retain"`)}))
	arn := w.id("Maker", "S")
	w.delete("Maker")
	named := resource("AWS::SecretsManager::Secret", `"Name": "one"`, `"DeletionPolicy": "Retain"`)
	got := w.imports("Twice", template(map[string]string{"A": named, "B": named}),
		engine.ImportResource{Type: "AWS::SecretsManager::Secret", Logical: "A", Identifier: map[string]string{"Id": arn}},
		engine.ImportResource{Type: "AWS::SecretsManager::Secret", Logical: "B", Identifier: map[string]string{"Id": "one"}},
	)
	if got != "one cannot be imported as A and as B" {
		t.Error(got)
	}
}
