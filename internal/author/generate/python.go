package generate

import (
	"bytes"
	"slices"
	"strings"
)

// pythonKeywords cannot be names of parameters. Source: the Python language reference, "Keywords".
var pythonKeywords = strings.Fields(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

func python() Format {
	return Format{
		template:  "cdk.py.tmpl",
		file:      func(r Resource) string { return pythonModule(r.Name) + ".py" },
		member:    snake,
		attribute: func(key string) string { return "attr_" + snake(key) },
		keywords:  pythonKeywords,
		reserved:  []string{"self", "scope", "id", "service_token", "service_timeout", "removal_policy", "cdk", "properties", "super", "typing"},
		typ:       pythonType,
		render:    pythonValue,
		finish: func(text []byte) ([]byte, error) {
			return bytes.ReplaceAll(text, []byte("\n\n\n\n"), []byte("\n\n\n")), nil
		},
		comment: func(text string) string { return strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(text) },
	}
}

// pythonModule returns the name of a module, which a statement can import.
func pythonModule(name string) string {
	module := snake(name)
	if slices.Contains(pythonKeywords, module) {
		module += "_"
	}
	return module
}

func pythonType(owner string, t *Type) string {
	switch t.Kind {
	case Text, Number:
		switch {
		case len(t.Enum) > 0 && !strings.ContainsAny(strings.Join(t.Enum, ""), ".eE") || len(t.Enum) > 0 && t.Kind == Text:
			return "typing.Literal[" + strings.Join(t.Enum, ", ") + "]"
		case t.Kind == Text:
			return "str"
		case t.Integer:
			return "int"
		}
		return "float"
	case Boolean:
		return "typing.Union[bool, cdk.IResolvable]"
	case Scalar:
		return "typing.Union[str, float]"
	case List:
		return "typing.Sequence[" + pythonType(owner, t.Elem) + "]"
	case Map:
		return "typing.Mapping[str, " + pythonType(owner, t.Elem) + "]"
	case Struct:
		return owner + t.Object.Name
	case Any:
	}
	return "typing.Any"
}

func pythonValue(owner, expression string, t *Type) string {
	if !nested(t) {
		return expression
	}
	switch t.Kind {
	case List:
		return "[" + pythonValue(owner, "item", t.Elem) + " for item in " + expression + "]"
	case Map:
		return "{key: " + pythonValue(owner, "value", t.Elem) + " for key, value in " + expression + ".items()}"
	case Any, Text, Number, Boolean, Scalar, Struct:
	}
	return expression + "._render()"
}
