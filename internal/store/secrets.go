package store

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// secretWords occur in the names of headers and parameters whose values are credentials.
var secretWords = []string{"auth", "cookie", "credential", "key", "passw", "secret", "signature", "token"}

// IsSecretName reports whether a header or URL parameter of that name holds a secret.
func IsSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// These are the minimum lengths, in bytes, of values that are secret only because of their name. Hiding every "k" would
// make a text unreadable. minPart applies to the parts of a header, so that Bearer and Basic are not secrets.
const (
	minNamed = 4
	minPart  = 8
)

// ConfigSecrets returns the secrets of an HttpConfig of ROS: its key, and headers that are secret by origin or by name.
// For such a header it also returns each part, because a text is more likely to contain the token alone.
func ConfigSecrets(config value.Value) []string {
	secrets := config.Secrets()
	add := func(text string, least int) {
		if len(text) >= least && !slices.Contains(secrets, text) {
			secrets = append(secrets, text)
		}
	}
	key, _ := config.Get("SignKey")
	add(key.Text(), 1)
	headers, _ := config.Get("Headers")
	for _, h := range headers.Members() {
		if !h.Value.IsScalar() || !IsSecretName(h.Key) {
			continue
		}
		text := h.Value.Text()
		add(text, minNamed)
		for _, part := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t,;=\"", c) }) {
			add(part, minPart)
		}
		if basic, ok := cutPrefixFold(text, "Basic "); ok {
			plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(basic))
			if _, password, ok := strings.Cut(string(plain), ":"); err == nil && ok {
				add(password, minNamed)
			}
		}
	}
	return secrets
}

func cutPrefixFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// TokenSecrets returns the secrets of a service token of ROS. These are the whole token if it is secret by origin, the
// password of a URL, and the query parameters with names such as access_token. For a secret URL they are also its path
// segments, because its receivers quote the path without the host.
func TokenSecrets(token value.Value) []string {
	secrets := token.Secrets()
	parsed, err := wire.ParseToken(wire.ServiceToken(token.Text()))
	if err != nil || parsed.URL == nil {
		return secrets
	}
	add := func(text string, least int) {
		if len(text) >= least && !slices.Contains(secrets, text) {
			secrets = append(secrets, text)
		}
	}
	password, _ := parsed.URL.User.Password()
	add(password, minNamed)
	query, _ := url.ParseQuery(parsed.URL.RawQuery) // parameters that cannot be parsed are ignored
	for name, values := range query {
		for _, text := range values {
			if token.Secret() || IsSecretName(name) {
				add(text, minNamed)
			}
		}
	}
	if token.Secret() {
		for part := range strings.SplitSeq(parsed.URL.Path, "/") {
			add(part, minPart)
		}
	}
	return secrets
}

// ShownURL returns a service token in a form that may be shown: a URL loses its user and query, which may hold keys.
func ShownURL(token string) string {
	parsed, err := wire.ParseToken(wire.ServiceToken(token))
	if err != nil || parsed.URL == nil {
		return token
	}
	return (&url.URL{Scheme: parsed.URL.Scheme, Host: parsed.URL.Host, Path: parsed.URL.Path}).String()
}
