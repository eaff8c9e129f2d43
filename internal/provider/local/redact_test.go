package local

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTheOldestSecretIsForgotten(t *testing.T) {
	h := newRedactor()
	h.known.Add("first")
	later := make([]string, maxSecrets)
	for i := range later {
		later[i] = fmt.Sprint("later", i)
	}
	h.known.Add(later...)
	if got := h.line(later[maxSecrets-1]); got != "*****" {
		t.Errorf("a newer secret is forgotten: %s", got)
	}
	if got := h.line("first"); got != "first" {
		t.Errorf("the oldest secret is still known: %s", got)
	}
}

func FuzzRedactedLine(f *testing.F) {
	f.Add("password: hunter2 \x1b[31m", "hunter2", 5)
	f.Add("{\"a\":\"x\\\"y\"}", "x\"y", 7)
	f.Add("\xff\xfeümlaut", "ü", 3)
	f.Fuzz(func(t *testing.T, line, secret string, cut int) {
		h := newRedactor()
		h.known.Add(secret)
		check := func(got string) {
			if !utf8.ValidString(got) {
				t.Errorf("not UTF-8: %q", got)
			}
			if strings.ContainsFunc(got, func(r rune) bool { return r != '\t' && unicode.IsControl(r) }) {
				t.Errorf("control characters in %q", got)
			}
			// A secret may appear where masking joins separate parts, or inside a mask.
			if plain := clean(secret); len(plain) > 8 && !strings.ContainsAny(plain, "*…\r\n") &&
				!strings.Contains(secret, "REDACTED") && strings.Contains(got, plain) {
				t.Errorf("%q shows %q", got, plain)
			}
		}
		check(h.line(line))
		if cut >= 0 && cut < len(line) {
			check(h.beginning(line[:cut]))
		}
	})
}

func FuzzErrorReport(f *testing.F) {
	f.Add([]byte(`{"errorType":"A","errorMessage":"b","stackTrace":[]}`))
	f.Add([]byte(`{"errorMessage":null}`))
	f.Add([]byte(`null`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		errorType, message := parseErrorReport(body)
		if len(body) > 0 && errorType == "" && message == "" && !strings.Contains(string(body), `""`) {
			t.Errorf("%q says nothing", body)
		}
		p := &process{redactor: newRedactor()}
		for limit, text := range map[int]string{maxErrorType: errorType, maxMessage: message} {
			if got := p.bounded(text, limit); len(got) > limit || !utf8.ValidString(got) {
				t.Errorf("%d bytes where %d are allowed, or not UTF-8: %q", len(got), limit, got)
			}
		}
	})
}
