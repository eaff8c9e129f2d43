package pintle

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

var (
	secretType          = reflect.TypeFor[Secret]()
	rawType             = reflect.TypeFor[json.RawMessage]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// kind is the kind of a value in the properties or attributes.
type kind int

const (
	kindText kind = iota
	kindBool
	kindInt
	kindUint
	kindFloat
	kindDuration
	kindSecret
	kindBytes
	kindRaw     // json.RawMessage: unchanged
	kindAny     // an empty interface: any JSON value
	kindTextual // has UnmarshalText
	kindJSON    // has UnmarshalJSON
	kindPointer
	kindList
	kindDict
	kindObject
)

// shape describes a Go type of properties or attributes.
type shape struct {
	kind   kind
	typ    reflect.Type
	elem   *shape  // of a pointer, list or dict
	fields []field // of an object
}

// field is a member of an object.
type field struct {
	name  string
	index []int
	shape *shape
	rules rules
}

// compiler makes the shapes of types. A recursive type has one shape.
type compiler struct{ done map[reflect.Type]*shape }

// compileObject returns the shape of properties: a struct, or raw JSON.
func compileObject(t reflect.Type) (*shape, error) {
	if t == rawType {
		return &shape{kind: kindRaw, typ: t}, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is neither a struct nor json.RawMessage", t)
	}
	c := compiler{map[reflect.Type]*shape{}}
	s, err := c.shape(t)
	if err != nil {
		return nil, err
	}
	if s.kind != kindObject {
		return nil, fmt.Errorf("%s reads itself; want a plain struct", t)
	}
	return s, s.verify(map[*shape]bool{})
}

func (c compiler) shape(t reflect.Type) (*shape, error) {
	if s := c.done[t]; s != nil {
		return s, nil
	}
	s := &shape{typ: t}
	c.done[t] = s
	var err error
	switch {
	case t == secretType:
		s.kind = kindSecret
	case t == rawType:
		s.kind = kindRaw
	case t == reflect.TypeFor[time.Duration]():
		s.kind = kindDuration
	case reflect.PointerTo(t).Implements(jsonUnmarshalerType) && t.Kind() != reflect.Pointer && !isTime(t):
		s.kind = kindJSON
	case reflect.PointerTo(t).Implements(textUnmarshalerType) && t.Kind() != reflect.Pointer:
		s.kind = kindTextual
	default:
		s.kind, err = kindOf(t)
	}
	if err != nil {
		return nil, err
	}
	switch s.kind { //nolint:exhaustive // the other kinds have no elements
	case kindPointer, kindList, kindDict:
		if s.elem, err = c.shape(t.Elem()); err != nil {
			return nil, err
		}
	case kindObject:
		return s, c.fill(s)
	}
	return s, nil
}

// isTime reports whether a type is time.Time. It reads itself from JSON and from text; the text form gives better
// errors and a better schema.
func isTime(t reflect.Type) bool { return t == reflect.TypeFor[time.Time]() }

func kindOf(t reflect.Type) (kind, error) {
	switch t.Kind() {
	case reflect.String:
		return kindText, nil
	case reflect.Bool:
		return kindBool, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return kindInt, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return kindUint, nil
	case reflect.Float32, reflect.Float64:
		return kindFloat, nil
	case reflect.Pointer:
		return kindPointer, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return kindBytes, nil
		}
		return kindList, nil
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return kindDict, nil
		}
		return 0, fmt.Errorf("%s: the keys of a map must be strings", t)
	case reflect.Struct:
		return kindObject, nil
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return kindAny, nil
		}
	}
	return 0, fmt.Errorf("a %s cannot be read from a property", t)
}

// fill adds the fields of an object.
func (c compiler) fill(s *shape) error {
	names := map[string]bool{}
	for _, j := range clearjson.Fields(s.typ) {
		rules, err := parseTag(j.Declared.Tag.Get("pintle"))
		if err != nil {
			return fmt.Errorf("%s.%s: tag pintle: %w", s.typ, j.Declared.Name, err)
		}
		f := field{name: j.Name, index: j.Index, rules: rules}
		if f.shape, err = c.shape(j.Declared.Type); err != nil {
			return fmt.Errorf("%s.%s: %w", s.typ, j.Declared.Name, err)
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("%s.%s: tag pintle: %w", s.typ, j.Declared.Name, err)
		}
		if names[f.name] {
			return fmt.Errorf("%s: two fields are named %s", s.typ, f.name)
		}
		for parent := s.typ; len(j.Index) > 1; j.Index = j.Index[1:] {
			if parent = parent.Field(j.Index[0]).Type; parent.Kind() == reflect.Pointer {
				return fmt.Errorf("%s: embed %s itself, not a pointer to it", s.typ, parent.Elem())
			}
		}
		names[f.name] = true
		s.fields = append(s.fields, f)
	}
	return nil
}

// base is the shape behind pointers.
func (s *shape) base() *shape {
	for s.kind == kindPointer {
		s = s.elem
	}
	return s
}

// leaf returns the shape that the rules of a field apply to: the items of a list or dict, or the value behind a
// pointer.
func (s *shape) leaf() *shape {
	for {
		switch s.kind { //nolint:exhaustive // the other kinds are leaves
		case kindPointer, kindList, kindDict:
			s = s.elem
			continue
		}
		return s
	}
}

// check returns an error for a rule that does not apply to the type of the field.
func (f field) check() error {
	leaf, r := f.shape.leaf().kind, f.rules
	numeric := leaf == kindInt || leaf == kindUint || leaf == kindFloat || leaf == kindDuration
	textual := leaf == kindText || leaf == kindSecret
	base := f.shape.base().kind
	sized := base == kindText || base == kindSecret || base == kindBytes || base == kindList || base == kindDict
	switch {
	case (r.min != nil || r.max != nil) && !numeric:
		return errors.New("min and max are for numbers and durations; the length of a text or list is length=")
	case (r.least > 0 || r.most >= 0) && !sized:
		return errors.New("length is for texts, lists and maps; the range of a number is min= and max=")
	case r.pattern != nil && !textual:
		return errors.New("pattern is for texts")
	case r.enum != nil && !textual && leaf != kindInt && leaf != kindUint:
		return errors.New("enum is for texts and whole numbers")
	}
	return nil
}

// immutableInside returns an immutable field somewhere within lists and maps, or "".
func (s *shape) immutableInside(seen map[*shape]bool) string {
	s = s.base()
	if s.kind != kindList && s.kind != kindDict || seen[s] {
		return ""
	}
	seen[s] = true
	item := s.leaf()
	for _, f := range item.fields {
		if f.rules.immutable {
			return item.typ.String() + "." + f.name
		}
	}
	return s.elem.immutableInside(seen)
}

// verify checks rules that involve whole shapes. It reads every default, so that a wrong one is found when the
// program starts. It looks for immutable fields where they cannot be compared.
func (s *shape) verify(seen map[*shape]bool) error {
	if s == nil || seen[s] {
		return nil
	}
	seen[s] = true
	for _, f := range s.fields {
		if path := f.shape.immutableInside(map[*shape]bool{}); path != "" {
			return fmt.Errorf("%s is immutable within a list or map; make the whole of it immutable", path)
		}
		if f.rules.fallback != nil {
			d := decoder{}
			d.fallback(reflect.New(f.shape.typ).Elem(), f, f.name)
			if len(d.problems) > 0 {
				return fmt.Errorf("%s: the default of %s", s.typ, strings.Join(d.problems, "; "))
			}
		}
		if err := f.shape.verify(seen); err != nil {
			return err
		}
	}
	return s.elem.verify(seen)
}

// immutables returns the values of the immutable fields in v by their path, as JSON.
func (s *shape) immutables(v reflect.Value) (map[string]string, error) {
	found := map[string]string{}
	return found, s.collect(v, "", found, 0)
}

func (s *shape) collect(v reflect.Value, path string, found map[string]string, depth int) error {
	if depth > clearjson.MaxDepth {
		return clearjson.ErrDepth
	}
	if s.kind == kindPointer {
		if v.IsNil() {
			return nil
		}
		return s.elem.collect(v.Elem(), path, found, depth+1)
	}
	for _, f := range s.fields {
		member := v.FieldByIndex(f.index)
		name := join(path, f.name)
		if !f.rules.immutable {
			if base := f.shape.base(); base.kind == kindObject && base.hasImmutable(map[*shape]bool{}) {
				if err := f.shape.collect(member, name, found, depth+1); err != nil {
					return err
				}
			}
			continue
		}
		raw, _, err := clearJSON(member.Interface())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		found[name] = string(raw)
	}
	return nil
}

// hasImmutable reports whether a field of the object, or of an object in it, is immutable.
func (s *shape) hasImmutable(seen map[*shape]bool) bool {
	if seen[s] {
		return false
	}
	seen[s] = true
	for _, f := range s.fields {
		if f.rules.immutable || f.shape.base().hasImmutable(seen) {
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
