package walkthrough_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

const token = "arn:aws:sns:us-east-1:84969EXAMPLE:CRTest"

// properties are the properties of the resource in the template.
type properties struct {
	ServiceToken   string
	SeleniumTester string   `json:"seleniumTester"`
	Endpoints      []string `json:"endpoints"`
	Frequencies    []string `json:"frequencyOfTestsPerHour"`
}

func TestTemplates(t *testing.T) {
	tests := []struct {
		file    string
		inputs  map[string]template.Input
		want    properties
		outputs []string
	}{
		{
			file: "template.json",
			want: properties{
				token, "SeleniumTest()",
				[]string{"http://mysite.com", "http://myecommercesite.com/", "http://search.mysite.com"},
				[]string{"3", "2", "4"},
			},
			outputs: []string{"topItem", "numRespondents"},
		},
		{
			file: "template.update.json",
			want: properties{
				token, "SeleniumTest()",
				[]string{"http://mysite.com", "http://myecommercesite.com/", "http://search.mysite.com", "http://mynewsite.com"},
				[]string{"3", "2", "4", "3"},
			},
			outputs: []string{"topItem", "numRespondents"},
		},
		{
			file: "template.yaml",
			want: properties{
				token, "SeleniumTest()",
				[]string{"http://127.0.0.1:8081/", "http://127.0.0.1:8082/", "http://127.0.0.1:8083/"},
				[]string{"3", "2", "4"},
			},
			outputs: []string{"ResultsPage", "LastUpdate"},
		},
		{
			file: "template.yaml",
			inputs: map[string]template.Input{
				"ServiceToken":            {Value: "arn:aws:lambda:us-east-1:000000000000:function:CRTest"},
				"SeleniumTester":          {Value: "Smoke()"},
				"Endpoints":               {Value: "http://127.0.0.1:9000/"},
				"FrequencyOfTestsPerHour": {Value: "60"},
			},
			want: properties{
				"arn:aws:lambda:us-east-1:000000000000:function:CRTest", "Smoke()",
				[]string{"http://127.0.0.1:9000/"}, []string{"60"},
			},
			outputs: []string{"ResultsPage", "LastUpdate"},
		},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			text, err := os.ReadFile(test.file)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := template.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			scope, err := parsed.Bind(test.inputs, nil, template.Pseudo{})
			if err != nil {
				t.Fatal(err)
			}
			if len(parsed.Resources) != 1 {
				t.Fatalf("%d resources, want 1", len(parsed.Resources))
			}
			// The logical ID is the same everywhere, so that one template can update the stack of another.
			resource := parsed.Resource("myCustomResource")
			if resource == nil || resource.Type != "AWS::CloudFormation::CustomResource" {
				t.Fatalf("myCustomResource is %+v", resource)
			}
			v, err := template.Evaluate(resource.Properties, scope, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got properties
			if err := json.Unmarshal(v.JSON(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			var outputs []string
			for _, o := range parsed.Outputs {
				outputs = append(outputs, o.Key)
			}
			if diff := cmp.Diff(test.outputs, outputs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProject(t *testing.T) {
	p, err := project.Load(".")
	if err != nil {
		t.Fatal(err)
	}
	if p.Stack != "walkthrough" || p.Template != "template.json" {
		t.Errorf("stack %q of template %q", p.Stack, p.Template)
	}
	if len(p.Providers) != 1 || p.Providers[0].Name != "CRTest" || p.Providers[0].Target != "./provider" {
		t.Errorf("providers %+v, want CRTest to be ./provider", p.Providers)
	}
}
