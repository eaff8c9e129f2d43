// Package value is the data that flows through a stack: the JSON values of properties, attributes, parameters and
// outputs.
//
// A [Value] keeps details that encoding/json loses and the protocol needs: the text of every number as it was written
// (10000000 never becomes 1e+07), the order of object members, and for every scalar whether it contains a secret.
// Values are immutable: every method returns a new one, so goroutines may share them.
//
// A secret scalar comes from a NoEcho parameter or from the data of a NoEcho response. It taints the values that are
// joined, substituted or split from it. [Value.JSON] returns it in the clear, for providers only. [Value.Masked] is for
// all other readers. [Encode] and [Decode] seal it for a database.
package value

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/base/redact"
)

// Kind is the JSON type of a [Value].
type Kind uint8

// The kinds. The zero Value is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// String returns the JSON name of the kind, e.g. "object" for [Map].
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case List:
		return "list"
	case Map:
		return "object"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Secrecy says whether a scalar is secret, and where the secret in it came from. A value made of several scalars has
// the highest secrecy of them.
type Secrecy uint8

// The secrecies. The zero Secrecy is Open.
const (
	// Open may be shown to anyone.
	Open Secrecy = iota
	// OfParameter holds the value of a NoEcho parameter.
	OfParameter
	// OfAttribute holds data of a NoEcho response.
	OfAttribute
)

// Masks replace secrets wherever people read. Source: CloudFormation, NoEcho of a parameter and of a response.
const (
	ParameterMask = "****"
	Mask          = redact.Mask
)

// mask returns the mask of a secret.
func (s Secrecy) mask() string {
	if s == OfParameter {
		return ParameterMask
	}
	return Mask
}

// Value is one JSON value. The zero Value is null.
type Value struct {
	text    string  // for a scalar: "true", the number as written, or the string itself
	nested  *nested // for a list or an object; nil if empty
	kind    Kind
	secrecy Secrecy // for a scalar
}

// nested is the content of a list or an object. It is separate because most values in rows are null or scalars.
type nested struct {
	items   []Value
	members []Member
}

// Member is one key of an object and its value.
type Member struct {
	Key   string
	Value Value
}

// Str returns a string value.
func Str(s string) Value { return Value{kind: String, text: s} }

// SecretStr returns a string that only providers may read, as if from a NoEcho response.
func SecretStr(s string) Value { return Value{kind: String, text: s, secrecy: OfAttribute} }

// Boolean returns true or false.
func Boolean(b bool) Value { return Value{kind: Bool, text: strconv.FormatBool(b)} }

// Num returns a number that keeps text as it is written. text must be a JSON number, or the value cannot be encoded.
func Num(text string) Value { return Value{kind: Number, text: text} }

// Items returns a list of the items in order.
func Items(items ...Value) Value {
	if len(items) == 0 {
		return Value{kind: List}
	}
	return Value{kind: List, nested: &nested{items: items}}
}

// Strs returns a list of strings.
func Strs(items ...string) Value {
	list := make([]Value, len(items))
	for i, s := range items {
		list[i] = Str(s)
	}
	return Items(list...)
}

// Object returns an object with the members in order. If two members have the same key, the last one wins and takes the
// position of the first.
func Object(members ...Member) Value {
	if len(members) == 0 {
		return Value{kind: Map}
	}
	list := make([]Member, 0, len(members))
	var at map[string]int
	if len(members) > 8 {
		at = make(map[string]int, len(members))
	}
	for _, m := range members {
		i, ok := at[m.Key]
		if at == nil {
			i = slices.IndexFunc(list, func(n Member) bool { return n.Key == m.Key })
			ok = i >= 0
		}
		if ok {
			list[i].Value = m.Value
			continue
		}
		if at != nil {
			at[m.Key] = len(list)
		}
		list = append(list, m)
	}
	return Value{kind: Map, nested: &nested{members: list}}
}

// Kind returns the JSON type.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// IsScalar reports whether v is a boolean, a number or a string.
func (v Value) IsScalar() bool { return v.kind == Bool || v.kind == Number || v.kind == String }

// Text returns the text of a scalar: the string itself, the number as written, "true" or "false". It is "" for null,
// lists and objects. It returns a secret in the clear.
func (v Value) Text() string { return v.text }

// Items returns the items of a list, nil for an empty one and any other kind. The caller must not change them.
func (v Value) Items() []Value {
	if v.nested == nil {
		return nil
	}
	return v.nested.items
}

// Members returns the members of an object in order, nil for an empty one and any other kind. The caller must not change them.
func (v Value) Members() []Member {
	if v.nested == nil {
		return nil
	}
	return v.nested.members
}

// Get returns the member of an object by its key; false if v is not an object or has no such member.
func (v Value) Get(key string) (Value, bool) {
	for _, m := range v.Members() {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// With returns v, an object, with the member set; a null v becomes an object.
func (v Value) With(key string, member Value) Value {
	return Object(append(slices.Clone(v.Members()), Member{key, member})...)
}

// Secret reports whether v is a secret scalar. Lists and objects are never secret themselves: see [Value.HasSecret].
func (v Value) Secret() bool { return v.secrecy != Open }

// Secrecy returns the secrecy of v: the highest one in it for a list or an object.
func (v Value) Secrecy() Secrecy {
	most := v.secrecy
	for _, item := range v.Items() {
		most = max(most, item.Secrecy())
	}
	for _, m := range v.Members() {
		most = max(most, m.Value.Secrecy())
	}
	return most
}

// HasSecret reports whether v is or holds a secret scalar.
func (v Value) HasSecret() bool {
	return v.Secret() || slices.ContainsFunc(v.Items(), Value.HasSecret) ||
		slices.ContainsFunc(v.Members(), func(m Member) bool { return m.Value.HasSecret() })
}

// Tainted returns v with every scalar at least as secret as by. For Open it returns v itself.
func (v Value) Tainted(by Secrecy) Value {
	if by == Open {
		return v
	}
	return v.scalars(func(s Value) Value {
		s.secrecy = max(s.secrecy, by)
		return s
	})
}

// TaintedWith returns v with every scalar secret whose text contains one of the secrets, in any spelling. It ignores
// secrets of fewer than four bytes, which occur in every text.
func (v Value) TaintedWith(secrets []string) Value {
	known := redact.Of(slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < redact.ShortSecret }))
	if known.Empty() {
		return v
	}
	return v.scalars(func(s Value) Value {
		if known.In(s.text) {
			s.secrecy = max(s.secrecy, OfAttribute)
		}
		return s
	})
}

// Stringified returns v with every boolean and number replaced by its text, at every depth. CloudFormation passes
// properties to providers in this form, and compares old and new ones in it.
func (v Value) Stringified() Value {
	if !v.has(func(s Value) bool { return s.kind != String }) {
		return v
	}
	return v.scalars(func(s Value) Value {
		s.kind = String
		return s
	})
}

// Masked returns v with a mask in place of every secret scalar: [ParameterMask] if the secret comes only from a
// parameter, [Mask] otherwise.
func (v Value) Masked() Value {
	if !v.HasSecret() {
		return v
	}
	return v.scalars(func(s Value) Value {
		if s.Secret() {
			return Str(s.secrecy.mask())
		}
		return s
	})
}

// Secrets returns the text of every secret scalar in v, each once, longest first. Replace them in this order, because
// one may contain another.
func (v Value) Secrets() []string {
	if !v.HasSecret() {
		return nil
	}
	var texts []string
	v.has(func(s Value) bool {
		if s.Secret() && s.text != "" {
			texts = append(texts, s.text)
		}
		return false // to continue
	})
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(texts)
}

// Equal reports whether both values hold the same data: kinds, texts and members, in any order of the members. It
// ignores secrecy.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.text != w.text {
		return false
	}
	if v.nested == w.nested {
		return true
	}
	if !slices.EqualFunc(v.Items(), w.Items(), Value.Equal) {
		return false
	}
	members, others := v.Members(), w.Members()
	if len(members) != len(others) {
		return false
	}
	for i, m := range members {
		n := others[i] // nearly always in the same order
		if n.Key != m.Key {
			other, ok := w.Get(m.Key)
			if !ok {
				return false
			}
			n.Value = other
		}
		if !m.Value.Equal(n.Value) {
			return false
		}
	}
	return true
}

// has reports whether f is true for any boolean, number or string in v.
func (v Value) has(f func(Value) bool) bool {
	return v.IsScalar() && f(v) || slices.ContainsFunc(v.Items(), func(item Value) bool { return item.has(f) }) ||
		slices.ContainsFunc(v.Members(), func(m Member) bool { return m.Value.has(f) })
}

// scalars returns v with f applied to every boolean, number and string.
func (v Value) scalars(f func(Value) Value) Value {
	switch v.kind {
	case Null:
		return v
	case Bool, Number, String:
		return f(v)
	case List:
		items := make([]Value, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = item.scalars(f)
		}
		return Items(items...)
	case Map:
		if v.nested == nil {
			return v
		}
		members := make([]Member, len(v.nested.members))
		for i, m := range v.nested.members {
			members[i] = Member{m.Key, m.Value.scalars(f)}
		}
		return Value{kind: Map, nested: &nested{members: members}}
	}
	return v
}
