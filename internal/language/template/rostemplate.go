package template

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// ROSFormatVersion is the only value of ROSTemplateFormatVersion.
const ROSFormatVersion = "2015-09-01"

// ROSQuotas returns the limits of ROS, which are those of the zero [Limits] in ROS templates. Source: ROS, limits;
// where these are silent, those of CloudFormation.
func ROSQuotas() Limits { return Limits{}.withROSDefaults() }

func (l Limits) withROSDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 524_288
	}
	if l.Resources == 0 {
		l.Resources = 300
	}
	return l.withDefaults()
}

// parseROS parses a ROS template, or one whose counted resources were multiplied.
func parseROS(body string, limits Limits, processed bool) (*Template, error) {
	p := newROSParser(body, limits, processed)
	if processed {
		limits.Bytes = processedBytes(limits.Bytes)
	}
	if len(body) > limits.Bytes {
		p.coded(rosInvalidSchema, Node{}, nil, "The template is %d bytes long, the maximum allowed is %d.", len(body), limits.Bytes)
		return nil, p.found
	}
	root, err := ROS.read(body)
	if err != nil {
		return nil, asROS(err, rosInvalidSchema)
	}
	if root.kind != value.Map {
		p.coded(rosInvalidSchema, root, nil, "The template is not a map of sections.")
		return nil, p.found
	}
	return p.wholeROS(p.plainROS(root))
}

// ParseROSProcessed parses the result of [Template.Processed] for a ROS template, within the same limits. Lines and
// columns are those of that text.
func ParseROSProcessed(text string, limits Limits) (*Template, error) {
	return parseROS(text, limits.withROSDefaults(), true)
}

func newROSParser(body string, limits Limits, processed bool) rosParser {
	p := rosParser{&parser{template: newTemplate(body, limits), processed: processed}}
	p.template.Language = ROS
	if processed {
		p.template.processed = body
	}
	return p
}

// rosParser reads ROS templates.
type rosParser struct{ *parser }

// wholeROS is whole for a ROS template.
func (p rosParser) wholeROS(root Node) (*Template, error) {
	p.template.zones = root.calls("Fn::GetAZs")
	p.template.time = root.calls("Fn::FormatTime")
	p.rosSections(root)
	if p.template.counted {
		p.template.source = root
	}
	if len(p.found) == 0 {
		rosResolver(p).resolveROS()
	}
	if len(p.found) > 0 {
		return nil, asROS(p.found, rosValidationFailed)
	}
	return p.template, nil
}

// rosSections is sections for a ROS template.
func (p rosParser) rosSections(root Node) {
	if m, ok := transformed(root); ok {
		names, why := rosTransforms(m.Value)
		p.codedKey(rosNotSupported, m, path{"Transform"}, "The transform %s is not supported: %s.", names, why)
		return
	}
	if root.Get("ROSTemplateFormatVersion").IsZero() {
		p.coded(rosInvalidVersion, root, nil, "The template version is invalid: ROSTemplateFormatVersion is missing.")
		p.explain("write ROSTemplateFormatVersion: '" + ROSFormatVersion + "'")
	}
	for _, m := range root.members {
		where := path{m.Key}
		switch m.Key {
		case "ROSTemplateFormatVersion":
			if m.Value.kind != value.String || m.Value.text != ROSFormatVersion {
				p.coded(rosInvalidVersion, m.Value, where, "The template version is invalid: ROSTemplateFormatVersion must be %s.", ROSFormatVersion)
			}
			p.template.Version = m.Value.text
		case "Description":
			p.template.Description = p.rosDescription(m.Value, where)
		case "Metadata":
			if p.rosMap(m.Value, where) {
				p.template.Metadata = m.Value
			}
		case "Parameters":
			rosParameterParser(p).rosParameters(m.Value, where)
		case "Mappings":
			p.rosMappings(m.Value, where)
		case "Conditions":
			p.rosConditions(m.Value, where)
		case "Rules":
			p.rosRules(m.Value, where)
		case "Resources":
			p.rosResources(m.Value, where)
		case "Outputs":
			p.rosOutputs(m.Value, where)
		case "Transform": // it is null
		case "Workspace":
			p.codedKey(rosNotSupported, m, where, "The section %s is not supported.", m.Key)
		default:
			p.codedKey(rosInvalidSection, m, where, "The template section is invalid: %s.", m.Key)
		}
	}
}

// transformed returns the section Transform of a ROS template; false if it has none.
func transformed(root Node) (Member, bool) {
	i := slices.IndexFunc(root.members, func(m Member) bool { return m.Key == "Transform" && !m.Value.IsZero() })
	if i < 0 {
		return Member{}, false
	}
	return root.members[i], true
}

// rosTransforms returns the names of the transforms in a section, and why they are not supported.
func rosTransforms(n Node) (names, why string) {
	list := []string{}
	for _, item := range append([]Node{n}, n.items...) {
		if item.kind == value.String {
			list = append(list, item.text)
		}
	}
	names = strings.Join(list, ", ")
	switch {
	case strings.Contains(names, "Terraform"), strings.Contains(names, "OpenTofu"):
		return names, "only ROS runs the Terraform configuration of a template"
	case strings.Contains(names, "Serverless"):
		return names, "only ROS expands serverless applications; write out the ALIYUN::FC resources that they stand for"
	case names == "":
		names = "of this template"
	}
	return names, "only ROS expands it; write out the resources that it stands for"
}

// rosMap reports whether n is a map, and adds a problem if it is not.
func (p rosParser) rosMap(n Node, where path) bool {
	if n.kind == value.Map {
		return true
	}
	p.wrongType(n, where, "a map")
	return false
}

// rosDescription returns a text that may be given in several languages: the English one, or else the first.
func (p rosParser) rosDescription(n Node, where path) string {
	if n.isScalar() {
		return n.text
	}
	if n.kind != value.Map {
		p.wrongType(n, where, "a text, or a map of texts by their languages")
		return ""
	}
	text := ""
	for _, m := range n.members {
		if !m.Value.isScalar() && !m.Value.IsZero() {
			p.wrongType(m.Value, where.to(m.Key), "a text")
		}
		if text == "" || m.Key == "en" {
			text = m.Value.text
		}
	}
	return text
}

// rosName checks the name of a parameter, a resource and the like.
func (p rosParser) rosName(m Member, where path, what string) {
	switch limit := p.template.limits.NameLength; {
	case m.Key == "" || strings.ContainsFunc(m.Key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		p.codedKey(rosValidationFailed, m, where, "The name of %s is empty or has control characters in it.", what)
	case len([]rune(m.Key)) > limit:
		p.codedKey(rosValidationFailed, m, where, "The name of %s is longer than %d characters.", what, limit)
	case strings.Contains(m.Key, "::"):
		p.codedKey(rosValidationFailed, m, where, "The name %s of %s is one of pseudo parameters.", m.Key, what)
	}
}

// rosCount checks the number of members of a section.
func (p rosParser) rosCount(n Node, where path, limit int) {
	if number := len(n.members); number > limit {
		p.coded(rosValidationFailed, n, where, "The section %s has %d members, the maximum allowed is %d.", where.dotted(), number, limit)
	}
}

// plainROS returns a template in normal form. A null of YAML or JSON becomes absent in a declaration, and a call for
// ALIYUN::NoValue inside a value. A condition among the operands of Fn::And, Fn::Or and Fn::Not becomes its name. A
// local variable becomes its value.
func (p rosParser) plainROS(root Node) Node {
	made := root
	if resources := root.Get("Resources"); resources.kind == value.Map {
		root = root.with("Resources", plainNested(resources))
	}
	root = p.withoutLocals(root)
	made.members = nil
	for _, m := range root.members {
		switch m.Key {
		case "Resources", "Conditions", "Rules", "Outputs":
			m.Value = plainSection(m.Value, 2)
		}
		if !m.Value.IsZero() {
			made.members = append(made.members, m)
		}
	}
	return made
}

// plainNested returns the Resources with inline templates of nested stacks converted to text, because their functions
// belong to the nested stack.
func plainNested(section Node) Node {
	made := section
	made.members = slices.Clone(section.members)
	for i, declared := range made.members {
		body := declared.Value.Get("Properties").Get("TemplateBody")
		if strings.HasPrefix(declared.Value.Get("Type").text, "ALIYUN::ROS::") && !body.Get("ROSTemplateFormatVersion").IsZero() {
			text := Node{kind: value.String, text: body.Value().String(), line: body.line, column: body.column}
			properties := declared.Value.Get("Properties").with("TemplateBody", text)
			made.members[i].Value = declared.Value.with("Properties", properties)
		}
	}
	return made
}

// with returns an object with a new value for one of its members, which is added if there is none.
func (n Node) with(key string, v Node) Node {
	n.members = slices.Clone(n.members)
	for i := range n.members {
		if n.members[i].Key == key {
			n.members[i].Value = v
			return n
		}
	}
	n.members = append(n.members, Member{Key: key, Value: v, line: v.line, column: v.column})
	return n
}

// plainSection removes nulls down to a number of levels below n, and calls plainTree for everything deeper.
func plainSection(n Node, levels int) Node {
	if n.kind != value.Map || levels == 0 {
		if n.IsZero() {
			return n
		}
		return plainTree(n)
	}
	if _, _, call := n.call(); call && levels == 1 { // a condition
		return plainTree(n)
	}
	made := n
	made.members = nil
	for _, m := range n.members {
		if m.Value = plainSection(m.Value, levels-1); !m.Value.IsZero() || levels == 2 {
			made.members = append(made.members, m)
		}
	}
	return made
}

// plainTree converts a tree of functions to normal form.
func plainTree(n Node) Node {
	if n.IsZero() {
		name := Node{kind: value.String, text: rosNoValue, line: n.line, column: n.column}
		return Node{
			kind: value.Map, line: n.line, column: n.column,
			members: []Member{{Key: "Ref", Value: name, line: n.line, column: n.column}},
		}
	}
	made := n
	made.items, made.members = nil, nil
	for _, item := range n.items {
		made.items = append(made.items, plainTree(item))
	}
	for _, m := range n.members {
		m.Value = plainTree(m.Value)
		made.members = append(made.members, m)
	}
	switch name, argument, _ := made.call(); name {
	case "Fn::And", "Fn::Or", "Fn::Not":
		return made.calling(plainOperands(argument))
	}
	return made
}

// plainOperands returns the operands of a boolean function, with conditions as names.
func plainOperands(argument Node) Node {
	for i, item := range argument.items {
		if name := item.Get("Condition"); len(item.members) == 1 && name.kind == value.String {
			argument.items[i] = name
		}
	}
	if name := argument.Get("Condition"); len(argument.members) == 1 && name.kind == value.String {
		return name
	}
	return argument
}
