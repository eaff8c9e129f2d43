package engine_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestIdentityCapabilities checks that IAM resources, which are records here, need acknowledgement as on AWS.
func TestIdentityCapabilities(t *testing.T) {
	const (
		role   = `{"Type": "AWS::IAM::Role", "Properties": {"Path": "/"}}`
		named  = `{"Type": "AWS::IAM::Role", "Properties": {"RoleName": "r"}}`
		policy = `{"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p"}}`
	)
	for _, test := range []struct {
		name, resource string
		given          []string
		want           string // the missing capability
	}{
		{"a role", role, nil, "CAPABILITY_IAM"},
		{"another capability", role, []string{"CAPABILITY_AUTO_EXPAND"}, "CAPABILITY_IAM"},
		{"a role with consent", role, []string{"CAPABILITY_IAM"}, ""},
		{"a role with more than its consent", role, []string{"CAPABILITY_NAMED_IAM"}, ""},
		{"a role with a name", named, []string{"CAPABILITY_IAM"}, "CAPABILITY_NAMED_IAM"},
		{"a role with a name, with consent", named, []string{"CAPABILITY_NAMED_IAM"}, ""},
		{"policy, which always has a name", policy, []string{"CAPABILITY_IAM"}, ""},
		{"a topic", topic("a"), nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newRecording(t)
			template := body(map[string]string{"R": test.resource})
			check := func(err error) {
				t.Helper()
				if test.want == "" {
					w.must(err)
					return
				}
				wantCode(t, err, engine.CodeInsufficientRights, "Requires capabilities : ["+test.want+"]")
			}
			_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
				Options: engine.Options{Capabilities: test.given}, Name: "set", Kind: store.KindCreate, Template: template,
				Stack: engine.Ref{Account: account, Region: region, Stack: "Planned"},
			})
			check(err)
			_, err = w.engine.Create(w.ctx, engine.CreateStack{
				Options: engine.Options{Capabilities: test.given}, Template: template,
				Name: store.StackName{Account: account, Region: region, Name: "S"},
			})
			check(err)
		})
	}
}
