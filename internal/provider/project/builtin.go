package project

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// builtins are the names of the built-in providers.
var builtins = []string{AWS}

// AWS is the name of the built-in provider that makes AWS calls.
const AWS = "aws"

// maxRules limits the number of a provider's rules.
const maxRules = 1000

// Allow is a rule that allows calls of a built-in provider. In its texts, * stands for any characters.
type Allow struct {
	// Calls is a service and actions, e.g. "ssm:GetParameter" or "s3:Get*". Never empty.
	Calls string `json:"calls"`
	// Regions are the allowed regions. Empty means all.
	Regions []string `json:"regions,omitempty"`
	// Roles are the ARNs of roles that may be assumed. Empty means none.
	Roles []string `json:"roles,omitempty"`
	// Accounts are the accounts of the stacks that the rule applies to. Empty means all.
	Accounts []string `json:"accounts,omitempty"`
}

// CheckBuiltin returns an error with the valid names if no built-in provider has this name.
func CheckBuiltin(name string) error {
	if !slices.Contains(builtins, name) {
		return fmt.Errorf("unknown provider %q: use %s", name, strings.Join(builtins, ", "))
	}
	return nil
}

// ParseAllow parses a file of rules: a list in YAML or JSON, in the same format as a provider's allow. file is the path
// for error messages. The error of an invalid file is [Problems].
func ParseAllow(file string, data []byte) ([]Allow, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("file of rules %s is larger than %d bytes", file, MaxSize)
	}
	root, err := parseYAML(data)
	if err != nil {
		return nil, fmt.Errorf("file of rules %s: %w", file, err)
	}
	r := &reader{project: &Project{File: file, Dir: filepath.Dir(file)}}
	var rules []Allow
	if root != nil {
		rules = r.rules(root, "the file of rules")
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return rules, nil
}

// rules reads a provider's rules: strings, or maps with calls, regions, roles and accounts.
func (r *reader) rules(v *yaml.Node, what string) []Allow {
	rules := []Allow{}
	r.items(v, what, maxRules, func(item *yaml.Node) {
		var rule Allow
		if item.Kind != yaml.MappingNode {
			rule.Calls = r.text(item, what)
			rules = append(rules, rule)
			return
		}
		named := false
		r.record(item, what, []field{
			{"calls", func(v *yaml.Node) { rule.Calls, named = r.text(v, "calls"), true }},
			{"regions", func(v *yaml.Node) { rule.Regions = r.texts(v, "regions") }},
			{"roles", func(v *yaml.Node) { rule.Roles = r.texts(v, "roles") }},
			{"accounts", func(v *yaml.Node) { rule.Accounts = r.texts(v, "accounts") }},
		})
		if !named {
			r.problem(item, "%s: calls is missing: it says what may be called, for example calls: ssm:GetParameter", what)
		}
		rules = append(rules, rule)
	})
	return rules
}

// texts reads a list of strings. An empty list is an error, because it would mean the same as no list, which is
// misleading.
func (r *reader) texts(v *yaml.Node, what string) []string {
	var texts []string
	r.items(v, what, maxRules, func(item *yaml.Node) { texts = append(texts, r.text(item, what)) })
	if v.Kind == yaml.SequenceNode && len(v.Content) == 0 {
		r.problem(v, "%s is empty: add entries, or omit it", what)
	}
	return texts
}

func (r *reader) items(v *yaml.Node, what string, limit int, read func(item *yaml.Node)) {
	switch {
	case v.Kind != yaml.SequenceNode:
		r.problem(v, "%s: want a list, got a %s", what, kind(v))
	case len(v.Content) > limit:
		r.problem(v, "%s: %d entries are more than %d", what, len(v.Content), limit)
	default:
		for _, item := range v.Content {
			read(item)
		}
	}
}
