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

var update = flag.Bool("update", false, "write recordtypes.txt instead of comparing it")

// refs are types whose Ref is a property although the schema says that something else identifies them. Source: CloudFormation
// User Guide, return values of the types.
var refs = map[string]string{"AWS::Events::Rule": "Name", "AWS::Route53::RecordSet": "Name", "AWS::Route53::RecordSetGroup": ""}

// TestRecordTypes compares recordtypes.txt with the registry schemas that cfn-lint contains.
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
	var lines []string
	for _, match := range regexp.MustCompile(`"(AWS::\w+::\w+)": "(\w+)"`).FindAllStringSubmatch(string(list), -1) {
		if line := recordLine(t, match[1], filepath.Join(schemas, "resources", match[2]+".json")); line != "" && !strings.HasPrefix(line, "AWS::CloudFormation::") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	want := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("recordtypes.txt", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if recordTypes != want {
		t.Errorf("recordtypes.txt differs from the schemas of %s: go test ./internal/engine/native -run TestRecordTypes -update writes it", program)
	}
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
