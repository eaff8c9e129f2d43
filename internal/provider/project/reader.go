package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pintle-dev/pintle/internal/base/suggest"
)

// Limits of a provider's settings.
const (
	minTimeout     = time.Second
	maxTimeout     = 24 * time.Hour
	maxConcurrency = 1000
)

// parseYAML returns the single value of the text, or nil if it is empty.
func parseYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // an empty file is an empty project
	case err != nil:
		return nil, err
	}
	switch err := decoder.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, err
	default:
		return nil, errMoreDocuments
	}
	if len(document.Content) != 1 || isNull(document.Content[0]) {
		return nil, nil
	}
	return document.Content[0], nil
}

func isNull(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" }

// reader fills a project from YAML nodes and collects the problems.
type reader struct {
	project  *Project
	problems Problems
}

func (r *reader) problem(at *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: r.project.File, Line: max(at.Line, 1), Column: max(at.Column, 1), Text: fmt.Sprintf(format, args...),
	})
}

func (r *reader) top(root *yaml.Node) {
	p := r.project
	r.record(root, "the project file", []field{
		{"stack", func(v *yaml.Node) { p.Stack = r.text(v, "stack") }},
		{"template", func(v *yaml.Node) {
			p.Template = r.text(v, "template")
			if p.Template != "" && !filepath.IsAbs(p.Template) && !strings.Contains(p.Template, "://") {
				p.Template = filepath.Join(p.Dir, p.Template)
			}
		}},
		{"parameters", func(v *yaml.Node) { p.Parameters = r.pairs(v, "parameters") }},
		{"tags", func(v *yaml.Node) { p.Tags = r.pairs(v, "tags") }},
		{"providers", r.providers},
		{"macros", r.macros},
		{"ssm", func(v *yaml.Node) {
			p.SSM = r.text(v, "ssm")
			if p.SSM != SSMOwn && p.SSM != SSMAWS && !strings.Contains(p.SSM, "://") {
				r.problem(v, "ssm: want own, aws or a URL, got %q", p.SSM)
			}
		}},
		{"resolveSecrets", func(v *yaml.Node) {
			switch text, _ := r.scalar(v, "resolveSecrets"); text {
			case "true":
				p.ResolveSecrets = true
			case "false":
			default:
				r.problem(v, "resolveSecrets: want true or false, got %q", text)
			}
		}},
		{"unknownTypes", func(v *yaml.Node) {
			if p.UnknownTypes = r.text(v, "unknownTypes"); p.UnknownTypes != "record" && p.UnknownTypes != "refuse" {
				r.problem(v, "unknownTypes: want record or refuse, got %q", p.UnknownTypes)
			}
		}},
		{"forward", r.forwards},
	})
}

// forwards reads the list of endpoints that provide resource types.
func (r *reader) forwards(node *yaml.Node) {
	if isNull(node) {
		return
	}
	if node.Kind != yaml.SequenceNode {
		r.problem(node, "forward: want a list of objects with types and endpoint, got a %s", kind(node))
		return
	}
	for _, item := range node.Content {
		f := Forward{Place: fmt.Sprintf("%s:%d:%d", r.project.File, item.Line, item.Column)}
		r.record(item, "forward", []field{
			{"types", func(v *yaml.Node) {
				list := []*yaml.Node{v}
				if v.Kind == yaml.SequenceNode {
					list = v.Content
				}
				for _, name := range list {
					f.Types = append(f.Types, r.text(name, "forward types"))
				}
			}},
			{"endpoint", func(v *yaml.Node) { f.Endpoint = r.text(v, "forward endpoint") }},
			{"profile", func(v *yaml.Node) { f.Profile = r.text(v, "forward profile") }},
		})
		switch {
		case item.Kind != yaml.MappingNode:
		case len(f.Types) == 0:
			r.problem(item, "forward: types is missing")
		case f.Endpoint == "":
			r.problem(item, "forward: endpoint is missing")
		}
		r.project.Forward = append(r.project.Forward, f)
	}
}

func (r *reader) duration(v *yaml.Node, what string) time.Duration {
	text, ok := r.scalar(v, what)
	if !ok {
		return 0
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		r.problem(v, "%s: %s has no unit: write %ss for seconds", what, text, text)
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < minTimeout || d > maxTimeout {
		r.problem(v, "%s: want a duration from %s to %s such as 90s or 15m, got %q",
			what, minTimeout, maxTimeout, text)
		return 0
	}
	return d
}

// pairs reads a map of strings. A list of scalars is joined by commas.
func (r *reader) pairs(node *yaml.Node, what string) []Pair {
	var pairs []Pair
	r.members(node, what, func(key, v *yaml.Node) {
		name := what + " " + key.Value
		if v.Kind != yaml.SequenceNode {
			text, _ := r.scalar(v, name)
			pairs = append(pairs, Pair{key.Value, text})
			return
		}
		var items []string
		for _, item := range v.Content {
			text, _ := r.scalar(item, name)
			if strings.Contains(text, ",") {
				r.problem(item, "%s: the item %q holds a comma, which would split it: write one text instead of the list",
					name, text)
			}
			items = append(items, text)
		}
		pairs = append(pairs, Pair{key.Value, strings.Join(items, ",")})
	})
	return pairs
}

// text reads a scalar that must not be empty.
func (r *reader) text(v *yaml.Node, what string) string {
	if isNull(v) {
		r.problem(v, "%s is empty", what)
		return ""
	}
	text, ok := r.scalar(v, what)
	text = strings.TrimSpace(text)
	if ok && text == "" {
		r.problem(v, "%s is empty", what)
	}
	return text
}

// scalar reads the text of a string, number or boolean. It returns false for any other node, after recording the
// problem.
func (r *reader) scalar(v *yaml.Node, what string) (string, bool) {
	switch {
	case v.Kind == yaml.AliasNode:
		r.problem(v, "%s: aliases are not read: repeat the value", what)
	case v.Kind != yaml.ScalarNode:
		r.problem(v, "%s: want a text, got a %s", what, kind(v))
	case isNull(v):
		r.problem(v, `%s has no value: write "" for an empty one`, what)
	case !strings.HasPrefix(v.ShortTag(), "!!"):
		r.problem(v, "%s: unknown tag %s", what, v.Tag)
	default:
		return v.Value, true
	}
	return "", false
}

func kind(v *yaml.Node) string {
	switch v.Kind {
	case yaml.MappingNode:
		return "map"
	case yaml.SequenceNode:
		return "list"
	case yaml.ScalarNode:
		return "text"
	case yaml.AliasNode:
		return "alias"
	case yaml.DocumentNode:
		return "document"
	}
	return "value"
}

// members calls read for each member of a map, in order, and once per name.
func (r *reader) members(node *yaml.Node, what string, read func(key, v *yaml.Node)) {
	switch {
	case isNull(node): // the key has no value
		return
	case node.Kind != yaml.MappingNode:
		r.problem(node, "%s: want a map of names and values, got a %s", what, kind(node))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, v := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || isNull(key) || key.Value == "":
			r.problem(key, "%s: a name is missing or is not a text", what)
		case seen[key.Value]:
			r.problem(key, "%s: %s is there twice", what, key.Value)
		default:
			seen[key.Value] = true
			read(key, v)
		}
	}
}

// field is an allowed key of a map.
type field struct {
	name string
	read func(v *yaml.Node)
}

// record reads a map with known keys.
func (r *reader) record(node *yaml.Node, what string, fields []field) {
	r.members(node, what, func(key, v *yaml.Node) {
		names := make([]string, len(fields))
		for i, f := range fields {
			if f.name == key.Value {
				f.read(v)
				return
			}
			names[i] = f.name
		}
		hint := "known are " + strings.Join(names, ", ")
		if near := suggest.Name(key.Value, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.problem(key, "%s has no key %q: %s", what, key.Value, hint)
	})
}
