package logs_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/logs"
)

// Source: CloudWatch Logs User Guide, "Filter pattern syntax". The events are variants of its examples.
func TestPattern(t *testing.T) {
	const object = `{"level": "ERROR", "status": 503, "request": {"path": "/health/a", "tags": ["x", "y"]}, "ok": false, "none": null, "n": "12"}`
	for _, test := range []struct {
		pattern, message string
		want             bool
	}{
		{"", "anything", true},
		{"ERROR", "[ERROR] 400", true},
		{"ERROR", "error", false},
		{"ERROR ARGUMENTS", "ERROR: bad ARGUMENTS", true},
		{"ERROR ARGUMENTS", "ERROR: bad", false},
		{`"bad request"`, "a bad request", true},
		{`"bad request"`, "request bad", false},
		{`"say \"hi\""`, `say "hi"`, true},
		{"ERROR -Exiting", "ERROR Exiting", false},
		{"ERROR -Exiting", "ERROR 400", true},
		{`ERROR -"not found"`, "ERROR not found", false},
		{"-a -b", "c", true},
		{"?ERROR ?WARN", "WARN 1", true},
		{"?ERROR ?WARN", "INFO", false},
		{"?ERROR INFO", "INFO 1", true},
		{"%4[0-9]{2}%", "status 404", true},
		{"%4[0-9]{2}%", "status 504", false},
		{`{ $.level = "ERROR" }`, object, true},
		{`{ $.level = ERROR }`, object, true},
		{`{ $.level != "ERROR" }`, object, false},
		{`{$.level="E*R"}`, object, true},
		{`{ $.level = %^ERR% }`, object, true},
		{`{ $.status >= 500 && $.status < 600 }`, object, true},
		{`{ $.status = 503 }`, object, true},
		{`{ $.status > 503 || $.ok IS TRUE }`, object, false},
		{`{ ($.status > 503 || $.ok IS FALSE) && $.none IS NULL }`, object, true},
		{`{ $.request.path = "/health*" }`, object, true},
		{`{ $.request.tags[1] = "y" }`, object, true},
		{`{ $.request["path"] = "/health/a" }`, object, true},
		{`{ $.request.tags[2] = "y" }`, object, false},
		{`{ $.missing NOT EXISTS }`, object, true},
		{`{ $.level EXISTS }`, object, true},
		{`{ $.missing != "x" }`, object, false},
		{`{ $.level = "ERROR" }`, "ERROR", false},
		{`{ $.level = "ERROR" }`, `["ERROR"]`, false},
	} {
		p, err := logs.ParsePattern(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		if got := p.Match(test.message); got != test.want {
			t.Errorf("%s on %s: %t", test.pattern, test.message, got)
		}
	}
}

func TestPatternRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo:bar":                            "Invalid character(s) in term 'foo:bar'",
		"-":                                  "Invalid character(s) in term ''",
		`"open`:                              "not closed",
		"%open":                              "not closed by %",
		"%(%":                                "not a regular expression",
		"[ip, user]":                         "no filter patterns for space-delimited events",
		"{ $.a = 1":                          "ends with }",
		"{ }":                                "a selector, such as $.level",
		"{ $.a }":                            "a selector, such as $.level",
		"{ $.a = }":                          "a selector, such as $.level",
		"{ $.a > x }":                        "compares numbers",
		`{ $.a > "x" }`:                      "compares numbers",
		"{ $.a = 1 && }":                     "a selector",
		"{ $.a = 1 $.b = 2 }":                `from "$.b = 2 " on`,
		"{ ($.a = 1 }":                       "a selector",
		"{ $.a[x] = 1 }":                     "want an index",
		"{ $.a IS MAYBE }":                   `"MAYBE "`,
		"{ a = 1 }":                          `"a = 1 "`,
		"{ $.a = \x92* }":                    "UTF-8",
		"\xff":                               "UTF-8",
		strings.Repeat("x", 1025):            "at most 1024 characters",
		"{" + strings.Repeat("(", 100) + "}": "too deeply",
	} {
		if _, err := logs.ParsePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", pattern, err, want)
		}
	}
}

// FuzzPattern checks that no pattern makes the parser panic.
func FuzzPattern(f *testing.F) {
	f.Add(`ERROR -"a b" ?c %d%`, "message")
	f.Add(`{ ($.a[0].b = "x*" || $.c >= 1.5e3) && $.d NOT EXISTS }`, `{"a": [{"b": "x"}]}`)
	f.Fuzz(func(_ *testing.T, pattern, message string) {
		if p, err := logs.ParsePattern(pattern); err == nil {
			p.Match(message)
		}
	})
}
