package policy

import (
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/provider/project"
)

// Document is an IAM policy.
type Document struct {
	Version   string      `json:"Version" yaml:"Version"`
	Statement []Statement `json:"Statement" yaml:"Statement"`
}

// Statement is one of its statements.
type Statement struct {
	Effect   string   `json:"Effect" yaml:"Effect"`
	Action   []string `json:"Action" yaml:"Action"`
	Resource []string `json:"Resource" yaml:"Resource"`
}

// Statements returns the policy that allows a provider to make the calls on the resources, ARNs or "*". For calls as a role it allows
// only assuming the role, as the CDK does, because the role has a policy of its own.
func Statements(calls []Call, resources []string) Document {
	actions, roles := map[string]bool{}, map[string]bool{}
	for _, c := range calls {
		if c.Role != "" {
			roles[c.Role] = true
			continue
		}
		for _, action := range c.Permissions {
			actions[action] = true
		}
	}
	d := Document{Version: "2012-10-17", Statement: []Statement{}}
	if len(actions) > 0 {
		d.Statement = append(d.Statement, Statement{"Allow", slices.Sorted(maps.Keys(actions)), resources})
	}
	if len(roles) > 0 {
		d.Statement = append(d.Statement, Statement{"Allow", []string{"sts:AssumeRole"}, slices.Sorted(maps.Keys(roles))})
	}
	return d
}

// Rules returns the permissions that the built-in provider needs for the calls. A call without a region is allowed in all regions.
func Rules(calls []Call) []project.Allow {
	type found struct {
		regions  map[string]bool
		anywhere bool
	}
	// A call without a role is a rule of its own: one with both would allow the role in more regions than are asked for.
	rules := map[[2]string]*found{}
	for _, c := range calls {
		key := [2]string{c.Service + ":" + c.Action, c.Role}
		if rules[key] == nil {
			rules[key] = &found{regions: map[string]bool{}}
		}
		if c.Region == "" || c.Region == "*" {
			rules[key].anywhere = true
		} else {
			rules[key].regions[c.Region] = true
		}
	}
	list := []project.Allow{}
	keys := slices.SortedFunc(maps.Keys(rules), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, key := range keys {
		rule := project.Allow{Calls: key[0]}
		if key[1] != "" {
			rule.Roles = []string{key[1]}
		}
		if !rules[key].anywhere {
			rule.Regions = slices.Sorted(maps.Keys(rules[key].regions))
		}
		list = append(list, rule)
	}
	return list
}
