package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

// sealVersion is the first part of every sealed text. A sealed text is AES-256-GCM with a random nonce before the
// ciphertext. Everything before the ciphertext is authenticated with it.
const sealVersion = "v1"

// Key is a secret key with an ID that identifies the texts it sealed.
type Key struct {
	// ID is 1 to 32 lower-case letters, digits and hyphens.
	ID string
	// Secret is [KeySize] bytes.
	Secret []byte `json:"-"`
}

// Format prints the id for every verb, so that no log shows the secret.
func (k Key) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "key %s", k.ID) }

// GenerateKey returns a random key.
func GenerateKey() Key {
	secret := make([]byte, KeySize)
	_, _ = rand.Read(secret) // never fails: see crypto/rand
	id := sha256.Sum256(secret)
	return Key{ID: hex.EncodeToString(id[:4]), Secret: secret}
}

// Keys seals the secrets of a store: the first key seals, and every key opens the texts that it sealed. To rotate keys,
// put a new one first. An old key can be removed once it seals nothing any more: see [Store.Reseal]. It is safe for
// concurrent use.
type Keys struct {
	ids   []string
	aeads map[string]cipher.AEAD
}

var _ value.Sealer = (*Keys)(nil)

// NewKeys returns the keys in order. At least one is required.
func NewKeys(keys ...Key) (*Keys, error) {
	if len(keys) == 0 {
		return nil, errors.New("there is no key")
	}
	k := &Keys{aeads: make(map[string]cipher.AEAD)}
	for _, key := range keys {
		if !keyID.MatchString(key.ID) {
			return nil, fmt.Errorf("key id %q: it must be 1 to 32 lower-case letters, digits and hyphens", key.ID)
		}
		if _, ok := k.aeads[key.ID]; ok {
			return nil, fmt.Errorf("key %s: there are two of that id", key.ID)
		}
		if len(key.Secret) != KeySize {
			return nil, fmt.Errorf("key %s: it has %d bytes, not %d", key.ID, len(key.Secret), KeySize)
		}
		block, err := aes.NewCipher(key.Secret)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key.ID, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key.ID, err)
		}
		k.ids = append(k.ids, key.ID)
		k.aeads[key.ID] = aead
	}
	return k, nil
}

var keyID = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

// IDs returns the IDs of the keys in order: the first one seals.
func (k *Keys) IDs() []string { return slices.Clone(k.ids) }

// Seal implements [value.Sealer]. Sealing a text twice gives different results.
func (k *Keys) Seal(clear string) (string, error) { return k.sealWith(k.ids[0], clear), nil }

// sealWith seals with the key of that ID, which must be one of the keys.
func (k *Keys) sealWith(id, clear string) string {
	head := sealVersion + "." + id
	box := k.aeads[id].Seal(nil, nil, []byte(clear), []byte(head))
	return head + "." + base64.RawURLEncoding.EncodeToString(box)
}

// stale reports whether a text was sealed with a key other than the first.
func (k *Keys) stale(sealed string) bool {
	return !strings.HasPrefix(sealed, sealVersion+"."+k.ids[0]+".")
}

// Open implements [value.Sealer]. Its errors distinguish a missing key from a modified text.
func (k *Keys) Open(sealed string) (string, error) {
	version, rest, _ := strings.Cut(sealed, ".")
	id, text, ok := strings.Cut(rest, ".")
	switch {
	case !ok:
		return "", errors.New("a value that must be sealed is not")
	case version != sealVersion:
		return "", fmt.Errorf("sealed in format %.16q; this version of Pintle reads %s only", version, sealVersion)
	}
	aead, ok := k.aeads[id]
	if !ok {
		return "", fmt.Errorf("sealed with key %.32q, which is not among the keys here (%s): add it to the key file", id, strings.Join(k.ids, ", "))
	}
	box, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("sealed with key %s, but damaged: no base64", id)
	}
	clear, err := aead.Open(nil, nil, box, []byte(version+"."+id))
	if err != nil {
		return "", fmt.Errorf("sealed with another key of the id %s, or damaged since", id)
	}
	return string(clear), nil
}

// Format prints the IDs for every verb, so that no log shows a key.
func (k *Keys) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "keys %s", strings.Join(k.ids, ", "))
}
