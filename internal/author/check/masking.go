package check

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// secrecy says why a value is secret.
type secrecy int

const (
	isOpen    secrecy = iota
	isGuessed         // by the name of its property: an ARN only points to a secret
	isNamed           // by --secret
)

// masker masks secrets in a request.
type masker struct {
	names  []string        // the properties that are secret
	whole  map[string]bool // masked where they are the whole value
	parts  []string        // masked inside texts too, the longest first
	finder finder
}

func newMasker(names []string) *masker {
	return &masker{names: names, whole: map[string]bool{}, finder: finder{left: maxScanned}}
}

// of returns the secrecy of the value of a property inside a value.
func (m *masker) of(name string, inside secrecy) secrecy {
	switch {
	case slices.Contains(m.names, name):
		return isNamed
	case secretName(name):
		return max(inside, isGuessed)
	case openNames.MatchString(name):
		return isOpen
	}
	return inside
}

// isSecret reports whether a scalar is masked because of its property.
func isSecret(v value.Value, s secrecy) bool {
	return s == isNamed || s == isGuessed && !strings.HasPrefix(v.Text(), "arn:")
}

// collect notes the values that are secret by the names of their properties, also in JSON inside texts.
func (m *masker) collect(v value.Value, s secrecy, depth int) {
	for _, member := range v.Members() {
		m.collect(member.Value, m.of(member.Key, s), depth)
	}
	for _, item := range v.Items() {
		m.collect(item, s, depth)
	}
	if !v.IsScalar() || v.Text() == "" {
		return
	}
	if text := v.Text(); isSecret(v, s) && v.Kind() != value.Bool && text != "true" && text != "false" {
		m.whole[text] = true
		if len(text) >= minSecret && !slices.Contains(m.parts, text) {
			m.parts = append(m.parts, text)
			slices.SortFunc(m.parts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		}
	}
	if v.Kind() == value.String {
		m.inside(v.Text(), depth, func(object value.Value) value.Value {
			m.collect(object, s, depth+1)
			return object
		})
	}
}

// hidden returns a value with secrets masked and without response URLs.
func (m *masker) hidden(v value.Value, s secrecy, depth int) value.Value {
	switch {
	case v.Kind() == value.Map:
		var members []value.Member
		keys := map[string]bool{}
		for _, member := range v.Members() {
			if slices.Contains(responseURLs, member.Key) {
				continue
			}
			key := m.text(member.Key)
			for n := 2; keys[key]; n++ {
				key = m.text(member.Key) + strconv.Itoa(n)
			}
			keys[key] = true
			members = append(members, value.Member{Key: key, Value: m.hidden(member.Value, m.of(member.Key, s), depth)})
		}
		return value.Object(members...)
	case v.Kind() == value.List:
		items := slices.Clone(v.Items())
		for i := range items {
			items[i] = m.hidden(items[i], s, depth)
		}
		return value.Items(items...)
	case !v.IsScalar() || v.Text() == "":
		return v
	case isSecret(v, s) || m.whole[v.Text()]:
		return value.Str(value.Mask)
	case v.Kind() != value.String:
		return v
	}
	text, ok := m.inside(v.Text(), depth, func(object value.Value) value.Value { return m.hidden(object, s, depth+1) })
	if !ok {
		return value.Str(value.Mask) // it is too deep or too long to be searched
	}
	return value.Str(m.text(text))
}

// inside replaces the JSON values inside a text. It reports false if it cannot search all of the text.
func (m *masker) inside(text string, depth int, replace func(value.Value) value.Value) (string, bool) {
	if !strings.Contains(text, "{") {
		return text, true
	}
	if depth > maxNested {
		return "", false
	}
	var quoted string
	if strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &quoted) == nil {
		return string(replace(value.Str(quoted)).JSON()), true
	}
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '{' {
			continue
		}
		if m.finder.left <= 0 {
			return "", false
		}
		object, n := m.finder.objectAt([]byte(text[i:]))
		if n == 0 {
			continue
		}
		if other := replace(object); !other.Equal(object) {
			b.WriteString(text[done:i])
			b.Write(other.JSON())
			done = i + n
		}
		i += n - 1
	}
	b.WriteString(text[done:])
	return b.String(), true
}

var (
	anyURL      = regexp.MustCompile("https?:(?:\\\\?/){2}[^\\s\"'<>]+")
	responseURL = regexp.MustCompile("(ResponseURL[^A-Za-z0-9]{1,16})https?:(?:\\\\?/){2}[^\\s\"'<>]+")
	escapeEnd   = regexp.MustCompile(`(?:\\[bfnrt]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$`)
)

// text returns a text without secrets and response URLs.
func (m *masker) text(text string) string {
	text = responseURL.ReplaceAllString(text, "${1}"+value.Mask)
	text = anyURL.ReplaceAllStringFunc(text, func(u string) string {
		if wire.Redact(u) != u {
			return value.Mask
		}
		return u
	})
	text = wire.Redact(text)
	for _, secret := range m.parts {
		for _, spelling := range redact.Spellings(secret) {
			text = maskedIn(text, spelling)
		}
	}
	return text
}

// maskedIn masks a secret in a text. A secret that is a plain word or number is not looked for inside longer ones, as in
// an account ID. Other secrets are masked everywhere.
func maskedIn(text, secret string) string {
	other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	digits := strings.ContainsFunc(secret, unicode.IsDigit)
	if strings.ContainsFunc(secret, other) || digits && strings.ContainsFunc(secret, unicode.IsLetter) {
		return strings.ReplaceAll(text, secret, value.Mask)
	}
	var b strings.Builder
	done := 0
	for from := 0; ; {
		i := strings.Index(text[from:], secret)
		if i < 0 {
			b.WriteString(text[done:])
			return b.String()
		}
		i += from
		end := i + len(secret)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[end:])
		free := i == 0 || other(before) || escapeEnd.MatchString(text[max(0, i-6):i])
		if !free || end < len(text) && !other(after) {
			_, size := utf8.DecodeRuneInString(text[i:])
			from = i + size
			continue
		}
		b.WriteString(text[done:i])
		b.WriteString(value.Mask)
		done, from = end, end
	}
}
