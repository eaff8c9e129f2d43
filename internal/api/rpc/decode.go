package rpc

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shape describes the parameters of a struct.
type shape struct{ fields []field }

// field is a parameter and its place in the struct.
type field struct {
	name     string
	index    []int
	required bool
	kind     reflect.Kind // of the value, without pointers
	item     *shape       // of a list of structs, and of a struct
	least    *int64       // limits of a number, of a text in characters, or of a list in items
	most     *int64
	pattern  *regexp.Regexp
	enum     []string
}

// shapeOf parses the tags of a struct. It panics if one is invalid.
func shapeOf(t reflect.Type) *shape {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("rpc: %v is not a struct", t))
	}
	s := &shape{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, inner := range shapeOf(f.Type).fields {
				inner.index = append([]int{i}, inner.index...)
				s.fields = append(s.fields, inner)
			}
			continue
		}
		s.fields = append(s.fields, fieldOf(f, i))
	}
	return s
}

func fieldOf(f reflect.StructField, index int) field {
	name, option, _ := strings.Cut(f.Tag.Get("rpc"), ",")
	made := field{name: cmp.Or(name, f.Name), index: []int{index}, required: option == "required"}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	made.kind = t.Kind()
	bounds := f.Tag.Get("length")
	switch made.kind {
	case reflect.Struct:
		made.item = shapeOf(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			made.item = shapeOf(t.Elem())
		} else if t.Elem().Kind() != reflect.String {
			panic(fmt.Sprintf("rpc: %s is a list of %v", f.Name, t.Elem()))
		}
	case reflect.String, reflect.Bool:
	case reflect.Int:
		bounds = f.Tag.Get("range")
	default:
		panic(fmt.Sprintf("rpc: %s is a %v", f.Name, t))
	}
	if option != "" && option != "required" {
		panic(fmt.Sprintf("rpc: %s has the unknown option %q", f.Name, option))
	}
	if bounds != "" {
		least, most, ok := strings.Cut(bounds, ",")
		if !ok {
			panic(fmt.Sprintf("rpc: %s: %q is not of the form least,most", f.Name, bounds))
		}
		made.least, made.most = bound(least), bound(most)
	}
	if pattern := f.Tag.Get("pattern"); pattern != "" {
		made.pattern = regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	}
	if enum := f.Tag.Get("enum"); enum != "" {
		made.enum = strings.Split(enum, ",")
	}
	return made
}

func bound(text string) *int64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return &n
}

// maxItems is the maximum number of items of any list.
const maxItems = 1000

// problems are the errors of an input.
type problems []*Error

func (p *problems) add(e *Error) { *p = append(*p, e) }

// err returns all problems as one error, with the code of the first.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	whole := *p[0]
	for _, other := range p[1:] {
		whole.Message += " " + other.Message
	}
	return &whole
}

// decode fills a struct from parameters.
func decode(parameters url.Values, s *shape, into reflect.Value) error {
	var wrong problems
	decodeStruct(parameters, "", s, into, &wrong)
	return wrong.err()
}

// decodeStruct fills a struct from the parameters with a prefix, and reports whether any exist.
func decodeStruct(parameters url.Values, prefix string, s *shape, into reflect.Value, wrong *problems) bool {
	any := false
	for i := range s.fields {
		f := &s.fields[i]
		given := f.decode(parameters, prefix+f.name, into.FieldByIndex(f.index), wrong)
		if any = any || given; !given && f.required {
			wrong.add(Missing(prefix+f.name, ""))
		}
	}
	return any
}

// decode fills a field, and reports whether it was given.
func (f *field) decode(parameters url.Values, name string, into reflect.Value, wrong *problems) bool {
	switch f.kind {
	case reflect.Slice:
		return f.decodeList(parameters, name, into, wrong)
	case reflect.Struct:
		return decodeStruct(parameters, name+".", f.item, into, wrong)
	default:
	}
	text := parameters.Get(name)
	if text == "" && (into.Kind() != reflect.Pointer || f.kind != reflect.String || !parameters.Has(name)) {
		return false
	}
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		into = into.Elem()
	}
	switch f.kind {
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true":
			into.SetBool(true)
		case "false":
		default:
			wrong.add(Invalid(name, "it must be true or false"))
		}
	case reflect.Int:
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || f.outside(n) {
			wrong.add(Invalid(name, "it must be a whole number%s", f.within(" from", "")))
			return true
		}
		into.SetInt(n)
	default:
		into.SetString(text)
		f.check(name, text, wrong)
	}
	return true
}

// check adds the problems of a text, without quoting it.
func (f *field) check(name, text string, wrong *problems) {
	switch {
	case f.kind == reflect.String && f.outside(int64(utf8.RuneCountInString(text))):
		wrong.add(Invalid(name, "it must have%s", f.within("", " characters")))
	case f.enum != nil && !slices.Contains(f.enum, text):
		wrong.add(Invalid(name, "it must be %s", strings.Join(f.enum, " or ")))
	case f.pattern != nil && !f.pattern.MatchString(text):
		wrong.add(Invalid(name, "it must match the regular expression %s", strings.TrimSuffix(strings.TrimPrefix(f.pattern.String(), `\A(?:`), `)\z`)))
	}
}

func (f *field) outside(n int64) bool {
	return f.least != nil && n < *f.least || f.most != nil && n > *f.most
}

// within describes the allowed range in words.
func (f *field) within(from, unit string) string {
	switch {
	case f.least != nil && f.most != nil:
		return fmt.Sprintf("%s %d to %d%s", from, *f.least, *f.most, unit)
	case f.most != nil:
		return fmt.Sprintf(" at most %d%s", *f.most, unit)
	case f.least != nil:
		return fmt.Sprintf(" at least %d%s", *f.least, unit)
	}
	return ""
}

// decodeList fills a list from Name.1, Name.2 and so on. Numbers may be missing.
func (f *field) decodeList(parameters url.Values, name string, into reflect.Value, wrong *problems) bool {
	var numbers []int
	for given := range parameters {
		rest, ok := strings.CutPrefix(given, name+".")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || strconv.Itoa(n) != number {
			wrong.add(Invalid(name, "its items are %s.1, %s.2 and so on", name, name))
			return true
		}
		if !slices.Contains(numbers, n) {
			if numbers = append(numbers, n); len(numbers) > maxItems {
				wrong.add(Invalid(name, "it has more than %d items", maxItems))
				return true
			}
		}
	}
	if numbers == nil {
		return false
	}
	if f.outside(int64(len(numbers))) {
		wrong.add(Invalid(name, "it must have%s", f.within("", " items")))
		return true
	}
	slices.Sort(numbers)
	list := reflect.MakeSlice(into.Type(), 0, len(numbers))
	for _, n := range numbers {
		item, at := reflect.New(into.Type().Elem()).Elem(), name+"."+strconv.Itoa(n)
		if f.item != nil {
			decodeStruct(parameters, at+".", f.item, item, wrong)
		} else {
			text := parameters.Get(at)
			if text == "" {
				continue // some clients omit it this way
			}
			item.SetString(text)
			f.check(at, text, wrong)
		}
		list = reflect.Append(list, item)
	}
	into.Set(list)
	return list.Len() > 0
}
