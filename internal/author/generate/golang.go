package generate

import (
	"go/format"
	"go/token"
	"regexp"
	"strings"
)

func golang() Format {
	return Format{
		template:   "cdk.go.tmpl",
		file:       func(r Resource) string { return strings.ToLower(r.Name) + ".go" }, // after an underscore, test and linux exclude it,
		member:     pascal,
		attribute:  func(key string) string { return "Attr" + pascal(key) },
		reserved:   []string{"ServiceToken", "ServiceTimeout", "RemovalPolicy"},
		typ:        goType,
		render:     goValue,
		comment:    func(text string) string { return text },
		packages:   regexp.MustCompile(`^[a-z][a-z0-9_]*$`),
		notPackage: token.IsKeyword,
		finish:     format.Source,
	}
}

func goType(owner string, t *Type) string {
	switch t.Kind {
	case Text:
		return "*string"
	case Number:
		return "*float64"
	case Boolean:
		return "*bool"
	case List:
		return "*[]" + goType(owner, t.Elem)
	case Map:
		return "*map[string]" + goType(owner, t.Elem)
	case Struct:
		return "*" + owner + t.Object.Name
	case Any, Scalar:
	}
	return "interface{}"
}

// goValue returns an expression for a value that is not nil.
func goValue(owner, expression string, t *Type) string {
	if !nested(t) {
		return expression
	}
	switch t.Kind {
	case List:
		return "func() []interface{} {\n" +
			"\titems := make([]interface{}, len(*" + expression + "))\n" +
			"\tfor i, item := range *" + expression + " {\n" +
			"\t\titems[i] = " + goValue(owner, "item", t.Elem) + "\n\t}\n\treturn items\n}()"
	case Map:
		return "func() map[string]interface{} {\n" +
			"\tmembers := map[string]interface{}{}\n" +
			"\tfor key, value := range *" + expression + " {\n" +
			"\t\tmembers[key] = " + goValue(owner, "value", t.Elem) + "\n\t}\n\treturn members\n}()"
	case Any, Text, Number, Boolean, Scalar, Struct:
	}
	return expression + ".render()"
}
