package drift

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// Compare sets the status of a custom resource, and the differences between its declared properties and the state
// that its provider read. hidden are secrets that may appear in that state. The resource contains no secrets
// afterwards.
func (r *Resource) Compare(declared value.Value, state *wire.State, hidden []string) {
	declared = own(declared)
	if state.Gone {
		r.Status, r.Expected = Deleted, string(declared.Masked().JSON())
		return
	}
	live := value.Object()
	if len(state.Properties) > 0 {
		read, err := value.Parse(state.Properties)
		if err != nil || read.Kind() != value.Map {
			r.Status, r.Problem = Unknown, "the properties that the provider has read cannot be understood"
			return
		}
		live = read.TaintedWith(hidden).TaintedWith(declared.Secrets())
	}
	for _, name := range state.Secret {
		if now, ok := live.Get(name); ok { // as a whole: hide knows only the parts that are declared
			live = live.With(name, now.Tainted(value.OfAttribute))
		}
		if was, ok := declared.Get(name); ok {
			declared = declared.With(name, was.Tainted(value.OfAttribute))
		}
	}
	r.compare(nil, declared, live)
}

// own returns the properties without ServiceToken and ServiceTimeout.
func own(properties value.Value) value.Value {
	members := slices.DeleteFunc(slices.Clone(properties.Members()), func(m value.Member) bool {
		return m.Key == "ServiceToken" || m.Key == "ServiceTimeout"
	})
	return value.Object(members...)
}

// compare compares the declared properties that the provider or type read. schema is nil for a custom resource.
func (r *Resource) compare(schema *native.Schema, declared, live value.Value) {
	expected, actual := value.Object(), value.Object()
	for _, m := range declared.Members() {
		now, known := live.Get(m.Key)
		if !known {
			continue
		}
		was := m.Value
		if m.Key == "Tags" {
			was, now = sortTags(was), sortTags(now)
		}
		was, now = alike(was, now)
		now = hide(was, now)
		expected = expected.With(m.Key, was)
		r.Differences = append(r.Differences, differences("/"+m.Key, was, now)...)
		if !absent(now) {
			actual = actual.With(m.Key, now)
		}
	}
	if r.Status = InSync; r.Differences != nil {
		r.Status = Modified
	}
	r.Expected, r.Actual = string(typed(schema, expected).Masked().JSON()), string(typed(schema, actual).Masked().JSON())
}
