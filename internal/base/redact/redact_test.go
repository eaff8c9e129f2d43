package redact_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/redact"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct {
		name    string
		secrets []string
		text    string
		want    string
	}{
		{"no secrets", nil, "text", "text"},
		{"an empty secret", []string{""}, "text", "text"},
		{"no secret in the text", []string{"hunter2"}, "hunter1 hunter", "hunter1 hunter"},
		{"at both ends", []string{"ab"}, "ab cd ab", "***** cd *****"},
		{"next to each other", []string{"ab"}, "abab", "**********"},
		{"one byte", []string{"a"}, "bab", "b*****b"},
		{"one begins with another", []string{"abc", "abcdef"}, "x abcdef abc x", "x ***** ***** x"},
		{"one is inside another", []string{"cd", "abcdef"}, "abcdef cd", "***** *****"},
		{"two overlap", []string{"abcdefgh", "ghijklmn"}, "_abcdefghijklmn_", "_*****_"},
		{"a short one overlaps a long one", []string{"xab", "abcdefghijkl"}, "xabcdefghijkl", "*****"},
		{"one overlaps itself", []string{"aa"}, "aaa b", "***** b"},
		{"not across a mask", []string{"ab"}, "aabb", "a*****b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s redact.Secrets
			s.Add(tt.secrets...)
			if got := s.Mask(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if in := s.In(tt.text); in != (tt.want != tt.text) {
				t.Errorf("In reports %t", in)
			}
			if found := len(s.Find(tt.text)) > 0; found != (tt.want != tt.text) {
				t.Errorf("Find reports %t", found)
			}
		})
	}
}

func TestNil(t *testing.T) {
	var s *redact.Secrets
	s.Add("hunter2")
	if got := s.Mask("hunter2") + s.Cut("hunt"); got != "hunter2hunt" || !s.Empty() || s.In("hunter2") || s.Find("hunter2") != nil {
		t.Errorf("nil knows secrets: %s", got)
	}
}

func TestShortest(t *testing.T) {
	if got := redact.Of([]string{"no", "yes!"}).Mask("no yes!"); got != "no *****" {
		t.Error(got)
	}
}

func TestOldestSecretIsDropped(t *testing.T) {
	s := redact.Secrets{Most: 2, Spell: func(secret string) []string { return []string{secret} }}
	s.Add("first")
	s.Add("second", "third")
	if got := s.Mask("first second third"); got != "first ***** *****" {
		t.Error(got)
	}
	if got := s.Find("third second"); !slices.Equal(got, []string{"second", "third"}) {
		t.Errorf("found %q", got)
	}
}

func TestCut(t *testing.T) {
	s := redact.Of([]string{"hunter2"})
	for text, want := range map[string]string{"x hunter": "x ", "x hunter2": "x hunter2", "x": "x", "é\xc3": "é", "hh": "h"} {
		if got := s.Cut(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// FuzzMask checks that a secret longer than the mask does not remain, and that the rest keeps its order.
func FuzzMask(f *testing.F) {
	f.Add("password: hunter2", "hunter2", "ter2")
	f.Add("aabaabaab", "aab", "baa")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		s := redact.Secrets{Spell: func(secret string) []string { return []string{secret} }}
		s.Add(one, two)
		got := s.Mask(text)
		for _, secret := range []string{one, two} {
			if len(secret) > 0 && !strings.Contains(secret, "*") && slices.ContainsFunc(strings.Split(got, redact.Mask), func(part string) bool {
				return strings.Contains(part, secret)
			}) {
				t.Errorf("%q shows %q", got, secret)
			}
		}
		if utf8.ValidString(text) && utf8.ValidString(one) && utf8.ValidString(two) && one != "" && two != "" && !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
	})
}

// BenchmarkMask masks a line of 1 MiB without a secret.
func BenchmarkMask(b *testing.B) {
	var line strings.Builder
	for i := 0; line.Len() < 1<<20; i++ {
		fmt.Fprintf(&line, `{"n":%d,"at":"2026-01-02T03:04:05Z","msg":"request \"handled\"","token":"%s"},`, i,
			base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(i*7919)+" of many")))
	}
	text := line.String()
	for _, secrets := range [][]string{{"hunter2-and-more"}, {"p/ss+w&rd <1>"}, {"hunter2-and-more", "p/ss+w&rd <1>", "swordfish", "AKIA0123456789ABCDEF"}} {
		s := redact.Of(secrets)
		b.Run(fmt.Sprintf("secrets=%d/%q", len(secrets), secrets[0]), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Mask(text)
			}
		})
	}
}
