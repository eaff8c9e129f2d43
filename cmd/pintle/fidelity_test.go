package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
)

// TestFidelity checks, as a client, where Pintle improves on the service, and that --fidelity aws behaves like the
// service.
func TestFidelity(t *testing.T) {
	const id = `[0-9a-f-]{36}`
	const answered = `Received response status \[FAILED\] from custom resource\. Message returned: `
	const silence = `CloudFormation did not receive a response from your Custom Resource\. Please check your logs for requestId \[` + id +
		`\]\. If you are using the Python cfn-response module, you may need to update your Lambda function code so that ` +
		`CloudFormation can attach the updated version\.`
	cases := []struct{ mode, more, pintle, aws string }{ // the reason of CREATE_FAILED
		{"exit", `"ServiceTimeout": 2`, `provider Bad: (?s:.*)3(?s:.*)these are my last words(?s:.*)`, silence},
		{"never", `"ServiceTimeout": 2`, regexp.QuoteMeta(statusreason.Returned) + `(?s:.*)`, silence},
		{"large", "", `Response object is too long\. The response has 5\d{3} bytes, 4096 are allowed\. \(RequestId: ` + id + `\)`,
			`Response object is too long\.`},
		{"anonymous", "", `Invalid PhysicalResourceId\. .* The provider's reason: no luck \(RequestId: ` + id + `\)`,
			`Invalid PhysicalResourceId`},
		// Neither a character that makes the list of events unreadable nor a way to answer is kept in either.
		{"colour", "", answered + `\[31mred\[0m at http://.*X-Amz-Signature=REDACTED.* \(RequestId: ` + id + `\)`,
			answered + `\[31mred\[0m at http://.*X-Amz-Signature=REDACTED.* \(RequestId: ` + id + `\)`},
	}
	for _, fidelity := range []string{"pintle", "aws"} {
		t.Run(fidelity, func(t *testing.T) {
			s := serve(t, t.TempDir(), "--fidelity", fidelity, "--provider", "Bad=testdata/bad")
			for _, c := range cases { // all at once
				if fidelity == "pintle" { // there no one waits for it
					c.more = ""
				}
				template := thing("arn:aws:lambda:us-east-1:000000000000:function:Bad", join(`"Mode": "`+c.mode+`"`, c.more))
				s.create("bad-"+c.mode, strings.Replace(template, `"C"`, `"`+c.mode+`"`, 1))
			}
			for _, c := range cases {
				want := c.pintle
				if fidelity == "aws" {
					want = c.aws
				}
				if status := s.settled("bad-" + c.mode); status != types.StackStatusRollbackComplete {
					t.Errorf("%s: status %s", c.mode, status)
				}
				reason := ""
				for _, e := range s.events("bad-" + c.mode) {
					if aws.ToString(e.LogicalResourceId) == c.mode && e.ResourceStatus == types.ResourceStatusCreateFailed {
						reason = aws.ToString(e.ResourceStatusReason)
					}
				}
				if !regexp.MustCompile("^" + want + "$").MatchString(reason) {
					t.Errorf("%s: the reason is\n%q\nwant\n%s", c.mode, reason, want)
				}
			}
		})
	}
}
