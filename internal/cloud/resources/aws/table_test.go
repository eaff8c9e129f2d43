package aws_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// published prints the contents of CloudFormation's resource schemas for the named types, as in cfn-lint.
const published = `
import json, sys
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER as manager

def names(paths):
    return [p[len("/properties/"):].replace("/", ".") for p in paths or []]

def kind(schema, p):
    if "$ref" in p and "type" not in p:
        p = schema["definitions"][p["$ref"].split("/")[-1]]
    k = p.get("type", "object" if "properties" in p or "patternProperties" in p else "string")
    return "document" if isinstance(k, list) or p.get("format") == "json" else k

out = {}
for name in sys.argv[1:]:
    of = manager.get_resource_schema("us-east-1", name)
    s = of.schema
    out[name] = {
        "properties": {n: kind(s, p) for n, p in s["properties"].items()},
        "required": s.get("required", []),
        "createOnly": names(s.get("createOnlyProperties")),
        "readOnly": names(s.get("readOnlyProperties")),
        "attributes": list(of.get_atts),
        "identifier": names(s.get("primaryIdentifier")),
    }
json.dump(out, sys.stdout)
`

// publishedSchema is the output for one type.
type publishedSchema struct {
	Properties                                             map[string]string
	Required, CreateOnly, ReadOnly, Attributes, Identifier []string
}

// leftOut reports attributes without a value here: those of the tables that S3 creates for a bucket's metadata.
func leftOut(attribute string) bool { return strings.HasPrefix(attribute, "Metadata") }

// more are attributes that the service's documentation has and its schemas lack.
var more = []string{"TopicName", "Type", "Value"}

func TestSchemasMatchPublishedSchemas(t *testing.T) {
	python := require.Python(t, "cfnlint")
	types := aws.Types(aws.Config{})
	arguments := []string{"-c", published}
	for _, one := range types {
		arguments = append(arguments, one.Schema().Name)
	}
	out, err := exec.Command(python, arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]publishedSchema
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	kinds := map[native.Kind]string{
		native.Text: "string", native.Integer: "integer", native.Truth: "boolean", native.List: "array", native.Object: "object",
		native.Document: "document",
	}
	for _, one := range types {
		ours, theirs := one.Schema(), all[one.Schema().Name]
		got := publishedSchema{Properties: map[string]string{}, Identifier: ours.Identifier}
		for _, p := range ours.Properties {
			got.Properties[p.Name] = kinds[p.Kind]
			if p.Required {
				got.Required = append(got.Required, p.Name)
			}
			if p.Change == native.Replaces {
				got.CreateOnly = append(got.CreateOnly, p.Name)
			}
		}
		want := publishedSchema{Properties: map[string]string{}, Required: theirs.Required, Identifier: theirs.Identifier}
		if ours.Name == "AWS::Lambda::Permission" {
			want.Identifier = nil // permissions are not imported: only stacks create them
		}
		for name, kind := range theirs.Properties {
			if !slices.Contains(theirs.ReadOnly, name) {
				want.Properties[name] = kind
			}
			// Policies and definitions that are objects on the service are documents here, and keep their JSON types.
			if got.Properties[name] == "document" && kind == "object" {
				want.Properties[name] = "document"
			}
		}
		for _, name := range theirs.CreateOnly {
			if !strings.Contains(name, ".") {
				want.CreateOnly = append(want.CreateOnly, name)
			}
		}
		for _, list := range [][]string{want.Required, want.CreateOnly, got.Required} {
			slices.Sort(list)
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("empty", func(list []string) []string { return append([]string{}, list...) })); diff != "" {
			t.Errorf("%s (-published +ours):\n%s", ours.Name, diff)
		}
		for _, name := range theirs.ReadOnly {
			if !leftOut(name) && !ours.HasAttribute(name) {
				t.Errorf("%s lacks the attribute %s", ours.Name, name)
			}
		}
		for _, name := range ours.Attributes {
			if !slices.Contains(theirs.Attributes, name) && !slices.Contains(more, name) {
				t.Errorf("%s has the attribute %s, which the service's does not", ours.Name, name)
			}
		}
	}
}
