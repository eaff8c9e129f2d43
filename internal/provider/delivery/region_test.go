package delivery_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestRecordedD22 checks that a Lambda function in a different region than the stack's is not asked to create a
// resource, like a topic. A declared provider serves every region, unless FidelityAWS is set. Source: recorded answers,
// D22.
func TestRecordedD22(t *testing.T) {
	const there = "arn:aws:lambda:eu-west-1:222222222222:function:theirs"
	const refused = there + " is in eu-west-1, and a service token must be in the region of its stack, us-east-1"
	here := strings.Replace(there, "eu-west-1", "us-east-1", 1)
	for _, test := range []struct {
		name, token string
		account     string // of the function; empty for a declared provider
		request     wire.RequestType
		aws         bool
		want        string // the error, empty if the provider gets the request
	}{
		{"a function of the region", here, "222222222222", wire.Create, true, ""},
		{"a function of another region", there, "222222222222", wire.Create, false, refused},
		{"function of another region, fidelity AWS", there, "222222222222", wire.Create, true, refused},
		{"function that created the resource before", there, "222222222222", wire.Delete, false, ""},
		{"a declared provider", there, "", wire.Create, false, ""},
		{"declared provider, fidelity AWS", there, "", wire.Create, true, refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			// No process has this name, so a request that passes the check is refused for that.
			provider := named{"theirs": {Name: "theirs", Account: test.account}}
			w := start(t, func(c *delivery.Config, _ *world) { c.Local, c.FidelityAWS = provider, test.aws })
			r := request("a", 1, test.token)
			r.Type = test.request
			r.Body.StackID = wire.NewStackID("us-east-1", "222222222222", "s", "1")
			w.Dispatch([]store.Request{r})
			got := ""
			if outcome, ok := w.next(t).Outcome.(delivery.Refused); ok {
				got = outcome.Text
			}
			if asked := got == "" || !strings.Contains(got, "must be in the region"); asked != (test.want == "") || !asked && got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
