package pintle

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// AnyType is the resource type in a schema for a handler without [For].
const AnyType = "*"

var errNoSchema = errors.New("this provider has no schema: none of its handlers was made by New")

// Schema returns the output of the program for the command "schema". It is a JSON document with the resource types of the
// handlers made by [New]. For each type it has the JSON Schema (2020-12) of the properties and of the attributes:
//
//	{"$schema": "https://json-schema.org/draft/2020-12/schema",
//	 "resourceTypes": {"Custom::Site": {"properties": {…}, "attributes": {…}}}}
//
// The schema describes what a provider accepts: a number may be a string, because CloudFormation sends numbers as
// strings. Where the schema requires a string, a template may also have a number or boolean, since that becomes a string
// on the way. Immutable properties are listed as createOnlyProperties, as in the schemas of CloudFormation's registry.
// Secret properties are writeOnly. A provider with a [Migrator] has x-migrates in the schema of its properties, because
// it may accept other properties too. A type whose provider is a [Reader] has the member reads with the value true, and
// one whose provider is a [Planner] has the member plans. Without a handler made by New, Schema returns an error.
func Schema(handlers ...Handler) ([]byte, error) {
	types := map[string]any{}
	for _, h := range handlers {
		name := AnyType
		for h != nil {
			if n, ok := h.(*named); ok {
				name = n.resourceType
			}
			if r, ok := h.(*Resource); ok {
				types[name] = r.schema()
			}
			w, ok := h.(wrapper)
			if !ok {
				break
			}
			h = w.unwrap()
		}
	}
	if len(types) == 0 {
		return nil, errNoSchema
	}
	return json.MarshalIndent(map[string]any{
		"$schema":       "https://json-schema.org/draft/2020-12/schema",
		"resourceTypes": types,
	}, "", "  ")
}

func (r *Resource) schema() map[string]any {
	in := schemaWriter{defs: map[string]any{}, names: map[*shape]string{}}
	properties := in.root(r.properties)
	if paths := createOnly(r.properties, "/properties", map[*shape]bool{}); len(paths) > 0 {
		properties["createOnlyProperties"] = paths
	}
	if r.migrates {
		properties["x-migrates"] = true
	}
	out := schemaWriter{defs: map[string]any{}, names: map[*shape]string{}, attributes: true}
	schema := map[string]any{"properties": properties, "attributes": out.root(r.attributes.base())}
	if r.reads {
		schema["reads"] = true
	}
	if r.plans {
		schema["plans"] = true
	}
	return schema
}

// createOnly returns the JSON pointers of the immutable properties.
func createOnly(s *shape, path string, seen map[*shape]bool) []string {
	if seen[s] {
		return nil
	}
	seen[s] = true
	defer delete(seen, s)
	var paths []string
	for _, f := range s.fields {
		name := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(f.name)
		if f.rules.immutable {
			paths = append(paths, name)
		} else {
			paths = append(paths, createOnly(f.shape.base(), name, seen)...)
		}
	}
	return paths
}

// schemaWriter makes schemas from shapes.
type schemaWriter struct {
	attributes bool // the schema is of attributes, not of properties
	defs       map[string]any
	names      map[*shape]string // the names in defs of structs that contain themselves
}

func (w *schemaWriter) root(s *shape) map[string]any {
	schema := w.value(s, &rules{most: -1})
	if len(w.defs) > 0 {
		schema["$defs"] = w.defs
	}
	return schema
}

// value returns the schema of a value.
func (w *schemaWriter) value(s *shape, r *rules) map[string]any {
	schema := map[string]any{}
	length := func(least, most string) {
		if r.least > 0 {
			schema[least] = r.least
		}
		if r.most >= 0 {
			schema[most] = r.most
		}
	}
	switch s.kind {
	case kindPointer:
		return w.value(s.elem, r)
	case kindText, kindSecret:
		schema["type"] = "string"
		length("minLength", "maxLength")
		if r.pattern != nil {
			schema["pattern"] = r.pattern.String()
		}
		if r.enum != nil {
			schema["enum"] = r.enum
		}
	case kindTextual:
		schema["type"] = "string"
		if isTime(s.typ) {
			schema["format"] = "date-time"
		}
	case kindBytes:
		schema["type"], schema["contentEncoding"] = "string", "base64"
	case kindBool:
		schema["type"] = "boolean"
		if !w.attributes {
			schema = map[string]any{"enum": []any{true, false, "true", "false"}}
		}
	case kindInt, kindUint, kindFloat:
		w.number(schema, s, r)
	case kindDuration:
		schema["type"] = []string{"string", "number"}
		if w.attributes {
			schema["type"] = "integer"
		}
	case kindList:
		schema["type"], schema["items"] = "array", w.value(s.elem, r.ofItems())
		length("minItems", "maxItems")
	case kindDict:
		schema["type"], schema["additionalProperties"] = "object", w.value(s.elem, r.ofItems())
		length("minProperties", "maxProperties")
	case kindObject:
		return w.object(s)
	case kindRaw, kindAny, kindJSON:
	}
	return schema
}

func (w *schemaWriter) number(schema map[string]any, s *shape, r *rules) {
	kind, pattern := "integer", `^-?[0-9]+$`
	if s.kind == kindFloat {
		kind, pattern = "number", `^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
	}
	schema["type"] = kind
	if !w.attributes {
		schema["type"], schema["pattern"] = []string{kind, "string"}, pattern
	}
	if r.min != nil {
		schema["minimum"] = r.min.value
	} else if s.kind == kindUint {
		schema["minimum"] = 0
	}
	if r.max != nil {
		schema["maximum"] = r.max.value
	}
	if r.enum != nil {
		var values []any
		for _, text := range r.enum {
			values = append(values, json.Number(text), text)
		}
		schema["enum"] = values
	}
}

// object returns the schema of a struct, or a reference to it if the struct contains itself.
func (w *schemaWriter) object(s *shape) map[string]any {
	if !s.within(s, map[*shape]bool{}) {
		return w.members(s)
	}
	name := w.names[s]
	if name == "" {
		name = s.typ.Name()
		for n := 2; w.defs[name] != nil; n++ {
			name = s.typ.Name() + strconv.Itoa(n)
		}
		w.names[s], w.defs[name] = name, true // reserves the name before its members refer to it
		w.defs[name] = w.members(s)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

func (w *schemaWriter) members(s *shape) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, f := range s.fields {
		member := w.value(f.shape, &f.rules)
		if f.rules.help != "" {
			member["description"] = f.rules.help
		}
		if f.rules.fallback != nil {
			member["default"] = defaultOf(f)
		}
		if f.rules.secret || f.shape.base().kind == kindSecret {
			if w.attributes {
				member["x-secret"] = true
			} else {
				member["writeOnly"] = true
			}
		}
		if f.needed() {
			required = append(required, f.name)
		}
		properties[f.name] = member
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 && !w.attributes {
		schema["required"] = required
	}
	return schema
}

// needed reports whether properties without the field are invalid: the field is required, or a field in it is.
func (f field) needed() bool {
	if f.rules.required || f.shape.kind != kindObject || f.rules.fallback != nil {
		return f.rules.required
	}
	for _, member := range f.shape.fields { // a struct can contain itself only behind a pointer, list or map
		if member.needed() {
			return true
		}
	}
	return false
}

// within reports whether another shape contains this one.
func (s *shape) within(other *shape, seen map[*shape]bool) bool {
	if other == nil || seen[other] {
		return false
	}
	seen[other] = true
	for _, f := range other.fields {
		if f.shape == s || s.within(f.shape, seen) {
			return true
		}
	}
	return other.elem == s || s.within(other.elem, seen)
}

// defaultOf returns a default as a JSON value.
func defaultOf(f field) any {
	text := *f.rules.fallback
	switch base := f.shape.base(); base.kind {
	case kindBool, kindInt, kindUint, kindFloat, kindList, kindDict, kindObject, kindRaw, kindAny, kindJSON:
		var value any
		if json.Unmarshal([]byte(strings.ToLower(text)), &value) == nil && base.kind == kindBool {
			return value
		}
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	case kindText, kindDuration, kindSecret, kindBytes, kindTextual, kindPointer:
	}
	return fmt.Sprint(text)
}
