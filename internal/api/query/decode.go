package query

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// decode fills a struct from a form. It returns a MalformedInput error for malformed values, and a single
// ValidationError for all violated constraints.
func decode(form *node, s *shape, into reflect.Value) error {
	var broken violations
	if err := decodeStruct(form, s, into, "", &broken); err != nil {
		return err
	}
	return broken.err()
}

// decodeStruct fills a struct from the fields below n. prefix is the prefix of paths in errors.
func decodeStruct(n *node, s *shape, into reflect.Value, prefix string, broken *violations) error {
	for i := range s.fields {
		f := &s.fields[i]
		given, path := n.below[f.name], prefix+f.path
		if given == nil {
			if f.required {
				broken.missing(path)
			}
			continue
		}
		value := target(into.FieldByIndex(f.index))
		if err := decodeValue(given, f.shape, value, path, f.item, broken); err != nil {
			return err
		}
		broken.examine(f, path, value)
	}
	return nil
}

// target returns a value, or the value that a pointer points to, which it allocates.
func target(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Pointer {
		return v
	}
	v.Set(reflect.New(v.Type().Elem()))
	return v.Elem()
}

// decodeValue fills a value. called is the name of a list's items.
func decodeValue(n *node, s *shape, into reflect.Value, path, called string, broken *violations) error {
	switch s.kind {
	case structKind:
		// A structure without members may have the same form as an empty list.
		n.used = n.value != nil && *n.value == ""
		return decodeStruct(n, s, into, path+".", broken)
	case listKind:
		return decodeList(n, s, into, path, called, broken)
	case textKind, boolKind, intKind, timeKind:
		return decodeScalar(n, s.kind, into)
	}
	panic(fmt.Sprintf("query: kind %d", s.kind))
}

func decodeScalar(n *node, k kind, into reflect.Value) error {
	if n.value == nil {
		return malformed(n, "must be a single value")
	}
	n.used = true
	text := *n.value
	switch k {
	case textKind:
		into.SetString(text)
	case boolKind:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return malformed(n, "must be true or false")
		}
		into.SetBool(strings.EqualFold(text, "true"))
	case intKind:
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || into.OverflowInt(number) {
			return malformed(n, "must be a whole number")
		}
		into.SetInt(number)
	case timeKind:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return malformed(n, "must be a time such as 2026-11-21T10:38:42Z")
		}
		into.Set(reflect.ValueOf(at.UTC()))
	case listKind, structKind:
		panic("query: not a scalar")
	}
	return nil
}

// decodeList fills a list from Name.member.1, Name.member.2 and so on. called replaces member. An empty list has the
// form Name= alone.
func decodeList(n *node, s *shape, into reflect.Value, path, called string, broken *violations) error {
	members := n.below[called]
	switch {
	case members == nil && n.value == nil:
		return malformed(n, "must be a list: %s.%s.1 and so on", n.name, called)
	case n.value != nil && (*n.value != "" || members != nil):
		return malformed(n, "must be a list: %s.%s.1 and so on, or empty", n.name, called)
	case members == nil:
		n.used = true
		into.Set(reflect.MakeSlice(into.Type(), 0, 0))
		return nil
	case members.value != nil:
		return malformed(members, "must be numbered")
	}
	count := len(members.below)
	if count > maxItems {
		return malformed(n, "has more than %d items", maxItems)
	}
	list := reflect.MakeSlice(into.Type(), count, count)
	for i := range count {
		number := strconv.Itoa(i + 1)
		item := members.below[number]
		if item == nil {
			return malformed(members, "has %d items but none with the number %s: items are numbered from 1 without gaps", count, number)
		}
		if err := decodeValue(item, s.item, target(list.Index(i)), path+"."+number+"."+called, "", broken); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

// malformed returns an error with the parameter's name but without its value.
func malformed(n *node, format string, args ...any) error {
	return Fault("MalformedInput", "%s %s.", shorten(n.name), fmt.Sprintf(format, args...))
}
