package generate

import (
	"regexp"
	"slices"
	"strings"
)

// javaKeywords cannot be names of packages or methods. Source: the Java Language Specification, 3.9 and 3.10.
var javaKeywords = strings.Fields(`abstract assert boolean break byte case catch char class const continue default do double else
	enum extends final finally float for goto if implements import instanceof int interface long native new package private protected
	public return short static strictfp super switch synchronized this throw throws transient try void volatile while true false null _`)

// javaMembers are methods of every object, and methods and variables of the generated code.
var javaMembers = strings.Fields(`build builder clone equals finalize getClass hashCode notify notifyAll properties render toString wait`)

func java() Format {
	return Format{
		template:   "cdk.java.tmpl",
		file:       func(r Resource) string { return r.Name + ".java" },
		member:     camel,
		attribute:  func(key string) string { return "getAttr" + pascal(key) },
		keywords:   slices.Concat(javaKeywords, javaMembers),
		reserved:   []string{"serviceToken", "serviceTimeout", "removalPolicy"},
		typ:        javaType,
		render:     javaValue,
		packages:   regexp.MustCompile(`^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`),
		notPackage: func(part string) bool { return slices.Contains(javaKeywords, part) },
		// A backslash with a u is read as a character even in a comment.
		comment: func(text string) string {
			return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, "&#92;", "*/", "*&#47;", "@", "&#64;").Replace(text)
		},
	}
}

func javaType(owner string, t *Type) string {
	switch t.Kind {
	case Text:
		return "String"
	case Number:
		return "Number"
	case Boolean:
		return "Boolean"
	case List:
		return "List<" + javaType(owner, t.Elem) + ">"
	case Map:
		return "Map<String, " + javaType(owner, t.Elem) + ">"
	case Struct:
		return t.Object.Name
	case Any, Scalar:
	}
	return "Object"
}

// javaValue returns an expression for a value that is not null.
func javaValue(owner, expression string, t *Type) string {
	return javaNested(expression, t, 0)
}

func javaNested(expression string, t *Type, depth int) string {
	if !nested(t) {
		return expression
	}
	variable := "v" + strings.Repeat("v", depth)
	switch t.Kind {
	case List:
		return expression + ".stream().map(" + variable + " -> " + javaNested(variable, t.Elem, depth+1) + ").collect(Collectors.toList())"
	case Map:
		return expression + ".entrySet().stream().collect(Collectors.toMap(Map.Entry::getKey, " + variable + " -> " +
			javaNested(variable+".getValue()", t.Elem, depth+1) + "))"
	case Any, Text, Number, Boolean, Scalar, Struct:
	}
	return expression + ".render()"
}
