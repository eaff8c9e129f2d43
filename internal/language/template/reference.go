package template

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	refMessage    = "Template error: All References must be of type string"
	getAttMessage = "Template error: every Fn::GetAtt object requires two non-empty parameters, the resource name and the resource attribute"
)

func checkRef(s *shapes, argument Node, where path) {
	switch {
	case argument.kind != value.String:
		s.at(argument, where, refMessage)
	case (s.in == inConditions || s.in == inRules) && argument.text == noValue:
		s.at(argument, where, "Template error: %s cannot be used in %s.", argument.text, s.in)
	}
}

func evaluateRef(e *evaluation, argument Node) (value.Value, error) {
	return e.reference(argument, argument.text)
}

// reference returns the value of a parameter, a pseudo parameter or a resource.
func (e *evaluation) reference(n Node, name string) (value.Value, error) {
	if v, ok := e.scope.variable(name); ok {
		return v, nil
	}
	if e.resources != nil {
		if v, ok := e.resources.PhysicalID(name); ok {
			return v, nil
		}
	}
	return value.Value{}, e.fail(n, "%s", unresolved("Resources", name))
}

func checkGetAtt(s *shapes, argument Node, where path) {
	logical, attribute := getAttParts(argument)
	function, name, call := attribute.call()
	switch {
	case logical == "" || attribute.IsZero():
		s.at(argument, where, getAttMessage)
	case call && function == "Ref" && name.kind == value.String:
	case !attribute.isScalar() || attribute.text == "":
		s.at(argument, where, getAttMessage)
	}
}

// getAttParts returns the logical ID and the attribute in an argument of Fn::GetAtt; "" if it has the wrong shape. A
// logical ID contains no dots, so the first dot ends it; the attribute may contain more.
func getAttParts(argument Node) (logicalID string, attribute Node) {
	switch {
	case argument.kind == value.String:
		logical, name, _ := strings.Cut(argument.text, ".")
		return logical, Node{kind: value.String, text: name, line: argument.line, column: argument.column}
	case argument.kind == value.List && len(argument.items) == 2 && argument.items[0].kind == value.String:
		return argument.items[0].text, argument.items[1]
	}
	return "", Node{}
}

func evaluateGetAtt(e *evaluation, argument Node) (value.Value, error) {
	logical, attribute := getAttParts(argument)
	name, err := e.string(attribute, getAttMessage)
	if err != nil {
		return value.Value{}, err
	}
	v, err := e.attribute(argument, logical, name.Text())
	return v.Tainted(name.Secrecy()), err
}

func (e *evaluation) attribute(n Node, logicalID, name string) (value.Value, error) {
	if e.resources == nil {
		return value.Value{}, e.fail(n, "%s", undefined(logicalID))
	}
	return e.resources.Attribute(logicalID, name)
}

func undefined(logicalID string) string {
	return "Template error: instance of Fn::GetAtt references undefined resource " + logicalID
}

// unresolved returns CloudFormation's text for unknown names. In the Outputs block it has no prefix.
func unresolved(block string, names ...string) string {
	text := "Unresolved resource dependencies [" + strings.Join(names, ", ") + "] in the " + block + " block of the template"
	if block == "Outputs" {
		return text
	}
	return "Template format error: " + text
}

// Reference is one use of a resource.
type Reference struct {
	// Resource is the logical ID.
	Resource string
	// Attribute is the name of the attribute, "" for the physical ID. If a parameter names the attribute and the scope
	// is unknown, it is "${" + the parameter's name + "}". If it is computed in another way, as ROS allows, it is
	// "${}".
	Attribute string
	// Line and Column are the position of the reference.
	Line, Column int
}

// References returns the resources that the properties use in all branches, each use once, in the order of the text.
func (r *Resource) References() []Reference { return references(r.Properties, nil, r.parameters) }

// ReferencesIn is [Resource.References] for the branches selected in a scope.
func (r *Resource) ReferencesIn(s *Scope) []Reference {
	return references(r.Properties, s, r.parameters)
}

// references returns the names in n that are not parameters.
func references(n Node, s *Scope, parameters []string) []Reference {
	type key struct{ resource, attribute string }
	seen := make(map[key]bool)
	var list []Reference
	uses(n, s, func(u use) {
		if u.kind == useCondition || CloudFormation.isPseudo(u.name) || ROS.isPseudo(u.name) || slices.Contains(parameters, u.name) {
			return
		}
		found := u.reference(s)
		if k := (key{found.Resource, found.Attribute}); !seen[k] {
			seen[k] = true
			list = append(list, found)
		}
	})
	return list
}

// computedAttribute is the attribute of a Fn::GetAtt whose name is computed, but not by a parameter.
const computedAttribute = "${}"

// use is one name that a tree refers to.
type use struct {
	kind useKind
	name string
	// attribute is the attribute of a GetAtt; parameter is instead the parameter that names it.
	attribute, parameter string
	at                   Node
	// maybe says that the name is in a branch that may not be selected.
	maybe bool
}

type useKind uint8

const (
	useRef       useKind = iota // Ref, or a variable of Fn::Sub
	useGetAtt                   // Fn::GetAtt
	useDotted                   // a variable of Fn::Sub with a dot
	useCondition                // the condition of Fn::If, or Condition
)

func (u use) reference(s *Scope) Reference {
	attribute := u.attribute
	if u.parameter != "" {
		attribute = "${" + u.parameter + "}"
		if s != nil {
			if v, ok := s.variable(u.parameter); ok {
				attribute = v.Text()
			}
		}
	}
	return Reference{u.name, attribute, u.at.line, u.at.column}
}

// uses calls found for every name in a tree of functions, in the order of the text. With a scope it follows only the
// selected branches.
func uses(n Node, s *Scope, found func(use)) {
	w := &walk{scope: s, found: found}
	w.node(n, false)
}

type walk struct {
	scope *Scope
	found func(use)
	// call is called for every function, before those in its argument. It may be nil.
	call func(name string, argument Node)
	// undecided are conditions whose branches are both followed, even with a scope.
	undecided map[string]bool
	// truth says that Condition is a function too, as it is in the Conditions section.
	truth bool
}

func (w *walk) node(n Node, maybe bool) {
	name, argument, ok := n.call()
	if w.truth {
		name, argument, ok = n.truthCall()
	}
	if !ok {
		for _, item := range n.items {
			w.node(item, maybe)
		}
		for _, m := range n.members {
			w.node(m.Value, maybe)
		}
		return
	}
	if w.call != nil {
		w.call(name, argument)
	}
	switch name {
	case "Ref":
		w.found(use{kind: useRef, name: argument.text, at: argument, maybe: maybe})
	case "Fn::GetAtt":
		logical, attribute := getAttParts(argument)
		u := use{kind: useGetAtt, name: logical, attribute: attribute.text, at: argument, maybe: maybe}
		if function, parameter, ok := attribute.call(); ok {
			u.parameter, u.attribute = parameter.text, computedAttribute
			if function != "Ref" { // as in ROS
				u.parameter = ""
			}
			w.node(attribute, maybe)
		}
		w.found(u)
	case "Fn::Sub":
		w.sub(argument, maybe)
	case "Condition":
		w.found(use{kind: useCondition, name: argument.text, at: argument, maybe: maybe})
	case "Fn::If":
		w.branches(argument, maybe)
	case "Fn::And", "Fn::Or", "Fn::Not":
		w.operands(argument, maybe)
	case "Fn::FindInMap":
		for i, item := range argument.items {
			switch i {
			case lookupReach: // data, even if its keys look like functions
			case lookupDefault:
				w.node(item, true)
			default:
				w.node(item, maybe)
			}
		}
	default:
		w.node(argument, maybe)
	}
}

// operands follows the operands of a boolean function. In ROS, an operand that is a text is the name of a condition.
func (w *walk) operands(argument Node, maybe bool) {
	operands := argument.items
	if argument.kind != value.List {
		operands = []Node{argument}
	}
	for _, operand := range operands {
		if operand.kind == value.String {
			w.found(use{kind: useCondition, name: operand.text, at: operand, maybe: maybe})
			continue
		}
		w.node(operand, maybe)
	}
}

func (w *walk) sub(argument Node, maybe bool) {
	text, variables := subParts(argument)
	own := subVariables(variables)
	for _, part := range splitSub(text.text) {
		if _, defined := own[part.text]; !part.variable || defined {
			continue
		}
		u := use{kind: useRef, name: part.text, at: text, maybe: maybe}
		if logical, attribute, dotted := strings.Cut(part.text, "."); dotted {
			u.kind, u.name, u.attribute = useDotted, logical, attribute
		}
		w.found(u)
	}
	w.node(variables, maybe)
}

func (w *walk) branches(argument Node, maybe bool) {
	test, then, otherwise := ifParts(argument)
	w.found(use{kind: useCondition, name: test.text, at: test, maybe: maybe})
	if w.scope == nil || w.undecided[test.text] {
		w.node(then, true)
		w.node(otherwise, true)
		return
	}
	if w.scope.Conditions[test.text] {
		w.node(then, maybe)
	} else {
		w.node(otherwise, maybe)
	}
}
