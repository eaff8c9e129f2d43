package generate

import (
	"bytes"
	"regexp"
	"strings"
)

// typeScript returns a format of TypeScript. The construct has the reserved properties itself.
func typeScript(template string, reserved ...string) Format {
	return Format{
		template:  template,
		shared:    "typescript.tmpl",
		file:      func(r Resource) string { return strings.ReplaceAll(snake(r.Name), "_", "-") + ".ts" },
		member:    camel,
		attribute: func(key string) string { return "attr" + pascal(key) },
		reserved:  reserved,
		typ:       typeScriptType,
		render:    typeScriptValue,
		finish: func(text []byte) ([]byte, error) {
			return bytes.ReplaceAll(usedImports(text), []byte("{\n\n"), []byte("{\n")), nil
		},
		comment: func(text string) string { return strings.ReplaceAll(text, "*/", "*\u200b/") },
	}
}

// imports is a line that imports names.
var imports = regexp.MustCompile(`(?m)^import \{ (.*) \} from`)

// usedImports removes the names that the text does not use, which many projects have the compiler refuse.
func usedImports(text []byte) []byte {
	all := imports.FindAllIndex(text, -1)
	code := text[all[len(all)-1][1]:]
	return imports.ReplaceAllFunc(text, func(line []byte) []byte {
		var used []string
		for name := range strings.SplitSeq(string(imports.FindSubmatch(line)[1]), ", ") {
			if regexp.MustCompile(`\b` + name + `\b`).Match(code) {
				used = append(used, name)
			}
		}
		return []byte("import { " + strings.Join(used, ", ") + " } from")
	})
}

func typeScriptType(owner string, t *Type) string {
	switch t.Kind {
	case Text, Number:
		switch {
		case len(t.Enum) > 0:
			return strings.Join(t.Enum, " | ")
		case t.Kind == Text:
			return "string"
		}
		return "number"
	case Boolean:
		return "boolean | IResolvable"
	case Scalar:
		return "string | number"
	case List:
		elem := typeScriptType(owner, t.Elem)
		if strings.Contains(elem, "|") {
			return "Array<" + elem + ">"
		}
		return elem + "[]"
	case Map:
		return "Record<string, " + typeScriptType(owner, t.Elem) + ">"
	case Struct:
		return owner + t.Object.Name
	case Any:
	}
	return "any"
}

func typeScriptValue(owner, expression string, t *Type) string {
	if !nested(t) {
		return expression
	}
	switch t.Kind {
	case List:
		return expression + "?.map((item) => " + typeScriptValue(owner, "item", t.Elem) + ")"
	case Map:
		return expression + " && Object.fromEntries(Object.entries(" + expression + ").map(([key, value]) => [key, " +
			typeScriptValue(owner, "value", t.Elem) + "]))"
	case Any, Text, Number, Boolean, Scalar, Struct:
	}
	return expression + " && render" + owner + t.Object.Name + "(" + expression + ")"
}
