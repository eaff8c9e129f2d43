package awscall

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Flatten makes one level of a result: {"A": {"B": [1, 2]}} becomes {"A.B.0": 1, "A.B.1": 2}. Values keep their types, but for bytes,
// which become text; text that is not UTF-8 has U+FFFD in its place. Nulls are kept.
//
// Times have no key, and neither have empty maps and lists: so it is with the custom resource of the CDK, whose attributes these are.
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

// wellFormed puts U+FFFD where a text is not UTF-8, as often as the decoders of browsers do: once for each byte that begins nothing,
// and once for a sequence that breaks off.
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

// broken is how many bytes at the front of a text begin a sequence and do not end it; 1 if none do.
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
