package native

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

var update = flag.Bool("update", false, "write recordtypes.txt and listattributes.txt instead of comparing them")

// refs are types whose Ref is a property although the schema says that something else identifies them. Source: CloudFormation
// User Guide, return values of the types.
var refs = map[string]string{"AWS::Events::Rule": "Name", "AWS::Route53::RecordSet": "Name", "AWS::Route53::RecordSetGroup": ""}

// lists are attributes that are lists although the schema names them otherwise, or not as attributes. Source: CloudFormation User
// Guide, return values of the types.
var lists = map[string][]string{
	"AWS::ElastiCache::ReplicationGroup":        {"ReadEndPoint.Addresses.List", "ReadEndPoint.Ports.List"},
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {"SecurityGroups"},
}

// TestRecordTypes compares recordtypes.txt and listattributes.txt with the registry schemas that cfn-lint contains.
func TestRecordTypes(t *testing.T) {
	program, err := filepath.EvalSymlinks(require.Tool(t, "cfn-lint"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(program), "python"), "-c", "import cfnlint; print(cfnlint.__path__[0])").Output()
	if err != nil {
		t.Fatalf("where %s is installed: %v", program, err)
	}
	schemas := filepath.Join(strings.TrimSpace(string(out)), "data", "schemas")
	list, err := os.ReadFile(filepath.Join(schemas, "providers", "us_east_1.py"))
	if err != nil {
		t.Fatal(err)
	}
	var lines, listed []string
	for _, match := range regexp.MustCompile(`"(AWS::\w+::\w+)": "(\w+)"`).FindAllStringSubmatch(string(list), -1) {
		path := filepath.Join(schemas, "resources", match[2]+".json")
		if line := listLine(t, match[1], path); line != "" {
			listed = append(listed, line)
		}
		if line := recordLine(t, match[1], path); line != "" && !strings.HasPrefix(line, "AWS::CloudFormation::") {
			lines = append(lines, line)
		}
	}
	for _, file := range []struct {
		name, is string
		lines    []string
	}{{"recordtypes.txt", recordTypes, lines}, {"listattributes.txt", listAttributes, listed}} {
		slices.Sort(file.lines)
		want := strings.Join(file.lines, "\n") + "\n"
		if *update {
			if err := os.WriteFile(file.name, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if file.is != want {
			t.Errorf("%s differs from the schemas of %s: go test ./internal/engine/native -run TestRecordTypes -update writes it", file.name, program)
		}
	}
}

// listLine returns a line with a type and its attributes that are lists, or "" if there are none. A list of objects cannot
// be read with Fn::GetAtt.
func listLine(t *testing.T, name, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type property struct {
		Type       any
		Ref        string `json:"$ref"`
		Items      *property
		Properties map[string]property
	}
	var schema struct {
		ReadOnlyProperties      []string
		Definitions, Properties map[string]property
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	follow := func(p property) property {
		for range 10 { // a definition may be another reference
			name, ok := strings.CutPrefix(p.Ref, "#/definitions/")
			if !ok {
				break
			}
			p = schema.Definitions[name]
		}
		return p
	}
	names := slices.Clone(lists[name])
	for _, pointer := range schema.ReadOnlyProperties {
		parts := strings.Split(strings.TrimPrefix(pointer, "/properties/"), "/")
		of := property{Properties: schema.Properties}
		for _, part := range parts {
			of = follow(follow(of).Properties[part])
		}
		if of.Type == "array" && of.Items != nil && follow(*of.Items).Type != "object" {
			names = append(names, strings.Join(parts, "."))
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return name + " " + strings.Join(slices.Compact(names), " ")
}

// recordLine returns the line of a type, or "" if the schema says nothing of use.
func recordLine(t *testing.T, name, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ PrimaryIdentifier, ReadOnlyProperties, CreateOnlyProperties []string }
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	property := func(pointer string) string { // "" if it is nested
		name := strings.TrimPrefix(pointer, "/properties/")
		if strings.Contains(name, "/") {
			return ""
		}
		return name
	}
	identifier := ""
	if ids := schema.PrimaryIdentifier; len(ids) == 1 && !slices.Contains(schema.ReadOnlyProperties, ids[0]) {
		identifier = property(ids[0])
	}
	if other, ok := refs[name]; ok {
		identifier = other
	}
	var fixed []string
	for _, pointer := range schema.CreateOnlyProperties {
		if p := property(pointer); p != "" && !slices.Contains(schema.ReadOnlyProperties, pointer) {
			fixed = append(fixed, p)
		}
	}
	if identifier == "" && fixed == nil {
		return ""
	}
	slices.Sort(fixed)
	if identifier == "" {
		identifier = "-"
	}
	return strings.Join(append([]string{name, identifier}, slices.Compact(fixed)...), " ")
}
