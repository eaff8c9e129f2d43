package cloudformation_test

import (
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/cloud/resources/aws"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
)

// TestRecordedD8 checks that Fn::GetAtt reads every readable property of a registry type, in addition to its
// attributes.
func TestRecordedD8(t *testing.T) {
	types, err := native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "", nil }, More: aws.Types(aws.Config{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := worldWith(t, func(c *engine.Config) { c.Native = types })
	topic := func(attribute string) string {
		return `{"Parameters": {"Name": {"Type": "String", "Default": "shown", "NoEcho": true}},
			"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "of the topic", "KmsMasterKeyId": {"Ref": "Name"}}},
			"F": {"Type": "AWS::Lambda::Function", "Properties": {"Role": "r", "Code": {"ZipFile": "x"}}},
			"R": ` + resource(`"Read": {"Fn::GetAtt": [`+attribute+`]}`) + `}}`
	}
	body := topic(`"Topic", "DisplayName"`)
	_, err = w.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("live"), TemplateBody: &body})
	w.must(err)
	read := ""
	for requests := w.take(); len(requests) > 0; requests = w.take() {
		for _, r := range requests {
			if r.Body.Native() {
				w.must(w.engine.Report(t.Context(), r.ID, engine.Outcome{
					Kind: engine.Provided, Result: native.Result{PhysicalID: "id"}, Delivered: true,
				}))
				continue
			}
			property, _ := r.Body.Properties.Get("Read")
			read = property.Text()
			w.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
		}
	}
	if read != "of the topic" {
		t.Errorf("the property is read as %q", read)
	}
	for _, test := range []struct{ attribute, resource, name string }{
		{`"Topic", "Colour"`, "Topic", "Colour"},
		{`"F", "Code"`, "F", "Code"}, // a write-only property
	} {
		got := w.refusal("Action=ValidateTemplate&TemplateBody=" + escape(topic(test.attribute)))
		want := "resource " + test.resource + " does not support attribute type " + test.name + " in Fn::GetAtt"
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", test.attribute, got)
		}
	}
}
