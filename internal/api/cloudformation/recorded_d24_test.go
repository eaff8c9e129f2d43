package cloudformation_test

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestRecordedD24 checks that an update may pass the resolved value of a stored parameter instead of its name. Recorded
// once, on 2025-09-24.
func TestRecordedD24(t *testing.T) {
	stored := map[string]string{"/a": "one two", "/b": "/a"}
	w := worldWith(t, func(c *engine.Config) {
		c.Stored = func(_ context.Context, _, _ string, names []string) (map[string]template.Stored, error) {
			found := map[string]template.Stored{}
			for _, name := range names {
				if text, ok := stored[name]; ok {
					found[name] = template.Stored{State: template.StoredText, Value: text}
				}
			}
			return found, nil
		}
	})
	body := func(more string) *string {
		return str(`{"Parameters": {"P": {"Type": "AWS::SSM::Parameter::Value<String>"}}, "Resources": {"R": ` + resource(`"P": {"Ref": "P"}`+more) + `}}`)
	}
	passing := func(text string) []types.Parameter {
		return []types.Parameter{{ParameterKey: str("P"), ParameterValue: &text}}
	}
	w.create(&sdk.CreateStackInput{StackName: str("s"), TemplateBody: body(""), Parameters: passing("/a")})
	update := func(text, more string) (name, value string) {
		t.Helper()
		_, err := w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: body(more), Parameters: passing(text)})
		w.must(err)
		w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
		stacks, err := w.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: str("s")})
		w.must(err)
		p := stacks.Stacks[0].Parameters[0]
		return *p.ParameterValue, *p.ResolvedValue
	}
	if name, value := update("one two", `, "X": "1"`); name != "/a" || value != "one two" {
		t.Errorf("the resolved value gives %s, %s", name, value)
	}
	stored["/a"] = "three"
	if name, value := update("one two", `, "X": "2"`); name != "/a" || value != "three" {
		t.Errorf("the value that was resolved before gives %s, %s: the parameter is read again", name, value)
	}
	if name, value := update("/b", ""); name != "/b" || value != "/a" {
		t.Errorf("another name gives %s, %s", name, value)
	}
	if name, value := update("/a", ""); name != "/a" || value != "three" {
		t.Errorf("a name that is also the resolved value gives %s, %s", name, value)
	}
	want := errPrefix + "Unable to fetch parameters [four] from parameter store for this account."
	if got := w.refusal("Action=UpdateStack&StackName=s&Parameters.member.1.ParameterKey=P&Parameters.member.1.ParameterValue=four&TemplateBody=" +
		escape(*body(""))); got != want {
		t.Errorf("another value:\n got %s\nwant %s", got, want)
	}
}
