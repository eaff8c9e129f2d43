package ros_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// declared is a template whose parameters have many attributes.
const declared = `{"ROSTemplateFormatVersion": "2015-09-01", "Description": {"en": "Things.", "zh-cn": "x"}, "Metadata": {"ALIYUN::ROS::Interface": {"ParameterGroups": []}},
	"Parameters": {
		"Size": {"Type": "Number", "Default": 1, "AllowedValues": [1, 2], "Label": {"en": "How large"}, "MaxValue": 9},
		"Zone": {"Type": "String", "AssociationProperty": "ALIYUN::ECS::Instance::ZoneId"},
		"Password": {"Type": "String", "NoEcho": true, "Default": "hunter2", "AllowedValues": ["hunter2"], "ConstraintDescription": "eight letters"}
	},
	"Resources": {"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "web:http://localhost/"}}}}`

func TestGetTemplateSummary(t *testing.T) {
	w := newWorld(t)
	var want object
	w.must(json.Unmarshal([]byte(`{"Description": "Things.", "Version": "2015-09-01", "Metadata": {"ALIYUN::ROS::Interface": {"ParameterGroups": []}},
		"ResourceTypes": ["Custom::Thing"], "ResourceIdentifierSummaries": [], "Parameters": [
			{"ParameterKey": "Size", "Type": "Number", "NoEcho": "false", "Label": "How large", "Description": "", "Default": 1, "AllowedValues": [1, 2], "MaxValue": 9},
			{"ParameterKey": "Zone", "Type": "String", "NoEcho": "false", "Label": "Zone", "Description": "", "AssociationProperty": "ALIYUN::ECS::Instance::ZoneId"},
			{"ParameterKey": "Password", "Type": "String", "NoEcho": "true", "Label": "Password", "Description": "", "Default": "******", "ConstraintDescription": "eight letters"}
		]}`), &want))
	id := w.call("CreateStack", "StackName", "shop", "TemplateBody", declared, "Parameters.1.ParameterKey", "Zone", "Parameters.1.ParameterValue", "a")["StackId"].(string)
	w.succeed("a")
	set := w.call("CreateChangeSet", "ChangeSetName", "c", "ChangeSetType", "CREATE", "StackName", "later", "TemplateBody", declared,
		"Parameters.1.ParameterKey", "Zone", "Parameters.1.ParameterValue", "a")["ChangeSetId"].(string)
	kept := w.call("CreateTemplate", "TemplateName", "t", "TemplateBody", declared)["TemplateId"].(string)
	for name, value := range map[string]string{"TemplateBody": declared, "StackId": id, "ChangeSetId": set, "TemplateId": kept} {
		got := w.call("GetTemplateSummary", name, value)
		delete(got, "RequestId")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	plainly := w.call("GetTemplateSummary", "TemplateBody", `{"ROSTemplateFormatVersion": "2015-09-01"}`)
	if diff := cmp.Diff([]any{object{}, []any{}, []any{}}, []any{plainly["Metadata"], plainly["Parameters"], plainly["ResourceTypes"]}); diff != "" {
		t.Error(diff)
	}
	const missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for _, test := range []struct {
		want  string
		pairs []string
	}{
		{"400 MissingParameter: One of the input parameters TemplateBody", nil},
		{"400 InvalidParameter: The specified parameter TemplateBody is invalid, only one of", []string{"TemplateBody", declared, "StackId", id}},
		{"400 NotSupported: StackGroupName is not supported.", []string{"StackGroupName", "g"}},
		{"400 MissingParameter: The input parameter RegionId should be specified", []string{"StackId", id, "RegionId", ""}},
		{"404 StackNotFound:", []string{"StackId", missing}},
		{"404 ChangeSetNotFound:", []string{"ChangeSetId", missing}},
		{"404 TemplateNotFound:", []string{"TemplateId", missing}},
		{"400 InvalidSchema:", []string{"TemplateBody", "{"}},
	} {
		if got := w.refused("GetTemplateSummary", test.pairs...); !strings.HasPrefix(got, test.want) {
			t.Errorf("%v: %s, want %s", test.pairs, got, test.want)
		}
	}
}

func TestGetTemplateParameterConstraints(t *testing.T) {
	w := newWorld(t)
	got := w.call("GetTemplateParameterConstraints", "TemplateBody", declared)["ParameterConstraints"].([]any)
	size := object{"ParameterKey": "Size", "Type": "Number", "AllowedValues": []any{"1", "2"}, "AssociationParameterNames": []any{}}
	if diff := cmp.Diff(size, got[0]); diff != "" {
		t.Error(diff)
	}
	if got := names(got, "Behavior"); got != "<nil> NotSupport NotSupport" {
		t.Error(got)
	}
	if strings.Contains(mustJSON(got), "hunter2") {
		t.Error("a value of a NoEcho parameter is shown")
	}
	one := w.call("GetTemplateParameterConstraints", "TemplateBody", declared, "ParametersKeyFilter.1", "Zone")["ParameterConstraints"]
	if got := names(one, "ParameterKey"); got != "Zone" {
		t.Error(got)
	}
	for want, pairs := range map[string][]string{
		"400 UnknownUserParameter: The Parameter (X) was not defined in template.":                {"TemplateBody", declared, "ParametersKeyFilter.1", "X"},
		"404 StackNotFound: The Stack (8acc3dcd-cf48-4fa1-863e-7c767b61fe42) could not be found.": {"TemplateBody", declared, "StackId", "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"},
	} {
		if got := w.refused("GetTemplateParameterConstraints", pairs...); got != want {
			t.Error(got)
		}
	}
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
