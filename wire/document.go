package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// readObject returns the members of a JSON object. Keys are case-sensitive, unlike in encoding/json for structs. The last
// of several members with one key wins.
func readObject(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	return fields, nil
}

// cleanUTF8 returns text without a byte order mark and with U+FFFD for invalid UTF-8.
func cleanUTF8(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// isSet reports whether a member exists and is not null.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}

// extra returns the members that are not in known, or nil.
func extra(fields map[string]json.RawMessage, known []string) map[string]json.RawMessage {
	for _, key := range known {
		delete(fields, key)
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// objectWriter writes a JSON object member by member, without the HTML escapes of encoding/json. They would change the
// size of a document, and providers that search for a response URL with a shell would not find one that contains \u0026.
type objectWriter struct {
	buf bytes.Buffer
	err error
}

func (w *objectWriter) key(key string) {
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	} else {
		w.buf.WriteByte(',')
	}
	w.value(key)
	w.buf.WriteByte(':')
}

func (w *objectWriter) value(v any) {
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && w.err == nil {
		w.err = err
		return
	}
	w.buf.Truncate(w.buf.Len() - 1) // the line feed of Encode
}

// text writes a string member. It omits an empty one unless always is set.
func (w *objectWriter) text(key, text string, always bool) {
	if text == "" && !always {
		return
	}
	w.key(key)
	w.value(text)
}

// raw writes a member that is already JSON, unless it is empty.
func (w *objectWriter) raw(key string, raw json.RawMessage) {
	if len(raw) == 0 || w.err != nil {
		return
	}
	w.key(key)
	if err := json.Compact(&w.buf, cleanUTF8(raw)); err != nil {
		w.err = fmt.Errorf("%s: %w", key, err)
	}
}

// extra writes the members of fields, sorted by name. The name of a field of the document itself is an error.
func (w *objectWriter) extra(fields map[string]json.RawMessage, known []string) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(known, key) && w.err == nil {
			w.err = fmt.Errorf("extra field %s is a field of the document itself", key)
		}
		w.raw(key, fields[key])
	}
}

func (w *objectWriter) bytes() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.buf.Len() == 0 {
		return []byte("{}"), nil
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes(), nil
}
