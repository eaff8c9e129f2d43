package pintle

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// rules are the parsed options of the pintle tag of a field.
type rules struct {
	required, immutable, secret bool
	fallback                    *string // the default; nil: none
	min, max                    *bound
	least, most                 int // the length; most is -1 for no limit
	pattern                     *regexp.Regexp
	enum                        []string
	help                        string
}

// bound is an end of a range, as text and as a number.
type bound struct {
	text  string
	value float64
}

// parseTag reads a pintle tag: options separated by commas, some with a value after "=". A value in single quotes may
// contain commas. In it, two quotes stand for one.
func parseTag(tag string) (rules, error) {
	r := rules{most: -1}
	seen := map[string]bool{}
	for rest := tag; rest != ""; {
		var name, value string
		var has bool
		var err error
		if name, value, has, rest, err = cutOption(rest); err != nil {
			return rules{}, err
		}
		if seen[name] {
			return rules{}, fmt.Errorf("%s is there twice", name)
		}
		seen[name] = true
		flag := name == "required" || name == "immutable" || name == "secret"
		if flag == has {
			want := map[bool]string{true: "takes no value", false: "needs a value"}[flag]
			if !flag && !isOption(name) {
				want = "is not known, want required, default=, min=, max=, length=, pattern=, enum=, immutable, secret or help="
			}
			return rules{}, fmt.Errorf("%q %s", name, want)
		}
		if err := r.set(name, value); err != nil {
			return rules{}, err
		}
	}
	if r.required && r.fallback != nil {
		return rules{}, errors.New("required and default exclude each other")
	}
	if r.min != nil && r.max != nil && r.min.value > r.max.value {
		return rules{}, fmt.Errorf("min is %s and max is %s", r.min.text, r.max.text)
	}
	return r, nil
}

func isOption(name string) bool {
	switch name {
	case "default", "min", "max", "length", "pattern", "enum", "help":
		return true
	}
	return false
}

// cutOption splits the first option from a tag.
func cutOption(tag string) (name, value string, has bool, rest string, err error) {
	end := strings.IndexAny(tag, ",=")
	switch {
	case end < 0:
		return strings.TrimSpace(tag), "", false, "", nil
	case tag[end] == ',':
		return strings.TrimSpace(tag[:end]), "", false, tag[end+1:], nil
	}
	name, rest = strings.TrimSpace(tag[:end]), tag[end+1:]
	if !strings.HasPrefix(rest, "'") {
		value, rest, _ = strings.Cut(rest, ",")
		return name, value, true, rest, nil
	}
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] != '\'':
			b.WriteByte(rest[i])
		case i+1 < len(rest) && rest[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case i+1 == len(rest):
			return name, b.String(), true, "", nil
		case rest[i+1] == ',':
			return name, b.String(), true, rest[i+2:], nil
		default:
			return "", "", false, "", fmt.Errorf("%s: a comma is missing after the closing quote", name)
		}
	}
	return "", "", false, "", fmt.Errorf("%s: the closing quote is missing", name)
}

func (r *rules) set(name, value string) (err error) {
	switch name {
	case "required":
		r.required = true
	case "immutable":
		r.immutable = true
	case "secret":
		r.secret = true
	case "default":
		r.fallback = &value
	case "min":
		r.min, err = parseBound(value)
	case "max":
		r.max, err = parseBound(value)
	case "length":
		r.least, r.most, err = parseLength(value)
	case "pattern":
		r.pattern, err = regexp.Compile(value)
	case "enum":
		r.enum = strings.Split(value, "|")
	case "help":
		r.help = value
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// parseBound reads a number or a duration.
func parseBound(text string) (*bound, error) {
	if number, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(number) {
		return &bound{text, number}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return &bound{text, d.Seconds()}, nil
	}
	return nil, fmt.Errorf("%q is neither a number nor a duration", text)
}

// parseLength reads "3", "1..64", "1.." or "..64".
func parseLength(text string) (least, most int, err error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	least, most = 0, -1
	if from != "" {
		if least, err = strconv.Atoi(from); err != nil || least < 0 {
			return 0, 0, fmt.Errorf("%q is not a length, want one like 1..64", text)
		}
	}
	if to != "" {
		if most, err = strconv.Atoi(to); err != nil || most < least {
			return 0, 0, fmt.Errorf("%q is not a length, want one like 1..64", text)
		}
	}
	if from == "" && to == "" {
		return 0, 0, fmt.Errorf("%q is not a length, want one like 1..64", text)
	}
	return least, most, nil
}
