package check_test

import (
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/wire"
)

// The words of AWS say nothing to the author of a provider for ROS.
func TestRulesInROS(t *testing.T) {
	foreign := regexp.MustCompile(`AWS|CloudFormation|Lambda|\bSNS\b|\bS3\b|presigned|UPDATE_ROLLBACK|an hour|1,024|\bPUT\b`)
	for _, rule := range check.Rules() {
		in := rule.In(wire.ROS)
		for _, text := range []string{in.Statement, in.Why} {
			if word := foreign.FindString(text); word != "" {
				t.Errorf("%s says %s: %s", rule.ID, word, text)
			}
		}
		if in.ID != rule.ID || in.Severity != rule.Severity || rule.In(wire.CloudFormation) != rule {
			t.Errorf("%s: %+v", rule.ID, in)
		}
	}
}
