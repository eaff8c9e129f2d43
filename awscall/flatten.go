package awscall

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Flatten turns a result into one level: {"A": {"B": [1, 2]}} becomes {"A.B.0": 1, "A.B.1": 2}. Values keep their types,
// except that bytes become text, with U+FFFD for invalid UTF-8. Nulls are kept.
//
// Times, empty maps and empty lists are dropped, as in the CDK's custom resource, whose attributes have this form.
func Flatten(result map[string]any) map[string]any {
	flat := map[string]any{}
	flatten(flat, "", result)
	return flat
}

func flatten(flat map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			flatten(flat, below(path, name), item)
		}
	case []any:
		for i, item := range v {
			flatten(flat, below(path, strconv.Itoa(i)), item)
		}
	case []byte:
		flat[path] = wellFormed(string(v))
	case string:
		flat[path] = wellFormed(v)
	case bool, int64, float64, json.Number, nil:
		flat[path] = v
	default: // a time
	}
}

// wellFormed replaces invalid UTF-8 by U+FFFD, as often as the decoders of browsers do: once for each byte that cannot
// begin a sequence, and once for a truncated sequence.
func wellFormed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size == 1 {
			size = broken(text)
		}
		out.WriteRune(r)
		text = text[size:]
	}
	return out.String()
}

// broken returns how many bytes at the start of a text form a truncated sequence, or 1.
func broken(text string) int {
	n := 1
	for n < min(len(text), utf8.UTFMax-1) && !utf8.FullRuneInString(text[:n+1]) {
		n++
	}
	return n
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
