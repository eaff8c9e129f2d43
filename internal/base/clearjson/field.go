package clearjson

import (
	"reflect"
	"slices"
	"strings"
)

// Field is a field of a struct as encoding/json sees it.
type Field struct {
	// Name is the JSON name, and Index the argument of [reflect.Value.FieldByIndex].
	Name  string
	Index []int
	// Declared is the field with its tags.
	Declared reflect.StructField
	// OmitEmpty and OmitZero are the options in its tag.
	OmitEmpty, OmitZero bool

	quoted bool
}

// Fields returns the fields of a struct that encoding/json encodes, including those of embedded structs.
func Fields(t reflect.Type) []Field {
	var fields []Field
	var hidden [][]int // named embedded structs: their fields are not fields of t
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		inside := false
		for _, index := range hidden {
			inside = inside || len(f.Index) > len(index) && slices.Equal(f.Index[:len(index)], index)
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
				if !MarshalsItself(f.Type) {
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
		j := Field{Name: name, Index: f.Index, Declared: f}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty":
				j.OmitEmpty = true
			case "omitzero":
				j.OmitZero = true
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
