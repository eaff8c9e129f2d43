package generate

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode"
)

//go:embed templates
var templates embed.FS

// File is a generated file.
type File struct {
	// Name is its name, without a directory.
	Name string
	Text []byte
}

// Format is an output format. The zero Format is not valid; see [CDK], [ROSCDK] and [Markdown].
type Format struct {
	// template is the name of the template, and shared that of one with definitions for it; empty for none.
	template, shared string
	// file returns the name of the file of a resource.
	file func(r Resource) string
	// member and attribute return identifiers of properties and attributes.
	member, attribute func(key string) string
	// keywords cannot be identifiers of properties, and reserved are those of the construct itself.
	keywords, reserved []string
	// typ returns the type of a value as the language writes it. owner is the name of the resource.
	typ func(owner string, t *Type) string
	// render returns the expression that converts a value for the template.
	render func(owner, expression string, t *Type) string
	// comment makes text safe in a comment of the language.
	comment func(text string) string
	// packages matches the names of packages; nil for a language without them.
	packages *regexp.Regexp
	// notPackage reports whether a part of such a name is a keyword; nil for a language without packages.
	notPackage func(part string) bool
	// finish formats a file; nil for none.
	finish func(text []byte) ([]byte, error)
}

// cdkLanguages are offered in this order.
var cdkLanguages = []string{"typescript", "python", "go", "java"}

// CDKLanguages returns the languages of [CDK].
func CDKLanguages() []string { return slices.Clone(cdkLanguages) }

// CDK returns the format of constructs for version 2 of the AWS CDK in a language of [CDKLanguages].
func CDK(language string) (Format, error) {
	switch language {
	case "typescript":
		return typeScript("cdk.ts.tmpl", "serviceToken", "serviceTimeout", "removalPolicy"), nil
	case "python":
		return python(), nil
	case "go":
		return golang(), nil
	case "java":
		return java(), nil
	}
	return Format{}, fmt.Errorf("no language %q: want %s", language, strings.Join(cdkLanguages, ", "))
}

// ROSCDK returns the format of constructs in TypeScript for version 1 of the ROS CDK.
func ROSCDK() Format {
	return typeScript("roscdk.ts.tmpl", "serviceToken", "operationTimeout", "removalPolicy")
}

// view is the data of a template.
type view struct {
	Resource
	// Package is the package of the code, if the language has packages.
	Package    string
	Props      []field
	Attributes []field
	Objects    []objectView
}

type objectView struct {
	*Object
	Props []field
}

// field is a property with its identifier.
type field struct {
	Property
	ID string
}

// defaultPackage is the package of generated code.
const defaultPackage = "constructs"

// Write returns the files of the resources, one for each. pkg is the package of the code, "constructs" if it is empty; only Go and
// Java have one. An error names a package that the language does not accept.
func (f Format) Write(resources []Resource, pkg string) ([]File, error) {
	switch {
	case f.packages == nil && pkg != "":
		return nil, errors.New("only Go and Java have packages")
	case f.packages != nil:
		if pkg = cmp.Or(pkg, defaultPackage); !f.packages.MatchString(pkg) {
			return nil, fmt.Errorf("%q is not the name of a package: want %s", pkg, f.packages)
		}
		for part := range strings.SplitSeq(pkg, ".") {
			if f.notPackage(part) {
				return nil, fmt.Errorf("%q is not the name of a package: %s is a keyword", pkg, part)
			}
		}
	}
	comment := func(text string) string { return f.comment(printable(text)) }
	t := template.New(f.template).Funcs(template.FuncMap{
		"type":     f.typ,
		"render":   f.render,
		"comment":  comment,
		"quote":    quoted,
		"key":      key,
		"comments": func(indent string, texts ...any) string { return block(indent, comment, texts...) },
		"trim":     func(text string) string { return strings.TrimRight(text, "\n") },
		"required": func(required bool) string {
			if required {
				return "Required."
			}
			return ""
		},
		"sentences": func(help string, rules []string) string {
			return comment(strings.TrimSpace(help + " " + strings.Join(rules, " ")))
		},
		"list": func(values ...any) []any { return values },
		"doc":  func(indent string, texts ...any) string { return doc(indent, comment, texts...) },
	})
	names := []string{"templates/" + f.template}
	if f.shared != "" {
		names = append(names, "templates/"+f.shared)
	}
	t, err := t.ParseFS(templates, names...)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, r := range resources {
		v := view{
			Resource: r, Package: pkg, Props: f.fields(r.Properties, f.member, f.reserved),
			Attributes: f.fields(r.Attributes, f.attribute, nil),
		}
		for _, o := range r.Objects {
			v.Objects = append(v.Objects, objectView{o, f.fields(o.Properties, f.member, nil)})
		}
		var out bytes.Buffer
		if err := t.Execute(&out, v); err != nil {
			return nil, err
		}
		text := out.Bytes()
		if f.finish != nil {
			if text, err = f.finish(text); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Type, err)
			}
		}
		files = append(files, File{f.file(r), text})
	}
	return files, nil
}

// invisible reports whether a character is a control character, a byte order mark, or one that changes the direction of text. Compilers
// reject some of them. Others show a reader, or a terminal, something else than the compiler reads.
func invisible(r rune) bool {
	return r == '\ufeff' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// printable removes invisible characters other than white space, and replaces invalid UTF-8.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// key returns the key of a member in an object literal of TypeScript, where "__proto__" alone is not a member.
func key(name string) string {
	if name == "__proto__" {
		return `["__proto__"]`
	}
	return quoted(name)
}

// quoted returns a string literal in ASCII escapes and printable characters. It is the same in all languages here.
func quoted(text string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // of a string
	}
	literal := strings.TrimSpace(out.String())
	if !strings.ContainsFunc(literal, invisible) {
		return literal
	}
	out.Reset()
	for _, r := range literal {
		if invisible(r) {
			fmt.Fprintf(&out, `\u%04x`, r) // all of them have four digits
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// nested reports whether there is an object in values of the type.
func nested(t *Type) bool {
	return t != nil && (t.Kind == Struct || nested(t.Elem))
}

// docWidth is the width of comments in characters.
const docWidth = 110

// doc returns the lines of a comment, broken at docWidth, each with the indent before it and a newline after it; "" for no
// text. A text is a string, which keeps its own line breaks too, or a list of sentences.
func doc(indent string, clean func(string) string, texts ...any) string {
	var lines []string
	for _, text := range texts {
		switch text := text.(type) {
		case string:
			for line := range strings.Lines(text) {
				lines = append(lines, wrap(strings.TrimRight(clean(line), " \t\r\n"), docWidth-len(indent))...)
			}
		case []string:
			lines = append(lines, wrap(clean(strings.Join(text, " ")), docWidth-len(indent))...)
		}
	}
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(indent + line + "\n")
	}
	return out.String()
}

// block returns a comment of Java and TypeScript, on one line if it fits there; "" for no text.
func block(indent string, clean func(string) string, texts ...any) string {
	lines := doc(indent+" * ", clean, texts...)
	one, more := strings.CutPrefix(strings.TrimSpace(lines), "* ")
	switch {
	case lines == "":
		return ""
	case more && !strings.Contains(one, "\n"):
		return indent + "/** " + one + " */\n"
	}
	return indent + "/**\n" + lines + indent + " */\n"
}

// wrap breaks a text between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
