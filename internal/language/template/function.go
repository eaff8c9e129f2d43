package template

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// place is a set of places in a template where functions are called.
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

// String returns the name of a place in messages.
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
	case anywhere, rosAnywhere:
		return "any place"
	}
	return "several places"
}

// function is one function of the language. The families, one file each, are reference, text, sub, choice, mapping and
// logic.
type function struct {
	// places are the places where the function may be called.
	places place
	// check reports problems with the shape of an argument. evaluate may rely on its checks.
	check func(s *shapes, argument Node, where path)
	// evaluate returns the value of a call, null for AWS::NoValue. It is nil if the result is a truth value.
	evaluate func(e *evaluation, argument Node) (value.Value, error)
	// truth decides a call whose result is a truth value; nil for all others.
	truth func(e *evaluation, argument Node) (bool, error)
	// extension says that the function belongs to the transform AWS::LanguageExtensions.
	extension bool
}

// functionNames returns the functions that CloudFormation lists when it meets an unknown one, in its order.
func functionNames() []string {
	return []string{
		"Fn::Base64", "Fn::GetAtt", "Fn::GetAZs", "Fn::ImportValue", "Fn::Join", "Fn::Split", "Fn::FindInMap", "Fn::Select", "Ref",
		"Fn::Equals", "Fn::If", "Fn::Not", "Condition", "Fn::And", "Fn::Or", "Fn::Contains", "Fn::EachMemberEquals",
		"Fn::EachMemberIn", "Fn::ValueOf", "Fn::ValueOfAll", "Fn::RefAll", "Fn::Sub", "Fn::Cidr",
	}
}

// functionNamed returns a function of the language; false for an unknown or not yet supported name.
func functionNamed(name string) (function, bool) {
	switch name {
	case "Ref":
		return function{places: anywhere | inRules, check: checkRef, evaluate: evaluateRef}, true
	case "Fn::GetAtt":
		return function{places: anywhere &^ (inConditions | inExportName | inCreationPolicy), check: checkGetAtt, evaluate: evaluateGetAtt}, true
	case "Fn::Sub":
		return function{places: anywhere, check: checkSub, evaluate: evaluateSub}, true
	case "Fn::Join":
		return function{places: anywhere, check: checkJoin, evaluate: evaluateJoin}, true
	case "Fn::Split":
		return function{places: anywhere, check: checkSplit, evaluate: evaluateSplit}, true
	case "Fn::Base64":
		return function{places: anywhere &^ inConditions, check: checkBase64, evaluate: evaluateBase64}, true
	case "Fn::Select":
		return function{places: anywhere, check: checkSelect, evaluate: evaluateSelect}, true
	case "Fn::FindInMap":
		return function{places: anywhere, check: checkFindInMap, evaluate: evaluateFindInMap}, true
	case "Fn::Cidr":
		return function{places: anywhere &^ inConditions, check: checkCidr, evaluate: evaluateCidr}, true
	case "Fn::GetAZs":
		return function{places: anywhere &^ (inConditions | inExportName), check: checkGetAZs, evaluate: evaluateGetAZs}, true
	case "Fn::Length":
		return function{places: anywhere, check: checkLength, evaluate: evaluateLength, extension: true}, true
	case "Fn::ToJsonString":
		return function{places: anywhere, check: checkToJSONString, evaluate: evaluateToJSONString, extension: true}, true
	case "Fn::If":
		return function{places: anywhere, check: checkIf, evaluate: evaluateIf}, true
	case "Fn::ImportValue":
		return function{places: anywhere &^ (inConditions | inExportName), check: checkImportValue, evaluate: evaluateImportValue}, true
	case "Fn::GetStackOutput":
		return function{places: anywhere &^ (inConditions | inExportName), check: checkGetStackOutput, evaluate: evaluateGetStackOutput}, true
	case "Fn::Equals":
		return function{places: inConditions | inRules, check: checkEquals, truth: decideEquals}, true
	case "Fn::And":
		return function{places: inConditions | inRules, check: checkAnd, truth: decideAnd}, true
	case "Fn::Or":
		return function{places: inConditions | inRules, check: checkOr, truth: decideOr}, true
	case "Fn::Not":
		return function{places: inConditions | inRules, check: checkNot, truth: decideNot}, true
	case "Condition":
		return function{places: inConditions, check: checkCondition, truth: decideCondition}, true
	case "Fn::Contains":
		return function{places: inRules, check: checkContains, truth: decideRule}, true
	case "Fn::EachMemberEquals":
		return function{places: inRules, check: checkEachMemberEquals, truth: decideRule}, true
	case "Fn::EachMemberIn":
		return function{places: inRules, check: checkEachMemberIn, truth: decideRule}, true
	case "Fn::RefAll":
		return function{places: inRules, check: checkRefAll}, true
	case "Fn::ValueOf":
		return function{places: inRules, check: checkValueOf}, true
	case "Fn::ValueOfAll":
		return function{places: inRules, check: checkValueOfAll}, true
	}
	return function{}, false
}

// shapes checks how functions are called. It does not look up names: references are checked when all names are known.
type shapes struct {
	*problems
	in place
	// linked says that lookups carry their mapping, as in a parsed template.
	linked bool
	// dynamic counts the dynamic references, up to limit; nil does not count them.
	dynamic *int
	limit   int
	// extended says that the functions of AWS::LanguageExtensions may be called.
	extended bool
	// language is the language of the template.
	language Language
}

// node checks a tree that may call functions.
func (s *shapes) node(n Node, where path) {
	if name, argument, ok := n.call(); ok {
		s.call(n, name, argument, where.to(name))
		return
	}
	if m, stray := n.strayFunction(); stray && m.Key == transformKey && s.language != ROS {
		s.call(m.Value, m.Key, m.Value, where.to(m.Key)) // only this call may have siblings
		return
	} else if stray {
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
		return // they are not resolved there
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
	if s.language == ROS {
		s.rosCall(n, name, argument, where)
		return
	}
	f, ok := s.language.functionNamed(name)
	switch {
	case name == transformKey:
		if s.transform(argument, where) {
			s.at(n, where, "%s", unknownTransform(argument.Get("Name").text))
		}
	case ok && f.extension && !s.extended:
		s.at(n, where, "Template error: Encountered unsupported function: %s Supported functions are: [%s]",
			name, strings.Join(functionNames(), ", "))
		s.explain("it is one of AWS::LanguageExtensions: add Transform: AWS::LanguageExtensions to the template")
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

// list returns the items of an argument that must be a list with one of lengths; otherwise it adds a problem and
// returns nil.
func (s *shapes) list(n Node, where path, lengths []int, message string) []Node {
	if n.kind != value.List || !slices.Contains(lengths, len(n.items)) {
		s.at(n, where, "%s", message)
		return nil
	}
	return n.items
}
