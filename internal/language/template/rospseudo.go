package template

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	rosNoValue = "ALIYUN::NoValue"
	// rosIndex is the index of a counted resource's copy. It has a value only in the properties of such a resource.
	rosIndex = "ALIYUN::Index"
)

// rosValue is [Pseudo.value] in the language of ROS. Source: ROS, pseudo parameters.
func (p Pseudo) rosValue(name string) (value.Value, bool) {
	if !strings.HasPrefix(name, "ALIYUN::") {
		return value.Value{}, false
	}
	switch name {
	case "ALIYUN::StackName":
		return value.Str(p.StackName), true
	case "ALIYUN::StackId":
		return value.Str(p.StackID), true
	case "ALIYUN::TenantId":
		return value.Str(p.TenantID), true
	case "ALIYUN::Region":
		return value.Str(p.Region), true
	case "ALIYUN::AccountId":
		return value.Str(p.AccountID), true
	case "ALIYUN::ResourceGroupId":
		return value.Str(p.ResourceGroupID), true
	case rosNoValue:
		return value.Value{}, true
	}
	return value.Value{}, false
}

// ROS returns the pseudo parameters of ROS as GetStack lists them among the parameters: each a text, in a fixed order,
// and ALIYUN::NoValue as None. ALIYUN::Index does not belong to a stack.
func (p Pseudo) ROS() []value.Member {
	names := []string{
		"ALIYUN::StackName", "ALIYUN::StackId", "ALIYUN::TenantId", "ALIYUN::Region", "ALIYUN::AccountId", "ALIYUN::ResourceGroupId",
	}
	list := make([]value.Member, 0, len(names)+1)
	for _, name := range names {
		v, _ := p.rosValue(name)
		list = append(list, value.Member{Key: name, Value: v})
	}
	return append(list, value.Member{Key: rosNoValue, Value: value.Str("None")})
}
