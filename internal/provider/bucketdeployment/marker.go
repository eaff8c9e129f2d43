package bucketdeployment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

var (
	plainYAML    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*$`)
	reservedYAML = []string{"y", "n", "yes", "no", "true", "false", "on", "off", "null"}
)

// encodeMarker returns the text that replaces a marker. Errors don't contain the value.
func encodeMarker(marker string, value any, config map[string]any) (string, error) {
	encoding := "LITERAL"
	if strings.EqualFold(text(config["jsonEscape"]), "true") {
		encoding = "UNQUOTED_JSON_VALUE"
	}
	if encodings, _ := config["markerEncodings"].(map[string]any); encodings[marker] != nil {
		encoding = text(encodings[marker])
	}
	plain, isText := value.(string)
	if !isText && (encoding == "LITERAL" || encoding == "YAML_STRING") {
		return "", fmt.Errorf("Expected a string for %s encoding for marker %s, got %T", encoding, marker, value) //nolint:staticcheck // the handler's text
	}
	switch encoding {
	case "LITERAL":
		return plain, nil
	case "UNQUOTED_JSON_VALUE":
		encoded := pythonJSON(value)
		if isText {
			encoded = encoded[1 : len(encoded)-1]
		}
		return encoded, nil
	case "JSON_VALUE":
		return pythonJSON(value), nil
	case "YAML_STRING":
		if plainYAML.MatchString(plain) && !slices.Contains(reservedYAML, strings.ToLower(plain)) {
			return plain, nil
		}
		return pythonJSON(plain), nil
	}
	return "", fmt.Errorf("Unknown marker encoding: %s", encoding) //nolint:staticcheck // the handler's text
}

// pythonJSON encodes a value like json.dumps of Python: in ASCII, with a space after commas and colons.
func pythonJSON(value any) string {
	switch value := value.(type) {
	case []any:
		items := make([]string, len(value))
		for i, v := range value {
			items[i] = pythonJSON(v)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var members []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			members = append(members, pythonJSON(key)+": "+pythonJSON(value[key]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // the value came from JSON
	}
	var ascii strings.Builder
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	return ascii.String()
}

// replaced returns a reader of r that replaces every marker, one after the other in sorted order.
func replaced(r io.Reader, markers map[string]string) io.Reader {
	for _, marker := range slices.Sorted(maps.Keys(markers)) {
		if marker != "" {
			r = &replacer{from: r, old: []byte(marker), new: []byte(markers[marker])}
		}
	}
	return r
}

// replacer replaces a text in a stream. It holds one buffer and the end of a possible match.
type replacer struct {
	from     io.Reader
	old, new []byte
	in       []byte // read but not yet searched
	out      []byte // ready to return
	err      error  // from the source
}

const replacerBuffer = 32 << 10

func (r *replacer) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		buffer := make([]byte, replacerBuffer)
		n, err := r.from.Read(buffer)
		r.in, r.err = append(r.in, buffer[:n]...), err
		for {
			before, after, found := bytes.Cut(r.in, r.old)
			if !found {
				break
			}
			r.out = append(append(r.out, before...), r.new...)
			r.in = after
		}
		keep := len(r.old) - 1 // bytes that could begin a match
		if r.err != nil {
			keep = 0
		}
		if ready := len(r.in) - keep; ready > 0 {
			r.out = append(r.out, r.in[:ready]...)
			r.in = r.in[ready:]
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
