package store

import (
	"strings"
	"testing"
)

func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{"", "# c\n", "a MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY=\n", "a b c\r\n", "A =\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := parseKeys(text)
		if err != nil {
			return
		}
		keys, err := NewKeys(list...)
		if err != nil {
			return // two keys with one ID
		}
		box, err := keys.Seal("x")
		if err != nil {
			t.Fatal(err)
		}
		if clear, err := keys.Open(box); clear != "x" {
			t.Errorf("keys that open nothing: %v", err)
		}
		for _, id := range keys.ids {
			if !strings.Contains(string(text), id) {
				t.Errorf("key %s came from nowhere", id)
			}
		}
	})
}
