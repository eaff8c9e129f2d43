package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of lists and objects in a parsed value. It bounds recursion. Source: ours.
const MaxDepth = 64

// ErrDepth is the error of a value that nests deeper than [MaxDepth].
var ErrDepth = fmt.Errorf("lists and objects nest deeper than %d levels", MaxDepth)

// SyntaxError is the error of a text that is not JSON.
type SyntaxError struct {
	Offset int64 // of the byte after which the text is invalid
	Reason string
}

// Error returns the reason and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON: %s (offset %d)", e.Reason, e.Offset)
}

// Deeper reports whether lists and objects in a JSON text nest deeper than levels, without parsing it. Use it before
// parsers that have no limit. For a text that is not JSON the result is undefined.
func Deeper(text []byte, levels int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > levels {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// Parse reads one JSON value and nothing after it. It returns a [SyntaxError], or [ErrDepth].
func Parse(data []byte) (Value, error) { return parseWithin(data, MaxDepth) }

func parseWithin(data []byte, depth int) (Value, error) {
	if json.Valid(data) {
		r := reader{text: data}
		if v, ok := r.value(depth); ok {
			return v, nil
		}
	}
	return parseSlowly(data, depth)
}

// parseSlowly parses any text, and says why an invalid one is invalid.
func parseSlowly(data []byte, depth int) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := parse(dec, depth)
	if err != nil {
		return Value{}, syntaxError(err, dec.InputOffset())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Value{}, &SyntaxError{dec.InputOffset(), "more text after the value"}
	}
	return v, nil
}

func syntaxError(err error, offset int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, ErrDepth):
		return ErrDepth
	case errors.As(err, &syntax):
		return &SyntaxError{syntax.Offset, syntax.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &SyntaxError{offset, "unexpected end"}
	}
	return &SyntaxError{offset, err.Error()}
}

// parse reads a value in which lists and objects may nest depth levels deep.
func parse(dec *json.Decoder, depth int) (Value, error) {
	token, err := dec.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := token.(type) {
	case bool:
		return Boolean(t), nil
	case json.Number:
		return Num(t.String()), nil
	case string:
		return Str(t), nil
	case json.Delim:
		if depth == 0 {
			return Value{}, ErrDepth
		}
		if t == '[' {
			return parseList(dec, depth-1)
		}
		return parseObject(dec, depth-1)
	}
	return Value{}, nil // null
}

func parseList(dec *json.Decoder, depth int) (Value, error) {
	var items []Value
	for dec.More() {
		item, err := parse(dec, depth)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
	}
	_, err := dec.Token()
	return Items(items...), err
}

func parseObject(dec *json.Decoder, depth int) (Value, error) {
	var members []Member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return Value{}, err
		}
		member, err := parse(dec, depth)
		if err != nil {
			return Value{}, err
		}
		members = append(members, Member{key.(string), member})
	}
	_, err := dec.Token()
	return Object(members...), err
}

// reader parses a text that is known to be JSON. It returns false where parseSlowly must take over.
type reader struct {
	text []byte
	at   int // of the next byte
}

// space skips white space and returns the next byte without consuming it.
func (r *reader) space() byte {
	for {
		switch c := r.text[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int) (Value, bool) {
	switch r.space() {
	case 'n':
		r.at += len("null")
		return Value{}, true
	case 't':
		r.at += len("true")
		return Boolean(true), true
	case 'f':
		r.at += len("false")
		return Boolean(false), true
	case '"':
		text, ok := r.str()
		return Str(text), ok
	case '[', '{':
		if depth == 0 {
			return Value{}, false
		}
		if r.text[r.at] == '[' {
			return r.list(depth - 1)
		}
		return r.object(depth - 1)
	}
	start := r.at
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n,]}", r.text[r.at]) < 0 {
		r.at++
	}
	return Num(string(r.text[start:r.at])), true
}

func (r *reader) list(depth int) (Value, bool) {
	var items []Value
	for r.at++; r.space() != ']'; {
		if r.text[r.at] == ',' {
			r.at++
		}
		item, ok := r.value(depth)
		if !ok {
			return Value{}, false
		}
		items = append(items, item)
	}
	r.at++
	return Items(items...), true
}

func (r *reader) object(depth int) (Value, bool) {
	var members []Member
	for r.at++; r.space() != '}'; {
		if r.text[r.at] == ',' {
			r.at++
			r.space()
		}
		key, ok := r.str()
		r.space()
		r.at++ // the colon
		if !ok {
			return Value{}, false
		}
		member, ok := r.value(depth)
		if !ok {
			return Value{}, false
		}
		members = append(members, Member{key, member})
	}
	r.at++
	return Object(members...), true
}

// str reads a string. It leaves strings with escapes or invalid UTF-8 to encoding/json.
func (r *reader) str() (string, bool) {
	start, plain := r.at, true
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
			plain = false
		}
	}
	r.at++
	if inner := r.text[start+1 : r.at-1]; plain && utf8.Valid(inner) {
		return string(inner), true
	}
	var text string
	err := json.Unmarshal(r.text[start:r.at], &text)
	return text, err == nil
}

// JSON returns v as compact JSON with secrets in the clear, members in order and numbers as they were written. It is
// only for providers.
func (v Value) JSON() []byte { return v.append(make([]byte, 0, v.length()), plain) }

// length returns the approximate length of v as JSON, without escapes.
func (v Value) length() int {
	n := len(v.text) + len(`"",`)
	for _, item := range v.Items() {
		n += item.length()
	}
	for _, m := range v.Members() {
		n += len(m.Key) + len(`"":`) + m.Value.length()
	}
	return n
}

// MarshalJSON returns [Value.Masked] as JSON, so that a value which ends up in a log or an answer shows no secret.
func (v Value) MarshalJSON() ([]byte, error) { return v.Masked().JSON(), nil }

// UnmarshalJSON parses data as [Parse] does.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// String returns the masked JSON of v for use in messages.
func (v Value) String() string { return string(v.Masked().JSON()) }

// plain writes a scalar in the clear.
func plain(b []byte, scalar Value) []byte {
	if scalar.kind == String {
		return appendString(b, scalar.text)
	}
	return append(b, scalar.text...)
}

// append writes v to b; scalar writes the booleans, numbers and strings.
func (v Value) append(b []byte, scalar func([]byte, Value) []byte) []byte {
	switch v.kind {
	case Null:
		return append(b, "null"...)
	case Bool, Number, String:
		return scalar(b, v)
	case List:
		b = append(b, '[')
		for i, item := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b, scalar)
		}
		return append(b, ']')
	case Map:
		b = append(b, '{')
		for i, m := range v.Members() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, m.Key)
			b = append(b, ':')
			b = m.Value.append(b, scalar)
		}
		return append(b, '}')
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendString writes s as a JSON string without the HTML escapes of encoding/json, which would make a body longer than
// its author measured.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if isPlain(s) {
		return append(append(b, s...), '"')
	}
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xF])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// isPlain reports whether s needs no escapes and is ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
