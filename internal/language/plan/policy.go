package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxPolicy is the size of a stack policy in bytes. Source: CloudFormation, StackPolicyBody.
const MaxPolicy = 16384

// Action is a kind of change that a stack policy allows or denies.
type Action string

// The actions.
const (
	ActionModify  Action = "Update:Modify"
	ActionReplace Action = "Update:Replace"
	ActionDelete  Action = "Update:Delete"
)

// Policy is a stack policy: it says which updates are allowed for which resources. Actions that no statement allows are
// denied, and a denial takes precedence. Source: CloudFormation User Guide, prevent updates to stack resources.
type Policy struct {
	statements []statement
}

type statement struct {
	Sid         string
	Effect      string
	Principal   any
	Action      names
	NotAction   names
	Resource    names
	NotResource names
	Condition   map[string]map[string]names
}

// names is one text or a list of texts.
type names []string

// UnmarshalJSON reads either form.
func (n *names) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(n))
}

const resourcePrefix = "LogicalResourceId/"

// ParsePolicy parses a stack policy. The empty object, with which clients clear a policy, gives nil. The error
// describes the problem and its place.
func ParsePolicy(text string) (*Policy, error) {
	if len(text) > MaxPolicy {
		return nil, fmt.Errorf("it has %d bytes; at most %d are allowed", len(text), MaxPolicy)
	}
	var document struct {
		Version   string
		ID        string `json:"Id"`
		Statement json.RawMessage
	}
	if err := strictly([]byte(text), &document); err != nil {
		return nil, err
	}
	if strings.Join(strings.Fields(text), "") == "{}" {
		return nil, nil // how clients clear a policy
	}
	var policy Policy
	var list []json.RawMessage
	switch trimmed := bytes.TrimSpace(document.Statement); {
	case len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")):
		return nil, errors.New("it has no Statement")
	case trimmed[0] == '{':
		list = []json.RawMessage{trimmed}
	default:
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return nil, errors.New("Statement must be a list of objects") //nolint:staticcheck // a member's name
		}
	}
	for i, raw := range list {
		var s statement
		err := strictly(raw, &s)
		if err == nil {
			err = s.check()
		}
		if err != nil {
			return nil, fmt.Errorf("statement #%d: %w", i+1, err)
		}
		policy.statements = append(policy.statements, s)
	}
	return &policy, nil
}

func strictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text names Go types
			return fmt.Errorf("%s must not be a JSON %s", cmp.Or(wrong.Field, "the policy"), wrong.Value)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

func (s *statement) check() error {
	switch {
	case s.Effect != "Allow" && s.Effect != "Deny":
		return errors.New("Effect must be Allow or Deny") //nolint:staticcheck // a member's name
	case !anyone(s.Principal):
		return errors.New(`Principal must be "*"`) //nolint:staticcheck // a member's name
	case (s.Action == nil) == (s.NotAction == nil):
		return errors.New("one of Action and NotAction is needed")
	case (s.Resource == nil) == (s.NotResource == nil):
		return errors.New("one of Resource and NotResource is needed")
	}
	for _, action := range slices.Concat(s.Action, s.NotAction) {
		if !slices.Contains([]string{"*", "Update:*", string(ActionModify), string(ActionReplace), string(ActionDelete)}, action) {
			return fmt.Errorf("there is no action %q: use Update:Modify, Update:Replace, Update:Delete or Update:*", action)
		}
	}
	for _, resource := range slices.Concat(s.Resource, s.NotResource) {
		if resource != "*" && !strings.HasPrefix(resource, resourcePrefix) {
			return fmt.Errorf("resource %q: use LogicalResourceId/ and a logical ID, or *", resource)
		}
	}
	for operator, keys := range s.Condition {
		if operator != "StringEquals" && operator != "StringLike" {
			return fmt.Errorf("there is no condition %q: use StringEquals or StringLike", operator)
		}
		for key := range keys {
			if key != "ResourceType" {
				return fmt.Errorf("condition %s: there is no key %q: use ResourceType", operator, key)
			}
		}
	}
	return nil
}

// anyone reports whether a Principal is everyone, the only allowed principal.
func anyone(principal any) bool {
	if of, ok := principal.(map[string]any); ok && len(of) == 1 {
		principal = of["AWS"]
	}
	return principal == "*"
}

// Denies returns why the policy denies an action on a resource, in CloudFormation's words; "" if it allows it. A nil
// policy allows everything.
func (p *Policy) Denies(action Action, logical, resourceType string) string {
	if p == nil {
		return ""
	}
	allowed := false
	for i, s := range p.statements {
		if !s.covers(action, logical, resourceType) {
			continue
		}
		if s.Effect == "Deny" {
			return fmt.Sprintf("Action denied by stack policy: Statement [#%d] does not allow [%s] for resource [%s%s];",
				i+1, action, resourcePrefix, logical)
		}
		allowed = true
	}
	if allowed {
		return ""
	}
	return fmt.Sprintf("Action denied by stack policy: no statement allows [%s] for resource [%s%s];", action, resourcePrefix, logical)
}

func (s *statement) covers(action Action, logical, resourceType string) bool {
	if s.Action.match(string(action)) == (s.Action == nil) || s.Resource.match(resourcePrefix+logical) == (s.Resource == nil) {
		return false
	}
	if s.NotAction.match(string(action)) || s.NotResource.match(resourcePrefix+logical) {
		return false
	}
	for operator, keys := range s.Condition {
		for _, types := range keys {
			if operator == "StringEquals" && !slices.Contains(types, resourceType) || operator == "StringLike" && !types.match(resourceType) {
				return false
			}
		}
	}
	return true
}

// match reports whether one of the patterns matches a text.
func (n names) match(text string) bool {
	return slices.ContainsFunc(n, func(pattern string) bool { return like(pattern, text) })
}

// like matches a pattern in which * stands for any characters and ? for one. Its time is at most proportional to the
// product of the lengths.
func like(pattern, text string) bool {
	star, back := -1, 0 // position of the last *, and the end of its match in the text
	p, t := 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star >= 0:
			back++
			p, t = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
