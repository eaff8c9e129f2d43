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

func TestTypo(t *testing.T) {
	names := []string{"orders", "worker1", "api"}
	for text, want := range map[string]string{
		"order": "orders", "oders": "orders", "orderss": "orders", "ordwrs": "orders", "odrers": "orders", "Orders": "orders",
		"orders": "", "orders2": "", "worker2": "", "worker11": "", "wroker1": "worker1", "work": "", "aip": "", "": "", "orrdxrs": "",
	} {
		if got := suggest.Typo(text, names); got != want {
			t.Errorf("%q is a typo of %q, want %q", text, got, want)
		}
	}
}
