package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// maxNested bounds how deep a request may be inside other documents: a log record of a queue's message of a topic.
const maxNested = 6

// Record finds the requests of CloudFormation or ROS in a text: a request, log lines with JSON or a printed Python
// dict, a notification of SNS, or an event of Lambda with one. It returns each as a JSON document without response
// URLs. It masks the values of properties that are secret by their name or listed in secrets, wherever those values occur in
// the document.
func Record(text []byte, secrets []string) ([][]byte, error) {
	var found [][]byte
	f := finder{left: maxScanned}
	for _, r := range f.requests(text, 0) {
		document, err := recorded(r, secrets)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(b []byte) bool { return bytes.Equal(b, document) }) {
			found = append(found, document)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no request in it: want a JSON object with RequestType, StackId and RequestId, or a log line, " +
			"an SNS message or a Lambda event that holds one")
	}
	return found, nil
}

// maxScanned bounds how many bytes are read of a text in all: each brace in it may begin an object, up to its end.
const maxScanned = 64 << 20

// finder looks for requests in a text.
type finder struct {
	left int // bytes that may be read
}

// requests returns the objects in a text that are requests.
func (f *finder) requests(text []byte, depth int) (found []value.Value) {
	if depth > maxNested {
		return nil
	}
	for i := 0; i < len(text) && f.left > 0; i++ {
		if text[i] != '{' {
			continue
		}
		object, n := f.objectAt(text[i:])
		if n == 0 {
			continue
		}
		found = append(found, f.requestsIn(object, depth)...)
		i += n - 1
	}
	return found
}

// objectAt reads an object at the beginning of a text, in JSON or as Python prints it, and returns how long it is there.
func (f *finder) objectAt(text []byte) (value.Value, int) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var raw json.RawMessage
	err := decoder.Decode(&raw)
	f.left -= int(decoder.InputOffset()) + 1
	if err == nil {
		if v, err := value.Parse(raw); err == nil {
			return v, int(decoder.InputOffset())
		}
	}
	translated, n, scanned := fromPython(text)
	f.left -= scanned
	if v, err := value.Parse(translated); n > 0 && err == nil {
		return v, n
	}
	return value.Value{}, 0
}

// requestsIn looks for requests in a value, also in texts of it.
func (f *finder) requestsIn(v value.Value, depth int) (found []value.Value) {
	switch v.Kind() {
	case value.Map:
		if isRequest(v) {
			return []value.Value{v}
		}
		for _, m := range v.Members() {
			found = append(found, f.requestsIn(m.Value, depth)...)
		}
	case value.List:
		for _, item := range v.Items() {
			found = append(found, f.requestsIn(item, depth)...)
		}
	case value.String:
		if strings.Contains(v.Text(), "RequestType") {
			return f.requests([]byte(v.Text()), depth+1)
		}
	case value.Null, value.Bool, value.Number:
	}
	return found
}

func isRequest(v value.Value) bool {
	for _, name := range []string{"RequestType", "StackId", "RequestId", "LogicalResourceId"} {
		if m, ok := v.Get(name); !ok || m.Kind() != value.String {
			return false
		}
	}
	return true
}

// fromPython translates a dict as Python prints it into JSON: texts in single quotes, True, False and None. It returns how much
// of the text the dict is, zero if it is none, and how much was read.
func fromPython(text []byte) (translated []byte, n, scanned int) {
	var out bytes.Buffer
	if len(text) < 2 || text[1] != '\'' && text[1] != '"' {
		return nil, 0, 0
	}
	depth, i := 0, 0
	for i < len(text) {
		switch c := text[i]; c {
		case '\'', '"':
			s, length := pythonText(text[i:])
			if length == 0 {
				return nil, 0, len(text)
			}
			quoted, _ := json.Marshal(s) // a text
			out.Write(quoted)
			i += length
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '\n':
			return nil, 0, i // a dict is printed in one line
		case 'T', 'F', 'N':
			if n := pythonWord(&out, text[i:]); n > 0 {
				i += n
				continue
			}
		}
		out.WriteByte(text[i])
		if i++; depth == 0 {
			return out.Bytes(), i, i
		}
	}
	return nil, 0, i
}

// pythonWord translates True, False or None at the beginning of a text, and returns how long it is.
func pythonWord(out *bytes.Buffer, text []byte) int {
	for _, word := range [][2]string{{"True", "true"}, {"False", "false"}, {"None", "null"}} {
		if bytes.HasPrefix(text, []byte(word[0])) {
			out.WriteString(word[1])
			return len(word[0])
		}
	}
	return 0
}

// pythonText reads a text in quotes and returns how long it is with them; zero if it does not end.
func pythonText(text []byte) (s string, n int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == text[0]:
			return b.String(), i + 1
		case c != '\\' || i+1 >= len(text):
			b.WriteByte(c)
		default:
			i++
			if plain, ok := map[byte]string{'n': "\n", 't': "\t", 'r': "\r"}[text[i]]; ok {
				b.WriteString(plain)
			} else if digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[text[i]]; digits > 0 && i+digits < len(text) {
				var letter rune
				if _, err := fmt.Sscanf(string(text[i+1:i+1+digits]), "%x", &letter); err == nil {
					b.WriteRune(letter)
				}
				i += digits
			} else {
				b.WriteByte(text[i])
			}
		}
	}
	return "", 0
}

// responseURLs are the members of a request that let anyone answer it.
var responseURLs = []string{"ResponseURL", "IntranetResponseURL", "InnerResponseURL"}

// recorded returns a request without secrets.
func recorded(v value.Value, names []string) ([]byte, error) {
	m := newMasker(names)
	for _, properties := range []string{"ResourceProperties", "OldResourceProperties"} {
		if p, ok := v.Get(properties); ok {
			m.collect(p, isOpen, 0)
		}
	}
	var members []value.Member
	for _, member := range v.Members() {
		switch {
		case slices.Contains(responseURLs, member.Key):
			continue
		case member.Key != "RequestType":
			member.Value = m.hidden(member.Value, isOpen, 0)
		}
		members = append(members, member)
	}
	document := value.Object(members...).JSON()
	if len(document) > wire.MaxRequest {
		return nil, fmt.Errorf("the request has %d bytes, and %d are allowed", len(document), wire.MaxRequest)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, document, "", "  "); err != nil {
		return nil, err
	}
	return append(out.Bytes(), '\n'), nil
}
