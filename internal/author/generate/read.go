package generate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/wire"
)

// anyType stands in a document for the types that it does not name. Source: pintle.AnyType.
const anyType = "*"

// Limits of the types of one document. A schema without references to itself has no more objects than bytes, but a
// few references can stand for more objects than anyone can use. Source: ours.
const (
	maxObjects = 1000
	maxDepth   = 64
)

// imported are names that generated code imports or defines itself.
var imported = strings.Fields(`Array Boolean Builder Collectors Construct CustomResource Duration False HashMap IFunction IResolvable ITopic List Map None
	Number Object Objects Props Provider Record Reference RemovalPolicy RosResource String Token True Type`)

// Resource is a resource type of a provider.
type Resource struct {
	// Type is its name in templates, such as Custom::Site.
	Type string
	// Name is the identifier that stands for it in code, such as Site.
	Name string
	// Help is the description in the schema, or "".
	Help string
	// Properties are those of the resource, required ones first.
	Properties []Property
	// Attributes are the attributes for Fn::GetAtt.
	Attributes []Property
	// Objects are the types of the objects in properties, in the order of their first use.
	Objects []*Object
}

// Object is the type of an object in the properties of a resource.
type Object struct {
	// Name is an identifier without the name of the resource, unique in the resource.
	Name string
	// Help is the description in the schema, or "".
	Help string
	// Properties are its members, required ones first.
	Properties []Property
}

// Property is a property or an attribute.
type Property struct {
	// Key is its name in templates.
	Key string
	// Type is the type of its values.
	Type *Type
	// Help is the description in the schema, or "". Rules are sentences about constraints that a type does not express.
	Help  string
	Rules []string
	// Required is false for attributes.
	Required, Secret, Immutable bool
}

// Kind is a class of values.
type Kind string

// The kinds of values.
const (
	Any     Kind = "any"     // anything
	Text    Kind = "text"    // a string; one of Type.Enum, if that is not empty
	Number  Kind = "number"  // an integer or a number; one of Type.Enum, if that is not empty
	Boolean Kind = "boolean" // true or false
	Scalar  Kind = "scalar"  // a string or a number
	List    Kind = "list"    // of Type.Elem
	Map     Kind = "map"     // from strings to Type.Elem
	Struct  Kind = "struct"  // Type.Object
)

// Type is the type of a value.
type Type struct {
	Kind    Kind
	Integer bool // of a Number
	// Enum has the allowed values as JSON.
	Enum   []string
	Elem   *Type
	Object *Object
}

// flatten replaces objects by maps: users never write attributes in code, so their members need no types.
func (t *Type) flatten() {
	switch {
	case t == nil:
	case t.Kind == Struct:
		*t = Type{Kind: Map, Elem: &Type{Kind: Any}}
	default:
		t.Elem.flatten()
	}
}

// node has the supported keywords of JSON Schema. Package schema parses the document first and rejects malformed ones.
type node struct {
	Ref         string           `json:"$ref"`
	Defs        map[string]*node `json:"$defs"`
	Description string           `json:"description"`
	Default     json.RawMessage  `json:"default"`
	Types       oneOrMore        `json:"type"`
	Enum        []json.RawMessage
	Const       json.RawMessage
	Properties  map[string]*node
	Required    []string
	More        *node `json:"additionalProperties"`
	Items       *node
	Pattern     string
	Format      string
	Encoding    string `json:"contentEncoding"`

	Minimum, Maximum                                                       *json.Number
	MinLength, MaxLength, MinItems, MaxItems, MinProperties, MaxProperties *int

	WriteOnly  bool
	Secret     bool     `json:"x-secret"`
	CreateOnly []string `json:"createOnlyProperties"`
}

// oneOrMore is a string or a list of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = oneOrMore{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(o))
}

// UnmarshalJSON reads a schema. True and false are schemas too.
func (n *node) UnmarshalJSON(text []byte) error {
	if text = bytes.TrimSpace(text); len(text) > 0 && (text[0] == 't' || text[0] == 'f') {
		*n = node{}
		return nil
	}
	type plain node
	return json.Unmarshal(text, (*plain)(n))
}

// Read returns the resource types of a schema document, sorted by name: those listed in only, or all if it is empty. If the
// document describes one type without a name, a name in only becomes the name of that type. Errors contain no
// values.
func Read(text []byte, only []string) ([]Resource, error) {
	if _, err := schema.Parse(text); err != nil {
		return nil, err
	}
	var document struct {
		Types map[string]struct{ Properties, Attributes *node } `json:"resourceTypes"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("the schema has a keyword of an unexpected form: %w", err)
	}
	names := slices.Compact(slices.Sorted(slices.Values(only)))
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(document.Types))
	}
	if len(names) == 0 {
		return nil, errors.New("the schema has no resource types")
	}
	var resources []Resource
	types, identifiers := typeNames(names)
	for _, name := range names {
		in, ok := document.Types[name]
		if !ok {
			in, ok = document.Types[anyType]
		}
		switch {
		case !ok:
			return nil, fmt.Errorf("the schema has no resource type %s; it has %s", name, strings.Join(slices.Sorted(maps.Keys(document.Types)), ", "))
		case name == anyType:
			return nil, errors.New("the schema is for any resource type: give it a name, as in --resource-type Custom::Name")
		case !strings.HasPrefix(name, wire.CustomTypePrefix):
			return nil, fmt.Errorf("%q is not the name of a custom resource type: it begins with %s", name, wire.CustomTypePrefix)
		case in.Properties == nil:
			return nil, fmt.Errorf("the schema of %s has no properties", name)
		}
		if err := wire.CheckResourceType(name); err != nil {
			return nil, err
		}
		resource := Resource{Type: name, Name: types[name], Help: sentence(in.Properties.Description)}
		r := reader{root: in.Properties, objects: map[*node]*Object{}, owner: resource.Name, taken: identifiers}
		var err error
		if resource.Properties, err = r.members(in.Properties, "", in.Properties.CreateOnly, "/properties", 0); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		resource.Objects = r.order
		if in.Attributes != nil {
			a := reader{root: in.Attributes, objects: map[*node]*Object{}, owner: resource.Name, taken: unique{}}
			if resource.Attributes, err = a.members(in.Attributes, "", nil, "", 0); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for _, p := range resource.Attributes {
				p.Type.flatten()
			}
		}
		resources = append(resources, resource)
	}
	return resources, nil
}

// typeNames returns identifiers for resource types, and all identifiers that generated code uses.
func typeNames(names []string) (types map[string]string, identifiers unique) {
	identifiers = unique{}
	for _, name := range imported {
		identifiers[name] = true
	}
	types = map[string]string{}
	files := unique{} // names of files are in lower case, and on some systems their case does not count
	for _, name := range names {
		id := pascal(strings.TrimPrefix(name, wire.CustomTypePrefix))
		types[name] = id
		for n := 2; identifiers[types[name]] || files[strings.ToLower(types[name])]; n++ {
			types[name] = id + strconv.Itoa(n)
		}
		identifiers[types[name]], files[strings.ToLower(types[name])] = true, true
		for _, own := range []string{types[name] + "Props", types[name] + "Type", "New" + types[name]} {
			identifiers[own] = true
		}
	}
	return types, identifiers
}

// reader reads the schema of one set of properties.
type reader struct {
	root    *node
	objects map[*node]*Object
	order   []*Object
	owner   string // the identifier of the resource
	taken   unique
}

// resolved follows references within the document. It returns nil for one that leads nowhere, and for no schema.
func (r *reader) resolved(n *node) *node {
	for range 32 {
		if n == nil || n.Ref == "" {
			return n
		}
		name, ok := strings.CutPrefix(n.Ref, "#/$defs/")
		switch def := r.root.Defs[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; {
		case n.Ref == "#":
			n = r.root
		case ok:
			n = def
		default:
			return nil
		}
	}
	return nil
}

// name returns a name of an object that is free with that of the resource before it, as Go has it, and alone, as Java does.
func (r *reader) name(path string) string {
	for path == r.owner || slices.Contains(imported, path) {
		path += "Object"
	}
	return strings.TrimPrefix(r.taken.take(r.owner+path), r.owner)
}

// members returns the properties of an object. path is the name of the object, and pointer where it is in the document.
func (r *reader) members(n *node, path string, createOnly []string, pointer string, depth int) ([]Property, error) {
	n = r.resolved(n)
	if n == nil {
		return nil, nil
	}
	var properties []Property
	for _, key := range slices.Sorted(maps.Keys(n.Properties)) {
		member := n.Properties[key]
		if member == nil || pointer == "/properties" && slices.Contains(schema.ServiceKeys, key) {
			continue
		}
		at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		t, err := r.typ(member, path+pascal(key), createOnly, at, depth+1)
		if err != nil {
			return nil, err
		}
		target := r.resolved(member)
		if target == nil {
			target = &node{}
		}
		p := Property{
			Key: key, Type: t, Help: sentence(cmp.Or(member.Description, target.Description)),
			Required: slices.Contains(n.Required, key), Immutable: slices.Contains(createOnly, at),
			Secret: member.WriteOnly || member.Secret || target.WriteOnly || target.Secret,
		}
		p.Rules = rules(target, t, p)
		if len(member.Default) > 0 {
			p.Rules = append(p.Rules, "Default: "+compact(member.Default)+".")
		}
		properties = append(properties, p)
	}
	slices.SortStableFunc(properties, func(a, b Property) int {
		switch {
		case a.Required == b.Required:
			return strings.Compare(a.Key, b.Key)
		case a.Required:
			return -1
		}
		return 1
	})
	return properties, nil
}

// typ returns the type of the values that fit a schema.
func (r *reader) typ(n *node, path string, createOnly []string, pointer string, depth int) (*Type, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema nests deeper than %d levels", maxDepth)
	}
	n = r.resolved(n)
	if n == nil {
		return &Type{Kind: Any}, nil
	}
	has := func(name string) bool { return slices.Contains(n.Types, name) }
	values := n.Enum
	if len(n.Const) > 0 {
		values = []json.RawMessage{n.Const}
	}
	if len(values) > 0 {
		return enumeration(values), nil
	}
	switch {
	case (has("object") || has("array")) && len(slices.DeleteFunc(slices.Clone(n.Types), func(t string) bool { return t == "null" })) > 1:
		return &Type{Kind: Any}, nil // of more than one kind
	case has("object") || n.Types == nil && n.Properties != nil:
		if len(n.Properties) == 0 {
			elem, err := r.typ(n.More, path+"Value", nil, pointer, depth+1)
			return &Type{Kind: Map, Elem: elem}, err
		}
		object := r.objects[n]
		if object == nil {
			if len(r.order) == maxObjects {
				return nil, fmt.Errorf("the schema has more than %d objects", maxObjects)
			}
			object = &Object{Name: r.name(path), Help: sentence(n.Description)}
			r.objects[n] = object
			r.order = append(r.order, object)
			var err error
			if object.Properties, err = r.members(n, path, createOnly, pointer, depth); err != nil {
				return nil, err
			}
		}
		return &Type{Kind: Struct, Object: object}, nil
	case has("array"):
		elem, err := r.typ(n.Items, path+"Item", nil, pointer, depth+1)
		return &Type{Kind: List, Elem: elem}, err
	case has("boolean"):
		return &Type{Kind: Boolean}, nil
	case has("number") && has("string") && n.Pattern == "" && n.Minimum == nil && n.Maximum == nil:
		return &Type{Kind: Scalar}, nil
	case has("integer"), has("number"):
		return &Type{Kind: Number, Integer: !has("number")}, nil
	case has("string"):
		return &Type{Kind: Text}, nil
	}
	return &Type{Kind: Any}, nil
}

// enumeration returns the type of listed values. A number or boolean is listed as a string too, since CloudFormation makes it
// one.
func enumeration(values []json.RawMessage) *Type {
	var texts, numbers []string
	booleans := 0
	for _, v := range values {
		v := compact(v)
		if v == "null" {
			continue
		}
		inner := v
		isText := json.Unmarshal([]byte(v), &inner) == nil
		var number json.Number
		switch {
		case inner == "true" || inner == "false":
			booleans++
		case !isText && json.Unmarshal([]byte(v), &number) == nil:
			numbers = append(numbers, v)
		case isText:
			texts = append(texts, quoted(inner)) // without escapes that only JSON has
		default:
			return &Type{Kind: Any}
		}
	}
	if len(numbers) > 0 {
		texts = slices.DeleteFunc(texts, func(text string) bool {
			return slices.Contains(numbers, strings.Trim(text, `"`))
		})
	}
	switch {
	case booleans > 0 && len(texts)+len(numbers) == 0:
		return &Type{Kind: Boolean}
	case booleans > 0 || len(texts) > 0 && len(numbers) > 0:
		return &Type{Kind: Any} // of more than one kind
	case len(numbers) > 0:
		return &Type{Kind: Number, Enum: numbers, Integer: !slices.ContainsFunc(numbers, func(n string) bool { return strings.ContainsAny(n, ".eE") })}
	}
	if len(texts) == 0 {
		return &Type{Kind: Any}
	}
	return &Type{Kind: Text, Enum: texts}
}

// sentence ends a description, which sentences about the property follow.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsLetter(last) || unicode.IsDigit(last) {
		text += "."
	}
	return text
}

// rules returns sentences about a property that its type does not express.
func rules(n *node, t *Type, p Property) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(t.Enum) > 0 {
		add("One of %s.", strings.Join(t.Enum, ", "))
	}
	between := func(least, most, unit string) {
		switch {
		case least != "" && most != "":
			add("From %s to %s%s.", least, most, plurals(unit, most))
		case least != "":
			add("At least %s%s.", least, plurals(unit, least))
		case most != "":
			add("At most %s%s.", most, plurals(unit, most))
		}
	}
	if t.Kind == Number && len(t.Enum) == 0 {
		if t.Integer {
			add("A whole number.")
		}
		between(numberOf(n.Minimum), numberOf(n.Maximum), "")
	}
	switch t.Kind {
	case Text:
		between(intOf(n.MinLength), intOf(n.MaxLength), " character")
		if n.Pattern != "" {
			add("Matches the regular expression `%s`.", n.Pattern)
		}
		switch {
		case n.Format == "date-time":
			add("A time as in RFC 3339, such as 2026-01-02T15:04:05Z.")
		case n.Encoding == "base64":
			add("Base64.")
		}
	case List:
		between(intOf(n.MinItems), intOf(n.MaxItems), " item")
	case Map:
		between(intOf(n.MinProperties), intOf(n.MaxProperties), " member")
	case Any, Number, Boolean, Scalar, Struct:
	}
	if p.Immutable {
		add("A change replaces the resource.")
	}
	if p.Secret {
		add("A secret.")
	}
	return out
}

func plurals(unit, count string) string {
	if unit == "" || count == "1" {
		return unit
	}
	return unit + "s"
}

func numberOf(n *json.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

func intOf(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func compact(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return string(text)
	}
	return out.String()
}
