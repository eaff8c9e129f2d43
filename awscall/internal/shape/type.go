// Package shape turns a description of a service into schemas, and generic values into requests and out of responses.
//
// The wire formats are smithy-go's; this package gives them schemas that were made at run time and values that describe
// themselves by walking one. Nothing of smithy-go shows in the package that users import.
package shape

import (
	"github.com/aws/smithy-go"
)

// Kind is what a value is.
type Kind int

// The kinds.
const (
	Structure Kind = iota
	List
	Map
	String
	Blob
	Boolean
	Integer // all sizes: they are checked on writing
	Float
	Time
	Document
)

// String is the word for the kind in a message.
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

// Type is a shape, ready to be read and written. It is not changed once its operation is built.
type Type struct {
	Kind    Kind
	Members []*Member // of a structure, in the model's order
	Union   bool
	Sparse  bool // a list or map that may hold nulls
	Elem    *Type
	Bits    int // of an integer or float

	schema   *smithy.Schema
	byName   map[string]*Member
	bySchema map[*smithy.Schema]*Member
}

// Member returns the member with a name, or nil.
func (t *Type) Member(name string) *Member { return t.byName[name] }

// Member is a member of a structure.
type Member struct {
	Name      string // as callers write it
	Type      *Type
	Token     bool   // filled with a fresh identifier when it is left out
	Label     bool   // part of the path: may not be empty
	HostLabel bool   // part of the host
	Context   string // parameter of the endpoint rules
	Header    string // name of the header it goes to
	JSON      bool   // text that holds JSON
	Streaming bool
	Payload   bool

	bound  bool // outside the body
	unsent bool // it is told by the endpoint alone
	schema *smithy.Schema
}
