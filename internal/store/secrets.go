package store

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// secretWords are found in the names of headers and parameters whose values open something.
var secretWords = []string{"auth", "cookie", "credential", "key", "passw", "secret", "signature", "token"}

// IsSecretName reports whether a header or a parameter of a URL holds a secret by its name.
func IsSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// These are the minimum lengths, in bytes, of values that are secret by their name only. Hiding every "k" would make
// a text unreadable. minPart applies to the parts of a header, so that Bearer and Basic are not secrets.
const (
	minNamed = 4
	minPart  = 8
)

// ConfigSecrets returns what must not be shown of an HttpConfig of ROS: the key, and what is secret in the headers by its origin or
// by their names. Of such a header that is each part too, since a text is more likely to have the token alone.
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

// TokenSecrets returns what must not be shown of a service token of ROS: all of one that is a secret by its origin. Of a URL that is
// its password too, and what its query holds under names such as access_token; of a secret one each part, since those who get it
// tell the path, and not where they are.
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
	query, _ := url.ParseQuery(parsed.URL.RawQuery) // what cannot be read is not a parameter
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

// ShownURL returns a service token as it may be shown: of a URL neither the user nor the query, where keys are.
func ShownURL(token string) string {
	parsed, err := wire.ParseToken(wire.ServiceToken(token))
	if err != nil || parsed.URL == nil {
		return token
	}
	return (&url.URL{Scheme: parsed.URL.Scheme, Host: parsed.URL.Host, Path: parsed.URL.Path}).String()
}
