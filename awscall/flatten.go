package awscall

import (
	"encoding/json"
	"strconv"
	"strings"
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
		flat[path] = strings.ToValidUTF8(string(v), "\uFFFD")
	case string:
		flat[path] = strings.ToValidUTF8(v, "\uFFFD")
	case bool, int64, float64, json.Number, nil:
		flat[path] = v
	default: // a time
	}
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
