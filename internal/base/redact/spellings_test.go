package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/redact"
)

// masked masks a secret in a text.
func masked(text, secret string) string {
	var s redact.Secrets
	s.Add(secret)
	return s.Mask(text)
}

var secrets = []string{
	"hunter2-and-more", "pass/word+1==?", "a<b>&\"c\\d'e", "grüße/日本 🙂x", "tab\tand\nline", "50% off & more=", "=~$;:@,#!()*[]{}|^`",
}

// TestFound checks that the output of encoders for a secret is masked, with any text before and after it.
func TestFound(t *testing.T) {
	encodings := map[string]func(string) string{
		"JSON": func(s string) string { b, _ := json.Marshal(s); return string(b) },
		"JSON in JSON": func(s string) string {
			b, _ := json.Marshal(s)
			b, _ = json.Marshal(string(b))
			return string(b)
		},
		"JSON with \\/":        func(s string) string { return jsonOf(s, func(r rune) bool { return r > 127 }, `\/`, "%04x") },
		"JSON, ASCII":          func(s string) string { return jsonOf(s, func(r rune) bool { return r > 127 }, "/", "%04x") },
		"JSON, ASCII, capital": func(s string) string { return jsonOf(s, func(r rune) bool { return r > 127 }, "/", "%04X") },
		"JSON, HTML, capital": func(s string) string {
			return jsonOf(s, func(r rune) bool { return strings.ContainsRune("<>&", r) }, "/", "%04X")
		},
		"Go":          func(s string) string { return fmt.Sprintf("%q", s) },
		"query":       url.QueryEscape,
		"path":        url.PathEscape,
		"small query": func(s string) string { return smallHex(url.QueryEscape(s)) },
		"strict":      strict, "small strict": func(s string) string { return smallHex(strict(s)) },
		"base64":            func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64, unpadded":  func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
		"base64url":         func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
		"base64url, raw":    func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"Basic, user":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) },
		"Basic, u":          func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s)) },
		"Basic, us":         func(s string) string { return base64.StdEncoding.EncodeToString([]byte("us:" + s)) },
		"Basic, as user":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s + ":rest")) },
		"base64 of JSON":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte(jsonOf(s, nil, "/", ""))) },
		"base64 in a query": func(s string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(s))) },
	}
	for name, encode := range encodings {
		for _, secret := range secrets {
			text := "before " + encode(secret) + " after"
			got := masked(text, secret)
			if !strings.Contains(got, "*****") {
				t.Errorf("%s of %q is not found in %s", name, secret, text)
			}
			// The rest, at the ends of a base64 group, is too short to reveal the secret.
			if left := len(got) - len("before ***** after"); left > 24 {
				t.Errorf("%s of %q: left is %s", name, secret, got)
			}
		}
	}
}

// TestBase64Anywhere encodes a secret at every offset with random bytes around it. At each end, at most the two characters
// that it shares with its neighbours remain.
func TestBase64Anywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) // deterministic
	for range 3000 {
		secret := bytesOf(random, 5+random.IntN(40))
		before, after := bytesOf(random, random.IntN(9)), bytesOf(random, random.IntN(9))
		encoding := base64.StdEncoding
		if random.IntN(2) == 0 {
			encoding = base64.RawURLEncoding
		}
		text := encoding.EncodeToString([]byte(before + secret + after))
		start := 8 * len(before) / 6
		end := (8*(len(before)+len(secret)) + 5) / 6
		got := masked(text, secret)
		at := strings.Index(got, "*****")
		if at < 0 || at > start+1 || len(got)-at-5 > len(text)-end+1 {
			t.Fatalf("%q in base64 %s: %s", secret, text, got)
		}
	}
}

func TestSpellings(t *testing.T) {
	all := redact.Spellings("a<\"é /")
	for _, want := range []string{
		"a<\"é /", `a<\"é /`, `a\u003c\"é /`, "a%3C%22%C3%A9+%2F", "a%3C%22%C3%A9%20%2F", "a%3c%22%c3%a9%20%2f", "YTwiw6kgL",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among the spellings %q", want, all)
		}
	}
	if got := redact.Spellings("plain"); !slices.Equal(got, []string{"plain", "cGxhaW", "BsYWlu", "wbGFpb"}) {
		t.Errorf("spellings of a plain secret: %q", got)
	}
}

func TestLimits(t *testing.T) {
	for _, text := range []string{base64.StdEncoding.EncodeToString([]byte("abcd")), "6162636465"} {
		if got := masked(text, "abcd"); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	if got := len(redact.Spellings("plain-and-long-secret")); got > 7 {
		t.Errorf("a plain secret has %d spellings", got)
	}
}

func bytesOf(random *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(33 + random.IntN(94)) // below 127
	}
	return string(b)
}

func strict(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func smallHex(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// jsonOf is a JSON encoder with additional escapes.
func jsonOf(s string, escape func(rune) bool, slash, format string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '/':
			b.WriteString(slash)
		case escape != nil && escape(r) && r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u`+format+`\u`+format, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case escape != nil && escape(r):
			fmt.Fprintf(&b, `\u`+format, r)
		default:
			var raw strings.Builder
			e := json.NewEncoder(&raw)
			e.SetEscapeHTML(false)
			_ = e.Encode(string(r))
			b.WriteString(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(raw.String()), `"`), `"`))
		}
	}
	return b.String()
}
