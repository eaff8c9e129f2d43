package pintle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/clearjson"
	"github.com/pintle-dev/pintle/internal/base/suggest"
)

// maxProblems limits the problems in the text of one error.
const maxProblems = 10

// PropertiesError reports invalid properties of a resource. It never quotes a value, because that may be a secret.
type PropertiesError struct {
	// Old reports that these are the old properties of an Update.
	Old bool
	// Problems has one entry for each invalid property, e.g. "Port: want a whole number from 1 to 65535".
	Problems []string
}

// Error returns the problems in one line: the first ten, and the number of further ones.
func (e *PropertiesError) Error() string {
	text := "properties: "
	if e.Old {
		text = "old properties: "
	}
	text += strings.Join(e.Problems[:min(len(e.Problems), maxProblems)], "; ")
	if more := len(e.Problems) - maxProblems; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// parseProperties reads a JSON object and removes the properties that belong to the service: ServiceToken and
// ServiceTimeout.
func parseProperties(raw json.RawMessage, s *shape) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil {
		return nil, fmt.Errorf("properties are not a JSON object: %w", err)
	}
	if object == nil {
		object = map[string]any{}
	}
	for _, name := range []string{"ServiceToken", "ServiceTimeout"} {
		if !slices.ContainsFunc(s.fields, func(f field) bool { return f.name == name }) {
			delete(object, name)
		}
	}
	return object, nil
}

// decoder fills an author's struct from properties and collects the problems with them. CloudFormation turns every
// number and boolean into a string, so the decoder accepts strings for them.
type decoder struct {
	// lenient is for properties that an earlier version of the provider accepted: only unreadable ones are problems.
	lenient   bool
	old       bool // the properties are the old ones of an Update
	problems  []string
	immutable bool // one of the problems is with an immutable property
	secrets   []string
}

func (d *decoder) problem(path, format string, args ...any) {
	d.problems = append(d.problems, path+": "+fmt.Sprintf(format, args...))
}

func (d *decoder) object(v reflect.Value, s *shape, in map[string]any, path string) {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
		member, name := v.FieldByIndex(f.index), join(path, f.name)
		problems := len(d.problems)
		switch given := in[f.name]; {
		case given != nil:
			if f.rules.secret {
				d.hide(given)
			}
			d.value(member, f.shape, &f.rules, given, name)
		case f.rules.fallback != nil:
			d.fallback(member, f, name)
		case f.rules.required && !d.lenient:
			d.problem(name, "is missing")
		case f.shape.kind == kindObject: // its fields may be required or have defaults
			d.object(member, f.shape, nil, name)
		}
		if len(d.problems) > problems && f.rules.immutable {
			d.immutable = true
		}
	}
	if d.lenient {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if slices.Contains(names, name) {
			continue
		}
		shown := strings.ToValidUTF8(join(path, name)[:min(len(join(path, name)), 100)], "")
		if near := suggest.Name(name, names); near != "" {
			d.problem(shown, "is not known, did you mean %s?", near)
		} else {
			d.problem(shown, "is not known")
		}
	}
}

// fallback sets a field to its default.
func (d *decoder) fallback(v reflect.Value, f field, path string) {
	var in any = *f.rules.fallback
	switch f.shape.base().kind {
	case kindList, kindDict, kindObject, kindRaw, kindAny, kindJSON:
		dec := json.NewDecoder(strings.NewReader(*f.rules.fallback))
		dec.UseNumber()
		if err := dec.Decode(&in); err != nil {
			d.problem(path, "is no JSON")
			return
		}
	case kindText, kindBool, kindInt, kindUint, kindFloat, kindDuration, kindSecret, kindBytes, kindTextual, kindPointer:
	}
	d.value(v, f.shape, &f.rules, in, path)
}

// hide records the scalars in a value as secrets.
func (d *decoder) hide(in any) {
	switch in := in.(type) {
	case string:
		d.secrets = append(d.secrets, in)
	case json.Number:
		d.secrets = append(d.secrets, in.String())
	case []any:
		for _, item := range in {
			d.hide(item)
		}
	case map[string]any:
		for _, member := range in {
			d.hide(member)
		}
	}
}

// value reads in into v. Null counts as missing. A value that cannot be read leaves v zero.
func (d *decoder) value(v reflect.Value, s *shape, r *rules, in any, path string) {
	if in == nil {
		return
	}
	want := func() {
		v.SetZero()
		d.problem(path, "want %s", describe(s, r))
	}
	switch s.kind {
	case kindPointer:
		p := reflect.New(s.elem.typ)
		problems := len(d.problems)
		if d.value(p.Elem(), s.elem, r, in, path); len(d.problems) == problems || !p.Elem().IsZero() {
			v.Set(p)
		}
	case kindList:
		items, ok := in.([]any)
		if !ok || !d.fits(r, len(items)) {
			want()
			return
		}
		list := reflect.MakeSlice(s.typ, len(items), len(items))
		for i, item := range items {
			d.value(list.Index(i), s.elem, r.ofItems(), item, fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(list)
	case kindDict:
		members, ok := in.(map[string]any)
		if !ok || !d.fits(r, len(members)) {
			want()
			return
		}
		dict := reflect.MakeMapWithSize(s.typ, len(members))
		for _, name := range slices.Sorted(maps.Keys(members)) {
			member := reflect.New(s.elem.typ).Elem()
			d.value(member, s.elem, r.ofItems(), members[name], join(path, name))
			dict.SetMapIndex(reflect.ValueOf(name).Convert(s.typ.Key()), member)
		}
		v.Set(dict)
	case kindObject:
		members, ok := in.(map[string]any)
		if !ok {
			d.immutable = d.immutable || s.hasImmutable(map[*shape]bool{})
			want()
			return
		}
		d.object(v, s, members, path)
	case kindAny:
		v.Set(reflect.ValueOf(in))
	case kindRaw, kindJSON:
		raw, err := clearjson.Encode(in)
		if err == nil && s.kind == kindRaw {
			v.SetBytes(raw)
			return
		}
		if err != nil || v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(raw) != nil { // its error may quote the value
			want()
		}
	case kindText, kindBool, kindInt, kindUint, kindFloat, kindDuration, kindSecret, kindBytes, kindTextual:
		text, ok := scalarText(in)
		if ok && s.kind == kindSecret {
			d.secrets = append(d.secrets, text)
		}
		if !ok || !setScalar(v, s.kind, text) || !d.lenient && !r.allow(v, s.kind, text) {
			want()
		}
	}
}

// fits reports whether a length is allowed.
func (d *decoder) fits(r *rules, length int) bool {
	return d.lenient || length >= r.least && (r.most < 0 || length <= r.most)
}

// ofItems returns the rules for the items of a list or map: all but the length, which applies to the whole.
func (r *rules) ofItems() *rules {
	items := *r
	items.least, items.most = 0, -1
	return &items
}
