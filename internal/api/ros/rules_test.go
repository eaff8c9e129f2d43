package ros_test

import (
	"strings"
	"testing"
)

// TestRules checks that each call with parameters is refused if an assertion fails. ValidateTemplate has no parameters
// to check.
func TestRules(t *testing.T) {
	w := newWorld(t)
	ruled := strings.Replace(plain(""), `"Resources"`, `"Parameters": {"Env": {"Type": "String"}, "Zones": {"Type": "CommaDelimitedList"}},
		"Rules": {
			"Few": {"Assertions": [{"Assert": {"Fn::EachMemberIn": [{"Ref": "Zones"}, ["a", "b"]]}, "AssertDescription": {"en": "Zones are a and b.", "zh-cn": "a, b"}}]},
			"Named": {"RuleCondition": {"Fn::Equals": [{"Ref": "Env"}, "prod"]}, "Assertions": [{"Assert": {"Fn::And": [
				{"Fn::Contains": [{"Ref": "Zones"}, "a"]}, {"Fn::Not": {"Fn::MatchPattern": ["tmp-", {"Ref": "ALIYUN::StackName"}]}}]}}]}},
		"Resources"`, 1)
	with := func(env, zones string, more ...string) []string {
		return append([]string{
			"Parameters.1.ParameterKey", "Env", "Parameters.1.ParameterValue", env,
			"Parameters.2.ParameterKey", "Zones", "Parameters.2.ParameterValue", zones, "TemplateBody", ruled,
		}, more...)
	}
	const few, named = "400 StackValidationFailed: Rule Few failed: Zones are a and b.", "400 StackValidationFailed: Rule Named failed: assertion 1 does not hold."
	id := w.call("CreateStack", with("prod", "a", "StackName", "shop")...)["StackId"].(string)
	w.succeed("a")
	for _, test := range []struct{ action, want, env, zones string }{
		{"CreateStack", few, "dev", "a,c"},
		{"CreateStack", named, "prod", "b"},
		{"PreviewStack", few, "dev", "c"},
		{"PreviewStack", named, "prod", "a"},
		{"UpdateStack", few, "dev", "a,c"},
		{"UpdateStack", named, "prod", "b"},
	} {
		given := with(test.env, test.zones, "StackName", "tmp-shop")
		if test.action == "UpdateStack" {
			given = with(test.env, test.zones, "StackId", id)
		}
		if got := w.refused(test.action, given...); got != test.want {
			t.Errorf("%s %s %s: %s", test.action, test.env, test.zones, got)
		}
	}
	for kind, pairs := range map[string][]string{"CREATE": {"StackName", "tmp-shop"}, "UPDATE": {"StackId", id}} {
		given := with("prod", "b", append(pairs, "ChangeSetName", "c", "ChangeSetType", kind)...)
		if got := w.refused("CreateChangeSet", given...); got != named {
			t.Errorf("CreateChangeSet %s: %s", kind, got)
		}
	}
	w.call("CreateStack", with("dev", "b", "StackName", "tmp-shop")...) // the condition of its rule is false
	w.succeed("b")
	w.call("ValidateTemplate", "TemplateBody", ruled)
	if got := w.refused("ValidateTemplate", "TemplateBody", strings.Replace(ruled, `"Assert":`, `"Asserts":`, 1)); !strings.HasPrefix(got, "400 StackValidationFailed: ") {
		t.Error(got)
	}
}
