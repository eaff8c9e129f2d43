package pintle

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// scalarText returns a scalar as CloudFormation would send it.
func scalarText(in any) (string, bool) {
	switch in := in.(type) {
	case string:
		return in, true
	case json.Number:
		return in.String(), true
	case bool:
		return strconv.FormatBool(in), true
	}
	return "", false
}

// setScalar parses a text into v and reports whether that succeeded.
func setScalar(v reflect.Value, k kind, text string) bool {
	switch k {
	case kindText:
		v.SetString(text)
	case kindSecret:
		v.Set(reflect.ValueOf(NewSecret(text)))
	case kindBool:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return false
		}
		v.SetBool(strings.EqualFold(text, "true"))
	case kindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			f, ok := wholeNumber(text)
			if !ok {
				return false
			}
			n = int64(f)
		}
		if v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
	case kindUint:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			f, ok := wholeNumber(text)
			if !ok || f < 0 {
				return false
			}
			n = uint64(f)
		}
		if v.OverflowUint(n) {
			return false
		}
		v.SetUint(n)
	case kindFloat:
		f, ok := number(text)
		if !ok || v.OverflowFloat(f) {
			return false
		}
		v.SetFloat(f)
	case kindDuration:
		d, ok := duration(text)
		if !ok {
			return false
		}
		v.SetInt(int64(d))
	case kindBytes:
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return false
		}
		v.SetBytes(b)
	case kindTextual:
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)) == nil
	case kindRaw, kindAny, kindJSON, kindPointer, kindList, kindDict, kindObject:
		panic("pintle: no scalar")
	}
	return true
}

// number parses a JSON number: no hexadecimal, no underscores, no infinity.
func number(text string) (float64, bool) {
	if strings.ContainsAny(text, "xXpP_iInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// wholeNumber parses numbers such as 80.0 and 1e3, within the range that a float64 represents exactly.
func wholeNumber(text string) (float64, bool) {
	f, ok := number(text)
	return f, ok && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

// duration parses 90s, 1h30m, or a number of seconds.
func duration(text string) (time.Duration, bool) {
	if seconds, ok := number(text); ok {
		if math.Abs(seconds) > (1 << 33) { // 272 years, almost the maximum of a Duration
			return 0, false
		}
		return time.Duration(math.Round(seconds * float64(time.Second))), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// allow reports whether the rules of a field allow a scalar.
func (r *rules) allow(v reflect.Value, k kind, text string) bool {
	if r.enum != nil {
		if k == kindInt || k == kindUint {
			text = fmt.Sprint(v.Interface())
		}
		if !slices.Contains(r.enum, text) {
			return false
		}
	}
	switch k {
	case kindText, kindSecret:
		n := utf8.RuneCountInString(text)
		return n >= r.least && (r.most < 0 || n <= r.most) && (r.pattern == nil || r.pattern.MatchString(text))
	case kindBytes:
		return v.Len() >= r.least && (r.most < 0 || v.Len() <= r.most)
	case kindInt:
		return r.inRange(float64(v.Int()))
	case kindUint:
		return r.inRange(float64(v.Uint()))
	case kindFloat:
		return r.inRange(v.Float())
	case kindDuration:
		return r.inRange(time.Duration(v.Int()).Seconds())
	case kindBool, kindTextual, kindRaw, kindAny, kindJSON, kindPointer, kindList, kindDict, kindObject:
	}
	return true
}

func (r *rules) inRange(f float64) bool {
	return (r.min == nil || f >= r.min.value) && (r.max == nil || f <= r.max.value)
}

// describe describes a valid value, e.g. "a whole number from 1 to 65535".
func describe(s *shape, r *rules) string {
	if r.enum != nil && s.kind != kindList && s.kind != kindDict {
		return "one of " + strings.Join(r.enum, ", ")
	}
	length := func(unit string) string {
		switch {
		case r.least == r.most:
			return fmt.Sprintf(" of %d %s", r.most, unit)
		case r.most >= 0:
			return fmt.Sprintf(" of %d to %d %s", r.least, r.most, unit)
		case r.least > 0:
			return fmt.Sprintf(" of %d %s or more", r.least, unit)
		}
		return ""
	}
	within := ""
	switch {
	case r.min != nil && r.max != nil:
		within = fmt.Sprintf(" from %s to %s", r.min.text, r.max.text)
	case r.min != nil:
		within = fmt.Sprintf(", %s or more", r.min.text)
	case r.max != nil:
		within = fmt.Sprintf(", %s or less", r.max.text)
	}
	switch s.kind {
	case kindText, kindSecret:
		text := "a text" + length("characters")
		if r.pattern != nil {
			text += " that matches " + r.pattern.String()
		}
		return text
	case kindBool:
		return "true or false"
	case kindInt:
		if within == "" && s.typ.Bits() < 64 {
			within = fmt.Sprintf(" from -%d to %d", int64(1)<<(s.typ.Bits()-1), int64(1)<<(s.typ.Bits()-1)-1)
		}
		return "a whole number" + within
	case kindUint:
		if within == "" && s.typ.Bits() < 64 {
			within = fmt.Sprintf(" from 0 to %d", uint64(1)<<s.typ.Bits()-1)
		}
		return strings.TrimSuffix("a whole number"+within+", 0 or more", map[bool]string{true: ", 0 or more"}[within != ""])
	case kindFloat:
		return "a number" + within
	case kindDuration:
		return "a duration such as 90s or 1h30m, or seconds" + within
	case kindBytes:
		return "a text in base64" + length("bytes")
	case kindPointer:
		return describe(s.elem, r)
	case kindList:
		return "a list" + length("items")
	case kindDict, kindObject:
		return "an object" + length("members")
	case kindTextual, kindJSON:
		if isTime(s.typ) {
			return "a time such as 2006-01-02T15:04:05Z"
		}
		return "a " + s.typ.String()
	case kindRaw, kindAny:
	}
	return "a value"
}
