package template_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// TestMasked checks that no default and no allowed value of a NoEcho parameter remains in a template, in any syntax,
// and that the rest stays unchanged.
func TestMasked(t *testing.T) {
	t.Parallel()
	const rest = "\n    NoEcho: true # it is secret\n  Size: {Type: String, Default: small}\nResources: {R: {Type: Custom::R}}\n"
	for name, test := range map[string]struct{ text, want string }{
		"plain":        {"Parameters:\n  P:\n    Type: String\n    Default: hunter2 and more" + rest, `Default: "****"` + rest},
		"with a comma": {"Parameters:\n  P:\n    Type: String\n    Default: hunter2, hunter3" + rest, `Default: "****"` + rest},
		"over lines":   {"Parameters:\n  P:\n    Type: String\n    Default: hunter2\n      and hunter3" + rest, `Default: "****"` + rest},
		"quoted":       {"Parameters:\n  P:\n    Type: String\n    Default: 'it''s hunter2'" + rest, `Default: "****"` + rest},
		"escaped":      {"Parameters:\n  P:\n    Type: String\n    Default: \"hunt\\\"er2 \\x41\"" + rest, `Default: "****"` + rest},
		"tagged":       {"Parameters:\n  P:\n    Type: String\n    Default: !!str hunter2" + rest, `"****"` + rest},
		"block":        {"Parameters:\n  P:\n    Type: String\n    Default: |\n      hunter2\n\n      hunter3" + rest, `Default: "****"` + rest},
		"short":        {"Parameters:\n  P:\n    Type: String\n    Default: x" + rest, `Default: "****"` + rest},
		"number":       {"Parameters:\n  P:\n    Type: Number\n    Default: 20771" + rest, `Default: "****"` + rest},
		"values": {"Parameters:\n  P:\n    Type: String\n    AllowedValues:\n    - hunter2\n    - 'hunter3'\n    Default: hunter2" + rest,
			"AllowedValues:\n    - \"****\"\n    - \"****\"\n    Default: \"****\"" + rest},
		"flow": {"Parameters:\n  P: {Type: String, Default: hunter2, AllowedValues: [hunter2, hunter3], NoEcho: true}\nResources: {R: {Type: Custom::R}}\n",
			`{Type: String, Default: "****", AllowedValues: ["****", "****"], NoEcho: true}`},
		"elsewhere": {"Description: do not use hunter2\nParameters:\n  P:\n    Type: String\n    Default: hunter2" + rest, "do not use ****\n"},
		"given":     {"Metadata: {K: planted-secret}\nParameters: {S: {Type: String}}\nResources: {R: {Type: Custom::R}}\n", "Metadata: {K: ****}\n"},
		"JSON": {`{"Parameters": {"P": {"NoEcho": "true", "Type": "String", "Default": "hunt\u0065r2"}}, "Resources": {"R": {"Type": "Custom::R"}}}`,
			`"Default": "****"}}, "Resources"`},
		"ROS":                         {"ROSTemplateFormatVersion: '2015-09-01'\nParameters:\n  P:\n    Type: String\n    Default: hunter2" + rest, `Default: "****"` + rest},
		"after an escaped line break": {"Parameters:\n  P:\n    Description: \"a\u2028b\"\n    Type: String\n    Default: hunter2" + rest, `"Default": "****"`},
	} {
		got, err := template.LanguageOf(test.text).Masked(test.text, func(value.Value) []string { return []string{"planted-secret", "no"} })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: no %q in\n%s", name, test.want, got)
		}
		for _, secret := range []string{"hunter", "planted", "20771", "Default: x", "\\x41", "u0065"} {
			if strings.Contains(got, secret) {
				t.Errorf("%s: %q in\n%s", name, secret, got)
			}
		}
		if _, err := template.Read(got, template.Unlimited()); err != nil && name != "given" && name != "ROS" {
			t.Errorf("%s: %v in\n%s", name, err, got)
		}
	}
	if got, err := template.CloudFormation.Masked("Parameters: [", func(value.Value) []string { return nil }); err == nil {
		t.Errorf("what is no template became %q", got)
	}
}
