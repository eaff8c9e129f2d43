package forward_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/dev/forwardtest"
	"github.com/pintle-dev/pintle/internal/dev/ministacktest"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	retained = `"DeletionPolicy": "Retain"`
	deleted  = `"DeletionPolicy": "Delete"`
)

// planImport makes a change set of type IMPORT with resources of type AWS::Test::Thing, each as LOGICAL=NAME, and returns it.
func (w *world) planImport(stack, text string, resources ...string) engine.ChangeSet {
	w.t.Helper()
	var list []engine.ImportResource
	for _, r := range resources {
		logical, name, _ := strings.Cut(r, "=")
		list = append(list, engine.ImportResource{Type: "AWS::Test::Thing", Logical: wire.LogicalID(logical), Identifier: map[string]string{"Name": name}})
	}
	return w.planImportOf(stack, text, list...)
}

func (w *world) planImportOf(stack, text string, list ...engine.ImportResource) engine.ChangeSet {
	w.t.Helper()
	in := engine.CreateChangeSet{
		Stack: engine.Ref{Account: w.account, Region: region, Stack: stack}, Name: fmt.Sprintf("import-%d", w.ids), Import: true, Template: text,
		Resources: list, Options: options(nil),
	}
	planned, err := w.engine.CreateChangeSet(w.t.Context(), in)
	if w.dead {
		w.dead, w.at = false, 0
		w.open()
		if err != nil { // the client calls again
			planned, err = w.engine.CreateChangeSet(w.t.Context(), in)
		}
	}
	w.must(err)
	set, err := w.engine.ChangeSet(w.t.Context(), engine.ChangeSetRef{
		Ref: engine.Ref{Account: w.account, Region: region, Stack: string(planned.StackID)}, Name: string(planned.ID),
	})
	w.must(err)
	return set
}

func (w *world) execute(stack string, set engine.ChangeSet) string {
	w.t.Helper()
	if set.State != store.ChangeSetAvailable {
		w.t.Fatalf("the change set has failed: %s", set.Reason)
	}
	_, err := w.engine.ExecuteChangeSet(w.t.Context(), engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{
		Ref: engine.Ref{Account: w.account, Region: region, Stack: string(set.Owner.ID)}, Name: string(set.ID),
	}})
	w.must(err)
	return w.serveAll(stack)
}

// imports imports existing resources and returns the status of the stack.
func (w *world) imports(stack, text string, resources ...string) string {
	w.t.Helper()
	return w.execute(stack, w.planImport(stack, text, resources...))
}

// importLife imports resources that exist, changes them, and fails to import others. No import creates or deletes a
// resource, whatever happens on the way.
func importLife(w *world) {
	w.t.Helper()
	for _, name := range []string{"a", "b", "c", "d"} {
		w.endpoint.Exist(name)
	}
	two := map[string]string{
		"A": thing(`"Name": "a", "Secret": {"Ref": "Secret"}`, deleted), "B": thing(`"Name": "b", "Of": {"Fn::GetAtt": ["A", "Arn"]}`, retained),
	}
	w.wantStatus("s", w.imports("s", template(two), "A=a", "B=b"), "IMPORT_COMPLETE")
	w.wantLive("a", "b", "c", "d")
	w.wantRows(4)
	w.wantOf("a", string(w.stack("s").ID), "A")

	four := map[string]string{"C": thing(`"Name": "c"`, deleted), "D": thing(`"Name": "d", "Refuse": "cannot be read"`, deleted, `"DependsOn": "C"`)}
	for logical, text := range two {
		four[logical] = text
	}
	w.wantStatus("s", w.imports("s", template(four), "C=c", "D=d"), "IMPORT_ROLLBACK_COMPLETE")
	w.wantEvent("s", "D IMPORT_FAILED d", "cannot be read")
	w.wantLive("a", "b", "c", "d")
	w.wantRows(4)
	if n := len(w.endpoint.Stacks()); n != 2 {
		w.t.Errorf("the endpoint has the stacks %q", w.endpoint.Stacks())
	}

	outputs := []string{`{"Ref": "A"}`, `{"Fn::GetAtt": ["B", "Arn"]}`}
	two["A"] = thing(`"Name": "a", "Size": 2`, deleted)
	w.wantStatus("s", w.update("s", template(two, outputs...)), "UPDATE_COMPLETE")
	if got := w.outputs("s"); got != "a arn:aws:test:::b" {
		w.t.Errorf("outputs %s", got)
	}
	w.wantMade(4)
	two["A"] = thing(`"Name": "e", "Size": 2`, deleted)
	w.wantStatus("s", w.update("s", template(two, outputs...)), "UPDATE_COMPLETE")
	w.wantLive("b", "c", "d", "e")
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	w.wantLive("b", "c", "d")

	// The stack at the endpoint still has the retained resource, which another stack imports.
	w.wantStatus("t", w.imports("t", template(map[string]string{"B": thing(`"Name": "b"`, deleted)}), "B=b"), "IMPORT_COMPLETE")
	w.wantLive("b", "c", "d")
	w.wantOf("b", string(w.stack("t").ID), "B")
	w.wantStatus("t", w.delete("t"), "DELETE_COMPLETE")
	w.wantLive("c", "d")
	w.wantMade(5)
	w.wantRows(0)
	if stacks := w.endpoint.Stacks(); stacks != nil {
		w.t.Errorf("stacks are left: %q", stacks)
	}
}

// wantOf compares the tags of a resource at the endpoint.
func (w *world) wantOf(id, stack, logical string) {
	w.t.Helper()
	for _, r := range w.endpoint.Ledger() {
		if r.ID == id && !r.Deleted {
			if r.Tags["pintle:stack"] != stack || r.Tags["pintle:resource"] != logical {
				w.t.Errorf("%s has the tags %v", id, r.Tags)
			}
			return
		}
	}
	w.t.Errorf("there is no resource %s", id)
}

// TestImportCrash kills the process at each step of imports, before and after the step has its effect.
func TestImportCrash(t *testing.T) {
	whole := newWorld(t)
	importLife(whole)
	if whole.steps < 80 {
		t.Fatalf("only %d steps", whole.steps)
	}
	for at := 1; at <= whole.steps; at++ {
		for _, after := range []bool{false, true} {
			if !after && at%4 != 0 || testing.Short() && at%10 != 0 {
				continue // a step that has no effect is one that is not made
			}
			t.Run(fmt.Sprintf("%d after=%t", at, after), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.at, w.after = at, after
				importLife(w)
				if w.steps < at {
					t.Errorf("the process died at none of %d steps", w.steps)
				}
			})
		}
	}
}

// TestImportFaults has one call after the other of an import fail in each way.
func TestImportFaults(t *testing.T) {
	for _, action := range []string{
		"CreateStack", "DescribeStacks", "DescribeStackResources", "CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "UpdateStack", "GetTemplate",
		"DescribeStackEvents", "DeleteStack", "GetTemplateSummary",
	} {
		for _, fault := range []forwardtest.Fault{forwardtest.Lose, forwardtest.Break, forwardtest.BreakAfter} {
			t.Run(fmt.Sprintf("%s fault %d", action, fault), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.endpoint.Steps = 1
				w.endpoint.Fault = func(called string, n int) forwardtest.Fault {
					if called == action && n%2 == 1 { // every other call
						return fault
					}
					return forwardtest.None
				}
				importLife(w)
			})
		}
	}
}

// TestImportDown has every call of an action fail for good after a resource was imported. The resource stays. If the
// stack at the endpoint is left, a later import takes the resource from it.
func TestImportDown(t *testing.T) {
	for _, action := range []string{
		"CreateStack", "DescribeStacks", "CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "DescribeStackResources", "UpdateStack", "GetTemplate", "DeleteStack",
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.endpoint.Exist("a")
			down := map[string]bool{action: true, "UpdateStack": true} // the import fails in any case
			w.endpoint.Configure(func(e *forwardtest.Endpoint) {
				e.Fault = func(called string, _ int) forwardtest.Fault {
					if down[called] {
						return forwardtest.Break
					}
					return forwardtest.None
				}
			})
			text := template(map[string]string{"A": thing(`"Name": "a"`, deleted)})
			status := w.imports("s", text, "A=a")
			if status != "IMPORT_ROLLBACK_COMPLETE" && status != "ROLLBACK_COMPLETE" {
				t.Fatalf("status %s:\n%s", status, strings.Join(w.events("s"), "\n"))
			}
			w.wantEvent("s", "A IMPORT_FAILED a", "Forwarded to ", " failed: HTTP 500")
			w.wantLive("a")
			w.wantMade(1)
			w.endpoint.Configure(func(e *forwardtest.Endpoint) { e.Fault = nil })
			w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
			w.wantLive("a")
			if len(w.endpoint.Stacks()) > 0 && !slices.Contains([]string{"DescribeStacks", "GetTemplate", "DeleteStack"}, action) {
				t.Errorf("stacks are left: %q", w.endpoint.Stacks())
			}
		})
	}
}

// An import fails with the reason of the endpoint if the endpoint refuses a step or does not perform it. Nothing is adopted, created or deleted.
func TestImportRefused(t *testing.T) {
	for name, test := range map[string]struct {
		configure func(*forwardtest.Endpoint)
		resource  string
		want      string
	}{
		"not found":  {func(*forwardtest.Endpoint) {}, "A=gone", "Resource of type 'AWS::Test::Thing' with identifier 'gone' was not found."},
		"no import":  {func(e *forwardtest.Endpoint) { e.NoImport = true }, "A=a", "the endpoint does not support the import of resources"},
		"other type": {func(e *forwardtest.Endpoint) { e.Deaf = true }, "A=a", "the endpoint does not support the import of resources: its change set of type IMPORT does not import A"},
		"hollow":     {func(e *forwardtest.Endpoint) { e.Hollow = true }, "A=a", "is in IMPORT_COMPLETE, but does not have the resource: the endpoint probably does not support the import of AWS::Test::Thing"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.endpoint.Exist("a")
			w.endpoint.Configure(test.configure)
			_, id, _ := strings.Cut(test.resource, "=")
			status := w.imports("s", template(map[string]string{"A": thing(`"Name": "`+id+`"`, deleted)}), test.resource)
			if status != "IMPORT_ROLLBACK_COMPLETE" && status != "ROLLBACK_COMPLETE" {
				t.Errorf("status %s", status)
			}
			w.wantEvent("s", "A IMPORT_FAILED "+id, "Forwarded to ", test.want)
			w.wantLive("a")
			w.wantMade(1)
			w.wantRows(0)
			if stacks := w.endpoint.Stacks(); stacks != nil {
				t.Errorf("stacks are left: %q", stacks)
			}
		})
	}
}

// A resource that a stack has cannot be imported into another one, nor by an identifier of other properties.
func TestImportTaken(t *testing.T) {
	w := newWorld(t)
	w.wantStatus("s", w.create("s", template(map[string]string{"A": thing(`"Name": "a"`)})), "CREATE_COMPLETE")
	text := template(map[string]string{"A": thing(`"Name": "a"`, retained)})
	set := w.planImport("t", text, "A=a")
	if want := "a already exists in stack " + string(w.stack("s").ID); set.State != store.ChangeSetFailed || set.Reason != want {
		t.Errorf("%s %q, want %q", set.State, set.Reason, want)
	}
	set = w.planImportOf("u", text, engine.ImportResource{Type: "AWS::Test::Thing", Logical: "A", Identifier: map[string]string{"Arn": "a"}})
	if want := "Invalid resource identifier for resource type AWS::Test::Thing. Expected [Name]. Nothing was changed"; !strings.Contains(set.Reason, want) {
		t.Errorf("%s %q, want %q", set.State, set.Reason, want)
	}
	w.wantLive("a")

	// Another client of the endpoint has it.
	other := newWorldAt(t, w.endpoint.URL, forwardtest.Account, "AWS::Test::*")
	other.endpoint = w.endpoint
	status := other.imports("v", text, "A=a")
	if !strings.HasSuffix(status, "ROLLBACK_COMPLETE") {
		t.Errorf("status %s", status)
	}
	other.wantEvent("v", "A IMPORT_FAILED a", "a already exists in stack arn:aws:cloudformation:us-east-1:000000000000:stack/s-A-")
	other.wantRows(0)
	w.wantLive("a")
	w.wantStatus("s", w.update("s", template(map[string]string{"A": thing(`"Name": "a", "Size": 1`)})), "UPDATE_COMPLETE")
}

// An import that is rolled back while its request is in progress does not leave a stack with the resource.
func TestImportUndoneMeanwhile(t *testing.T) {
	for _, during := range []string{"CreateStack", "CreateChangeSet", "ExecuteChangeSet", "UpdateStack"} {
		t.Run(during, func(t *testing.T) {
			w := newWorld(t)
			w.endpoint.Exist("a")
			set := w.planImport("s", template(map[string]string{"A": thing(`"Name": "a"`, deleted)}), "A=a")
			_, err := w.engine.ExecuteChangeSet(t.Context(), engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{
				Ref: engine.Ref{Account: w.account, Region: region, Stack: string(set.Owner.ID)}, Name: string(set.ID),
			}})
			w.must(err)
			r := w.inbox[0]
			undo, body, undone := r, *r.Body, false
			body.Import = r.ID
			undo.ID, undo.Type, undo.Body = "undo", store.TypeDisown, &body
			w.endpoint.Configure(func(e *forwardtest.Endpoint) {
				e.Done = func(action string) {
					if action != during || undone {
						return
					}
					undone = true
					if _, err := w.types.Serve(t.Context(), &undo); err != nil {
						t.Error(err)
					}
				}
			})
			if _, err := w.serve(&r); err == nil || !undone {
				t.Errorf("error %v, undone %t", err, undone)
			}
			w.wantLive("a")
			w.wantRows(0)
			if stacks := w.endpoint.Stacks(); stacks != nil {
				t.Errorf("stacks are left: %q", stacks)
			}
		})
	}
}

// Moto imports nothing, and the change set says so.
func TestImportMoto(t *testing.T) {
	var called []string
	moto := fakeMoto(t, func(action string) (int, string) {
		called = append(called, action)
		return http.StatusInternalServerError, ""
	})
	w := newWorldAt(t, moto.URL, forwardtest.Account, "AWS::Test::*")
	w.config.Rules = []forward.Rule{{Types: []string{"AWS::Test::*"}, Endpoint: moto.URL}}
	w.open()
	set := w.planImport("s", template(map[string]string{"A": thing(`"Name": "a"`, retained)}), "A=a")
	want := "Forwarded to " + strings.TrimPrefix(moto.URL, "http://") + ": moto does not support the import of resources. Nothing was changed"
	if set.State != store.ChangeSetFailed || set.Reason != want {
		t.Errorf("%s %q, want %q", set.State, set.Reason, want)
	}
	if slices.Contains(called, "CreateStack") {
		t.Errorf("calls %q", called)
	}
}

// A caller that may not make change sets at the endpoint imports nothing there.
func TestImportNotAllowed(t *testing.T) {
	w := newWorld(t)
	w.endpoint.Exist("a")
	set := w.planImport("s", template(map[string]string{"A": thing(`"Name": "a"`, retained)}), "A=a")
	w.config.Allowed = func(_, call string) error {
		if call == "cloudformation:ValidateTemplate" {
			return nil
		}
		return fmt.Errorf("%s is not allowed", call)
	}
	w.open()
	status := w.execute("s", set)
	if !strings.HasSuffix(status, "ROLLBACK_COMPLETE") {
		t.Errorf("status %s", status)
	}
	w.wantEvent("s", "A IMPORT_FAILED a", "cloudformation:CreateChangeSet is not allowed")
	if set := w.planImport("t", template(map[string]string{"A": thing(`"Name": "a"`, retained)}), "A=a"); !strings.Contains(set.Reason, "cloudformation:CreateChangeSet is not allowed") {
		t.Errorf("%s %q", set.State, set.Reason)
	}
	if n := w.endpoint.Calls("CreateStack"); n != 0 {
		t.Errorf("%d stacks were created", n)
	}
}

// Without the flag, no request of an import is served, even if Pintle would record the type.
func TestImportFlagRemoved(t *testing.T) {
	w := newWorld(t)
	w.unknown = engine.UnknownRecorded
	w.open()
	w.endpoint.Exist("a")
	text := template(map[string]string{"A": thing(`"Name": "a"`, deleted), "B": thing(`"Name": "b"`, deleted, `"DependsOn": "A"`)})
	set := w.planImport("s", text, "A=a", "B=b")
	_, err := w.engine.ExecuteChangeSet(t.Context(), engine.ExecuteChangeSet{ChangeSet: engine.ChangeSetRef{
		Ref: engine.Ref{Account: w.account, Region: region, Stack: string(set.Owner.ID)}, Name: string(set.ID),
	}})
	w.must(err)
	rules := w.config.Rules
	for len(w.inbox) > 0 && w.inbox[0].Type == store.TypeImport {
		r := w.inbox[0]
		w.inbox = w.inbox[1:]
		result, err := w.serve(&r)
		outcome := engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}
		if err != nil { // B does not exist
			outcome.Text = err.Error()
			w.config.Rules = nil
			w.types = w.newTypes()
		}
		w.must(w.engine.Report(t.Context(), r.ID, outcome))
	}
	if len(w.inbox) != 2 {
		t.Fatalf("requests %+v", w.inbox)
	}
	for _, r := range w.inbox {
		if _, err := w.types.Serve(t.Context(), &r); r.Type != store.TypeDisown || err == nil || !strings.Contains(err.Error(), "start Pintle with that flag") {
			t.Errorf("%s: error %v", r.Type, err)
		}
	}
	w.config.Rules = rules
	w.types = w.newTypes()
	w.serveAll("s")
	w.wantLive("a")
	w.wantRows(0)
	if stacks := w.endpoint.Stacks(); stacks != nil {
		t.Errorf("stacks are left: %q", stacks)
	}
}

// TestImportMinistack imports resources of several types at ministack, changes them and rolls an import back.
func TestImportMinistack(t *testing.T) {
	t.Parallel()
	url := ministacktest.New(t)
	types := []string{"AWS::SQS::Queue", "AWS::SNS::Topic", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SSM::Parameter", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient", "AWS::EC2::VPC"}
	w := newWorldAt(t, url, ministacktest.Account, types...)
	w.verify = true
	w.open()
	c := client(t, url)
	call := func(service, action string, params map[string]any) map[string]any {
		t.Helper()
		out, err := c.Call(t.Context(), service, action, params)
		w.must(err)
		return out
	}
	queue := fmt.Sprint(call("sqs", "CreateQueue", map[string]any{"QueueName": "q"})["QueueUrl"])
	call("s3", "CreateBucket", map[string]any{"Bucket": "kept"})
	call("ssm", "PutParameter", map[string]any{"Name": "p", "Value": "v", "Type": "String"})
	pool, _ := call("cognito-idp", "CreateUserPool", map[string]any{"PoolName": "pool"})["UserPool"].(map[string]any)
	user, _ := call("cognito-idp", "CreateUserPoolClient", map[string]any{"UserPoolId": pool["Id"], "ClientName": "web"})["UserPoolClient"].(map[string]any)
	resource := func(name, properties string, more ...string) string {
		return `{"Type": "` + name + `", "Properties": {` + properties + `}, ` + strings.Join(append([]string{deleted}, more...), ", ") + `}`
	}
	of := func(name, logical string, identifier ...string) engine.ImportResource {
		r := engine.ImportResource{Type: name, Logical: wire.LogicalID(logical), Identifier: map[string]string{}}
		for i := 0; i < len(identifier); i += 2 {
			r.Identifier[identifier[i]] = identifier[i+1]
		}
		return r
	}
	resources := map[string]string{
		"Queue":  resource(types[0], `"QueueName": "q", "VisibilityTimeout": 30`),
		"Bucket": resource(types[3], `"BucketName": "kept"`),
		"Client": resource(types[6], fmt.Sprintf(`"UserPoolId": %q, "ClientName": "web"`, pool["Id"])),
	}
	w.wantStatus("s", w.execute("s", w.planImportOf("s", template(resources), of(types[0], "Queue", "QueueUrl", queue),
		of(types[3], "Bucket", "BucketName", "kept"), of(types[6], "Client", "UserPoolId", fmt.Sprint(pool["Id"]), "ClientId", fmt.Sprint(user["ClientId"])))), "IMPORT_COMPLETE")
	w.wantEvent("s", "Client UPDATE_COMPLETE "+fmt.Sprint(user["ClientId"]))
	resources["Queue"] = resource(types[0], `"QueueName": "q", "VisibilityTimeout": 44`)
	w.wantStatus("s", w.update("s", template(resources, `{"Ref": "Queue"}`, `{"Fn::GetAtt": ["Queue", "Arn"]}`, `{"Ref": "Client"}`)), "UPDATE_COMPLETE")
	// Ministack knows the queue by a URL with another host than that of the caller.
	if got, want := w.outputs("s"), fmt.Sprintf("/000000000000/q arn:aws:sqs:us-east-1:000000000000:q %s", user["ClientId"]); !strings.HasSuffix(got, want) {
		t.Errorf("outputs %s, want %s", got, want)
	}
	attributes, _ := call("sqs", "GetQueueAttributes", map[string]any{"QueueUrl": queue, "AttributeNames": []any{"All"}})["Attributes"].(map[string]any)
	if attributes["VisibilityTimeout"] != "44" {
		t.Errorf("attributes %v", attributes)
	}

	// A rollback leaves the parameter. Ministack does not import networks, and it checks identifiers itself.
	for want, second := range map[string]engine.ImportResource{
		"Resource import is not supported by this emulator for AWS::EC2::VPC":                             of(types[7], "Second", "VpcId", "vpc-1"),
		"Table: gone does not exist.":                                                                     of(types[2], "Second", "TableName", "gone"),
		"Invalid resource identifier for resource type AWS::SNS::Topic. Expected [TopicArn]":              of(types[1], "Second", "Name", "t"),
		"Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1 (Service: Sns, ": of(types[1], "Second", "TopicArn", "t"),
	} {
		more := map[string]string{"Parameter": resource(types[4], `"Name": "p", "Value": "v", "Type": "String"`), "Second": resource(second.Type, ``, `"DependsOn": "Parameter"`)}
		text := template(more)
		status := w.execute("t", w.planImportOf("t", text, of(types[4], "Parameter", "Name", "p"), second))
		if !strings.HasSuffix(status, "ROLLBACK_COMPLETE") {
			t.Errorf("status %s", status)
		}
		w.wantEvent("t", "Second IMPORT_FAILED", want)
		call("ssm", "GetParameter", map[string]any{"Name": "p"})
		w.wantStatus("t", w.delete("t"), "DELETE_COMPLETE")
	}
	if left := inner(t, url); len(left) != 3 {
		t.Errorf("at the endpoint: %q", left)
	}
	w.wantStatus("s", w.delete("s"), "DELETE_COMPLETE")
	if left := inner(t, url); left != nil {
		t.Errorf("left at the endpoint: %q", left)
	}
	if _, err := c.Call(t.Context(), "sqs", "GetQueueUrl", map[string]any{"QueueName": "q"}); err == nil {
		t.Error("the queue was not deleted with its stack")
	}
}
