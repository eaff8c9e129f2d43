package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// differences calls found for every place at which two values differ, at the greatest depth to which both have the same
// shape. A side without a value there is nil.
func differences(path []string, before, after value.Value, found func(path []string, before, after *value.Value)) {
	switch {
	case before.Kind() == value.Map && after.Kind() == value.Map:
		for _, m := range before.Members() {
			below := to(path, m.Key)
			if other, ok := after.Get(m.Key); ok {
				differences(below, m.Value, other, found)
			} else {
				found(below, &m.Value, nil)
			}
		}
		for _, m := range after.Members() {
			if _, ok := before.Get(m.Key); !ok {
				found(to(path, m.Key), nil, &m.Value)
			}
		}
	case before.Kind() == value.List && after.Kind() == value.List && len(before.Items()) == len(after.Items()):
		for i, item := range before.Items() {
			differences(to(path, strconv.Itoa(i)), item, after.Items()[i], found)
		}
	case before.Equal(after) && !hasUnknown(after):
	case before.IsNull():
		found(path, nil, &after)
	case after.IsNull():
		found(path, &before, nil)
	default:
		found(path, &before, &after)
	}
}

func to(path []string, key string) []string { return append(slices.Clip(path), key) }

// pointer returns a path in an attribute as a JSON pointer.
func pointer(attribute string, path []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	b := "/" + attribute
	for _, key := range path {
		b += "/" + escape.Replace(key)
	}
	return b
}

// MaxShown is the maximum size in bytes of a value in a [Detail], including the ellipsis of a truncated one. Source:
// ours; the service may truncate large values too.
const MaxShown = 1024

// text returns a value for people: a scalar as it is, anything else as JSON, with secrets masked. It truncates a long
// text.
func text(v *value.Value) *string {
	if v == nil {
		return nil
	}
	shown := v.String()
	if v.IsScalar() {
		shown = v.Masked().Text()
	}
	if len(shown) > MaxShown {
		const ellipsis = "…"
		shown = strings.ToValidUTF8(shown[:MaxShown-len(ellipsis)], "") + ellipsis
	}
	return &shown
}

// hasUnknown reports whether part of a value is unknown.
func hasUnknown(v value.Value) bool {
	return isUnknown(v) || slices.ContainsFunc(v.Items(), hasUnknown) ||
		slices.ContainsFunc(v.Members(), func(m value.Member) bool { return hasUnknown(m.Value) })
}

// Undetermined reports whether part of a value is unknown before the plan is executed, also inside a text.
func Undetermined(v value.Value) bool {
	if v.Kind() == value.String && (strings.Contains(v.Text(), Unknown) || strings.Contains(v.Text(), UnknownUUID)) {
		return true
	}
	return slices.ContainsFunc(v.Items(), Undetermined) ||
		slices.ContainsFunc(v.Members(), func(m value.Member) bool { return Undetermined(m.Value) })
}

func isUnknown(v value.Value) bool { return v.Kind() == value.String && v.Text() == Unknown }
