package template_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

func TestOutsideIsStored(t *testing.T) {
	for name, outside := range map[string]template.Outside{
		"nothing": {},
		"imports": {Imports: map[string]value.Value{"b": value.Str("1"), "a": value.Str("2").Tainted(value.OfParameter)}},
		"all": {
			Imports:      map[string]value.Value{"a:b": value.Str("")},
			StackOutputs: map[string]value.Value{"k": value.Str("v").Tainted(value.OfAttribute)},
			Parameters:   map[string]value.Value{"P": value.Strs("a", "b"), "Q": value.Str("c")},
			Zones:        map[string][]string{"eu-west-1": {"eu-west-1a", "eu-west-1b"}, "us-east-1": {}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored := outside.Value()
			got := template.NewOutside(stored)
			equal := cmp.Comparer(func(a, b value.Value) bool { return a.Equal(b) && a.Secrecy() == b.Secrecy() })
			if diff := cmp.Diff(outside, got, equal); diff != "" {
				t.Error(diff)
			}
			if again := got.Value(); !again.Equal(stored) {
				t.Errorf("stored again it is %s, not %s", again, stored)
			}
		})
	}
}
