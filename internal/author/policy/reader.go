package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// hole stands in a text for a value that is known only when the stack is created.
const hole = "\uE000"

// reader evaluates the parts of a template that do not depend on a stack.
type reader struct {
	config Config
	root   template.Node
}

// branches returns the possible values: the branches of Fn::If, or the value itself.
func (r *reader) branches(n template.Node) []template.Node {
	items := n.Get("Fn::If").Items()
	if len(items) != 3 {
		return []template.Node{n}
	}
	return append(r.branches(items[1]), r.branches(items[2])...)
}

// property returns a call as the provider gets it, nil if it is absent.
func (r *reader) property(n template.Node) (json.RawMessage, error) {
	if n.IsZero() || n.Get("Ref").Text() == "AWS::NoValue" {
		return nil, nil
	}
	if n.Kind() == value.Map && !isCall(n) {
		return json.Marshal(r.object(n))
	}
	text := r.text(n)
	if text == hole {
		return nil, fmt.Errorf("it is not in the template itself")
	}
	return json.Marshal(fill(text))
}

// object returns a value as JSON has it, with texts for scalars.
func (r *reader) object(n template.Node) any {
	switch {
	case n.Kind() == value.List:
		list := make([]any, 0, len(n.Items()))
		for _, item := range n.Items() {
			list = append(list, r.object(r.branches(item)[0]))
		}
		return list
	case n.Kind() == value.Map && !isCall(n):
		object := map[string]any{}
		for _, m := range n.Members() {
			v := r.branches(m.Value)[0]
			if v.Get("Ref").Text() != "AWS::NoValue" {
				object[m.Key] = r.object(v)
			}
		}
		return object
	}
	return r.text(n)
}

// isCall reports whether a value is a call of a function.
func isCall(n template.Node) bool {
	members := n.Members()
	return len(members) == 1 && (members[0].Key == "Ref" || strings.HasPrefix(members[0].Key, "Fn::"))
}

// text returns a value as text, with holes.
func (r *reader) text(n template.Node) string {
	switch n.Kind() {
	case value.Null, value.List:
		return hole
	case value.String, value.Number, value.Bool:
		return n.Text()
	case value.Map:
	}
	if !isCall(n) {
		return hole
	}
	m := n.Members()[0]
	switch m.Key {
	case "Ref":
		return r.ref(m.Value.Text())
	case "Fn::Join":
		return r.join(m.Value.Items())
	case "Fn::Sub":
		return r.sub(m.Value)
	}
	return hole
}

func (r *reader) join(items []template.Node) string {
	if len(items) != 2 || items[1].Kind() != value.List {
		return hole
	}
	var texts []string
	for _, item := range items[1].Items() {
		texts = append(texts, r.text(r.branches(item)[0]))
	}
	return strings.Join(texts, r.text(items[0]))
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

func (r *reader) sub(n template.Node) string {
	var own template.Node
	if items := n.Items(); len(items) == 2 {
		n, own = items[0], items[1]
	}
	if n.Kind() != value.String {
		return hole
	}
	return variable.ReplaceAllStringFunc(n.Text(), func(found string) string {
		name := strings.TrimSpace(found[2 : len(found)-1])
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			return "${" + literal + "}"
		}
		if v := own.Get(name); !v.IsZero() {
			return r.text(v)
		}
		return r.ref(name)
	})
}

// ref returns the value of a parameter that is given, or has a default that is not a secret.
func (r *reader) ref(name string) string {
	if given, ok := r.config.Parameters[name]; ok {
		return given
	}
	if name == "AWS::Partition" {
		return "aws"
	}
	declared := r.root.Get("Parameters").Get(name)
	if v := declared.Get("Default"); !v.IsZero() && len(v.Items())+len(v.Members()) == 0 && declared.Get("NoEcho").Text() != "true" &&
		!strings.HasPrefix(declared.Get("Type").Text(), "AWS::SSM::") {
		return v.Text()
	}
	return hole
}

// fill makes JSON of a text of JSON with holes: those outside of its strings are values.
func fill(text string) string {
	if !strings.Contains(text, hole) {
		return text
	}
	var b strings.Builder
	inside, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inside && c == '\\':
			escaped = true
		case c == '"':
			inside = !inside
		case !inside && string(c) == hole:
			b.WriteString("null")
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
