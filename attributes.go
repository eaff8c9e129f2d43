package pintle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

// compileAttributes returns the shape of attributes: a struct, a pointer to one, or a map with string keys.
func compileAttributes(t reflect.Type) (*shape, error) {
	base := t
	if base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if base.Kind() != reflect.Struct && (t.Kind() != reflect.Map || t.Key().Kind() != reflect.String) || clearjson.MarshalsItself(t) {
		return nil, fmt.Errorf("%s is neither a plain struct nor a map with string keys", t)
	}
	return compiler{map[reflect.Type]*shape{}}.shape(t)
}

// taggedSecret reports whether a field in the shape is tagged secret. Encoding finds the values of type [Secret].
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

// addTo adds the members of a struct or map to an answer. A zero member does not overwrite an attribute that the
// answer already has.
func (s *shape) addTo(answer *Answer, v reflect.Value) {
	add := func(name string, member reflect.Value, secret bool) {
		if _, there := answer.Attributes[name]; there && clearjson.IsZero(member) {
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
	for i, j := range clearjson.Fields(v.Type()) {
		member := v.FieldByIndex(j.Index)
		if j.OmitEmpty && clearjson.IsEmpty(member) || j.OmitZero && clearjson.IsZero(member) || isNil(member) {
			continue
		}
		add(j.Name, member, fields[i].rules.secret || fields[i].shape.taggedSecret(map[*shape]bool{}))
	}
}

// hideSecrets redacts the values of secret attributes in logs and reasons.
func hideSecrets(r *Request, answer Answer) {
	_, secrets, err := clearJSON(answer.Attributes)
	if err != nil {
		return // encode reports the error
	}
	r.hide.Add(secrets...)
	if answer.NoEcho {
		r.hide.Add(scalarsIn(answer.Attributes)...)
	}
}

// scalarsIn returns the texts and numbers in a value; none if it cannot be encoded.
func scalarsIn(v any) []string {
	raw, _, err := clearJSON(v)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var values any
	d := decoder{}
	if dec.Decode(&values) == nil {
		d.hide(values)
	}
	return d.secrets
}

// isNil reports whether an attribute is missing. To the service, null means missing.
func isNil(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}
