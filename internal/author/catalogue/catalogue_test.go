package catalogue_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/catalogue"
	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/author/diagnosis"
)

var update = flag.Bool("update", false, "write the page of the documentation")

const root = "../../.."

func TestEntries(t *testing.T) {
	seen := map[string]bool{}
	groups := map[catalogue.Group]bool{}
	for _, g := range catalogue.Groups() {
		groups[g.Group] = true
	}
	for _, e := range catalogue.Entries() {
		if key := strings.ToLower(e.Code); seen[key] {
			t.Errorf("%s is there twice", e.Code)
		} else {
			seen[key] = true
		}
		for _, text := range []string{e.Title, e.Cause, e.Remedy} {
			if text == "" || !strings.HasSuffix(text, ".") {
				t.Errorf("%s has the text %q, want a sentence", e.Code, text)
			}
		}
		if !groups[e.Group] {
			t.Errorf("%s has the unknown group %q", e.Code, e.Group)
		}
		if got, ok := catalogue.Find(strings.ToUpper(e.Code)); !ok || got.Code != e.Code {
			t.Errorf("Find(%q) = %v, %v", strings.ToUpper(e.Code), got, ok)
		}
		for _, related := range e.Related {
			if _, ok := catalogue.Find(related); !ok || related == e.Code {
				t.Errorf("%s is related to %q, which is not another entry", e.Code, related)
			}
		}
	}
}

// reasons are reasons of failures with the codes that they get: one for each fault.
var reasons = []struct{ resourceType, reason, code string }{
	{"", "Received response status [FAILED] from custom resource. Message returned: provider x: (RequestId: 1)", "answered-failed"},
	{"", "CloudFormation did not receive a response from your Custom Resource. Please check", "no-answer"},
	{"", "Response object is too long. It has 5000 bytes", "answer-invalid"},
	{"", "Invalid PhysicalResourceId", "answer-invalid"},
	{"", "Invalid Response object: Value of property Status must be of type String", "answer-invalid"},
	{"", "The provider's handler returned without sending a response (RequestId: 1)", "returned-without-answer"},
	{"", "provider Thing: the handler was still running after its timeout of 20s, and its process was killed", "handler-timeout"},
	{"", "provider Thing: the process exited with code 3\nLast lines of its log:\ngone", "process-ended"},
	{"", "provider Thing: the handler reported an error: Runtime.Unhandled: target missed", "handler-error"},
	{"", "provider Thing: it could not be started: no such file\nLast lines of its log:\n", "not-started"},
	{"", "provider Thing: target ./thing: ./thing does not exist", "not-started"},
	{"", "provider Thing: the handler reported an error: it could not be started", "handler-error"},
	{"", "CustomResource attribute error: Vendor response doesn't contain X attribute in object y", "attribute-unknown"},
	{"", "Modifying service token is not allowed.", "service-token-changed"},
	{"", "Value of property ServiceToken must be of type String", "property-value"},
	{"", "WaitCondition timed out. Received 0 conditions when expecting 1", "signal-failed"},
	{"", "WaitCondition received failed message: 'no' for uniqueId: a", "signal-failed"},
	{"", "Received FAILURE signal with UniqueId a", "signal-failed"},
	{"", "Failed to receive 1 resource signal(s) within the specified duration", "signal-failed"},
	{"", "Update to resource type AWS::CloudFormation::WaitCondition is not supported.", "update-not-supported"},
	{"", "Encountered unsupported property X", "property-unknown"},
	{"", "Embedded stack arn:x was not successfully created: a", "nested-failed"},
	{"AWS::CloudFormation::Stack", "TemplateURL must be a supported URL.", "nested-rejected"},
	{"ALIYUN::ROS::Stack", "DeliveryFailed: resources.A: x", "nested-rejected"},
	{"AWS::CloudFormation::Stack", "Embedded stack arn:x was not successfully created: a", "nested-failed"},
	{"", "no local provider named \"X\" and no AWS credentials: …", "not-delivered"},
	{"AWS::S3::Bucket", "the bucket b exists already", "native-failed"},
	{"", "dial tcp 127.0.0.1:1: connect: connection refused", "not-delivered"},
	{"", "CustomResourceFailed: resources.A: no (RequestId: 1)", "answered-failed"},
	{"", "PhysicalResourceIdChanged: resources.A: the answer", "answer-invalid"},
	{"", "Timeout: resources.A: the provider did not answer in time", "no-answer"},
	{"", "NoResponse: resources.A: x", "returned-without-answer"},
	{"", "DeliveryFailed: resources.A: x", "not-delivered"},
	{"", "ResourceFailed: resources.A: x", "native-failed"},
	{"", "NotSupported: resources.A: ServiceToken cannot be updated. Keep it", "service-token-changed"},
	{"", "InvalidTemplateAttribute: resources.A: The Referenced Attribute (B c) is incorrect.", "attribute-unknown"},
	{"", "StackValidationFailed: resources.A: Property Timeout not assigned", "property-missing"},
}

// remarks are texts of the audit list with their codes. Those that no rule of check is about are in the group of remarks.
var remarks = map[string]string{
	"answer to a request that was settled before (answered): SUCCESS, physical id \"a\"":             "answered-twice",
	"answer to a request that was settled before (timed out): SUCCESS, physical id \"a\"":            "answered-late",
	"the answer has no StackId; Pintle accepted it, because the response URL identifies the request": "answer-copies",
	"the answer has the PhysicalResourceId \"b\", which was ignored: the resource stays \"a\"":       "id-changed",
	"the provider's handler returned without an answer; one may still come: 1 thread":                "answer-after-return",
	"a notification to arn:aws:sns:us-east-1:1:t was not delivered: no such topic":                   "notification-not-delivered",
	"the resource was not given back: no such stack":                                                 "import-not-released",
	"answered by hand with SUCCESS, physical id \"a\" (of the request), by x":                        "",
	"rolled back by a user of the console":                                                           "",
}

// TestCodes holds the catalogue against everything that prints a code: each has the other's.
func TestCodes(t *testing.T) {
	printed := map[string]bool{}
	print := func(code, by string) {
		printed[code] = true
		if e, ok := catalogue.Find(code); !ok || e.Code != code {
			t.Errorf("%s prints the code %s, which is not in the catalogue", by, code)
		}
	}
	for _, one := range reasons {
		got := catalogue.Of(one.resourceType, one.reason)
		if got.Code != one.code || got.Who == "" || got.Stable == "" {
			t.Errorf("%q has the fault %+v, want the code %s", one.reason, got, one.code)
		}
		print(got.Code, "a failure")
	}
	for text, want := range remarks {
		if got := catalogue.OfRemark(text); got != want {
			t.Errorf("%q has the code %q, want %q", text, got, want)
		} else if got != "" {
			print(got, "the audit list")
		}
	}
	for _, r := range check.Rules() {
		print(r.ID, "check")
	}
	for _, r := range diagnosis.Rules() {
		print(r.ID, "validate")
	}
	for _, code := range errorTypes(t) {
		print(code, "a function")
	}
	for _, code := range exportedErrors(t) {
		print(code, "the SDK")
	}
	for _, e := range catalogue.Entries() {
		if !printed[e.Code] {
			t.Errorf("nothing prints the code %s", e.Code)
		}
	}
}

var errorType = regexp.MustCompile(`"((?:Runtime|Pintle|Sandbox|Function)\.[A-Z][A-Za-z]+)"`)

// errorTypes returns the error types in the code of functions and providers.
func errorTypes(t *testing.T) (codes []string) {
	t.Helper()
	for _, dir := range []string{"", "statemachine", "internal/provider", "internal/cloud/lambda"} {
		for _, path := range goFiles(t, dir, dir != "") {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range errorType.FindAllStringSubmatch(string(text), -1) {
				codes = append(codes, found[1])
			}
		}
	}
	return codes
}

// exportedErrors returns the errors that the public packages export: variables that begin with Err, and types that end with Error.
func exportedErrors(t *testing.T) (codes []string) {
	t.Helper()
	for name, dir := range map[string]string{
		"pintle": "", "wire": "wire", "awscall": "awscall", "cdkprovider": "cdkprovider", "awslambda": "awslambda",
		"statemachine": "statemachine", "waiter": "waiter", "pintletest": "pintletest", "deploy": "deploy", "customresource": "awscall/customresource",
	} {
		for _, path := range goFiles(t, dir, false) {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				for _, spec := range specs(d) {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						if _, isStruct := s.Type.(*ast.StructType); isStruct && s.Name.IsExported() && strings.HasSuffix(s.Name.Name, "Error") {
							codes = append(codes, name+"."+s.Name.Name)
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if regexp.MustCompile(`^Err[A-Z]`).MatchString(n.Name) {
								codes = append(codes, name+"."+n.Name)
							}
						}
					}
				}
			}
		}
	}
	return codes
}

func specs(d ast.Decl) []ast.Spec {
	if general, ok := d.(*ast.GenDecl); ok {
		return general.Specs
	}
	return nil
}

// goFiles returns the files of a directory that are not tests.
func goFiles(t *testing.T, dir string, deep bool) (paths []string) {
	t.Helper()
	top := filepath.Join(root, dir)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != top && (!deep || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return paths
}

func TestNear(t *testing.T) {
	for code, want := range map[string][]string{
		"no-anwser": {"no-answer"}, "silense": {"silence"}, "timeout": {"handler-timeout", "service-timeout-refused"},
		"runtime.noresponse": {"Runtime.NoResponse"}, "zzzzzz": nil, "": nil,
	} {
		if diff := cmp.Diff(want, catalogue.Near(code)); diff != "" && (len(want) > 0 || len(catalogue.Near(code)) > 0) {
			t.Errorf("Near(%q) (-want +got):\n%s", code, diff)
		}
	}
}

// TestPage keeps docs/errors.md equal to the catalogue; -update writes it.
func TestPage(t *testing.T) {
	const file = root + "/docs/errors.md"
	want := page()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (go test ./internal/author/catalogue -run TestPage -update writes it):\n%s", file, diff)
	}
}

func page() string {
	var out strings.Builder
	out.WriteString(`# Error catalogue

<!-- vale off -->
<!-- Written by go test ./internal/author/catalogue -run TestPage -update -->

Failures of resources, findings, and errors of functions and Go packages have permanent codes.
` + "`pintle explain CODE`" + ` prints the cause and the remedy of one, and ` + "`pintle explain`" + ` lists all. The codes are in these places:

- the line "explain" of a failed deployment, and ` + "`code`" + ` in the JSON documents of ` + "`deploy`, `delete`, `describe` and `events`" + `
- the brackets after each finding of ` + "`check` and `validate`, and `rule`" + ` in their JSON documents
- the ` + "`errorType`" + ` of a function or provider that failed
- the name of an error in the Go packages

If a code has another cause or remedy in ROS, ` + "`pintle explain CODE`" + ` prints that too.
`)
	entries := catalogue.Entries()
	for _, g := range catalogue.Groups() {
		fmt.Fprintf(&out, "\n## %s\n\n| code | | cause | remedy |\n|---|---|---|---|\n", g.Title)
		for _, e := range entries {
			if e.Group == g.Group {
				fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", e.Code, cell(e.Title), cell(e.Cause), cell(e.Remedy))
			}
		}
	}
	out.WriteString("\n<!-- vale on -->\n")
	return out.String()
}

// cell returns a text as a cell of a table.
func cell(text string) string {
	text = strings.ReplaceAll(text, "|", `\|`)
	words := strings.Fields(text)
	for i, w := range words {
		if slices.ContainsFunc([]string{"{{", "<", "*"}, func(mark string) bool { return strings.Contains(w, mark) }) {
			words[i] = "`" + w + "`"
		}
	}
	return strings.Join(words, " ")
}
