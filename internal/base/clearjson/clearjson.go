// Package clearjson encodes values as encoding/json does, but with secrets in clear text and without HTML escapes.
package clearjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// MaxDepth is the maximum nesting depth of values. It stops values that contain themselves.
const MaxDepth = 100

// ErrDepth is the error for a value that nests too deep.
var ErrDepth = fmt.Errorf("the value nests deeper than %d levels, or leads to itself", MaxDepth)

var (
	jsonMarshalerType = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// Secret is a type whose values encoding/json masks. Reveal returns the clear text.
type Secret interface{ Reveal() string }

// Marshal encodes v with every S in clear text. Use it only for output that is sent, never for output that is shown.
// It also returns the texts of the secrets.
func Marshal[S Secret](v any) (raw json.RawMessage, secrets []string, err error) {
	c := clearer[S]{}
	plain, err := c.value(reflect.ValueOf(v), 0)
	if err != nil {
		return nil, nil, err
	}
	raw, err = Encode(plain)
	return raw, c.secrets, err
}

// Encode is [json.Marshal] without HTML escapes, which would count against the size limit of a response.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// clearer converts values to ones that encoding/json encodes in clear text.
type clearer[S Secret] struct{ secrets []string }

func (c *clearer[S]) value(v reflect.Value, depth int) (any, error) {
	switch {
	case !v.IsValid():
		return nil, nil
	case depth > MaxDepth:
		return nil, ErrDepth
	case v.Type() == reflect.TypeFor[S]():
		s := v.Interface().(S).Reveal()
		c.secrets = append(c.secrets, s)
		return s, nil
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil, nil
		}
		if v.Kind() == reflect.Pointer && v.Elem().Type() != reflect.TypeFor[S]() && MarshalsItself(v.Type()) {
			return Encode(v.Interface())
		}
		return c.value(v.Elem(), depth+1)
	}
	if MarshalsItself(v.Type()) {
		return Encode(v.Interface())
	}
	if v.CanAddr() && MarshalsItself(reflect.PointerTo(v.Type())) {
		return Encode(v.Addr().Interface())
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

func (c *clearer[S]) object(v reflect.Value, depth int) (any, error) {
	object := map[string]any{}
	for _, f := range Fields(v.Type()) {
		member, err := v.FieldByIndexErr(f.Index)
		if err != nil || f.OmitEmpty && IsEmpty(member) || f.OmitZero && IsZero(member) {
			continue // omitted, or in a nil embedded struct
		}
		plain, err := c.value(member, depth+1)
		if err != nil {
			return nil, err
		}
		if f.quoted {
			text, err := Encode(plain)
			if err != nil {
				return nil, err
			}
			plain = string(text)
		}
		object[f.Name] = plain
	}
	return object, nil
}

func (c *clearer[S]) dict(v reflect.Value, depth int) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	dict := make(map[string]any, v.Len())
	for key, member := range v.Seq2() {
		var name string
		switch k := key.Interface().(type) {
		case S:
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

// MarshalsItself reports whether a type implements its own JSON or text encoding.
func MarshalsItself(t reflect.Type) bool {
	return t.Implements(jsonMarshalerType) || t.Implements(textMarshalerType)
}

// IsEmpty reports whether the omitempty option of encoding/json omits v.
func IsEmpty(v reflect.Value) bool {
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

// IsZero reports whether the omitzero option of encoding/json omits v.
func IsZero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return z.IsZero()
	}
	return v.IsZero()
}
