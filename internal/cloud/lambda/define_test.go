package lambda_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

func TestCreateIsIdempotentForOwner(t *testing.T) {
	w := newWorld(t, nil)
	ctx := t.Context()
	mine := registry.Item[registry.Function]{Scope: home, Name: "f", Owner: "stack|F|r-1", Of: node("index.handler")}
	first, err := w.Create(ctx, mine, inline("1"))
	if err != nil {
		t.Fatal(err)
	}
	mine.Of.Memory = 512
	again, err := w.Create(ctx, mine, inline("2"))
	if err != nil || again.Version != 2 || again.Of.Memory != 512 || again.Of.Code == first.Of.Code {
		t.Errorf("the same holder: %+v, %v", again, err)
	}
	for _, holder := range []string{"", "stack|F|r-2"} {
		other := mine
		other.Owner = holder
		if _, err := w.Create(ctx, other, inline("3")); !errors.Is(err, lambda.ErrExists) || err.Error() != "Function already exist: f" {
			t.Errorf("holder %q: %v", holder, err)
		}
	}
	if i, err := w.Get(ctx, home, "f"); err != nil || i.Of.Code != again.Of.Code {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := w.Create(ctx, registry.Item[registry.Function]{Scope: registry.Scope{Account: home.Account, Region: "eu-west-1"}, Name: "f", Of: mine.Of}, inline("3")); err != nil {
		t.Errorf("in another region: %v", err)
	}
}

// TestVersions checks that a version does not change when its function does.
func TestVersions(t *testing.T) {
	require.Tool(t, "node")
	w := newWorld(t, nil)
	ctx := t.Context()
	code := func(n string) *registry.Code {
		c := inline("exports.handler = async (e, c) => [" + n + ", c.functionVersion, process.env.AWS_LAMBDA_LOG_STREAM_NAME.includes('[' + c.functionVersion + ']')]")
		return &c
	}
	i := w.create("f", node("index.handler"), *code("1"))
	publish := func(want string) {
		t.Helper()
		if got, err := w.Publish(ctx, home, "f", "its text"); got != want || err != nil {
			t.Errorf("published %q, %v; want %s", got, err, want)
		}
	}
	publish("1")
	publish("1") // nothing has changed
	if _, err := w.Update(ctx, i, code("2")); err != nil {
		t.Fatal(err)
	}
	publish("2")
	for function, want := range map[string]string{
		"f": `[2,"$LATEST",true]`, "f:$LATEST": `[2,"$LATEST",true]`, "f:1": `[1,"1",true]`,
		"arn:aws:lambda:us-east-1:000000000000:function:f:2": `[2,"2",true]`, "000000000000:function:f:1": `[1,"1",true]`,
		"f:3":                     "error: Function not found: arn:aws:lambda:us-east-1:000000000000:function:f:3",
		"g":                       "error: Function not found: arn:aws:lambda:us-east-1:000000000000:function:g",
		"111111111111:function:f": "error: The account 000000000000 is not authorized to use the resource: arn:aws:lambda:us-east-1:111111111111:function:f",
		"arn:aws:lambda:eu-west-1:000000000000:function:f": "error: Functions from 'eu-west-1' are not reachable in this region ('us-east-1')",
	} {
		if got := w.invoke(function, ""); got != want {
			t.Errorf("%s: %s, want %s", function, got, want)
		}
	}
	names := func(versions bool) (names []string) {
		for after := ""; ; { // one at a time
			list, err := w.List(ctx, home, after, 1, versions)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				return names
			}
			after = list[0].Name
			names = append(names, after)
		}
	}
	w.create("f-2", node("index.handler"), inline(""))
	if diff := cmp.Diff([]string{"f", "f-2"}, names(false)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"f", "f-2", "f:1", "f:2"}, names(true)); diff != "" {
		t.Error(diff)
	}
	if err := w.Delete(ctx, home, "f:1"); err != nil {
		t.Error(err)
	}
	if err := w.Delete(ctx, home, "f:1"); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
	if list, err := w.Versions(ctx, home, "f"); err != nil || len(list) != 1 || list[0].Name != "f:2" || list[0].Of.Description != "its text" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := w.Delete(ctx, home, "f"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"f-2"}, names(true)); diff != "" {
		t.Error(diff)
	}
	if err := w.Delete(ctx, home, "f"); !errors.Is(err, lambda.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

func TestRefused(t *testing.T) {
	w := newWorld(t, nil)
	if err := os.MkdirAll(filepath.Join(w.dir, "bucket"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "bucket", "no.zip"), []byte("no zip file"), 0o600); err != nil {
		t.Fatal(err)
	}
	change := func(do func(*registry.Function)) registry.Function {
		of := node("index.handler")
		do(&of)
		return of
	}
	nine := 9999
	const unable = "Lambda was unable to configure your environment variables because the environment variables you have provided "
	for _, test := range []struct {
		name string
		of   registry.Function
		code registry.Code
		want string // code: message
	}{
		{"", node("index.handler"), inline(""), "ValidationException: 1 validation error detected: Value '' at 'functionName' failed to satisfy constraint: Member must satisfy regular expression pattern: …"},
		{"f", registry.Function{}, inline(""), "InvalidParameterValueException: Runtime and Handler are mandatory parameters for functions created with deployment packages."},
		{"f", change(func(f *registry.Function) { f.Runtime = "ruby3.4" }), inline(""), "InvalidParameterValueException: Value ruby3.4 at 'runtime' failed to satisfy constraint: functions " +
			"here do not run on ruby3.4 but on nodejs*, python*, java*, provided.* and go1.x: for Ruby, use provided.al2023 and an executable file bootstrap that runs aws_lambda_ric"},
		{"f", change(func(f *registry.Function) { f.Handler = "a b" }), inline(""), `ValidationException: 1 validation error detected: Value 'a b' at 'handler' failed to satisfy constraint: Member must satisfy regular expression pattern: [^\s]+`},
		{"f", change(func(f *registry.Function) { f.Timeout = 901 }), inline(""), "ValidationException: 1 validation error detected: Value '901' at 'timeout' failed to satisfy constraint: Member must have value less than or equal to 900"},
		{"f", change(func(f *registry.Function) { f.Memory = 127 }), inline(""), "ValidationException: 1 validation error detected: Value '127' at 'memorySize' failed to satisfy constraint: Member must have value greater than or equal to 128"},
		{"f", change(func(f *registry.Function) { f.LogLevel = "FATAL" }), inline(""), "InvalidParameterValueException: Log level configuration is only supported for the JSON log format."},
		{"f", change(func(f *registry.Function) { f.LogFormat = "XML" }), inline(""), "ValidationException: 1 validation error detected: Value 'XML' at 'loggingConfig.logFormat' failed to satisfy constraint: Member must satisfy enum value set: [JSON, Text]"},
		{"f", change(func(f *registry.Function) { f.Concurrency = &nine }), inline(""), "ValidationException: 1 validation error detected: Value '9999' at 'reservedConcurrentExecutions' failed to satisfy constraint: …"},
		{"f", change(func(f *registry.Function) { f.Architectures = []string{"mips"} }), inline(""), "ValidationException: 1 validation error detected: Value 'mips' at 'architectures' failed to satisfy constraint: Member must satisfy enum value set: [x86_64, arm64]"},
		{"f", change(func(f *registry.Function) { f.Environment = map[string]string{"AWS_REGION": "x", "_HANDLER": "y"} }), inline(""),
			"InvalidParameterValueException: " + unable + "contains reserved keys that are currently not supported for modification. Reserved keys used in this request: AWS_REGION, _HANDLER"},
		{"f", change(func(f *registry.Function) { f.Environment = map[string]string{"A": "secret"} }), inline(""),
			"ValidationException: 1 validation error detected: Value 'A' at 'environment.variables' failed to satisfy constraint: Map keys must satisfy regular expression pattern: [a-zA-Z]([a-zA-Z0-9_])+"},
		{"f", change(func(f *registry.Function) { f.Environment = map[string]string{"AB": strings.Repeat("secret", 1000)} }), inline(""),
			"InvalidParameterValueException: " + unable + "exceeded the 4KB limit."},
		{"f", change(func(f *registry.Function) { f.Layers = []string{"arn:aws:lambda:us-east-1:000000000000:layer:l:1"} }), inline(""),
			"InvalidParameterValueException: Layer version arn:aws:lambda:us-east-1:000000000000:layer:l:1 does not exist."},
		{"f", change(func(f *registry.Function) { f.Runtime = "provided.al2023" }), inline(""), "InvalidParameterValueException: ZipFile can only be used when Runtime is set to either of nodejs*, python*."},
		{"f", node("index.handler"), inline(strings.Repeat("x", 4<<20+1)), "InvalidParameterValueException: Inline code must not be longer than 4194304 bytes."},
		{"f", node("index.handler"), registry.Code{}, "InvalidParameterValueException: Please provide a source for function code."},
		{"f", node("index.handler"), registry.Code{Zip: []byte("x"), Bucket: "b"}, "InvalidParameterValueException: Please do not provide other FunctionCode parameters when providing one source of code."},
		{"f", node("index.handler"), registry.Code{Zip: []byte("no zip file")}, "InvalidParameterValueException: Could not unzip uploaded file. Please check your file, then try to upload again."},
		{"f", node("index.handler"), registry.Code{Zip: pack(t, nil)}, "InvalidParameterValueException: Uploaded file must be a non-empty zip"},
		{"f", node("index.handler"), registry.Code{Zip: pack(t, map[string]string{"../x": ""})}, "InvalidParameterValueException: Could not unzip uploaded file. Please check your file, then try to upload again. (the file \"../x\" is outside the package)"},
		{"f", node("index.handler"), registry.Code{Bucket: "bucket", Key: "no.zip"}, "InvalidParameterValueException: Could not unzip uploaded file. Please check your file, then try to upload again."},
		{"f", node("index.handler"), registry.Code{Bucket: "bucket", Key: "none.zip"}, "InvalidParameterValueException: Error occurred while GetObject. S3 Error Code: NoSuchKey. S3 Error Message: The specified key does not exist. (bucket bucket, key none.zip)"},
	} {
		_, err := w.Create(t.Context(), registry.Item[registry.Function]{Scope: home, Name: test.name, Of: test.of}, test.code)
		var reported *lambda.Error
		if !errors.As(err, &reported) {
			t.Errorf("%v, want %s", err, test.want)
			continue
		}
		got := reported.Code + ": " + reported.Message
		if want, begins := strings.CutSuffix(test.want, "…"); got != test.want && !(begins && strings.HasPrefix(got, want)) {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("a secret shows: %s", got)
		}
	}
	if list, err := w.List(t.Context(), home, "", 10, true); err != nil || len(list) != 0 {
		t.Errorf("there is %v, %v", list, err)
	}
}

// TestCodeFromABucket checks that code can come from a bucket, like assets, and that unused code is removed after a
// while.
func TestCodeFromABucket(t *testing.T) {
	require.Tool(t, "python3")
	now := time.Now()
	w := newWorld(t, func(c *lambda.Config) { c.Now = func() time.Time { return now } })
	ctx := t.Context()
	if err := os.MkdirAll(filepath.Join(w.dir, "assets"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1", "2"} {
		text := pack(t, map[string]string{"index.py": "def handler(e, c): return " + version})
		if err := os.WriteFile(filepath.Join(w.dir, "assets", version+".zip"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	of := python("index.handler")
	i := w.create("f", of, registry.Code{Bucket: "assets", Key: "1.zip"})
	w.create("same", of, registry.Code{Bucket: "assets", Key: "1.zip"})
	if got := w.invoke("f", ""); got != "1" {
		t.Error(got)
	}
	second := registry.Code{Bucket: "assets", Key: "2.zip"}
	if _, err := w.Update(ctx, i, &second); err != nil {
		t.Fatal(err)
	}
	if got := w.invoke("f", ""); got != "2" {
		t.Error(got)
	}
	files := func() int {
		names, err := filepath.Glob(filepath.Join(w.dir, "code", home.Account, home.Region, "*.zip"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	unpacked := func() int {
		names, err := filepath.Glob(filepath.Join(w.cache, "unpacked", "*", "index.py"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	// The directory of unpacked code may be deleted at any time.
	if err := os.RemoveAll(filepath.Join(w.cache, "unpacked", i.Of.Code)); err != nil {
		t.Fatal(err)
	}
	if got := w.invoke("same", ""); got != "1" {
		t.Error(got)
	}
	if err := w.Delete(ctx, home, "same"); err != nil {
		t.Fatal(err)
	}
	if files() != 2 || unpacked() != 2 {
		t.Errorf("%d files, %d folders", files(), unpacked())
	}
	now = now.Add(2 * time.Hour)
	if err := w.Delete(ctx, home, "f"); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Run(ended); err != nil { // sweeps once
		t.Fatal(err)
	}
	if files() != 0 || unpacked() != 0 {
		t.Errorf("%d files, %d folders are left", files(), unpacked())
	}
}
