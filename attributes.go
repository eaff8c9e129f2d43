package pintle

import (
	"fmt"
	"reflect"
)

// compileAttributes returns the shape of attributes: a struct, a pointer to one, or a map with string keys.
func compileAttributes(t reflect.Type) (*shape, error) {
	base := t
	if base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if base.Kind() != reflect.Struct && (t.Kind() != reflect.Map || t.Key().Kind() != reflect.String) || marshalsItself(t) {
		return nil, fmt.Errorf("%s is neither a plain struct nor a map with string keys", t)
	}
	return compiler{map[reflect.Type]*shape{}}.shape(t)
}

// taggedSecret reports whether a field in the shape is tagged secret. A [Secret] is found when it is encoded.
func (s *shape) taggedSecret(seen map[*shape]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	for _, f := range s.fields {
		if f.rules.secret || f.shape.taggedSecret(seen) {
			return true
		}
	}
	return s.elem.taggedSecret(seen)
}

// addTo adds the members of a struct or map to an answer. What is zero is left out if there is one already.
func (s *shape) addTo(answer *Answer, v reflect.Value) {
	add := func(name string, member reflect.Value, secret bool) {
		if _, there := answer.Attributes[name]; there && isZero(member) {
			return
		}
		if answer.Attributes == nil {
			answer.Attributes = map[string]any{}
		}
		answer.Attributes[name] = member.Interface()
		answer.NoEcho = answer.NoEcho || secret
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	if v.Kind() == reflect.Map {
		for key, member := range v.Seq2() {
			add(key.String(), member, s.elem.taggedSecret(map[*shape]bool{}))
		}
		return
	}
	fields := s.base().fields
	for i, j := range jsonFields(v.Type()) {
		member := v.FieldByIndex(j.index)
		if j.omitEmpty && isEmpty(member) || j.omitZero && isZero(member) || isNil(member) {
			continue
		}
		add(j.name, member, fields[i].rules.secret || fields[i].shape.taggedSecret(map[*shape]bool{}))
	}
}

// isNil reports whether an attribute is not there: the service takes null for a missing one.
func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}
