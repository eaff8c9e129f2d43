package drift

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Kind is the type of a difference. The set is closed.
type Kind string

// The kinds.
const (
	// Add is a value that is present but not declared.
	Add Kind = "ADD"
	// Remove is a declared value that is missing.
	Remove Kind = "REMOVE"
	// NotEqual is a value other than the declared one.
	NotEqual Kind = "NOT_EQUAL"
)

// Difference is one difference between a declared and an actual property.
type Difference struct {
	// Path is a JSON pointer.
	Path string `json:"path"`
	// Expected and Actual are texts, or JSON for lists and objects; "null" for an absent value. Secrets are masked.
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Kind     Kind   `json:"kind"`
}

// absent reports whether a value counts as missing.
func absent(v value.Value) bool {
	return v.IsNull() || v.Kind() == value.String && v.Text() == "" || !v.IsScalar() && len(v.Items()) == 0 && len(v.Members()) == 0
}

// shown formats a value for a [Difference].
func shown(v value.Value) string {
	switch v = v.Masked(); {
	case absent(v):
		return "null"
	case v.IsScalar():
		return v.Text()
	}
	return string(v.JSON())
}

// escape escapes a key for a JSON pointer.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// differences compares a declared value with the actual one. As on AWS, it skips strings with dynamic references.
// Source: CloudFormation User Guide, "Get values stored in other services using dynamic references", considerations.
func differences(path string, expected, actual value.Value) (list []Difference) {
	add := func(kind Kind) []Difference {
		return []Difference{{Path: path, Expected: shown(expected), Actual: shown(actual), Kind: kind}}
	}
	switch {
	case absent(expected) && absent(actual), expected.Kind() == value.String && dynamic.Has(expected):
		return nil
	case absent(actual):
		return add(Remove)
	case absent(expected):
		return add(Add)
	case expected.Kind() == value.Map && actual.Kind() == value.Map:
		for _, m := range expected.Members() {
			now, _ := actual.Get(m.Key)
			list = append(list, differences(path+"/"+escape.Replace(m.Key), m.Value, now)...)
		}
		for _, m := range actual.Members() {
			if _, declared := expected.Get(m.Key); !declared {
				list = append(list, differences(path+"/"+escape.Replace(m.Key), value.Value{}, m.Value)...)
			}
		}
		return list
	case expected.Kind() == value.List && actual.Kind() == value.List:
		was, now := expected.Items(), actual.Items()
		at := func(items []value.Value, i int) value.Value {
			if i < len(items) {
				return items[i]
			}
			return value.Value{}
		}
		for i := range max(len(was), len(now)) {
			list = append(list, differences(path+"/"+strconv.Itoa(i), at(was, i), at(now, i))...)
		}
		return list
	case expected.IsScalar() && actual.IsScalar() && expected.Text() == actual.Text():
		return nil
	}
	return add(NotEqual)
}

// hide marks as secret the parts of an actual value that replace or repeat a secret of the declared one.
func hide(expected, actual value.Value) value.Value {
	actual = actual.TaintedWith(expected.Secrets())
	secret := value.Open
	if expected.IsScalar() {
		secret = expected.Secrecy()
		if references, err := dynamic.Find(expected.Text()); err != nil || slices.ContainsFunc(references, func(r dynamic.Reference) bool { return r.Service.Secret() }) {
			secret = max(secret, value.OfAttribute)
		}
	}
	switch {
	case secret != value.Open:
		return actual.Tainted(secret)
	case expected.Kind() == value.Map && actual.Kind() == value.Map:
		for _, m := range expected.Members() {
			if now, ok := actual.Get(m.Key); ok {
				actual = actual.With(m.Key, hide(m.Value, now))
			}
		}
	case !expected.IsScalar() && hidden(expected): // parts may be in other positions
		return actual.Tainted(value.OfAttribute)
	}
	return actual
}

// hidden reports whether any part of a value is a secret or a reference to one.
func hidden(v value.Value) bool {
	references, err := dynamic.In(v)
	return v.HasSecret() || err != nil || slices.ContainsFunc(references, func(r dynamic.Reference) bool { return r.Service.Secret() })
}

// alike parses a declared text if the actual value is a list or an object.
func alike(expected, actual value.Value) (value.Value, value.Value) {
	if expected.Kind() == value.String && !actual.IsScalar() && !actual.IsNull() && !expected.Secret() && !dynamic.Has(expected) {
		if parsed, err := value.Parse([]byte(expected.Text())); err == nil && parsed.Kind() == actual.Kind() {
			return parsed, actual
		}
	}
	return expected, actual
}

// sortTags sorts a list of tags by their keys.
func sortTags(tags value.Value) value.Value {
	if tags.Kind() != value.List {
		return tags
	}
	items := slices.Clone(tags.Items())
	slices.SortStableFunc(items, func(a, b value.Value) int {
		one, _ := a.Get("Key")
		other, _ := b.Get("Key")
		return strings.Compare(one.Text(), other.Text())
	})
	return value.Items(items...)
}
