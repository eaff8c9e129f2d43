package template

import (
	"regexp"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
		not     string // part of the error
	}{
		{pattern: "[a-z]+", yes: []string{"abc"}, no: []string{"abcD", "", "a b"}},
		{pattern: "^abc$", yes: []string{"abc"}, no: []string{"abc\n", "xabc"}},
		{pattern: "a|b", yes: []string{"a", "b"}, no: []string{"ab"}},
		{pattern: `\d{3}-\w+`, yes: []string{"123-ab_"}, no: []string{"12-a"}},
		{pattern: `[\s\S]*`, yes: []string{"", " \n\v", "ä"}},
		{pattern: `\S+\s\S+`, yes: []string{"a\vb"}, no: []string{"ab"}},
		{pattern: `\p{Alpha}\p{XDigit}[\p{Punct}]\P{Digit}`, yes: []string{"af!x"}, no: []string{"af!1", "1f!x"}},
		{pattern: `\p{IsAlphabetic}\p{L}\p{Lu}`, yes: []string{"äöÜ"}, no: []string{"äöü"}},
		{pattern: `\u0041\x42`, yes: []string{"AB"}},
		{pattern: `\Qa.b\E+`, yes: []string{"a.b", "a.bb"}, no: []string{"axb"}},
		{pattern: `[\w\-\.\/\@]+`, yes: []string{"a-b./@"}, no: []string{"a b"}},
		{pattern: `[]a]+`, yes: []string{"]a"}},
		{pattern: `[^]a]+`, yes: []string{"bc"}, no: []string{"]"}},
		{pattern: `{a}`, yes: []string{"{a}"}},
		{pattern: `(?i)abc`, yes: []string{"aBc"}},
		{pattern: `(?<name>a)b`, yes: []string{"ab"}},
		{pattern: `[a-z]{0,2048}`, yes: []string{"", strings.Repeat("a", 2048)}, no: []string{strings.Repeat("a", 2049), "A"}},
		{pattern: `(?:ab){1500}c`, yes: []string{strings.Repeat("ab", 1500) + "c"}, no: []string{strings.Repeat("ab", 1499) + "c"}},
		{pattern: `a{1,99999}`, yes: []string{"a", strings.Repeat("a", 4096)}, no: []string{"", "b"}},
		{pattern: `a{2000,}`, yes: []string{strings.Repeat("a", 2001)}, no: []string{strings.Repeat("a", 1999)}},
		{pattern: `a{1200}?`, yes: []string{strings.Repeat("a", 1200)}, no: []string{"a"}},
		{pattern: `^(?=.*[A-Z])(?=.*[0-9])(?!.*\s)[\x21-\x7e]{8,41}$`, yes: []string{"Passw0rd"}, no: []string{"password", "Password", "Pa0", "Passw0rd\n"}},
		{pattern: `(?=.*a)[]|ab]+`, yes: []string{"a|]", "a"}, no: []string{"b", "ac"}},
		{
			pattern: `^(?=.*[a-z])((?=.*[0-9])|(?:(?=.*[!])(?!.*x)))[a-z0-9!]{2,4}$`,
			yes:     []string{"a0", "a!", "x0!"}, no: []string{"aa", "x!", "0!", "a0a0a"},
		},
		{pattern: `((?=a)|b)c`, not: "look-ahead"},
		{pattern: `((?=a))?b`, not: "look-ahead"},
		{pattern: strings.Repeat("(", 9) + `(?=a)` + strings.Repeat(")", 9) + "a", not: "look-ahead"},
		{pattern: `(?=a)a|b`, not: "look-ahead"},
		{pattern: `a(?!b).*`, not: "look-ahead"},
		{pattern: `(?<!a)b`, not: "look-behind"},
		{pattern: `(?>a+)b`, not: "atomic group"},
		{pattern: `a++b`, not: "possessive"},
		{pattern: `a{2,3}+`, not: "possessive"},
		{pattern: `(a)\1`, not: `back reference (\1)`},
		{pattern: `(?<n>a)\k<n>`, not: `back reference (\k)`},
		{pattern: `[a-z&&[^b]]`, not: "intersection"},
		{pattern: `[a[bc]]`, not: "within another"},
		{pattern: `(?x)a b`, not: "flags"},
		{pattern: `a\Z`, not: `\Z`},
		{pattern: `a{3,2}`, not: "ends before"},
		{pattern: `(a`, not: "missing closing"},
		{pattern: `[a`, not: "no end"},
		{pattern: `a\`, not: "backslash"},
		{pattern: `((a{100}){100}){2}`, not: "repeat"},
		{pattern: `(?:` + strings.Repeat("ab", 50) + `){0,999}`, not: "repeats so much"},
	} {
		p, err := parsePattern(c.pattern)
		if c.not != "" {
			if err == nil || !strings.Contains(err.Error(), c.not) {
				t.Errorf("%s: error %v, want %s", c.pattern, err, c.not)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		for _, text := range c.yes {
			if !p.match(text) {
				t.Errorf("%s does not match %.20q", c.pattern, text)
			}
		}
		for _, text := range c.no {
			if p.match(text) {
				t.Errorf("%s matches %.20q", c.pattern, text)
			}
		}
	}
}

// FuzzPattern checks that syntax which both engines support has the same meaning in both.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{"[a-z]{1,3}", "^(?=.*a).*$", `[\w\-]+\.`, `a{1,2000}`, "((a|b)c?)*", `[]\]]`} {
		f.Add(seed, "ab-c.")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 200 {
			return
		}
		p, err := parsePattern(pattern)
		if err != nil || strings.Contains(pattern, `\`) || strings.Contains(pattern, "(?") {
			return
		}
		if plain, err := regexp.Compile(`\A(?:` + pattern + `)\z`); err == nil && plain.MatchString(text) != p.match(text) {
			t.Errorf("%q on %q: %v", pattern, text, p.match(text))
		}
	})
}

func TestManyDemands(t *testing.T) {
	if _, err := parsePattern(strings.Repeat("(?=a)", 20_000)); err != nil { // its time grows only with the length
		t.Error(err)
	}
}
