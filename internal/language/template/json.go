package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// parseJSON reads a template written in JSON.
func parseJSON(body string, language Language) (Node, error) {
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		return Node{}, jsonError(body, err)
	}
	r := &jsonReader{body: body, language: language, decoder: json.NewDecoder(strings.NewReader(body)), line: 1, column: 1}
	r.decoder.UseNumber()
	root, err := r.read(nil)
	if err != nil {
		return Node{}, Errors{err}
	}
	return root, r.found.orNil()
}

// jsonError returns the error of a text that is not JSON, with the position of the first wrong byte.
func jsonError(body string, err error) error {
	place := &jsonReader{body: body, line: 1, column: 1}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		place.advance(int(max(syntax.Offset-1, 0)))
	}
	return Errors{malformedJSON(place.line, place.column, err)}
}

// malformedJSON returns the error for the position where a text stops being JSON. The service's parser has already
// consumed the wrong character, so the column in its message is one higher. Source: recorded answers, D21 (2024-06-18).
func malformedJSON(line, column int, err error) *Error {
	return &Error{
		Message: fmt.Sprintf("Template format error: JSON not well-formed. (line %d, column %d)", line, column+1),
		Detail:  err.Error(), Line: line, Column: column,
	}
}

// jsonReader turns the tokens of a text known to be JSON into nodes and tracks their positions.
type jsonReader struct {
	problems
	body         string
	language     Language
	decoder      *json.Decoder
	offset       int // in body, which line and column belong to
	line, column int
}

// advance moves to a later offset of the body.
func (r *jsonReader) advance(offset int) {
	skipped := r.body[r.offset:min(offset, len(r.body))]
	if i := strings.LastIndexByte(skipped, '\n'); i >= 0 {
		r.line += strings.Count(skipped, "\n")
		r.column = 1
		skipped = skipped[i+1:]
	}
	r.column += utf8.RuneCountInString(skipped)
	r.offset = max(r.offset, min(offset, len(r.body)))
}

// token returns the next token and its position.
func (r *jsonReader) token() (token json.Token, line, column int, failure *Error) {
	start := int(r.decoder.InputOffset())
	rest := r.body[start:]
	r.advance(start + len(rest) - len(strings.TrimLeft(rest, " \t\r\n,:")))
	token, err := r.decoder.Token()
	if err != nil {
		return nil, 0, 0, malformedJSON(r.line, r.column, err)
	}
	return token, r.line, r.column, nil
}

func (r *jsonReader) read(where path) (Node, *Error) {
	token, line, column, err := r.token()
	if err != nil {
		return Node{}, err
	}
	n := Node{line: line, column: column}
	switch t := token.(type) {
	case bool:
		n.kind, n.text = value.Bool, strconv.FormatBool(t)
	case json.Number:
		n.kind, n.text = value.Number, t.String()
	case string:
		n.kind, n.text = value.String, t
	case json.Delim:
		if len(where) == MaxDepth {
			return Node{}, tooDeep(n, where)
		}
		if t == '[' {
			n.kind = value.List
			return r.list(n, where)
		}
		n.kind = value.Map
		return r.object(n, where)
	case nil:
		if r.language == ROS {
			break
		}
		r.at(n, where, "[%s] 'null' values are not allowed in templates", where)
	}
	return n, nil
}

func (r *jsonReader) list(n Node, where path) (Node, *Error) {
	for i := 0; r.decoder.More(); i++ {
		item, err := r.read(where.to(strconv.Itoa(i)))
		if err != nil {
			return Node{}, err
		}
		n.items = append(n.items, item)
	}
	_, _, _, err := r.token()
	return n, err
}

func (r *jsonReader) object(n Node, where path) (Node, *Error) {
	seen := make(map[string]int)
	for r.decoder.More() {
		token, line, column, err := r.token()
		if err != nil {
			return Node{}, err
		}
		m := Member{Key: token.(string), line: line, column: column}
		below := where.to(m.Key)
		if first, ok := seen[m.Key]; ok {
			r.key(m, below, "%s", duplicateKey(m.Key, first))
		}
		seen[m.Key] = line
		if m.Value, err = r.read(below); err != nil {
			return Node{}, err
		}
		n.members = append(n.members, m)
	}
	_, _, _, err := r.token()
	return n, err
}

func tooDeep(n Node, where path) *Error {
	return &Error{
		Message: fmt.Sprintf("Template format error: lists and objects nest deeper than %d levels.", MaxDepth),
		Path:    where.String(), Line: n.line, Column: n.column,
	}
}

func duplicateKey(key string, first int) string {
	return fmt.Sprintf("Template format error: the key %q is given twice, first on line %d.", key, first)
}
