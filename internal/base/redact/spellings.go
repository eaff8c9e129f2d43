package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// minCore is the minimum number of base64 characters that must derive from the secret alone. Shorter sequences occur
// in many texts by chance.
const minCore = 6

// Spellings returns the distinct forms in which a secret is likely to be printed, beginning with the secret itself.
func Spellings(secret string) []string {
	l := list{secret}
	if !simple(secret) {
		l.escaped(secret)
	}
	l.inBase64(secret)
	return l
}

// simple reports whether a secret is the same in JSON, in Go and in a URL.
func simple(secret string) bool {
	for i := range len(secret) {
		if !unreserved(secret[i]) {
			return false
		}
	}
	return true
}

// unreserved reports whether a byte is never percent-encoded in a URL. Source: RFC 3986, section 2.3.
func unreserved(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("-._~", b) >= 0
}

type list []string

func (l *list) add(spellings ...string) {
	for _, spelling := range spellings {
		if !slices.Contains(*l, spelling) {
			*l = append(*l, spelling)
		}
	}
}

// escaped adds the secret as escaped in JSON, Go and URLs, and base64 of these forms if they differ.
func (l *list) escaped(secret string) {
	html, err := json.Marshal(secret)
	if err != nil { // cannot happen for a string
		html = []byte(`""`)
	}
	quoted := strconv.Quote(secret)
	plain := inJSON(secret, "", false)
	l.add(plain, string(html[1:len(html)-1]), quoted[1:len(quoted)-1])
	for _, special := range []string{"", "<>&", "<>&'=", "/", "<>&/", "<>&'/"} {
		for _, ascii := range []bool{false, true} {
			text := inJSON(secret, special, ascii)
			l.add(text, upper(text, `\u`, 4))
		}
	}
	l.add(inJSON(plain, "", false), inJSON(string(html[1:len(html)-1]), "", false))
	// Go, JavaScript's encodeURIComponent and encodeURI, Python's quote and quote_plus, and signatures.
	l.add(url.QueryEscape(secret), url.PathEscape(secret))
	for _, plain := range []string{"", "/", "!'()*", ";/?:@&=+$,#!'()*", "*"} {
		text := inURL(secret, plain)
		spaces := strings.ReplaceAll(text, "%20", "+")
		l.add(text, lower(text), spaces, lower(spaces))
	}
	l.add(lower(url.QueryEscape(secret)), lower(url.PathEscape(secret)))
	if plain != secret {
		l.inBase64(plain)
	}
}

// inJSON returns the contents of a JSON string. It escapes the characters in special, slashes with a backslash, and
// with ascii also all non-ASCII characters.
func inJSON(text, special string, ascii bool) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	unit := func(u uint16) {
		b.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			b.WriteByte(hex[u>>shift&15])
		}
	}
	for _, r := range text {
		short := strings.IndexRune("\"\\\b\f\n\r\t", r)
		switch {
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[short])
		case r == '/' && strings.ContainsRune(special, r):
			b.WriteString(`\/`)
		case r < ' ' || strings.ContainsRune(special, r):
			unit(uint16(r)) // an ASCII character
		case ascii && r >= utf8.RuneSelf:
			for _, u := range utf16.Encode([]rune{r}) {
				unit(u)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inURL percent-encodes all bytes except the unreserved ones and those in plain.
func inURL(text, plain string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; unreserved(c) || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// upper and lower change the case of the digits after each mark.
func upper(text, mark string, digits int) string {
	return digitsOf(text, mark, digits, strings.ToUpper)
}

func lower(text string) string { return digitsOf(text, "%", 2, strings.ToLower) }

func digitsOf(text, mark string, digits int, change func(string) string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, mark)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		n := min(digits, len(after))
		b.WriteString(mark + change(after[:n]))
		text = after[n:]
	}
}

// inBase64 adds the base64 forms of a secret that begins at the first, second or third byte of a group. It keeps only
// the characters that derive from the secret alone.
func (l *list) inBase64(secret string) {
	for offset := range 3 {
		first := (8*offset + 5) / 6           // the first character without a preceding bit
		end := 8 * (offset + len(secret)) / 6 // the first character with a following bit
		if end-first < minCore {
			continue
		}
		text := append(make([]byte, offset, offset+len(secret)), secret...)
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := encoding.EncodeToString(text)[first:end]
			l.add(core)
			if escaped := url.QueryEscape(core); escaped != core { // in a form
				l.add(escaped, lower(escaped))
			}
		}
	}
}
