package shape

import (
	"time"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/document"
)

// documentText is JSON that is written unchanged.
type documentText []byte

// MarshalSmithyDocument implements smithy-go's document.Marshaler.
func (t documentText) MarshalSmithyDocument() ([]byte, error) { return t, nil }

// Serialize implements [smithy.Serializable].
func (in *Input) Serialize(s smithy.ShapeSerializer) {
	if in.typ == nil {
		return
	}
	writeStructure(s, in.typ.schema, in.fields)
}

func writeStructure(s smithy.ShapeSerializer, schema *smithy.Schema, fields []field) {
	s.WriteStruct(schema)
	for _, f := range fields {
		if !f.member.unsent {
			write(s, f.member.schema, f.member.Type, f.value)
		}
	}
	s.CloseStruct()
}

// write writes a value that was coerced to t.
func write(s smithy.ShapeSerializer, schema *smithy.Schema, t *Type, value any) {
	switch v := value.(type) {
	case nil:
		s.WriteNil(schema)
	case []field:
		writeStructure(s, schema, v)
	case []any:
		s.WriteList(schema)
		for _, item := range v {
			write(s, schema.ListMember(), t.Elem, item)
		}
		s.CloseList()
	case []entry:
		s.WriteMap(schema)
		for _, e := range v {
			s.WriteKey(schema.MapKey(), e.key)
			write(s, schema.MapValue(), t.Elem, e.value)
		}
		s.CloseMap()
	case string:
		s.WriteString(schema, v)
	case []byte:
		s.WriteBlob(schema, v)
	case bool:
		s.WriteBool(schema, v)
	case int64:
		writeInteger(s, schema, t, v)
	case float64:
		if t.Bits == 32 {
			s.WriteFloat32(schema, float32(v))
		} else {
			s.WriteFloat64(schema, v)
		}
	case time.Time:
		s.WriteTime(schema, v)
	case documentText:
		s.WriteDocument(schema, document.Opaque{Value: v})
	}
}

func writeInteger(s smithy.ShapeSerializer, schema *smithy.Schema, t *Type, v int64) {
	switch t.Bits {
	case 8:
		s.WriteInt8(schema, int8(v))
	case 16:
		s.WriteInt16(schema, int16(v))
	case 32:
		s.WriteInt32(schema, int32(v))
	default:
		s.WriteInt64(schema, v)
	}
}
