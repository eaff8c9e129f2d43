package pintle

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// maxValueDepth is how deep the values of a provider may nest: one that leads to itself must end somewhere.
const maxValueDepth = 100

var errValueDepth = fmt.Errorf("the value nests deeper than %d levels, or leads to itself", maxValueDepth)

var (
	secretType          = reflect.TypeFor[Secret]()
	rawType             = reflect.TypeFor[json.RawMessage]()
	jsonMarshalerType   = reflect.TypeFor[json.Marshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// clearJSON is encoding/json with every [Secret] in clear: for what is sent, never for what is shown. It returns the
// texts of the secrets too.
func clearJSON(v any) (raw json.RawMessage, secrets []string, err error) {
	c := clearer{}
	plain, err := c.value(reflect.ValueOf(v), 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err = marshal(plain)
	return raw, c.secrets, err
}

// clearer turns values into what encoding/json writes without asking a Secret.
type clearer struct{ secrets []string }

func (c *clearer) value(v reflect.Value, depth int) (any, error) {
	switch {
	case !v.IsValid():
		return nil, nil
	case depth > maxValueDepth:
		return nil, errValueDepth
	case v.Type() == secretType:
		s := v.Interface().(Secret).Reveal()
		c.secrets = append(c.secrets, s)
		return s, nil
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil, nil
		}
		if v.Kind() == reflect.Pointer && v.Elem().Type() != secretType && marshalsItself(v.Type()) {
			return marshal(v.Interface())
		}
		return c.value(v.Elem(), depth+1)
	}
	if marshalsItself(v.Type()) {
		return marshal(v.Interface())
	}
	if v.CanAddr() && marshalsItself(reflect.PointerTo(v.Type())) {
		return marshal(v.Addr().Interface())
	}
	switch v.Kind() {
	case reflect.Struct:
		return c.object(v, depth)
	case reflect.Map:
		return c.dict(v, depth)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && (v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8) {
			return v.Interface(), nil
		}
		list := make([]any, v.Len())
		for i := range list {
			item, err := c.value(v.Index(i), depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	}
	return v.Interface(), nil
}

func (c *clearer) object(v reflect.Value, depth int) (any, error) {
	object := map[string]any{}
	for _, f := range jsonFields(v.Type()) {
		member, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitEmpty && isEmpty(member) || f.omitZero && isZero(member) {
			continue // not set, or in an embedded struct that is not there
		}
		plain, err := c.value(member, depth+1)
		if err != nil {
			return nil, err
		}
		if f.quoted {
			text, err := marshal(plain)
			if err != nil {
				return nil, err
			}
			plain = string(text)
		}
		object[f.name] = plain
	}
	return object, nil
}

func (c *clearer) dict(v reflect.Value, depth int) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	dict := make(map[string]any, v.Len())
	for key, member := range v.Seq2() {
		var name string
		switch k := key.Interface().(type) {
		case Secret:
			return nil, errors.New("a secret cannot be the key of a map")
		case encoding.TextMarshaler:
			text, err := k.MarshalText()
			if err != nil {
				return nil, err
			}
			name = string(text)
		default:
			name = fmt.Sprint(k)
		}
		plain, err := c.value(member, depth+1)
		if err != nil {
			return nil, err
		}
		dict[name] = plain
	}
	return dict, nil
}

func marshalsItself(t reflect.Type) bool {
	return t.Implements(jsonMarshalerType) || t.Implements(textMarshalerType)
}

// isEmpty is what the option omitempty of encoding/json means.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64,
		reflect.Interface, reflect.Pointer:
		return v.IsZero()
	}
	return false
}

func isZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	return v.IsZero()
}

// jsonField is a field of a struct as encoding/json sees it.
type jsonField struct {
	name                        string
	index                       []int
	field                       reflect.StructField
	omitEmpty, omitZero, quoted bool
}

// jsonFields returns the fields of a struct that encoding/json writes, those of embedded structs among them.
func jsonFields(t reflect.Type) []jsonField {
	var fields []jsonField
	var hidden [][]int // named embedded structs: their fields are not fields of t
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		inside := false
		for _, index := range hidden {
			inside = inside || len(f.Index) > len(index) && equalInts(f.Index[:len(index)], index)
		}
		if inside || tag == "-" {
			if f.Anonymous {
				hidden = append(hidden, f.Index)
			}
			continue
		}
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		if f.Anonymous && embedded.Kind() == reflect.Struct {
			if !tagged || name == "" {
				if !marshalsItself(f.Type) {
					continue // its fields follow
				}
				name = f.Name
			}
			hidden = append(hidden, f.Index)
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		j := jsonField{name: name, index: f.Index, field: f}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				j.omitEmpty = true
			case "omitzero":
				j.omitZero = true
			case "string":
				switch f.Type.Kind() {
				case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint,
					reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.String:
					j.quoted = true
				}
			}
		}
		fields = append(fields, j)
	}
	return fields
}

func equalInts(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
