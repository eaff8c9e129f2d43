package template

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// parseYAML parses a template in YAML 1.1 as CloudFormation and ROS accept it: with the short forms of functions,
// without aliases, merges, and the tags for binary data, sets, ordered maps and timestamps.
func parseYAML(body string, language Language) (Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(body))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return Node{}, nil
	} else if err != nil {
		return Node{}, yamlError(err)
	}
	var next yaml.Node
	if err := decoder.Decode(&next); err == nil {
		return Node{}, Errors{notWellFormed(next.Line, next.Column, "the text holds more than one YAML document")}
	} else if !errors.Is(err, io.EOF) {
		return Node{}, yamlError(err)
	}
	r := &yamlReader{language: language}
	root := r.read(document.Content[0], nil)
	return root, r.found.orNil()
}

var yamlPlace = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlError returns the error of a text that is not YAML. The parser reports at most the line.
func yamlError(err error) error {
	line := 0
	if at := yamlPlace.FindStringSubmatch(err.Error()); at != nil {
		line, _ = strconv.Atoi(at[1])
	}
	detail := yamlPlace.ReplaceAllString(err.Error(), "")
	if strings.HasPrefix(detail, "unknown anchor") { // the anchor's name may be a secret that begins with an asterisk
		detail = "an alias refers to no anchor, and aliases are not supported: put quotes around a text that begins with *"
	}
	return Errors{notWellFormed(line, 0, detail)}
}

func notWellFormed(line, column int, detail string) *Error {
	e := &Error{Message: "Template format error: YAML not well-formed.", Detail: detail, Line: line, Column: column}
	if line > 0 && column > 0 {
		e.Message += fmt.Sprintf(" (line %d, column %d)", line, column)
	}
	return e
}

// yamlReader turns YAML nodes into ours.
type yamlReader struct {
	problems
	language Language
}

func (r *yamlReader) read(y *yaml.Node, where path) Node {
	n := Node{line: y.Line, column: y.Column}
	name, custom := shortForm(y)
	if !custom {
		return r.content(n, y, where)
	}
	if len(where) >= MaxDepth {
		r.add(tooDeep(n, where))
		return n
	}
	if name == "Fn::GetStackOutput" && r.language == CloudFormation {
		r.refuseShort(y.Content, where.to(name), 0)
	}
	if r.language == CloudFormation && onlyLong(name) {
		r.refuse(y, where, "the function "+name+" has no short form: write "+name+": and its argument")
	}
	argument := r.content(n, y, where.to(name))
	if name == "Fn::GetAtt" && argument.kind == value.String {
		if logical, attribute, ok := strings.Cut(argument.text, "."); ok {
			argument = Node{kind: value.List, line: n.line, column: n.column, items: []Node{
				{kind: value.String, text: logical, line: n.line, column: n.column},
				{kind: value.String, text: attribute, line: n.line, column: n.column},
			}}
		}
	}
	n.kind = value.Map
	n.members = []Member{{Key: name, Value: argument, line: n.line, column: n.column}}
	return n
}

// shortForm returns the long name of the function for a tag such as !Sub; false if y has no such tag.
func shortForm(y *yaml.Node) (name string, ok bool) {
	if y.Style&yaml.TaggedStyle == 0 || !strings.HasPrefix(y.Tag, "!") || strings.HasPrefix(y.Tag, "!!") || y.Tag == "!" {
		return "", false
	}
	name = y.Tag[1:]
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return name, true
}

// refuseShort rejects short forms inside a short form that does not allow them. Source: CloudFormation,
// Fn::GetStackOutput.
func (r *yamlReader) refuseShort(below []*yaml.Node, where path, depth int) {
	for _, y := range below {
		if name, ok := shortForm(y); ok {
			r.at(Node{line: y.Line, column: y.Column}, where,
				"Template error: !GetStackOutput cannot have the short form of another function in it: write Fn::GetStackOutput, or %s instead of %s", name, y.Tag)
		} else if depth < MaxDepth {
			r.refuseShort(y.Content, where, depth+1)
		}
	}
}

// onlyLong reports whether a function cannot be written as a tag.
func onlyLong(name string) bool {
	switch name {
	case "Fn::Length", "Fn::ToJsonString", "Fn::Contains", "Fn::EachMemberEquals", "Fn::EachMemberIn", "Fn::RefAll",
		"Fn::ValueOf", "Fn::ValueOfAll":
		return true
	}
	return strings.HasPrefix(name, "Fn::ForEach")
}

// content reads y without its short form.
func (r *yamlReader) content(n Node, y *yaml.Node, where path) Node {
	switch y.Kind {
	case yaml.ScalarNode:
		return r.scalar(n, y, where)
	case yaml.AliasNode:
		r.refuse(y, where, "aliases such as *"+y.Value+" are not supported: write the value out")
	case yaml.SequenceNode, yaml.MappingNode:
		if len(where) >= MaxDepth {
			r.add(tooDeep(n, where))
			return n
		}
		if y.Kind == yaml.MappingNode {
			return r.mapping(n, y, where)
		}
		if tag := explicitTag(y); tag != "" && tag != "!!seq" {
			r.refuse(y, where, "the tag "+tag+" is not supported")
		}
		n.kind = value.List
		for i, item := range y.Content {
			n.items = append(n.items, r.read(item, where.to(strconv.Itoa(i))))
		}
	case yaml.DocumentNode:
		r.refuse(y, where, "a document inside a document")
	default:
		r.refuse(y, where, "nothing that YAML knows")
	}
	return n
}

func (r *yamlReader) mapping(n Node, y *yaml.Node, where path) Node {
	if tag := explicitTag(y); tag != "" && tag != "!!map" {
		r.refuse(y, where, "the tag "+tag+" is not supported")
	}
	n.kind = value.Map
	seen := make(map[string]int)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		m := Member{Key: key.Value, line: key.Line, column: key.Column}
		below := where.to(m.Key)
		_, short := shortForm(key)
		switch {
		case key.Kind == yaml.AliasNode:
			r.refuse(key, where, "aliases such as *"+key.Value+" are not supported: write the value out")
			continue
		case key.Kind != yaml.ScalarNode || short:
			r.refuse(key, where, "a key must be a scalar")
			continue
		case key.Value == "<<" && isPlain(key):
			r.refuse(key, where, "hash merges (<<) are not supported: write the keys out")
			continue
		}
		if first, ok := seen[m.Key]; ok {
			r.key(m, below, "%s", duplicateKey(m.Key, first))
		}
		seen[m.Key] = m.line
		m.Value = r.read(y.Content[i+1], below)
		n.members = append(n.members, m)
	}
	return n
}

func (r *yamlReader) scalar(n Node, y *yaml.Node, where path) Node {
	_, short := shortForm(y)
	n.text = y.Value
	switch tag := explicitTag(y); {
	case tag == "!!str" || short || tag == "" && !isPlain(y):
		n.kind = value.String
	case tag == "":
		n.kind, n.text = resolveScalar(y.Value)
	default:
		kind, text := resolveScalar(y.Value)
		if want, ok := scalarTags[tag]; !ok {
			r.refuse(y, where, "the tag "+tag+" is not supported")
		} else if kind != want {
			r.refuse(y, where, fmt.Sprintf("the tag %s does not fit the value", tag))
		}
		n.kind, n.text = kind, text
	}
	if n.kind == value.Null && len(where) > 0 && r.language == CloudFormation {
		r.at(n, where, "[%s] 'null' values are not allowed in templates", where)
	}
	return n
}

// scalarTags are the tags of the YAML core that set the kind of a scalar.
var scalarTags = map[string]value.Kind{
	"!!bool": value.Bool, "!!int": value.Number, "!!float": value.Number, "!!null": value.Null,
}

// explicitTag returns the tag of the YAML core that is written before y, or "".
func explicitTag(y *yaml.Node) string {
	if y.Style&yaml.TaggedStyle == 0 || !strings.HasPrefix(y.Tag, "!!") {
		return ""
	}
	return y.Tag
}

// isPlain reports whether a scalar was written without quotes and not as a block.
func isPlain(y *yaml.Node) bool {
	return y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

func (r *yamlReader) refuse(y *yaml.Node, where path, detail string) {
	e := notWellFormed(y.Line, y.Column, detail)
	e.Path = where.String()
	r.add(e)
}
