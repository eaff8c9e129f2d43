package shape

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// elements returns the elements of any slice except bytes.
func elements(raw any) ([]any, bool) {
	switch list := raw.(type) {
	case []any:
		return list, true
	case []byte:
		return nil, false
	case []string:
		out := make([]any, len(list))
		for i, item := range list {
			out[i] = item
		}
		return out, true
	}
	return nil, false
}

func isText(raw any) bool {
	_, ok := raw.(string)
	return ok
}

// scalarText returns the JSON text of a scalar.
func scalarText(raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		text, err := json.Marshal(v)
		return string(text), err == nil
	case float32:
		return scalarText(float64(v))
	}
	if v := reflect.ValueOf(raw); v.CanInt() {
		return strconv.FormatInt(v.Int(), 10), true
	} else if v.CanUint() {
		return strconv.FormatUint(v.Uint(), 10), true
	}
	return "", false
}

func integer(raw any, bits int) (int64, bool) {
	if _, ok := raw.(bool); ok {
		return 0, false
	}
	text, ok := scalarText(raw)
	if !ok {
		return 0, false
	}
	text = strings.TrimSpace(text)
	if v, err := strconv.ParseInt(text, 10, bits); err == nil {
		return v, true
	}
	f, err := strconv.ParseFloat(text, 64) // 1.0 and 1e3 are also whole numbers
	limit := math.Ldexp(1, bits-1)
	if err != nil || f != math.Trunc(f) || f >= limit || f < -limit {
		return 0, false
	}
	return int64(f), true
}

func number(raw any) (float64, bool) {
	if _, ok := raw.(bool); ok {
		return 0, false
	}
	text, ok := scalarText(raw)
	if !ok {
		if f, isFloat := raw.(float64); isFloat {
			return f, true // JSON cannot represent it as a number, but some services accept words for it
		}
		return 0, false
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(strings.ToLower(strings.TrimLeft(text, "+-")), "0x") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}

// instant reads a time. A number is milliseconds since 1970, as in JavaScript.
func instant(raw any) (time.Time, bool) {
	switch v := raw.(type) {
	case time.Time:
		return v, true
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02", time.RFC1123, time.RFC1123Z, time.RFC850} {
			if t, err := time.Parse(layout, strings.TrimSpace(v)); err == nil {
				return t.UTC(), true
			}
		}
		return time.Time{}, false
	}
	ms, ok := number(raw)
	if !ok || math.IsNaN(ms) || math.Abs(ms) > 8.64e15 { // JavaScript's limit
		return time.Time{}, false
	}
	return time.UnixMilli(int64(ms)).UTC(), true
}

// describe describes a value without quoting it.
func describe(raw any) string {
	switch v := raw.(type) {
	case string:
		if v == "" {
			return "empty text"
		}
		return "text that does not read so"
	case bool:
		return "a boolean"
	case map[string]any:
		return "an object"
	case []any, []string:
		return "a list"
	case []byte:
		return "bytes"
	case time.Time:
		return "a time"
	}
	if _, ok := scalarText(raw); ok {
		return "a number that does not fit"
	}
	return fmt.Sprintf("a %T", raw)
}
