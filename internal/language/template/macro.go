package template

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	transformInclude = "AWS::Include"
	transformSection = "Transform"
)

// maxCalls is the maximum number of macro calls in a template: the whole template is read after each. Source: ours.
const maxCalls = 500

// mostEscaped is the maximum factor by which escaping lengthens a text in JSON.
const mostEscaped = 6

// Unexpanded is a template whose macros have not all run. Until then, its text need not be a valid template. It is
// immutable. Macros run in CloudFormation's order: first those called inside the template by Fn::Transform, from the
// innermost outwards, then those of the section Transform, from the first to the last.
type Unexpanded struct {
	// Parameters are the parameters that the text declares, in order.
	Parameters []*Parameter
	// Description is the text's description, which may be "".
	Description string

	root   Node
	limits Limits
}

// Transform is one call of a macro.
type Transform struct {
	// Name is the name as written: a macro's name may have an account number and two colons in front.
	Name string
	// Parameters are the parameters as written; may be absent.
	Parameters Node
	// Fragment is the macro's input. For a Fn::Transform it is the content next to the call. For the section Transform
	// it is the template without that section.
	Fragment Node
	// Path is the place of the call; "" for one in the section.
	Path string

	at   path
	node Node
	// then are the calls that follow in the list of one Fn::Transform; may be absent.
	then Node
}

// Listed reports whether the call is in the section Transform, whose macros process the whole template.
func (t *Transform) Listed() bool { return t.at == nil }

// Macro reports whether a request expands the call: it is one of a user's macro, or [Serverless].
func (t *Transform) Macro() bool { return isMacro(t.Name) }

// isMacro reports whether a request expands a transform of this name.
func isMacro(name string) bool { return name == Serverless || !strings.HasPrefix(name, "AWS::") }

// macroName matches the name of a macro. Source: CloudFormation, AWS::CloudFormation::Macro.
var macroName = regexp.MustCompile(`^(?:([0-9]{12})::)?([-_0-9A-Za-z]{1,255})$`)

// SplitMacro returns the account in the name of a macro, or "", and the name itself; false for an invalid name.
func SplitMacro(written string) (account, name string, ok bool) {
	match := macroName.FindStringSubmatch(written)
	if match == nil {
		return "", "", false
	}
	return match[1], match[2], true
}

// ReadUnexpanded parses a template and checks only its parameters and its macro calls. The error is an [Errors].
func ReadUnexpanded(body string, limits Limits) (*Unexpanded, error) {
	root, err := Read(body, limits)
	if err != nil {
		return nil, err
	}
	return newUnexpanded(root, limits.withDefaults())
}

func newUnexpanded(root Node, limits Limits) (*Unexpanded, error) {
	p := &parser{template: &Template{limits: limits}}
	if root.kind != value.Map {
		p.at(root, nil, "Template format error: unsupported structure.")
		return nil, p.found
	}
	for _, m := range root.members {
		switch {
		case m.Key == "Parameters" && m.Value.Get(transformKey).IsZero():
			parameterParser{p}.parameters(m.Value, path{m.Key})
		case m.Key == "Description":
			p.template.Description = p.text(m.Value, path{m.Key}, m.Key)
		}
	}
	u := &Unexpanded{Parameters: p.template.Parameters, Description: p.template.Description, root: root, limits: limits}
	calls := u.calls()
	if len(calls) > maxCalls {
		p.at(root, nil, "Template format error: the template calls macros %d times, the maximum allowed is %d.", len(calls), maxCalls)
	}
	for _, call := range calls {
		if call.Name == "" {
			p.at(call.node, call.at, transformName)
		}
	}
	if size, deep := root.extent(MaxDepth); deep {
		p.add(tooDeep(root, nil))
	} else if size > limits.Bytes || size > limits.Bytes/mostEscaped && len(u.Text()) > limits.Bytes {
		p.at(root, nil, "Template may not exceed %d bytes in size.", limits.Bytes)
	}
	if len(p.found) > 0 {
		return nil, p.found
	}
	return u, nil
}

// BadCall reports whether an error of [ReadUnexpanded] is about a macro call.
func BadCall(err error) bool {
	all, ok := errors.AsType[Errors](err)
	return ok && slices.ContainsFunc(all, func(e *Error) bool { return e.Message == transformName })
}

// Text returns the template as JSON, with its keys in order. YAML short forms of functions become long forms.
func (u *Unexpanded) Text() string { return u.root.Value().String() }

// Outline returns a template with the parts that are known before the macros run: it has no resources, conditions and
// outputs.
func (u *Unexpanded) Outline() *Template {
	t := newTemplate("", u.limits)
	t.Description, t.Parameters, t.declared = u.Description, u.Parameters, u.Transforms()
	if version := u.root.Get("AWSTemplateFormatVersion"); version.kind == value.String {
		t.Version = version.text
	}
	if metadata := u.root.Get("Metadata"); metadata.kind == value.Map {
		t.Metadata = metadata
	}
	return t
}

// Extended returns the template after its next call, which is AWS::LanguageExtensions, when other calls follow. The
// rest of the template must be valid without these. The error is an [Errors].
func (u *Unexpanded) Extended(s *Scope) (*Unexpanded, error) {
	p := &parser{template: newTemplate(u.Text(), u.limits)}
	_, root := u.root.without(transformSection)
	var globals Node
	if p.template.incomplete = u.serverless(); p.template.incomplete {
		globals, root = root.without(globalsSection)
	}
	t, err := p.whole(root.extending())
	if err != nil {
		return nil, err
	}
	made, _, err := t.Process(s)
	if err != nil {
		return nil, err
	}
	if root, err = Read(made.Processed(), u.limits); err != nil {
		return nil, err
	}
	if !globals.IsZero() {
		root = root.with(globalsSection, globals)
	}
	if rest := u.later(languageExtensions); !rest.IsZero() {
		root.members = append([]Member{{Key: transformSection, Value: rest}}, root.members...)
	}
	return newUnexpanded(root, u.limits)
}

// extending returns a template that calls only AWS::LanguageExtensions. The template has no section Transform.
func (n Node) extending() Node {
	section := Member{Key: transformSection, Value: Node{kind: value.String, text: languageExtensions, line: 1, column: 1}}
	n.members = append([]Member{section}, n.members...)
	return n
}

// serverless reports whether the section Transform calls [Serverless].
func (u *Unexpanded) serverless() bool {
	return slices.ContainsFunc(u.calls(), func(call *Transform) bool { return call.Name == Serverless })
}

// Outlined reports whether the template is the outline of one whose macros have not run.
func (t *Template) Outlined() bool { return t.declared != nil }

// ParseSubmitted is [ParseWithin] for a text that may call macros. If it does, the template is its
// [Unexpanded.Outline].
func ParseSubmitted(body string, limits Limits) (*Template, error) {
	u, err := ReadUnexpanded(body, limits)
	if err != nil || !u.Calls(true) {
		return ParseWithin(body, limits)
	}
	if err := u.Check(); err != nil {
		return nil, err
	}
	return u.Outline(), nil
}

// Bind is [Template.Bind] for the parameters alone.
func (u *Unexpanded) Bind(inputs map[string]Input, previous map[string]value.Value, pseudo Pseudo) (*Scope, error) {
	t := &Template{Parameters: u.Parameters, limits: u.limits}
	return t.Bind(inputs, previous, pseudo)
}

// Transforms returns the names of all called transforms, in the order in which they run, each once.
func (u *Unexpanded) Transforms() []string {
	var names []string
	for _, call := range u.calls() {
		if !slices.Contains(names, call.Name) {
			names = append(names, call.Name)
		}
	}
	return names
}

// Calls reports whether the template calls a macro or, if any is true, a transform of CloudFormation that processes
// text: AWS::Include.
func (u *Unexpanded) Calls(any bool) bool {
	return slices.ContainsFunc(u.calls(), func(call *Transform) bool { return call.Macro() || any && call.Include() })
}

// Foreign reports whether the template calls a transform that only AWS expands.
func (u *Unexpanded) Foreign() bool {
	return slices.ContainsFunc(u.calls(), func(call *Transform) bool {
		return !call.Macro() && !call.Include() && call.Name != languageExtensions
	})
}

// All returns all calls in the order in which they run. Their fragments are those before any call has run.
func (u *Unexpanded) All() []*Transform { return u.calls() }

// Macros returns the names of the macros that the template calls, each once. [Serverless] is one of them.
func (u *Unexpanded) Macros() []string {
	return slices.DeleteFunc(u.Transforms(), func(name string) bool { return !isMacro(name) })
}

// Check rejects calls of transforms that are neither macros nor supported transforms of CloudFormation. The error is an
// [Errors].
func (u *Unexpanded) Check() error {
	var p problems
	for _, call := range u.calls() {
		switch {
		case call.Listed() && (call.Macro() || call.Name == languageExtensions):
		case call.Name == languageExtensions, call.Name == Serverless:
			p.at(call.node, call.at, "Template format error: the transform %s is for the section Transform.", call.Name)
		case call.Macro(), call.Include():
		default:
			unsupported := &parser{template: &Template{}}
			unsupported.declaredTransform(Node{kind: value.String, text: call.Name, line: call.node.line, column: call.node.column}, call.at, 0)
			p.found = append(p.found, unsupported.found...)
		}
	}
	return p.found.orNil()
}

// Next returns the call that runs next, or nil.
func (u *Unexpanded) Next() *Transform {
	if all := u.calls(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// calls returns the calls in the order in which they run.
func (u *Unexpanded) calls() []*Transform {
	all := nested(nil, u.root, nil)
	section, rest := u.root.without(transformSection)
	list := []Node{section}
	if section.kind == value.List {
		list = section.items
	}
	for _, item := range list {
		if item.IsZero() {
			continue
		}
		call := definition(item)
		call.Fragment = rest
		all = append(all, call)
	}
	if !usesServerless(u.root) && !slices.ContainsFunc(all, func(call *Transform) bool { return call.Name != Serverless && isMacro(call.Name) }) {
		// It would leave the template unchanged. After another macro it may have something to expand.
		all = slices.DeleteFunc(all, func(call *Transform) bool { return call.Listed() && call.Name == Serverless })
	}
	return all
}

// nested adds the calls by Fn::Transform in a tree, the innermost first.
func nested(all []*Transform, n Node, where path) []*Transform {
	for i, item := range n.items {
		all = nested(all, item, where.to(strconv.Itoa(i)))
	}
	for _, m := range n.members {
		all = nested(all, m.Value, where.to(m.Key))
	}
	called, rest := n.without(transformKey)
	if called.IsZero() {
		return all
	}
	list := []Node{called}
	if called.kind == value.List && len(called.items) > 0 {
		list = called.items // one after the other: recorded answers, D7
	}
	for i, one := range list {
		call := definition(one)
		call.Fragment, call.at, call.Path = rest, where, where.to(transformKey).String()
		if call.at == nil {
			call.at = path{} // next to the sections
		}
		call.node = n
		if rest := list[i+1:]; len(rest) > 0 {
			call.then = called
			call.then.items = rest
		}
		all = append(all, call)
	}
	return all
}

// definition reads the definition of a call: a name, or an object with one. Without a name it returns an empty call.
func definition(n Node) *Transform {
	if n.kind == value.String {
		return &Transform{Name: n.text, node: n}
	}
	call := &Transform{Parameters: n.Get("Parameters"), node: n}
	if name := n.Get("Name"); name.kind == value.String {
		call.Name = name.text
	}
	return call
}

// without returns the member of an object and the object without it.
func (n Node) without(key string) (member, rest Node) {
	i := slices.IndexFunc(n.members, func(m Member) bool { return m.Key == key })
	if i < 0 {
		return Node{}, n
	}
	rest = n
	rest.members = slices.Delete(slices.Clone(n.members), i, i+1)
	return n.members[i].Value, rest
}

// Replaced returns the template after the next call has returned a fragment. The call must be u's next. Its errors
// describe problems of the fragment.
func (u *Unexpanded) Replaced(call *Transform, fragment Node) (*Unexpanded, error) {
	if where, found := callIn(fragment); found {
		return nil, fmt.Errorf("the result calls a macro at %q: macros run once, and not in their results", "/"+where)
	}
	if call.Listed() {
		if fragment.kind != value.Map {
			return nil, Errors{{Message: "Template format error: unsupported structure."}}
		}
		root := fragment.moved(u.root)
		if rest := u.later(call.Name); !rest.IsZero() {
			root.members = append([]Member{{Key: transformSection, Value: rest, line: rest.line, column: rest.column}}, root.members...)
		}
		return newUnexpanded(root, u.limits)
	}
	if !call.then.IsZero() {
		if fragment.kind != value.Map {
			return nil, fmt.Errorf("the result is not an object, and the next macro in the list at %s needs one", call.Path)
		}
		next := Member{Key: transformKey, Value: call.then, line: call.then.line, column: call.then.column}
		fragment.members = append(slices.Clone(fragment.members), next)
	}
	root, ok := replaced(u.root, call.at, fragment.moved(call.node))
	if !ok {
		return nil, fmt.Errorf("there is no call of a macro at %s", call.Path)
	}
	return newUnexpanded(root, u.limits)
}

// later returns the part of the section Transform that follows the first call of a transform.
func (u *Unexpanded) later(name string) Node {
	section := u.root.Get(transformSection)
	if section.kind != value.List {
		return Node{}
	}
	called := slices.IndexFunc(section.items, func(item Node) bool { return definition(item).Name == name })
	if called+1 >= len(section.items) {
		return Node{}
	}
	section.items = section.items[called+1:]
	return section
}

// callIn returns the place of a macro call in a tree.
func callIn(n Node) (where string, found bool) {
	if calls := nested(nil, n, nil); len(calls) > 0 {
		return strings.TrimPrefix(calls[0].Path, "/"), true
	}
	if !n.Get(transformSection).IsZero() && !n.Get("Resources").IsZero() {
		return transformSection, true
	}
	return "", false
}

// extent returns the approximate size of a tree as text, and whether it nests deeper than levels; the size is then
// undefined.
func (n Node) extent(levels int) (size int, deep bool) {
	if levels < 0 {
		return 0, true
	}
	size = len(n.text) + 2
	for _, item := range n.items {
		s, deep := item.extent(levels - 1)
		if deep {
			return 0, true
		}
		size += s
	}
	for _, m := range n.members {
		s, deep := m.Value.extent(levels - 1)
		if deep {
			return 0, true
		}
		size += s + len(m.Key) + 3
	}
	return size, false
}

// moved returns a tree with the position of another node, because it is not part of a text that the user can see.
func (n Node) moved(to Node) Node {
	n.line, n.column = to.line, to.column
	n.items = slices.Clone(n.items)
	for i := range n.items {
		n.items[i] = n.items[i].moved(to)
	}
	n.members = slices.Clone(n.members)
	for i := range n.members {
		n.members[i].Value = n.members[i].Value.moved(to)
		n.members[i].line, n.members[i].column = to.line, to.column
	}
	return n
}

// replaced returns a tree with another node at a place in it; false if that place does not exist.
func replaced(n Node, at path, by Node) (Node, bool) {
	if len(at) == 0 {
		return by, true
	}
	switch n.kind {
	case value.List:
		i, err := strconv.Atoi(at[0])
		if err != nil || i < 0 || i >= len(n.items) {
			return n, false
		}
		item, ok := replaced(n.items[i], at[1:], by)
		n.items = slices.Clone(n.items)
		n.items[i] = item
		return n, ok
	case value.Map:
		i := slices.IndexFunc(n.members, func(m Member) bool { return m.Key == at[0] })
		if i < 0 {
			return n, false
		}
		member, ok := replaced(n.members[i].Value, at[1:], by)
		n.members = slices.Clone(n.members)
		n.members[i].Value = member
		return n, ok
	case value.Null, value.Bool, value.Number, value.String:
	}
	return n, false
}
