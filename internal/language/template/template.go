package template

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// FormatVersion is the only value of AWSTemplateFormatVersion.
const FormatVersion = "2010-09-09"

// Template is a template that passed every check that does not depend on parameters. Its fields are read-only.
type Template struct {
	// Language is the language of the template.
	Language Language
	// Version is the value of AWSTemplateFormatVersion, "" if the template has none.
	Version string
	// Description is the template's description; may be "".
	Description string
	// Metadata is the section as it is declared; may be absent.
	Metadata Node
	// Parameters, Resources and Outputs are in the order of the text.
	Parameters []*Parameter
	Resources  []*Resource
	Outputs    []*DeclaredOutput
	// Conditions are sorted so that each comes after those that it depends on.
	Conditions []*Condition
	// Rules are in the order of the text.
	Rules []*Rule
	// Locals says that a ROS template has local variables, which are replaced everywhere else. Sources are those that
	// read a data source.
	Locals  bool
	Sources []Local

	hash     string
	limits   Limits
	mappings map[string]Node
	// mappingOrder are the mappings in the order of the text.
	mappingOrder []Member
	// byID are the resources by logical ID.
	byID map[string]*Resource
	// transforms are the transforms to apply, and source is their input; empty once they are applied.
	transforms []string
	// idle are declared transforms that do not change the template.
	idle []string
	// incomplete means that [Serverless] has yet to add resources, so that names may be missing.
	incomplete bool
	// declared are the transforms that the text of an outline calls; an outline applies none.
	declared []string
	source   Node
	// counted says that resources of a ROS template have a Count, and must be multiplied in source.
	counted bool
	// zones says that Fn::GetAZs is called.
	zones bool
	// time says that Fn::FormatTime is called.
	time bool
	// processed is the text of a template that transforms have produced.
	processed string
	// unsound are the members of sections, as SECTION/NAME, that have problems; nil except for [Examine].
	unsound map[string]bool
}

// Parse parses a template in JSON or YAML and checks it within CloudFormation's own [Limits]. A text that begins with a
// brace is JSON. The error is an [Errors] with every problem found.
func Parse(body string) (*Template, error) { return ParseWithin(body, Limits{}) }

// ParseWithin is [Parse] with other limits.
func ParseWithin(body string, limits Limits) (*Template, error) {
	return parse(body, limits.withDefaults(), false)
}

// parse parses a template, or one that transforms have produced.
func parse(body string, limits Limits, processed bool) (*Template, error) {
	p := &parser{template: newTemplate(body, limits), extended: processed}
	if processed {
		p.template.processed = body
	}
	if len(body) > limits.Bytes {
		p.at(Node{}, nil, "Template format error: the template is %d bytes long, the maximum allowed is %d.", len(body), limits.Bytes)
		return nil, p.found
	}
	root, err := read(body)
	if err != nil {
		return nil, err
	}
	if root.kind != value.Map {
		p.at(root, nil, "Template format error: unsupported structure.")
		return nil, p.found
	}
	return p.whole(root)
}

func newTemplate(body string, limits Limits) *Template {
	return &Template{limits: limits, hash: Hash(body), mappings: make(map[string]Node), byID: make(map[string]*Resource)}
}

// whole reads all sections of a template.
func (p *parser) whole(root Node) (*Template, error) {
	p.template.zones = root.calls("Fn::GetAZs")
	p.sections(root)
	if len(p.found) > 0 {
		return nil, p.found
	}
	resolver{p}.resolve()
	if len(p.found) > 0 {
		return nil, p.found
	}
	if p.template.Unprocessed() {
		if err := p.template.rehearse(); err != nil {
			return nil, err
		}
	}
	return p.template, nil
}

// Read parses the text of a template without checks, for callers that inspect templates which this engine may not
// support. The error is an [Errors]: the text exceeds the limits, or is neither JSON nor YAML as CloudFormation accepts
// it.
func Read(body string, limits Limits) (Node, error) {
	limits = limits.withDefaults()
	if len(body) > limits.Bytes {
		return Node{}, Errors{{Message: fmt.Sprintf("Template format error: the template is %d bytes long, the maximum allowed is %d.", len(body), limits.Bytes)}}
	}
	return read(body)
}

func read(body string) (Node, error) { return CloudFormation.read(body) }

// read parses a text in the syntax of the language. In ROS, a null becomes a node that is absent by [Node.IsZero], but
// has a position.
func (l Language) read(body string) (Node, error) {
	if strings.HasPrefix(strings.TrimLeft(body, " \t\r\n"), "{") {
		return parseJSON(body, l)
	}
	return parseYAML(body, l)
}

// Hash returns the hexadecimal SHA-256 of a template's text, which identifies the text in a store.
func Hash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// Hash returns the [Hash] of the text the template was read from.
func (t *Template) Hash() string { return t.hash }

// Parameter returns a parameter by its name, or nil.
func (t *Template) Parameter(name string) *Parameter {
	return find(t.Parameters, func(p *Parameter) bool { return p.Name == name })
}

// Resource returns a resource by its logical ID, or nil.
func (t *Template) Resource(logicalID string) *Resource { return t.byID[logicalID] }

func find[T any](all []*T, match func(*T) bool) *T {
	if i := slices.IndexFunc(all, match); i >= 0 {
		return all[i]
	}
	return nil
}

// parser fills a template and collects its problems.
type parser struct {
	problems
	template *Template
	// root is the template whose section Transform is read; otherwise absent.
	root Node
	// extended says that the transform AWS::LanguageExtensions was applied.
	extended bool
	// processed says that the counted resources of a ROS template were multiplied.
	processed bool

	// The names in the template, once all sections are read.
	parameterNames, conditionNames, resourceNames map[string]bool
	// countedNames are the names of the resources with a Count, in a ROS template.
	countedNames map[string]bool

	dynamic        int // dynamic references found
	lookups        int // nodes of mappings that lookups carry
	tooManyLookups bool

	// lenient says that names are looked up even if there are problems: see [Examine]. declared is then the template,
	// and unsound its members with problems.
	lenient  bool
	declared Node
	unsound  map[string]bool
}

// sections reads the top level. It reads every section, so that all problems are reported at once.
func (p *parser) sections(root Node) {
	var unknown []string
	var first Member
	if transform := root.Get("Transform"); !transform.IsZero() && !p.extended {
		p.root = root
		p.transformSection(transform, path{"Transform"})
		p.template.source = root
	}
	later := p.template.Unprocessed() // then the rest is read when the transforms have been applied
	for _, m := range root.members {
		where := path{m.Key}
		switch m.Key {
		case "AWSTemplateFormatVersion":
			if m.Value.kind != value.String || m.Value.text != FormatVersion {
				p.at(m.Value, where, "Template format error: unsupported value for AWSTemplateFormatVersion.")
			}
			p.template.Version = m.Value.text
		case "Description":
			p.template.Description = p.text(m.Value, where, m.Key)
			if limit := p.template.limits.DescriptionBytes; len(p.template.Description) > limit {
				p.at(m.Value, where, "Template format error: 'Description' length is greater than %d.", limit)
			}
		case "Metadata":
			if p.object(m.Value, where, "Metadata") {
				p.template.Metadata = m.Value
			}
		case "Parameters":
			parameterParser{p}.parameters(m.Value, where)
		case "Mappings":
			p.mappings(m.Value, where)
		case "Conditions", "Resources", "Outputs":
			switch {
			case later:
				p.object(m.Value, where, m.Key)
			case m.Key == "Conditions":
				p.conditions(m.Value, where)
			case m.Key == "Resources":
				p.resources(m.Value, where)
			default:
				p.outputs(m.Value, where)
			}
		case "Transform":
			if p.extended {
				p.key(m, where, "Template format error: a template that was processed has no transforms.")
			}
		case transformKey:
			if s := (&shapes{problems: &p.problems}); s.transform(m.Value, where) {
				p.key(m, where, "%s", unknownTransform(m.Value.Get("Name").text))
			}
		case "Rules":
			p.rules(m.Value, where)
		case "Hooks":
			p.hooks(m.Value, where)
		default:
			if len(unknown) == 0 {
				first = m
			}
			unknown = append(unknown, m.Key)
		}
	}
	if len(unknown) > 0 {
		p.key(first, nil, "Invalid template property or properties [%s]", strings.Join(unknown, ", "))
	}
	if root.Get("Resources").IsZero() {
		p.at(root, nil, "Template format error: At least one Resources member must be defined.")
	}
}

// object reports whether a section is an object, and adds a problem if it is not.
func (p *parser) object(n Node, where path, name string) bool {
	switch {
	case n.kind == value.Map:
		return true
	case name == "Parameters", name == "Resources", name == "Outputs", name == "Rules", name == "Hooks": // source: recorded answers, D21 (2022-11-11), of Resources
		p.at(n, where, "Template format error: Any %s member must be an object.", name)
	default:
		p.at(n, where, "Template format error: [%s] '%s' must be an object.", where, name)
	}
	return false
}

// text returns the text of a literal string, and adds a problem if n is not one.
func (p *parser) text(n Node, where path, name string) string {
	if n.kind != value.String {
		p.at(n, where, "Template format error: [%s] Every %s member must be a string.", where, name)
	}
	return n.text
}

// scalarText is text for values that may be written without quotes, e.g. a number.
func (p *parser) scalarText(n Node, where path, name string) string {
	if n.isScalar() {
		return n.text
	}
	return p.text(n, where, name)
}

var alphanumeric = regexp.MustCompile(`^[0-9A-Za-z]+$`)

// name checks the name of a parameter, a resource and the like.
func (p *parser) name(m Member, where path, what string) {
	switch limit := p.template.limits.NameLength; {
	case !alphanumeric.MatchString(m.Key):
		p.key(m, where, "Template format error: %s name %s is non alphanumeric.", what, m.Key)
	case utf8.RuneCountInString(m.Key) > limit:
		p.key(m, where, "Template format error: %s name %s is longer than %d characters.", what, m.Key, limit)
	}
}

// count checks the number of members of a section.
func (p *parser) count(n Node, where path, what string, limit int) {
	if number := len(n.members); number > limit {
		p.at(n, where, "Template format error: Number of %s, %d, is greater than maximum allowed, %d", what, number, limit)
	}
}
