package aws_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/events"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
	"github.com/pintle-dev/pintle/internal/cloud/ssm"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

const (
	account = "123456789012"
	region  = "eu-west-1"
)

var home = registry.Scope{Account: account, Region: region}

// world is a local cloud and an engine, on an in-memory store. Requests from the engine wait in inbox until the test
// serves them.
type world struct {
	t         *testing.T
	rows      *rows
	now       time.Time
	ctx       context.Context
	store     store.Store
	catalog   *registry.Catalog
	functions *lambda.Functions
	objects   *objects.Store
	topics    *sns.Topics
	rules     *events.Rules
	own       *ssm.Own
	secrets   *secretsmanager.Secrets
	types     *native.Registry
	engine    *engine.Engine
	inbox     []store.Request
	// aborted are the machines whose executions were aborted.
	aborted []string
	// emptied are the log groups whose events were deleted.
	emptied []string
	// twice serves every request twice, as after a crash between serving and reporting.
	twice bool
	ids   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), now: time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.store, err = memory.New(memory.Config{})
	must(err)
	w.rows = &rows{Store: w.store}
	w.catalog, w.own = registry.New(w.rows), ssm.NewOwn(w.rows)
	w.secrets = secretsmanager.New(w.catalog.Secrets, func() time.Time { return w.now })
	w.objects, err = objects.New(objects.Config{Dir: t.TempDir(), Buckets: w.catalog.Buckets})
	must(err)
	t.Cleanup(func() { must(w.objects.Close()) })
	w.topics, err = sns.New(sns.Config{
		Catalog: w.catalog, PublicURL: "http://127.0.0.1:1",
		Invoke: func(context.Context, string, []byte) error { return nil },
	})
	must(err)
	t.Cleanup(w.topics.Close)
	w.rules, err = events.New(events.Config{
		Catalog: w.catalog, Send: func(context.Context, registry.Scope, registry.Target, []byte, func()) error { return nil },
	})
	must(err)
	w.functions = newFunctions(w)
	w.types, err = native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "http://127.0.0.1:1/", nil },
		More: aws.Types(aws.Config{
			Now:       func() time.Time { return w.now },
			Functions: w.functions, Topics: w.topics, Rules: w.rules, Objects: w.objects, Parameters: w.own, Executions: w, Logs: w, Notifications: w, Catalog: w.catalog,
			Secrets: w.secrets,
			Open: func(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, error) {
				return w.objects.OpenFor(ctx, account, bucket, key, version)
			},
			CheckMachine: func(definition string) error {
				_, err := asl.Parse(definition)
				return err
			},
		}),
	})
	must(err)
	w.engine, err = engine.Open(w.ctx, engine.Config{
		Store: w.store, Alone: true, Native: w.types,
		Dispatch: func(ready []store.Request) { w.inbox = append(w.inbox, ready...) },
		NewID: func() string {
			w.ids++
			return fmt.Sprintf("id-%d", w.ids)
		},
	})
	must(err)
	return w
}

// DeleteGroup implements [aws.Logs].
func (w *world) DeleteGroup(_ registry.Scope, name string) error {
	w.emptied = append(w.emptied, name)
	return nil
}

// Check implements [aws.Notifications]. A function called missing does not exist.
func (w *world) Check(_ context.Context, _ registry.Scope, c bucketevents.Configuration) error {
	for _, d := range c.Functions {
		if strings.HasSuffix(d.Function, ":missing") {
			return &bucketevents.Error{Message: "Unable to validate the following destination configurations"}
		}
	}
	return nil
}

// Test implements [aws.Notifications].
func (w *world) Test(context.Context, string, registry.Scope, bucketevents.Configuration) {}

// newFunctions returns functions that are never called.
func newFunctions(w *world) *lambda.Functions {
	w.t.Helper()
	runtime, err := local.New(local.Config{Done: func(string, local.Outcome) {}, CacheDir: w.t.TempDir()})
	w.must(err)
	f, err := lambda.New(lambda.Config{
		Catalog: w.catalog, Runtime: runtime, Objects: code{w.objects}, CodeDir: w.t.TempDir(), CacheDir: w.t.TempDir(),
	})
	w.must(err)
	w.t.Cleanup(func() {
		w.must(runtime.Close())
		f.Close()
	})
	return f
}

// code provides objects as code for functions.
type code struct{ *objects.Store }

func (c code) Open(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, int64, error) {
	o, err := c.Store.OpenFor(ctx, account, bucket, key, version)
	if errors.Is(err, objects.ErrNoObject) || errors.Is(err, objects.ErrNoBucket) {
		err = fs.ErrNotExist
	}
	return o, o.Size, err
}

// AbortExecutions implements [aws.Executions].
func (w *world) AbortExecutions(ctx context.Context, machine string) error {
	w.aborted = append(w.aborted, machine)
	return w.engine.AbortExecutions(ctx, machine)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// template returns a template with resources, written as JSON by logical ID, and outputs.
func template(resources map[string]string, outputs ...string) string {
	var members []string
	for id, text := range resources {
		members = append(members, `"`+id+`": `+text)
	}
	slices.Sort(members)
	text := `{"Parameters": {"Secret": {"Type": "String", "NoEcho": true, "Default": "hunter2&more"}}, "Resources": {` + strings.Join(members, ", ") + `}`
	if len(outputs) > 0 {
		var list []string
		for i, o := range outputs {
			list = append(list, fmt.Sprintf(`"O%d": {"Value": %s}`, i, o))
		}
		text += `, "Outputs": {` + strings.Join(list, ", ") + `}`
	}
	return text + `}`
}

// resource returns a resource as JSON.
func resource(resourceType, properties string, attributes ...string) string {
	return `{"Type": "` + resourceType + `", "Properties": {` + properties + `}` + strings.Join(append([]string{""}, attributes...), ", ") + `}`
}

var capabilities = engine.Options{Capabilities: []string{"CAPABILITY_NAMED_IAM"}}

// create creates a stack, serves its requests and returns its last status.
func (w *world) create(stack, text string) string {
	w.t.Helper()
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: account, Region: region, Name: stack}, Template: text, Options: capabilities,
	})
	w.must(err)
	return w.serveAll(stack)
}

func (w *world) update(stack, text string) string {
	w.t.Helper()
	_, err := w.engine.Update(w.ctx, engine.UpdateStack{Stack: w.ref(stack), Template: text, Options: capabilities})
	w.must(err)
	return w.serveAll(stack)
}

func (w *world) delete(stack string) string {
	w.t.Helper()
	_, err := w.engine.Delete(w.ctx, engine.DeleteStack{Stack: w.ref(stack)})
	w.must(err)
	return w.serveAll(stack)
}

func (w *world) ref(stack string) engine.Ref {
	return engine.Ref{Account: account, Region: region, Stack: string(w.stack(stack).ID)}
}

// stack returns the newest stack with a name, deleted or not.
func (w *world) stack(name string) store.Stack {
	w.t.Helper()
	stacks, err := w.store.Stacks(w.ctx, account, region, true, 0, 100)
	w.must(err)
	for _, s := range stacks {
		if s.Name == name {
			return s
		}
	}
	w.t.Fatalf("there is no stack %s", name)
	return store.Stack{}
}

// serveAll serves requests, like package delivery, until none is left.
func (w *world) serveAll(stack string) string {
	w.t.Helper()
	for len(w.inbox) > 0 {
		r := w.inbox[0]
		w.inbox = w.inbox[1:]
		if r.Type == store.TypeExecution {
			continue // its function never finishes
		}
		result, err := w.types.Serve(w.ctx, &r)
		if w.twice {
			again, errAgain := w.types.Serve(w.ctx, &r)
			if diff := cmp.Diff(fmt.Sprint(err), fmt.Sprint(errAgain)); diff != "" {
				w.t.Errorf("%s of %s served again (-first +second):\n%s", r.Type, r.Logical, diff)
			}
			if diff := cmp.Diff(result, again, cmp.Comparer(value.Value.Equal)); diff != "" {
				w.t.Errorf("%s of %s served again (-first +second):\n%s", r.Type, r.Logical, diff)
			}
			result = again
		}
		outcome := engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}
		if err != nil {
			outcome.Text = err.Error()
		}
		w.must(w.engine.Report(w.ctx, r.ID, outcome))
	}
	s := w.stack(stack)
	return engine.CloudFormation.StackStatus(s.Kind, s.Phase)
}

// events returns the events of a stack, the oldest first: the resource, its status and the reason.
func (w *world) events(stack string) []string {
	w.t.Helper()
	rows, err := w.store.Events(w.ctx, w.stack(stack).Key, store.EventCursor{}, 1000)
	w.must(err)
	slices.Reverse(rows)
	var lines []string
	for _, row := range rows {
		for _, e := range row.Events {
			if e.Phase != "" {
				continue
			}
			line := string(e.Logical) + " " + engine.CloudFormation.ResourceStatus(e.Verb, e.Progress) + " " + string(e.Physical)
			if e.Reason != "" {
				line += ": " + e.Reason
			}
			if strings.Contains(line+e.Properties, "hunter2") {
				w.t.Errorf("an event tells a secret: %s %s", line, e.Properties)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// wantEvent fails the test unless an event of the stack contains the texts.
func (w *world) wantEvent(stack string, texts ...string) {
	w.t.Helper()
	lines := w.events(stack)
	for _, line := range lines {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
			return
		}
	}
	w.t.Errorf("no event of %s has %q:\n%s", stack, texts, strings.Join(lines, "\n"))
}

// outputs returns the output values of a stack, sorted by key.
func (w *world) outputs(stack string) []string {
	w.t.Helper()
	var list []string
	for _, m := range w.stack(stack).OutputValues.Members() {
		list = append(list, m.Value.Text())
	}
	return list
}

// id returns the physical ID of a resource.
func (w *world) id(stack, logical string) string {
	w.t.Helper()
	instances, err := w.engine.Resources(w.ctx, w.stack(stack))
	w.must(err)
	for _, i := range instances {
		if string(i.Logical) == logical && i.Role == store.RoleCurrent {
			return string(i.PhysicalID)
		}
	}
	w.t.Fatalf("stack %s has no resource %s", stack, logical)
	return ""
}

// records returns the names of the records in a scope.
func (w *world) records(place registry.Scope) []string {
	w.t.Helper()
	list, err := w.catalog.Records.List(w.ctx, place, "", 100)
	w.must(err)
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}

// put puts an object, and creates its bucket if necessary.
func (w *world) put(bucket, key, text string) {
	w.t.Helper()
	if _, err := w.objects.Bucket(w.ctx, bucket); err != nil {
		_, err := w.objects.Make(w.ctx, registry.Item[registry.Bucket]{Scope: home, Name: bucket})
		w.must(err)
	}
	_, err := w.objects.Put(w.ctx, bucket, key, strings.NewReader(text), objects.Options{})
	w.must(err)
}
