package statusreason_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
)

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{statusreason.Failed("disk full", "r-1"),
			"Received response status [FAILED] from custom resource. Message returned: disk full (RequestId: r-1)"},
		{statusreason.Failed("", "r-1"),
			"Received response status [FAILED] from custom resource. Message returned: null (RequestId: r-1)"},
		{statusreason.TimedOut("r-1"), "CloudFormation did not receive a response from your Custom Resource. Please check your " +
			"logs for requestId [r-1]. If you are using the Python cfn-response module, you may need to update your Lambda " +
			"function code so that CloudFormation can attach the updated version."},
		{statusreason.MissingAttribute("Url", responseurl.ResponseKey{StackID: "s", LogicalID: "l", RequestID: "r"}),
			"CustomResource attribute error: Vendor response doesn't contain Url attribute in object s|l|r"},
	} {
		if tt.got != tt.want {
			t.Errorf("\n got %s\nwant %s", tt.got, tt.want)
		}
	}
}
