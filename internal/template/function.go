package template

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/dynamic"
	"github.com/pintle-dev/pintle/internal/value"
)

// place is where in a template a function is called.
type place uint8

const (
	inProperties place = 1 << iota
	inMetadata
	inConditions
	inOutputs
	inExportName
	inCreationPolicy
	inRules

	anywhere = inProperties | inMetadata | inConditions | inOutputs | inExportName | inCreationPolicy
)

// String returns how a place is called in messages.
func (p place) String() string {
	switch p {
	case inProperties:
		return "Properties"
	case inMetadata:
		return "Metadata"
	case inConditions:
		return "Conditions"
	case inOutputs:
		return "Outputs"
	case inExportName:
		return "the name of an Export"
	case inCreationPolicy:
		return "a CreationPolicy"
	case inRules:
		return "Rules"
	case anywhere:
		return "any place"
	}
	return "several places"
}

// function is one function of the language. The families, one file each, are reference, text, sub, choice, mapping and
// logic.
type function struct {
	// places are where the function may be called.
	places place
	// check tells what is wrong with the shape of an argument. What it lets pass, evaluate may rely on.
	check func(s *shapes, argument Node, where path)
	// evaluate returns the value of a call, null for AWS::NoValue. It is nil if the result is a truth value.
	evaluate func(e *evaluation, argument Node) (value.Value, error)
	// truth decides a call whose result is a truth value; nil for all others.
	truth func(e *evaluation, argument Node) (bool, error)
}

// functionNames are the functions [functionNamed] knows, in CloudFormation's order. Condition is a function only where
// a truth value is wanted.
func functionNames() []string {
	return []string{
		"Fn::Base64", "Fn::GetAtt", "Fn::ImportValue", "Fn::Join", "Fn::Split", "Fn::FindInMap", "Fn::Select", "Ref", "Fn::Equals",
		"Fn::If", "Fn::Not", "Condition", "Fn::And", "Fn::Or", "Fn::Sub", "Fn::GetStackOutput",
	}
}

// functionNamed returns a function of the language; false for a name that is none, or none yet.
func functionNamed(name string) (function, bool) {
	switch name {
	case "Ref":
		return function{anywhere | inRules, checkRef, evaluateRef, nil}, true
	case "Fn::GetAtt":
		return function{anywhere &^ (inConditions | inExportName | inCreationPolicy), checkGetAtt, evaluateGetAtt, nil}, true
	case "Fn::Sub":
		return function{anywhere, checkSub, evaluateSub, nil}, true
	case "Fn::Join":
		return function{anywhere, checkJoin, evaluateJoin, nil}, true
	case "Fn::Split":
		return function{anywhere, checkSplit, evaluateSplit, nil}, true
	case "Fn::Base64":
		return function{anywhere &^ inConditions, checkBase64, evaluateBase64, nil}, true
	case "Fn::Select":
		return function{anywhere, checkSelect, evaluateSelect, nil}, true
	case "Fn::FindInMap":
		return function{anywhere, checkFindInMap, evaluateFindInMap, nil}, true
	case "Fn::If":
		return function{anywhere, checkIf, evaluateIf, nil}, true
	case "Fn::ImportValue":
		return function{anywhere &^ (inConditions | inExportName), checkImportValue, evaluateImportValue, nil}, true
	case "Fn::GetStackOutput":
		return function{anywhere &^ (inConditions | inExportName), checkGetStackOutput, evaluateGetStackOutput, nil}, true
	case "Fn::Equals":
		return function{inConditions | inRules, checkEquals, nil, decideEquals}, true
	case "Fn::And":
		return function{inConditions | inRules, checkAnd, nil, decideAnd}, true
	case "Fn::Or":
		return function{inConditions | inRules, checkOr, nil, decideOr}, true
	case "Fn::Not":
		return function{inConditions | inRules, checkNot, nil, decideNot}, true
	case "Condition":
		return function{inConditions, checkCondition, nil, decideCondition}, true
	case "Fn::Contains":
		return function{inRules, checkContains, nil, decideRule}, true
	case "Fn::EachMemberEquals":
		return function{inRules, checkEachMemberEquals, nil, decideRule}, true
	case "Fn::EachMemberIn":
		return function{inRules, checkEachMemberIn, nil, decideRule}, true
	case "Fn::RefAll":
		return function{inRules, checkRefAll, nil, nil}, true
	case "Fn::ValueOf":
		return function{inRules, checkValueOf, nil, nil}, true
	case "Fn::ValueOfAll":
		return function{inRules, checkValueOfAll, nil, nil}, true
	}
	return function{}, false
}

// isLater reports whether a function is one of CloudFormation's that this version lacks.
func isLater(name string) bool {
	switch name {
	case "Fn::Cidr", "Fn::GetAZs", "Fn::Transform", "Fn::Length", "Fn::ToJsonString":
		return true
	}
	return name == "Fn::ForEach" || strings.HasPrefix(name, "Fn::ForEach::")
}

// shapes checks how functions are called. It knows no names: what a reference means is checked when all are known.
type shapes struct {
	*problems
	in place
	// linked says that lookups carry their mapping, as they do in a template that was parsed.
	linked bool
	// dynamic counts the dynamic references, of which there may be so many; nil does not.
	dynamic *int
	limit   int
}

// node checks a tree in which functions may be called.
func (s *shapes) node(n Node, where path) {
	if name, argument, ok := n.call(); ok {
		s.call(n, name, argument, where.to(name))
		return
	}
	if m, stray := n.strayFunction(); stray {
		s.key(m, where.to(m.Key), "Template error: %s must be the only key of its object.", m.Key)
		return
	}
	switch n.kind {
	case value.String:
		s.references(n, where)
	case value.List:
		for i, item := range n.items {
			s.node(item, where.to(strconv.Itoa(i)))
		}
	case value.Map:
		for _, m := range n.members {
			s.node(m.Value, where.to(m.Key))
		}
	case value.Null, value.Bool, value.Number:
	}
}

// references checks the dynamic references in a text, and counts them.
func (s *shapes) references(n Node, where path) {
	if s.in != inProperties {
		return // nothing resolves them there
	}
	found, err := dynamic.Find(n.text)
	if err != nil {
		s.at(n, where, "%s", err)
	}
	if s.dynamic == nil {
		return
	}
	before := *s.dynamic
	if *s.dynamic += len(found); *s.dynamic > s.limit && before <= s.limit {
		s.at(n, where, "Template format error: Number of dynamic references is greater than maximum allowed, %d", s.limit)
	}
}

func (s *shapes) call(n Node, name string, argument Node, where path) {
	f, ok := functionNamed(name)
	switch {
	case isLater(name):
		s.at(n, where, "Template error: the function %s is not supported by this version of Pintle.", name)
	case !ok:
		s.at(n, where, "Template error: Encountered unsupported function: %s Supported functions are: [%s]",
			name, strings.Join(functionNames(), ", "))
	case f.places&s.in == 0 && s.in == inExportName && len(where) > 1 && f.truth == nil:
		s.at(n, where, "Template format error: Output %s is malformed. %s", where[1], exportDependsMessage)
	case f.places&s.in == 0 && fetches(name):
		s.at(n, where, "Template error: Cannot use %s in %s", name, s.in)
	case f.places&s.in == 0:
		s.at(n, where, "Template error: %s cannot be used in %s.", name, s.in)
	default:
		f.check(s, argument, where)
	}
}

// string checks an argument that must become a string: a scalar, or a call that may return one.
func (s *shapes) string(n Node, where path, message string) {
	if _, _, call := n.call(); !call && !n.isScalar() {
		s.at(n, where, "%s", message)
		return
	}
	s.node(n, where)
}

// strings checks an argument that must become a list of strings: such a list, or a call that may return one.
func (s *shapes) strings(n Node, where path, message string) {
	if n.kind != value.List {
		if _, _, call := n.call(); !call {
			s.at(n, where, "%s", message)
			return
		}
		s.node(n, where)
		return
	}
	for i, item := range n.items {
		s.string(item, where.to(strconv.Itoa(i)), message)
	}
}

// list returns the items of an argument that must be a list of so many; nil, with a problem, if it is not.
func (s *shapes) list(n Node, where path, lengths []int, message string) []Node {
	if n.kind != value.List || !slices.Contains(lengths, len(n.items)) {
		s.at(n, where, "%s", message)
		return nil
	}
	return n.items
}
