package query

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// kind is the wire representation of a type.
type kind uint8

const (
	textKind kind = iota
	boolKind
	intKind
	timeKind
	listKind
	structKind
)

// shape is the codec's description of a type. Pointers are dereferenced.
type shape struct {
	kind   kind
	item   *shape  // of a list
	fields []field // of a struct
}

// field is one member of a struct.
type field struct {
	name      string // on the wire
	path      string // in errors: the name with a lower-case first letter
	index     []int  // for reflect.Value.FieldByIndex, without pointers on the way
	shape     *shape
	required  bool
	secret    bool
	omitEmpty bool
	checks    []check // of the value itself
	each      []check // of the items of a list of scalars
	item      string  // name of a list's items
}

// shapes are the shapes of types. They are created when operations are registered and only read later, so that requests
// do not reflect over tags.
type shapes map[reflect.Type]*shape

var timeType = reflect.TypeFor[time.Time]()

// root returns the shape of an input or an output.
func (s shapes) root(t reflect.Type) *shape {
	if t.Kind() != reflect.Struct || t == timeType {
		panic(fmt.Sprintf("query: %s is not a struct", t))
	}
	return s.of(t)
}

// of returns the shape of a type. A recursive type finds its own unfinished shape.
func (s shapes) of(t reflect.Type) *shape {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() != reflect.Pointer && t.Elem().Kind() != reflect.Slice {
		t = t.Elem()
	}
	if known := s[t]; known != nil {
		return known
	}
	made := &shape{}
	s[t] = made
	switch {
	case t == timeType:
		made.kind = timeKind
	case t.Kind() == reflect.String:
		made.kind = textKind
	case t.Kind() == reflect.Bool:
		made.kind = boolKind
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		made.kind = intKind
	case t.Kind() == reflect.Slice:
		made.kind = listKind
		made.item = s.of(t.Elem())
		if made.item.kind == listKind {
			panic(fmt.Sprintf("query: %s: lists of lists are not in the protocol", t))
		}
	case t.Kind() == reflect.Struct:
		made.kind = structKind
		made.fields = s.fieldsOf(t)
	default:
		panic(fmt.Sprintf("query: a %s cannot be decoded or encoded", t))
	}
	return made
}

func (s shapes) fieldsOf(t reflect.Type) []field {
	var fields []field
	names := map[string]bool{}
	for i := range t.NumField() {
		declared := t.Field(i)
		tag, tagged := declared.Tag.Lookup("query")
		var found []field
		switch {
		case tag == "-":
			continue
		case declared.Anonymous && !tagged && declared.Type.Kind() == reflect.Struct && declared.Type != timeType:
			for _, inner := range s.fieldsOf(declared.Type) {
				inner.index = append(slices.Clone(declared.Index), inner.index...)
				found = append(found, inner)
			}
		case !declared.IsExported():
			continue
		default:
			found = []field{s.field(t, declared, tag)}
		}
		for _, f := range found {
			if names[f.name] {
				panic(fmt.Sprintf("query: %s has two fields named %s", t, f.name))
			}
			names[f.name] = true
			fields = append(fields, f)
		}
	}
	return fields
}

func (s shapes) field(in reflect.Type, declared reflect.StructField, tag string) field {
	name, options, _ := strings.Cut(tag, ",")
	if name == "" {
		name = declared.Name
	}
	f := field{name: name, path: strings.ToLower(name[:1]) + name[1:], index: declared.Index, shape: s.of(declared.Type), item: "member"}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "required":
			f.required = true
		case "secret":
			f.secret = true
		case "omitempty":
			f.omitEmpty = true
		case "entries":
			if f.shape.kind != listKind || f.shape.item.kind != structKind {
				panic(fmt.Sprintf("query: %s.%s: entries are a list of structs", in, declared.Name))
			}
			f.item = "entry"
		default:
			panic(fmt.Sprintf("query: %s.%s: unknown option %q", in, declared.Name, option))
		}
	}
	var err error
	if f.checks, f.each, err = parseChecks(declared.Tag, f.shape); err != nil {
		panic(fmt.Sprintf("query: %s.%s: %v", in, declared.Name, err))
	}
	return f
}
