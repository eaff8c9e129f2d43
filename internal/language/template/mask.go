package template

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// Masked returns the text of a template with its secrets masked. It masks the defaults and the allowed values of NoEcho
// parameters, and every other place that contains one of these or one of the secrets that find returns. It keeps the
// layout and the comments. If a mask might not cover all of a value, it returns the template without them, as JSON. The
// only errors are those of a text that is not a template.
func (l Language) Masked(body string, find func(document value.Value) []string) (string, error) {
	root, err := l.read(body)
	if err != nil {
		return "", err
	}
	hidden, secrets := hiddenIn(root), slices.Clip(find(root.Value()))
	for _, h := range hidden {
		secrets = append(secrets, h.value.Text())
	}
	if len(hidden) == 0 {
		return maskAll(body, secrets), nil
	}
	for _, flow := range []bool{false, true} {
		masked := body
		for _, h := range slices.Backward(hidden) {
			if begin, end, ok := h.extent(masked, flow); ok {
				masked = masked[:begin] + `"` + value.ParameterMask + `"` + masked[end:]
			}
		}
		again, err := l.read(masked)
		if err == nil && !slices.ContainsFunc(hiddenIn(again), hiddenScalar.open) && without(again, hidden).Equal(without(root, hidden)) {
			return maskAll(masked, secrets), nil
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(without(root, hidden).TaintedWith(secrets).String()), "", "  "); err != nil {
		return "", err
	}
	return maskAll(indented.String(), secrets), nil
}

// without returns a template with one mask for the whole value of each hidden attribute.
func without(root Node, hidden []hiddenScalar) value.Value {
	v := root.Value()
	section, _ := v.Get("Parameters")
	for _, h := range hidden {
		declared, _ := section.Get(h.parameter)
		section = section.With(h.parameter, declared.With(h.attribute, value.Str(value.ParameterMask)))
	}
	return v.With("Parameters", section)
}

// maskAll masks the secrets in a text, in every encoding. It ignores those of fewer than [redact.ShortSecret] bytes.
func maskAll(text string, secrets []string) string {
	known := redact.Secrets{Shortest: redact.ShortSecret, With: value.ParameterMask}
	known.Add(slices.DeleteFunc(slices.Clone(secrets), func(secret string) bool {
		return len(secret) < redact.ShortSecret || secret == value.ParameterMask
	})...)
	return known.Mask(text)
}

// hiddenScalar is a scalar that people must not see.
type hiddenScalar struct {
	parameter, attribute string
	indent               int // of the attribute's key
	value                Node
}

func (h hiddenScalar) open() bool { return h.value.Text() != value.ParameterMask }

// hiddenIn returns the hidden scalars of a template in the order of the text.
func hiddenIn(root Node) []hiddenScalar {
	var list []hiddenScalar
	for _, p := range root.Get("Parameters").Members() {
		if !strings.EqualFold(p.Value.Get("NoEcho").Text(), "true") {
			continue
		}
		for _, m := range p.Value.Members() {
			if m.Key == "Default" || m.Key == "AllowedValues" {
				list = appendScalars(list, hiddenScalar{p.Key, m.Key, m.Column() - 1, m.Value})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b hiddenScalar) int {
		if a.value.Line() != b.value.Line() {
			return a.value.Line() - b.value.Line()
		}
		return a.value.Column() - b.value.Column()
	})
	return list
}

func appendScalars(list []hiddenScalar, h hiddenScalar) []hiddenScalar {
	switch h.value.Kind() {
	case value.List:
		for _, item := range h.value.Items() {
			list = appendScalars(list, hiddenScalar{h.parameter, h.attribute, h.indent, item})
		}
	case value.Map:
		for _, m := range h.value.Members() {
			list = appendScalars(list, hiddenScalar{h.parameter, h.attribute, h.indent, m.Value})
		}
	case value.Null, value.Bool, value.Number, value.String:
		return append(list, h)
	}
	return list
}

// extent returns the position of the scalar in a text. flow says that a plain scalar also ends where the enclosing list
// or object in brackets continues.
func (h hiddenScalar) extent(text string, flow bool) (begin, end int, ok bool) {
	for range h.value.Line() - 1 {
		at := strings.IndexByte(text[begin:], '\n')
		if at < 0 {
			return 0, 0, false
		}
		begin += at + 1
	}
	for range h.value.Column() - 1 {
		_, size := utf8.DecodeRuneInString(text[begin:])
		begin += size
	}
	for begin < len(text) && strings.IndexByte("!&", text[begin]) >= 0 { // a tag or an anchor
		begin += max(strings.IndexAny(text[begin:], " \n"), 1)
		begin += len(text[begin:]) - len(strings.TrimLeft(text[begin:], " \n"))
	}
	if begin >= len(text) {
		return 0, 0, false
	}
	rest := text[begin:]
	switch rest[0] {
	case '"':
		end = quoted(rest, '"', '\\')
	case '\'':
		end = quoted(rest, '\'', '\'')
	case '|', '>':
		end = h.lines(rest)
	default:
		if end = h.lines(rest); flow {
			if at := strings.IndexAny(rest[:end], ",]}\n"); at >= 0 {
				end = at
			}
		}
	}
	return begin, begin + end, end > 0
}

// quoted returns the end of the quoted text at the beginning of text. escape precedes a quote that does not end it.
func quoted(text string, quote, escape byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == escape && i+1 < len(text) && (escape != quote || text[i+1] == quote):
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return len(text)
}

// lines returns the end of the first line and of the following lines that are empty or indented further than the
// attribute.
func (h hiddenScalar) lines(text string) int {
	end := 0
	for first := true; end < len(text); first = false {
		line, _, _ := strings.Cut(text[end:], "\n")
		indented := len(line) - len(strings.TrimLeft(line, " "))
		if !first && strings.TrimSpace(line) != "" && indented <= h.indent {
			break
		}
		end += len(line) + 1
	}
	return len(strings.TrimRight(text[:min(end, len(text))], "\r\n"))
}
