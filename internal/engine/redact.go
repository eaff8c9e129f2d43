package engine

import (
	"slices"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// redact redacts a text: it removes signatures, the secrets that the provider was given, those that it or its
// neighbours hold, and those in more.
func (d *decision) redact(r *store.Request, text string, more ...value.Value) string {
	return d.without(text, d.calledWith(r.Body.Token, r.Body.HTTPConfig), append(more, r.Body.Properties, r.Body.OldProperties)...)
}

// presentable redacts a text for people: it removes signatures, control characters, and every secret that this
// decision knows.
func (d *decision) presentable(text string, more ...value.Value) string {
	return d.without(text, nil, more...)
}

// calledWith returns the secrets in the call of a provider.
func (d *decision) calledWith(token, config value.Value) []string {
	if d.dialect != ROS {
		return token.Secrets()
	}
	return append(store.ConfigSecrets(config), store.TokenSecrets(token)...)
}

// without is presentable with additional secrets.
func (d *decision) without(text string, secrets []string, more ...value.Value) string {
	// A secret or a signature may contain a control character, or have one inserted by a program that colours its
	// output.
	hide := redact.Of(append(secrets, d.secrets(more...)...))
	return hide.Mask(wire.Redact(wire.CleanText(wire.Redact(hide.Mask(text)))))
}

// secrets returns every secret that this decision knows, and those in further values.
func (d *decision) secrets(more ...value.Value) []string {
	secrets := slices.Clone(d.hidden)
	for _, v := range more {
		secrets = append(secrets, v.Secrets()...)
	}
	for _, revision := range d.view.Revisions {
		secrets = append(secrets, revision.Parameters.Secrets()...)
		secrets = append(secrets, revision.Outside.Secrets()...)
	}
	for _, i := range d.instances {
		if i.Body != nil {
			for _, v := range []value.Value{
				i.Body.Properties, i.Body.Attempted, i.Body.Data, i.Body.Ref, i.Body.FormerData,
			} {
				secrets = append(secrets, v.Secrets()...)
			}
			secrets = append(secrets, d.calledWith(i.Body.Token, i.Body.HTTPConfig)...)
		}
	}
	return secrets
}
