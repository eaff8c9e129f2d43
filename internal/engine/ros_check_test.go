package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/wire"
)

// TestROSUpfront checks that known problems with custom resources of ROS are rejected at the call, wherever the
// template is checked.
func TestROSUpfront(t *testing.T) {
	for name, c := range map[string]struct{ properties, want string }{
		"no token":         {`{"Timeout": 5}`, "ServiceToken is missing"},
		"empty token":      {`{"ServiceToken": ""}`, "ServiceToken must be a string that is not empty"},
		"token is a list":  {`{"ServiceToken": []}`, "ServiceToken must be a string that is not empty"},
		"URL without web:": {`{"ServiceToken": "http://u:secret@127.0.0.1/x"}`, "a service token that is a URL begins with web: or web[sync]:, as in web:https://example.com/hook"},
		"ARN of AWS": {`{"ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:f"}`,
			"the service token is an ARN of AWS, which ROS does not call: write web:URL, or the ARN of a function, queue or topic of " +
				"Alibaba Cloud, as in acs:fc:REGION:ACCOUNT:functions/NAME"},
		"unknown option":    {`{"ServiceToken": "web[fast]:http://127.0.0.1/x"}`, `service token has the option "fast"`},
		"timeout":           {`{"ServiceToken": "t", "Timeout": 0}`, "Timeout must be "},
		"timeout by a call": {`{"ServiceToken": "t", "Timeout": {"Fn::Calculate": ["{0} * 9", 0, [8000]]}}`, "Timeout must be "},
		"parameters":        {`{"ServiceToken": "t", "Parameters": []}`, "Parameters must be a map, not list"},
		"unknown property":  {`{"ServiceToken": "t", "Quota": 1}`, "Quota is not a property of a custom resource"},
		"headers":           {`{"ServiceToken": "t", "HttpConfig": {"Headers": 1}}`, "HttpConfig.Headers must be a map of strings"},
		"function":          {`{"ServiceToken": "t", "Parameters": {"a": {"Fn::GetJsonValue": ["a", "no JSON"]}}}`, "Fn::GetJsonValue"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newROS(t, engine.Config{Upfront: true})
			text := `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": {"Type": "Custom::A", "Properties": ` + c.properties + `}}}`
			for call, err := range map[string]error{
				"create":   w.begin(engine.CreateStack{Template: text}),
				"validate": func() error { _, err := w.engine.CheckIn(engine.ROS, text); return err }(),
			} {
				reported, ok := engine.InputError(err)
				if !ok || reported.Code != engine.CodeStackValidationFailed || !strings.Contains(reported.Message, "resources.A: ") ||
					!strings.Contains(reported.Message, c.want) || strings.Contains(reported.Message, "secret") {
					t.Errorf("%s: error %v, want %s", call, err, c.want)
				}
			}
		})
	}
}

// TestROSUpfrontAccepts checks that a call accepts values that are not known yet, and tokens of local providers.
func TestROSUpfrontAccepts(t *testing.T) {
	w := newROS(t, engine.Config{Upfront: true, Serves: func(token wire.ServiceToken) bool { return token == "http://mine" }})
	text := `{"ROSTemplateFormatVersion": "2015-09-01", "Parameters": {"T": {"Type": "String"}, "N": {"Type": "Number"}}, "Resources": {
		"A": {"Type": "Custom::A", "Properties": {"ServiceToken": "http://mine"}},
		"B": {"Type": "Custom::B", "Properties": {"ServiceToken": {"Ref": "T"}, "Timeout": {"Ref": "N"}}},
		"C": {"Type": "Custom::C", "Properties": {"ServiceToken": {"Fn::GetAtt": ["A", "Token"]}, "HttpConfig": {"SignKey": {"Ref": "T"}},
			"Parameters": {"Fn::GetAtt": ["A", "All"]}}}}}`
	if _, err := w.engine.CheckIn(engine.ROS, text); err != nil {
		t.Error(err)
	}
	err := w.begin(engine.CreateStack{Template: text, Options: engine.Options{Parameters: []engine.Parameter{{Key: "T", Value: "http://x"}, {Key: "N", Value: "0"}}}})
	if err == nil || !strings.Contains(err.Error(), "resources.B: ") {
		t.Errorf("values of parameters: error %v", err)
	}
}

// TestROSUnknownType checks that unknown types are rejected in the words of ROS.
func TestROSUnknownType(t *testing.T) {
	w := newROS(t, engine.Config{})
	text := `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": {"Type": "ALIYUN::FOO::Bar"}}}`
	_, err := w.engine.CheckIn(engine.ROS, text)
	if err == nil || !strings.HasPrefix(err.Error(), "Unknown resource Type : ALIYUN::FOO::Bar: A at line 1, ") {
		t.Errorf("error %v", err)
	}
	sound, found := template.ROS.Examine(text, template.Limits{})
	if found != nil {
		t.Fatal(found)
	}
	p, err := sound.BindPartly(nil, nil, template.Pseudo{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range w.engine.Inspect(p) {
		got = append(got, e.Message)
	}
	if diff := cmp.Diff([]string{"Unknown resource Type : ALIYUN::FOO::Bar"}, got); diff != "" {
		t.Error(diff)
	}
}
