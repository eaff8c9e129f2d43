package template_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestUncheckedPattern checks that a pattern which cannot be matched in linear time is reported, and accepts every
// value.
func TestUncheckedPattern(t *testing.T) {
	for pattern, why := range map[string]string{
		"(?<!a)b": "look-behind", "(a)\\1": "a back reference", "a++": "a possessive quantifier", "b(?=a)b": "look-ahead", "^a+$": "",
	} {
		for _, language := range []template.Language{template.CloudFormation, template.ROS} {
			body := "Parameters: {P: {Type: String, AllowedPattern: '" + pattern + "'}}\nResources: {A: {Type: 'Custom::A', Properties: {}}}\n"
			if language == template.ROS {
				body = "ROSTemplateFormatVersion: '2015-09-01'\n" + body
			}
			parsed, err := language.Parse(body, template.Limits{})
			if err != nil {
				t.Errorf("%s: %v", pattern, err)
				continue
			}
			notes := parsed.Unchecked()
			if why == "" {
				if len(notes) > 0 {
					t.Errorf("%s: %v", pattern, notes)
				}
				continue
			}
			if len(notes) != 1 || notes[0].Message != "The AllowedPattern of the parameter P is not checked." || !strings.Contains(notes[0].Detail, why) {
				t.Errorf("%s of %v: %+v", pattern, language, notes)
			}
			if _, err := parsed.Bind(map[string]template.Input{"P": {Value: "anything"}}, nil, template.Pseudo{}); err != nil {
				t.Errorf("%s: %v", pattern, err)
			}
		}
	}
}
