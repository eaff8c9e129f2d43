package template

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// maxLocalDepth is the maximum depth of references between local variables. Source: ROS, template section Locals.
const maxLocalDepth = 5

// dataSource begins the names of types that read existing resources.
const dataSource = "DATASOURCE::"

// localNode is the size of a list, a map or a scalar in addition to its text when local variables are replaced.
const localNode = 16

// Local is a local variable of a ROS template that reads a data source.
type Local struct {
	Name string
	// Type is the data source, e.g. DATASOURCE::VPC::Vpcs.
	Type string
	// Line and Column are the position of the name.
	Line, Column int
}

// local is one local variable.
type local struct {
	Member
	value  Node
	kind   string // the type of the data source that it reads
	source bool   // it reads a data source
	eval   bool   // its value must not depend on resources
	state  int    // of its expansion: 0 not begun, 1 in progress, 2 done
	depth  int
	size   int
}

// locals replaces the local variables of one template by their values.
type locals struct {
	rosParser
	root   Node
	byName map[string]*local
	// left is the number of bytes that may still be created.
	left int
}

// withoutLocals returns a template without its section Locals: each reference to a local variable is replaced by the
// variable's value. The results of a data source are unknown, so its attributes are replaced by the results of
// [ROSStandIn].
//
// ROS computes the value of type Eval before it replaces it. Functions have no side effects, so both types give the
// same result. Source: ROS, template section Locals.
func (p rosParser) withoutLocals(root Node) Node {
	section := root.Get("Locals")
	if section.IsZero() {
		return root
	}
	l := &locals{rosParser: p, root: root, byName: make(map[string]*local), left: min(processedBytes(p.template.limits.Bytes), mostBytes)}
	p.template.Locals = true
	where := path{"Locals"}
	l.rosDeclared(section, where, p.template.limits.Mappings, "a local variable", l.declare)
	for _, m := range section.members {
		if v := l.byName[m.Key]; v != nil {
			l.expand(v)
		}
	}
	made := root
	made.members = nil
	for _, m := range root.members {
		switch m.Key {
		case "Locals":
			continue
		case "Conditions", "Rules", "Resources", "Outputs":
			m.Value = l.replace(m.Value, nil)
		}
		made.members = append(made.members, m)
	}
	if l.left < 0 {
		p.coded(rosValidationFailed, section, where, "The template is longer than %d bytes when its local variables are replaced.",
			processedBytes(p.template.limits.Bytes))
		return root
	}
	return made
}

// declare reads the declaration of a local variable.
func (l *locals) declare(m Member, where path) {
	v := &local{Member: m, value: m.Value.Get("Value")}
	for _, field := range m.Value.members {
		at := where.to(field.Key)
		switch field.Key {
		case "Type":
			kind := l.rosTextOf(field.Value, at, "Macro, Eval or the type of a data source")
			v.kind, v.source, v.eval = kind, strings.HasPrefix(kind, dataSource), kind == "Eval"
			switch {
			case v.source:
				l.template.Sources = append(l.template.Sources, Local{m.Key, kind, m.line, m.column})
			case kind != "" && kind != "Macro" && !v.eval:
				l.coded(rosValidationFailed, field.Value, at, "The type %s of the local variable %s is not Macro, Eval or a data source.", kind, m.Key)
			}
		case "Value", "Properties", "Description":
		default:
			l.codedKey(rosValidationFailed, field, at, "The attribute %s of the local variable %s is not supported.", field.Key, m.Key)
			l.explain("a local variable has Type and Value, or the Type of a data source and Properties")
		}
	}
	if v.value.IsZero() && !v.source {
		l.codedKey(rosValidationFailed, m, where, "The local variable %s has no Value.", m.Key)
	}
	for _, section := range []struct{ name, what string }{{"Parameters", "parameter"}, {"Resources", "resource"}} {
		if slices.ContainsFunc(l.root.Get(section.name).members, func(other Member) bool { return other.Key == m.Key }) {
			l.codedKey(rosValidationFailed, m, where, "%s is both a local variable and a %s.", m.Key, section.what)
		}
	}
	if properties := m.Value.Get("Properties"); v.source && !properties.IsZero() {
		l.rosMap(properties, where.to("Properties"))
		v.value = properties // so that its names are looked up
	}
	l.byName[m.Key] = v
}

// expand replaces the local variables in the value of a local variable.
func (l *locals) expand(v *local) {
	where := path{"Locals", v.Key}
	switch {
	case v.state == 1:
		l.codedKey(rosCircular, v.Member, where, "Circular Dependency Found: %s.", v.Key)
		return
	case v.state == 2:
		return
	}
	v.state, v.depth = 1, 1
	v.value = l.replace(v.value, v)
	v.state, v.size = 2, v.value.bytes()
	if v.depth > maxLocalDepth {
		l.codedKey(rosValidationFailed, v.Member, where, "The local variable %s is made of others %d levels deep, which is more than %d.",
			v.Key, v.depth, maxLocalDepth)
	}
	if v.eval || v.source {
		l.checkEval(v, where)
	}
}

// checkEval reports references to resources in a value that is computed before resources exist.
func (l *locals) checkEval(v *local, where path) {
	parameters := l.parameterKeys()
	uses(v.value, nil, func(u use) {
		if u.kind != useCondition && (u.kind == useGetAtt || !l.template.Language.isPseudo(u.name) && !parameters[u.name]) {
			l.coded(rosInvalidReference, u.at, where, "%s", rosReference(u.name, where))
			l.explain("the Value of a local variable of type Eval may refer to parameters and local variables only")
		}
	})
}

// parameterKeys returns the names of the parameters, which may not have been read yet.
func (l *locals) parameterKeys() map[string]bool {
	names := make(map[string]bool)
	for _, p := range l.root.Get("Parameters").members {
		names[p.Key] = true
	}
	return names
}

// replace returns a tree with references to local variables replaced by their values. within is the local variable that
// the tree belongs to; may be nil.
func (l *locals) replace(n Node, within *local) Node {
	if l.left < 0 {
		return n
	}
	name, argument, call := n.call()
	if call && name == "Ref" {
		if v := l.byName[argument.text]; v != nil {
			return l.of(v, n, within)
		}
	}
	if call && name == "Fn::GetAtt" {
		of, attribute := getAttParts(argument)
		if v := l.byName[of]; v != nil && v.source {
			l.enter(v, within)
			return nodeOf(ROSStandIn(v.kind, v.Key, attribute.text), n)
		}
	}
	made := n
	if n.items != nil {
		made.items = make([]Node, len(n.items))
		for i, item := range n.items {
			made.items[i] = l.replace(item, within)
		}
	}
	if n.members != nil {
		made.members = slices.Clone(n.members)
		for i := range made.members {
			made.members[i].Value = l.replace(made.members[i].Value, within)
		}
	}
	return made
}

// enter expands a local variable that is used in the value of another one, or elsewhere.
func (l *locals) enter(v, within *local) {
	l.expand(v)
	if within != nil {
		within.depth = max(within.depth, v.depth+1)
	}
}

// of returns the value of a reference to a local variable. The value of a data source is its name.
func (l *locals) of(v *local, reference Node, within *local) Node {
	l.enter(v, within)
	if v.source {
		return Node{kind: value.String, text: v.Key, line: reference.line, column: reference.column}
	}
	if l.left -= v.size; l.left < 0 {
		return reference
	}
	return v.value
}

// bytes returns the approximate size of a tree.
func (n Node) bytes() int {
	size := localNode + len(n.text)
	for _, item := range n.items {
		size += item.bytes()
	}
	for _, m := range n.members {
		size += len(m.Key) + m.Value.bytes()
	}
	return size
}
