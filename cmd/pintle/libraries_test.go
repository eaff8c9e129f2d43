package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/awshttp"
	"github.com/pintle-dev/pintle/internal/dev/clienttest"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

var updateLibraries = flag.Bool("libraries.update", false, "rewrite the table of docs/check.md that says where handlers on libraries run")

// library is a handler library with the handler in internal/author/check/testdata/handlers that uses it.
type library struct{ Library, Handler string }

const (
	libraryData = "../../internal/author/check/testdata"
	noteToken   = "arn:aws:lambda:us-east-1:123456789012:function:Note"
)

// cdkNote is the function that the CDK's entry point calls.
const cdkNote = `exports.handler = async (event) => {
  if (event.RequestType === 'Delete') return {};
  const { Name } = event.ResourceProperties;
  if (!/^[a-z0-9-]+$/.test(Name)) throw new Error('Name: want lower-case letters, got ' + Name);
  return { PhysicalResourceId: 'note-' + Name, Data: { Path: '/notes/' + Name } };
};
`

// TestLibraries runs each library's handler through the life of a stack in every way that the engine has: as a local provider
// through pintle deploy, and as a function in a template through pintle serve --dev. The table in docs/check.md shows the result.
func TestLibraries(t *testing.T) {
	w := openLibraryWorld(t)
	text, err := os.ReadFile(filepath.Join(libraryData, "libraries.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []library
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	ways := []func(*testing.T, string) stackDriver{w.deployed, w.served}
	cells := make([][]string, len(all))
	t.Run("each", func(t *testing.T) {
		for i, l := range all {
			cells[i] = make([]string, len(ways))
			for j, name := range []string{"deploy", "serve"} {
				t.Run(strings.TrimSuffix(l.Handler, filepath.Ext(l.Handler))+"/"+name, func(t *testing.T) {
					t.Parallel()
					cells[i][j] = noteLife(t, ways[j](t, l.Handler))
				})
			}
		}
	})
	if slices.ContainsFunc(slices.Concat(cells...), func(cell string) bool { return cell == "" }) {
		return // -run chose some of them, or one failed before its first step
	}
	libraryTable(t, all, cells)
}

// stackDriver deploys states of one note and deletes it.
type stackDriver interface {
	// deploy creates or updates the stack and returns the status that it ends in with its outputs.
	deploy(t *testing.T, name, text string) (status string, outputs map[string]string)
	// delete deletes the stack and returns the status that it ends in.
	delete(t *testing.T) string
	// deleted reports whether the stack's events say that a physical resource was deleted.
	deleted(t *testing.T, physicalID string) bool
}

// noteLife creates, updates and deletes a stack with one note, and returns the steps that behaved as users of CloudFormation expect.
func noteLife(t *testing.T, d stackDriver) string {
	t.Helper()
	var failed []string
	step := func(name string, ok bool, format string, args ...any) {
		t.Helper()
		if !ok {
			t.Errorf(name+": "+format, args...)
			failed = append(failed, name)
		}
	}
	is := func(outputs map[string]string, name string) bool {
		return outputs["Id"] == "note-"+name && outputs["Path"] == "/notes/"+name
	}
	status, _ := d.deploy(t, "../x", "b")
	step("failed create", status == "ROLLBACK_COMPLETE", "ended as %s", status)
	if status = d.delete(t); status != "DELETE_COMPLETE" {
		t.Fatalf("delete of the failed stack ended as %s", status)
	}
	status, outputs := d.deploy(t, "a", "b")
	step("create", status == "CREATE_COMPLETE" && is(outputs, "a"), "ended as %s with %v", status, outputs)
	status, outputs = d.deploy(t, "a", "c")
	step("update", status == "UPDATE_COMPLETE" && is(outputs, "a"), "ended as %s with %v", status, outputs)
	status, outputs = d.deploy(t, "z", "c")
	step("replacement", status == "UPDATE_COMPLETE" && is(outputs, "z") && d.deleted(t, "note-a"),
		"ended as %s with %v, note-a deleted: %v", status, outputs, d.deleted(t, "note-a"))
	status, outputs = d.deploy(t, "../x", "c")
	step("rollback", status == "UPDATE_ROLLBACK_COMPLETE" && is(outputs, "z"), "ended as %s with %v", status, outputs)
	status = d.delete(t)
	step("delete", status == "DELETE_COMPLETE", "ended as %s", status)
	if len(failed) == 0 {
		return "all steps"
	}
	return "not " + strings.Join(failed, ", ")
}

// libraryWorld has the environment of the handlers: their libraries, the CDK's entry point, a Go program, and a server.
type libraryWorld struct {
	libraries, cdk string
	bootstrap      string // the Go handler, built
	server         *served
	bucket         *awscall.Client
}

func openLibraryWorld(t *testing.T) *libraryWorld {
	t.Helper()
	w := &libraryWorld{libraries: require.Handlers(t), cdk: require.CDK(t)}
	require.Java(t)
	require.Tool(t, "node")
	require.Python(t, "boto3")
	w.bootstrap = filepath.Join(t.TempDir(), "bootstrap")
	build := exec.Command("go", "build", "-o", w.bootstrap, "./internal/author/check/testdata/handlers/awslambdago")
	build.Dir = filepath.Join("..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	w.server = serve(t, t.TempDir(), "--node-modules", filepath.Join(w.libraries, "node_modules"))
	var err error
	w.bucket, err = awscall.New(awscall.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Endpoint: w.server.url, HTTP: awshttp.Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.bucket.Call(t.Context(), "s3", "CreateBucket", map[string]any{"Bucket": "code"}); err != nil {
		t.Fatal(err)
	}
	return w
}

// lay puts a handler's files into dir and returns the path that a provider runs, the handler and runtime of a function.
func (w *libraryWorld) lay(t *testing.T, dir, handler string) (run, function, runtime string) {
	t.Helper()
	put := func(from, name string) string {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.WriteFile(to, text, 0o755); err != nil {
			t.Fatal(err)
		}
		return to
	}
	source := filepath.Join(libraryData, "handlers", handler)
	switch {
	case handler == "awslambdago":
		return put(w.bootstrap, "bootstrap"), "bootstrap", "provided.al2023"
	case handler == "cdk-entrypoint":
		if err := os.WriteFile(filepath.Join(dir, "index.js"), []byte(cdkNote), 0o600); err != nil {
			t.Fatal(err)
		}
		entry := filepath.Join(w.cdk, "core", "nodejs-entrypoint-handler", "index.js")
		return put(entry, "__entrypoint__.js"), "__entrypoint__.handler", "nodejs22.x"
	case strings.HasSuffix(handler, ".java"):
		clienttest.Classes(t, dir, source, true)
		return dir, strings.TrimSuffix(handler, ".java"), "java17"
	case strings.HasSuffix(handler, ".py"):
		return put(source, "handler.py"), "handler.handler", "python3.13"
	}
	return put(source, "handler.js"), "handler.handler", "nodejs22.x"
}

const noteStack = `Parameters: {Name: {Type: String}, Text: {Type: String}}
Resources:
  Note:
    Type: Custom::Note
    Properties: {ServiceToken: %s, Name: !Ref Name, Text: !Ref Text}
%sOutputs: {Id: {Value: !Ref Note}, Path: {Value: !GetAtt Note.Path}}
`

// deployedNote is a project that pintle deploy is run in.
type deployedNote struct{ dir string }

func (w *libraryWorld) deployed(t *testing.T, handler string) stackDriver {
	t.Helper()
	dir := t.TempDir()
	run, function, _ := w.lay(t, dir, handler)
	named := ""
	if run == dir { // or the file is enough
		named = " handler: " + function + ","
	}
	project := fmt.Sprintf("stack: note\nproviders:\n  Note: {run: %s,%s env: {NODE_PATH: %q, PYTHONPATH: %q}}\n",
		run, named, filepath.Join(w.libraries, "node_modules"), filepath.Join(w.libraries, "python"))
	for name, text := range map[string]string{"pintle.yaml": project, "template.yaml": fmt.Sprintf(noteStack, noteToken, "")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return deployedNote{dir}
}

// pintle runs a command in the project. An operation that fails ends the command with 1, which is not an error here.
func (n deployedNote) pintle(t *testing.T, document any, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pintle", append(args, "-o", "json")...)
	cmd.Dir = n.dir
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitFailed) {
		t.Fatalf("pintle %v: %v\n%s", args, err, log.String())
	}
	if err := json.Unmarshal(out.Bytes(), document); err != nil {
		t.Fatalf("pintle %v printed %q: %v", args, out.String(), err)
	}
}

type operationDocument struct {
	Status  string
	Outputs map[string]string
}

func (n deployedNote) deploy(t *testing.T, name, text string) (string, map[string]string) {
	t.Helper()
	var d operationDocument
	n.pintle(t, &d, "deploy", "--parameter", "Name="+name, "--parameter", "Text="+text)
	return d.Status, d.Outputs
}

func (n deployedNote) delete(t *testing.T) string {
	t.Helper()
	var d operationDocument
	n.pintle(t, &d, "delete")
	return d.Status
}

func (n deployedNote) deleted(t *testing.T, physicalID string) bool {
	t.Helper()
	var d struct {
		Events []struct{ PhysicalID, Status string }
	}
	n.pintle(t, &d, "events")
	return slices.Contains(d.Events, struct{ PhysicalID, Status string }{physicalID, "DELETE_COMPLETE"})
}

// servedNote is a stack of a server that runs the functions of templates.
type servedNote struct {
	server         *served
	name, template string
}

func (w *libraryWorld) served(t *testing.T, handler string) stackDriver {
	t.Helper()
	dir := t.TempDir()
	_, function, runtime := w.lay(t, dir, handler)
	if strings.HasPrefix(runtime, "python") { // as pip install --target has it
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(w.libraries, "python"))); err != nil {
			t.Fatal(err)
		}
	}
	name := strings.NewReplacer(".", "-", "_", "-").Replace(handler)
	_, err := w.bucket.Call(t.Context(), "s3", "PutObject", map[string]any{"Bucket": "code", "Key": name, "Body": string(zipped(t, dir))})
	if err != nil {
		t.Fatal(err)
	}
	resources := fmt.Sprintf(`  Role:
    Type: AWS::IAM::Role
    Properties: {AssumeRolePolicyDocument: {Statement: [{Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}]}}
  Function:
    Type: AWS::Lambda::Function
    Properties: {Code: {S3Bucket: code, S3Key: %s}, Handler: %s, Runtime: %s, Role: !GetAtt Role.Arn, Timeout: 30}
`, name, function, runtime)
	return &servedNote{w.server, "note-" + name, fmt.Sprintf(noteStack, "!GetAtt Function.Arn", resources)}
}

func zipped(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	err := archive.AddFS(executables{os.DirFS(dir)})
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// executables leaves out caches that Python writes next to its modules.
type executables struct{ fs.FS }

func (e executables) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(e.FS, name)
	return slices.DeleteFunc(all, func(entry fs.DirEntry) bool { return entry.Name() == "__pycache__" }), err
}

func (n *servedNote) deploy(t *testing.T, name, text string) (string, map[string]string) {
	t.Helper()
	client, parameters := n.server.client(), []types.Parameter{
		{ParameterKey: aws.String("Name"), ParameterValue: &name}, {ParameterKey: aws.String("Text"), ParameterValue: &text},
	}
	capabilities := []types.Capability{types.CapabilityCapabilityIam}
	_, err := client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: &n.name, TemplateBody: &n.template, Parameters: parameters, Capabilities: capabilities,
	})
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		_, err = client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName: &n.name, TemplateBody: &n.template, Parameters: parameters, Capabilities: capabilities,
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	stack := n.settled(t)
	outputs := map[string]string{}
	for _, o := range stack.Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	return string(stack.StackStatus), outputs
}

// settled waits for the end of the operation.
func (n *servedNote) settled(t *testing.T) (stack types.Stack) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		out, err := n.server.client().DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &n.name})
		if err != nil {
			t.Fatalf("%s, last %s: %v", n.name, stack.StackStatus, err)
		}
		if stack = out.Stacks[0]; !strings.HasSuffix(string(stack.StackStatus), "_IN_PROGRESS") {
			tick.Stop()
			return stack
		}
		<-tick.C
	}
}

func (n *servedNote) delete(t *testing.T) string {
	t.Helper()
	client, name := n.server.client(), n.name
	stack := n.settled(t)
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		t.Fatal(err)
	}
	n.name = *stack.StackId // a deleted stack is found by its ID alone
	defer func() { n.name = name }()
	return string(n.settled(t).StackStatus)
}

func (n *servedNote) deleted(t *testing.T, physicalID string) bool {
	t.Helper()
	return slices.ContainsFunc(n.server.events(n.name), func(e types.StackEvent) bool {
		return aws.ToString(e.PhysicalResourceId) == physicalID && e.ResourceStatus == types.ResourceStatusDeleteComplete
	})
}

// libraryTable compares the table of the page with the result, or rewrites it.
func libraryTable(t *testing.T, all []library, cells [][]string) {
	t.Helper()
	const begin, end = "<!-- ways: begin -->\n", "<!-- ways: end -->\n"
	path := filepath.Join("..", "..", "docs", "check.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines %q and %q", path, begin, end)
	}
	var table strings.Builder
	table.WriteString("\n| library | `pintle deploy` | function in a template, `pintle serve --dev` |\n|---|---|---|\n")
	for i, l := range all {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", l.Library, cells[i][0], cells[i][1])
	}
	table.WriteString("\n")
	want := slices.Concat(before, []byte(begin), []byte(table.String()), []byte(end), after)
	if *updateLibraries {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), string(want)); diff != "" {
		t.Errorf("%s differs (-page +found; rewrite it with -libraries.update):\n%s", path, diff)
	}
}
