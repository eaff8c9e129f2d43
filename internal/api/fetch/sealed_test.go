package fetch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/fetch"
)

func TestSeal(t *testing.T) {
	f := fetch.New(fetch.Config{S3Only: true})
	text := strings.Repeat("Resources: {}\n", 10_000)
	sealed := fetch.Seal("a child.yaml", text)
	if got, err := f.Template(t.Context(), sealed); err != nil || got != text {
		t.Errorf("got %.40q, error %v", got, err)
	}
	if sealed != fetch.Seal("a child.yaml", text) {
		t.Error("equal texts have different URLs")
	}
	tests := map[string]string{
		sealed[:len(sealed)-8]:                                 "TemplateURL is a data URL that does not contain a complete template",
		"data:application/gzip;name=":                          "TemplateURL is a data URL that does not contain a complete template",
		"data:application/gzip;name=x;base64,!":                "TemplateURL is a data URL that does not contain a complete template",
		"data:application/gzip;name=x;base64,AAAA":             "TemplateURL is a data URL that does not contain a complete template",
		fetch.Seal("x", strings.Repeat("#", fetch.MaxBytes+1)): "Template may not exceed 1000000 bytes in size.",
	}
	for bad, want := range tests {
		_, err := f.Template(t.Context(), bad)
		if problem := (*fetch.Error)(nil); !errors.As(err, &problem) || problem.Text != want {
			t.Errorf("%.60s: error %v, want %s", bad, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add("data:application/gzip;name=x;base64,H4sIAAAAAAAA/8vPBgBH3dx5AgAAAA==")
	f.Fuzz(func(t *testing.T, address string) {
		if text, err := fetch.Open(address); err == nil && len(text) > fetch.MaxBytes {
			t.Errorf("%d bytes", len(text))
		}
	})
}
