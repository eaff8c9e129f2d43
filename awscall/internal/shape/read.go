package shape

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

var errTooDeep = errors.New("nested too deep")

// output reads a response into itself.
type output struct {
	typ   *Type
	value map[string]any
}

// Deserialize implements [smithy.Deserializable].
func (o *output) Deserialize(d smithy.ShapeDeserializer) error {
	if o.typ == nil {
		return nil
	}
	v, err := readStructure(d, o.typ.schema, o.typ, 0)
	o.value = v
	return err
}

func readStructure(d smithy.ShapeDeserializer, schema *smithy.Schema, t *Type, depth int) (map[string]any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	v := map[string]any{}
	err := smithy.ReadStruct(d, schema, func(ms *smithy.Schema) error {
		m := t.bySchema[ms]
		if m == nil {
			return errors.New("a member of another structure")
		}
		if !m.bound {
			null, err := d.ReadNil(ms)
			if null || err != nil {
				return err
			}
		}
		item, err := read(d, ms, m.Type, depth+1)
		if err == nil {
			v[m.Name] = item
		}
		return err
	})
	return v, err
}

// read reads a value that is not null. schema belongs to the use of the type.
func read(d smithy.ShapeDeserializer, schema *smithy.Schema, t *Type, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch t.Kind {
	case Structure:
		return readStructure(d, schema, t, depth)
	case List:
		return readList(d, schema, t, depth)
	case Map:
		return readMap(d, schema, t, depth)
	case String:
		var v string
		err := d.ReadString(schema, &v)
		return v, err
	case Blob:
		v := []byte{}
		err := d.ReadBlob(schema, &v)
		return v, err
	case Boolean:
		var v bool
		err := d.ReadBool(schema, &v)
		return v, err
	case Integer:
		return readInteger(d, schema, t)
	case Float:
		var v float64
		err := d.ReadFloat64(schema, &v)
		return v, err
	case Time:
		var v time.Time
		err := d.ReadTime(schema, &v)
		return v, err
	case Document:
		var v document.Value
		if err := d.ReadDocument(schema, &v); err != nil {
			return nil, err
		}
		return readDocument(v)
	}
	return nil, errors.New("a kind that is not known")
}

func readInteger(d smithy.ShapeDeserializer, schema *smithy.Schema, t *Type) (any, error) {
	if t.Bits == 32 { // the size of a status code
		var v int32
		err := d.ReadInt32(schema, &v)
		return int64(v), err
	}
	var v int64
	err := d.ReadInt64(schema, &v)
	return v, err
}

func readList(d smithy.ShapeDeserializer, schema *smithy.Schema, t *Type, depth int) (any, error) {
	v := []any{}
	elem := schema.ListMember()
	err := smithy.ReadList(d, schema, func() error {
		null, err := d.ReadNil(elem)
		if err != nil {
			return err
		}
		if null { // kept even if the model has no nulls, so that later items keep their index
			v = append(v, nil)
			return nil
		}
		item, err := read(d, elem, t.Elem, depth+1)
		v = append(v, item)
		return err
	})
	return v, err
}

func readMap(d smithy.ShapeDeserializer, schema *smithy.Schema, t *Type, depth int) (any, error) {
	v := map[string]any{}
	elem := schema.MapValue()
	err := smithy.ReadMap(d, schema, func(key string) error {
		null, err := d.ReadNil(elem)
		if err != nil {
			return err
		}
		if null {
			v[key] = nil
			return nil
		}
		item, err := read(d, elem, t.Elem, depth+1)
		if err == nil {
			v[key] = item
		}
		return err
	})
	return v, err
}

// readDocument turns a document into JSON values.
func readDocument(v document.Value) (any, error) {
	o, ok := v.(document.Opaque)
	if !ok {
		return nil, errors.New("a document of another form")
	}
	return readAny(o.Value)
}

// readAny checks that a document contains no types of smithy-go.
func readAny(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, float64, int64, json.Number:
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var err error
			if out[i], err = readAny(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			var err error
			if out[name], err = readAny(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return nil, errors.New("a document of another form")
	}
}
