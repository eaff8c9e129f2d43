package generate

import "strings"

// Markdown returns the format of a reference of the properties and attributes, with a table for each object.
func Markdown() Format {
	return Format{
		template:  "reference.md.tmpl",
		file:      func(r Resource) string { return strings.ReplaceAll(snake(r.Name), "_", "-") + ".md" },
		member:    func(key string) string { return key },
		attribute: func(key string) string { return key },
		typ:       markdownType,
		render:    func(_, expression string, _ *Type) string { return expression },
		comment: func(text string) string {
			return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
		},
	}
}

func markdownType(owner string, t *Type) string {
	switch t.Kind {
	case Text:
		return "string"
	case Number:
		if t.Integer {
			return "integer"
		}
		return "number"
	case Boolean:
		return "boolean"
	case Scalar:
		return "string or number"
	case List:
		return "list of " + markdownType(owner, t.Elem)
	case Map:
		return "map of " + markdownType(owner, t.Elem)
	case Struct:
		return "[" + t.Object.Name + "](#" + strings.ToLower(t.Object.Name) + ")"
	case Any:
	}
	return "any value"
}
