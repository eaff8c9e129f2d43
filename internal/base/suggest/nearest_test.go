package suggest_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/base/suggest"
)

func TestName(t *testing.T) {
	names := []string{"Domain", "Port", "On"}
	for text, want := range map[string]string{
		"domain": "Domain", "Domian": "Domain", "Domai": "Domain", "Prt": "Port", "Por": "Port",
		"Certificate": "", "": "", "Of": "On", "ab": "",
	} {
		if got := suggest.Name(text, names); got != want {
			t.Errorf("%q is near %q, want %q", text, got, want)
		}
	}
}
