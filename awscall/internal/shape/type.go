// Package shape turns a description of a service into schemas, and generic values into requests and out of responses.
//
// smithy-go implements the wire formats. This package gives it schemas made at run time, and values that serialize
// themselves by such a schema. The package that users import does not expose smithy-go.
package shape

import (
	"github.com/aws/smithy-go"
)

// Kind is the kind of a value.
type Kind int

// The kinds.
const (
	Structure Kind = iota
	List
	Map
	String
	Blob
	Boolean
	Integer // all sizes: they are checked when written
	Float
	Time
	Document
)

// String returns the kind for a message.
func (k Kind) String() string {
	switch k {
	case Structure:
		return "an object"
	case List:
		return "a list"
	case Map:
		return "a map"
	case String:
		return "a string"
	case Blob:
		return "text or bytes"
	case Boolean:
		return "a boolean"
	case Integer:
		return "a whole number"
	case Float:
		return "a number"
	case Time:
		return "a time"
	case Document:
		return "any JSON"
	}
	return "a value"
}

// Type is a shape, ready for reading and writing. It does not change once its operation is built.
type Type struct {
	Kind    Kind
	Members []*Member // of a structure, in the model's order
	Union   bool
	Sparse  bool // a list or map that may contain nulls
	Elem    *Type
	Bits    int // of an integer or float

	schema   *smithy.Schema
	byName   map[string]*Member
	bySchema map[*smithy.Schema]*Member
}

// Member returns the member with the given name, or nil.
func (t *Type) Member(name string) *Member { return t.byName[name] }

// Member is a member of a structure.
type Member struct {
	Name      string // as in a caller's parameters
	Type      *Type
	Token     bool   // filled with a new identifier if it is not set
	Label     bool   // part of the path, so it must not be empty
	HostLabel bool   // part of the host
	Context   string // parameter of the endpoint rules
	Header    string // name of its header
	JSON      bool   // text that contains JSON
	Streaming bool
	Payload   bool

	bound  bool // outside the body
	unsent bool // only the endpoint contains it
	schema *smithy.Schema
}
