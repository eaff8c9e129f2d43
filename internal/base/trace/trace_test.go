package trace_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/trace"
)

const (
	id     = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00f067aa0ba902b7"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]trace.Parent{
		"00-" + id + "-" + parent + "-01":                      "00-" + id + "-" + parent + "-01",
		" 00-" + id + "-" + parent + "-00\t":                   "00-" + id + "-" + parent + "-00",
		"00-" + id + "-" + parent + "-0b":                      "00-" + id + "-" + parent + "-01", // unknown flags
		"00-" + id + "-" + parent + "-fe":                      "00-" + id + "-" + parent + "-00",
		"cc-" + id + "-" + parent + "-09":                      "00-" + id + "-" + parent + "-01",
		"cc-" + id + "-" + parent + "-01-more":                 "00-" + id + "-" + parent + "-01",
		"cc-" + id + "-" + parent + "-01more":                  "",
		"00-" + id + "-" + parent + "-01-more":                 "",
		"ff-" + id + "-" + parent + "-01":                      "",
		"00-" + strings.ToUpper(id) + "-" + parent + "-01":     "",
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":     "",
		"00-" + id + "-" + parent + "-0":                       "",
		"00-" + id + "_" + parent + "-01":                      "",
		"00-" + id[:31] + "--" + parent + "-01":                "",
		"00-" + id + "-" + parent[:15] + "\n-01":               "",
		"":                                                     "",
	} {
		if got := trace.Parse(text); got != want {
			t.Errorf("Parse(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestXRay(t *testing.T) {
	p := trace.Parse("00-" + id + "-" + parent + "-01")
	if want := "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1"; p.XRay() != want {
		t.Errorf("XRay() = %q, want %q", p.XRay(), want)
	}
	for text, want := range map[string]trace.Parent{
		p.XRay(): p,
		"Self=1-67891234-12456789abcdef012345678;Root=1-4bf92f35-77b34da6a3ce929d0e0e4736; Parent=00f067aa0ba902b7;Sampled=0;Lineage=1:a|2:b": "00-" + id + "-" + parent + "-00",
		"Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7":                                                                    "00-" + id + "-" + parent + "-00",
		"Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Sampled=1":                                                                                  "",
		"Root=2-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7":                                                                    "",
		"Root=1-4bf92f3577b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7":                                                                     "",
		"": "",
	} {
		if got := trace.FromXRay(text); got != want {
			t.Errorf("FromXRay(%q) = %q, want %q", text, got, want)
		}
	}
	if none := trace.Parent(""); none.ID() != "" || none.XRay() != "" {
		t.Errorf("no parent: %q, %q", none.ID(), none.XRay())
	}
}

func TestNew(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		p := trace.New()
		if trace.Parse(string(p)) != p || trace.FromXRay(p.XRay()) != p || len(p.ID()) != 32 || seen[p.ID()] {
			t.Fatalf("New() = %q", p)
		}
		seen[p.ID()] = true
	}
}

func TestContext(t *testing.T) {
	p := trace.New()
	if got := trace.FromContext(trace.NewContext(context.Background(), p)); got != p {
		t.Errorf("%q came back as %q", p, got)
	}
	if got := trace.FromContext(trace.NewContext(context.Background(), "")); got != "" {
		t.Errorf("nothing came back as %q", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("00-" + id + "-" + parent + "-01")
	f.Add("Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range []trace.Parent{trace.Parse(text), trace.FromXRay(text)} {
			if p != "" && (trace.Parse(string(p)) != p || trace.FromXRay(p.XRay()) != p) {
				t.Errorf("%q became %q, which is no parent", text, p)
			}
		}
	})
}
