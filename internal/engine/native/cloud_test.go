package native

import (
	"slices"
	"testing"
)

func TestInCloud(t *testing.T) {
	if !slices.IsSorted(cloud) {
		t.Error("the list is not sorted, and is searched as if it were")
	}
	for _, name := range cloud {
		if !InCloud(name) {
			t.Errorf("%s is not found", name)
		}
	}
	for _, name := range []string{"", "AWS::Lambda::Functio", "AWS::EC2::Instance", "AWS::CloudFormation::Stack"} {
		if InCloud(name) {
			t.Errorf("%s is found", name)
		}
	}
}
