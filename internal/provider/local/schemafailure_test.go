package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/redact"
)

func TestFailureText(t *testing.T) {
	const trace = "\n\ngoroutine 1 [running]:\npanic({0x1, 0x2})\n\t/go/src/runtime/panic.go:1 +0x1\n" +
		sdkPrefix + "New[...](...)\n\t/sdk/resource.go:2 +0x2\nmain.(*site).open(0x1)\n\t/app/main.go:12 +0x3\nmain.main()\n\t/app/main.go:3 +0x4\n"
	for name, test := range map[string]struct{ printed, want string }{
		"panic":          {"started\npanic: no table" + trace, "panic: no table (in main.(*site).open, /app/main.go:12)"},
		"two lines":      {"panic: no\n\ttable [recovered]" + trace, "panic: no table [recovered] (in main.(*site).open, /app/main.go:12)"},
		"fatal error":    {"fatal error: all goroutines are asleep - deadlock!" + trace, "fatal error: all goroutines are asleep - deadlock! (in main.(*site).open, /app/main.go:12)"},
		"without traces": {"panic: no table\n", "panic: no table"},
		"no panic":       {"no\ttable\nat all\n", "no table at all"},
		"nothing":        {"", ""},
		"a secret":       {"panic: cannot log in with hunter2" + trace, "panic: cannot log in with ***** (in main.(*site).open, /app/main.go:12)"},
		"not UTF-8":      {"panic: \xff", "panic: ?"},
	} {
		if got := failureText(test.printed, redact.Of([]string{"hunter2"})); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	long := failureText("panic: "+strings.Repeat("ä", maxSchemaFailure)+trace, nil)
	if len(long) > maxSchemaFailure || !strings.HasSuffix(long, "ä… (in main.(*site).open, /app/main.go:12)") {
		t.Errorf("got %d bytes: %s", len(long), long)
	}
}

func TestHasSDK(t *testing.T) {
	if hasSDK(os.Args[0]) {
		t.Error("a program with this package and without the SDK counts as one with the SDK")
	}
	for name, at := range map[string]int{"at the start": 0, "across two steps": 256<<10 - 5, "later": 1 << 20} {
		file := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(file, append([]byte(strings.Repeat("x", at)), sdkMain...), 0o600); err != nil {
			t.Fatal(err)
		}
		if !hasSDK(file) {
			t.Errorf("%s: the name is not found", name)
		}
	}
}

func TestVariableSecrets(t *testing.T) {
	const key = "-----BEGIN KEY-----\nfirstline\n\nlastline\n-----END KEY-----\n"
	secrets := variableSecrets(map[string]string{"MODE": "careful", "KEY": key}, map[string]string{
		"DB_PASSWORD": "hunter2", "HOME": "/folder/a", "DATABASE_URL": "postgres://user:letmein@db.local/app", "SENTRY_DSN": "dsn-dsn",
		"NPM_AUTH": "auth-auth", "AUTHOR": "someone", "AWS_ENDPOINT_URL": "http://127.0.0.1:1/a:b@c",
	})
	for text, want := range map[string]string{
		"careful hunter2 /folder/a":                      "***** ***** /folder/a",
		"postgres://user:letmein@db.local/app letmein":   "***** *****",
		"dsn-dsn auth-auth someone http://127.0.0.1:1/a": "***** ***** someone http://127.0.0.1:1/a",
	} {
		if got := secrets.Mask(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for _, printed := range []string{
		"panic: bad key " + key, "panic: bad key " + strings.ReplaceAll(key, "\n", "\n\t"), "panic: " + strings.Repeat("x", maxSchemaFailure-10) + key,
		key,
	} {
		got := failureText(printed, secrets)
		for _, part := range []string{"BEGIN", "firstline", "lastline"} {
			if strings.Contains(got, part) {
				t.Errorf("%q shows a part of a secret: %q", printed, got)
			}
		}
	}
}
