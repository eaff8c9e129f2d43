package forward

import (
	"context"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

// Offline returns a [native.Forward] that accepts the types of rules and calls no endpoint. It is for programs that
// only read templates.
func Offline(rules []Rule) native.Forward {
	if len(rules) == 0 {
		return nil
	}
	f := &Forwarder{config: Config{Rules: rules}}
	for _, r := range rules {
		f.endpoints = append(f.endpoints, newEndpoint(f, r))
	}
	return offline{f}
}

type offline struct{ *Forwarder }

// Checked implements [native.Forward].
func (offline) Checked(string, string, []string) (problem string, known bool) { return "", true }

// Check implements [native.Forward].
func (offline) Check(context.Context, string, []string) {}

// Identifiers implements [native.Forward].
func (offline) Identifiers(context.Context, string, string, []string) map[string][]string { return nil }

// Foresee implements [native.Forward].
func (offline) Foresee(context.Context, *store.Request) (native.Foreseen, error) {
	return native.Foreseen{Maybe: true}, nil
}
