package cloudformation_test

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/pintle-dev/pintle/internal/engine"
)

// TestUpfront checks that calls which are certain to fail are rejected: for every mistake in properties that the engine
// reads, with names joined as on AWS. With AWS fidelity, a custom resource fails only during the operation.
func TestUpfront(t *testing.T) {
	custom := func(properties string) string {
		return `{"Parameters": {"T": {"Type": "String", "Default": "7200"}}, "Resources": {"R": {"Type": "Custom::Thing", "Properties": {` + properties + `}}}}`
	}
	const given = `"ServiceToken": "` + token + `"`
	const tooLong = `201: ServiceTimeout must be a whole number of seconds from 1 to 3600, got "7200"`
	const at = "Template error: resource R at line 1, column "
	tests := []struct{ name, body, want string }{
		{"no token", custom(`"A": "b"`), at + "76: Value of property ServiceToken must be of type String"},
		{"no properties", `{"Resources": {"R": {"Type": "Custom::Thing"}}}`, at + "16: Value of property ServiceToken must be of type String"},
		{"a token that is a list", custom(`"ServiceToken": ["a"]`), at + "138: Value of property ServiceToken must be of type String"},
		{"a timeout that is too long", custom(given + `, "ServiceTimeout": 7200`), at + tooLong},
		{"a timeout by a parameter", custom(given + `, "ServiceTimeout": {"Ref": "T"}`), at + tooLong},
		{"no token and a timeout that is too long", custom(`"ServiceTimeout": 7200`),
			at + "76: Value of property ServiceToken must be of type String; resource R at line 1, column 140: " +
				`ServiceTimeout must be a whole number of seconds from 1 to 3600, got "7200"`},
		{"two references", custom(given + `, "A": {"Ref": "X"}, "B": {"Ref": "Y"}`),
			"Template format error: Unresolved resource dependencies [X, Y] in the Resources block of the template"},
	}
	w := worldWith(t, func(*engine.Config) {})
	w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
	for _, test := range tests {
		for call, got := range w.refusals(test.body) {
			if got != errPrefix+test.want {
				t.Errorf("%s, %s:\n got %s\nwant %s", test.name, call, got, errPrefix+test.want)
			}
		}
	}
	body := custom(given + `, "ServiceTimeout": 7200`)
	aws := worldWith(t, func(c *engine.Config) { c.Fidelity = engine.FidelityAWS })
	_, err := aws.client.CreateStack(t.Context(), &sdk.CreateStackInput{StackName: str("s"), TemplateBody: &body})
	aws.must(err)
}
