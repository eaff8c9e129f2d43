package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/query"
)

type position struct {
	After string
	At    int64
}

func newTokens(t testing.TB, key string) *query.Tokens {
	t.Helper()
	tokens, err := query.NewTokens([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestTokens(t *testing.T) {
	const key = "sixteen bytes or more"
	token, err := newTokens(t, key).Encode("ListStacks/1", position{"a/b", 1 << 62})
	if err != nil {
		t.Fatal(err)
	}
	var got position
	if err := newTokens(t, key).Decode("ListStacks/1", token, &got); err != nil || got != (position{"a/b", 1 << 62}) {
		t.Errorf("Decode: %+v, %v", got, err)
	}
	other, err := query.NewTokens(nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Encode("ListStacks/1", position{})
	if err != nil {
		t.Fatal(err)
	}
	last := "A"
	if strings.HasSuffix(token, last) {
		last = "B"
	}
	for name, test := range map[string]struct {
		scope, token string
		into         any
	}{
		"another scope":   {"ListStacks/2", token, &position{}},
		"another key":     {"ListStacks/1", foreign, &position{}},
		"another form":    {"ListStacks/1", token, &struct{ Before string }{}},
		"changed":         {"ListStacks/1", token[:len(token)-1] + last, &position{}},
		"cut":             {"ListStacks/1", token[:20], &position{}},
		"empty":           {"ListStacks/1", "", &position{}},
		"a line end":      {"ListStacks/1", token[:9] + "\n" + token[9:], &position{}},
		"not base64":      {"ListStacks/1", "%", &position{}},
		"longer than any": {"ListStacks/1", strings.Repeat("A", 1025), &position{}},
	} {
		err := newTokens(t, key).Decode(test.scope, test.token, test.into)
		if refused, ok := errors.AsType[*query.Error](err); !ok || refused.Code != "ValidationError" || refused.Status != 400 || !refused.Sender {
			t.Errorf("%s: %v, want a ValidationError", name, err)
		}
	}
	if _, err := newTokens(t, key).Encode("x", strings.Repeat("x", 800)); err == nil {
		t.Error("a token longer than 1024 characters is given out")
	}
	if _, err := newTokens(t, key).Encode("x", func() {}); err == nil {
		t.Error("a function is a position")
	}
	if _, err := query.NewTokens([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
}

// FuzzTokens checks that only issued tokens are valid.
func FuzzTokens(f *testing.F) {
	tokens := newTokens(f, "sixteen bytes or more")
	good, err := tokens.Encode("s", position{"a", 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		var p position
		if err := tokens.Decode("s", token, &p); (err == nil) != (token == good) {
			t.Errorf("Decode(%q) = %+v, %v", token, p, err)
		}
	})
}
