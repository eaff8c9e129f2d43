package store

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// rootSize is the length of a root in bytes.
const rootSize = 32

// Root is a secret that belongs to a store from its first day to its last: what outlives a change of keys is derived
// from it, such as the signature of a URL that a provider holds. It lies in the store, sealed, so neither the keys nor a
// copy of the database alone give it away. The zero Root is not a root.
type Root struct{ secret []byte }

// NewRoot returns a random root.
func NewRoot() Root {
	secret := make([]byte, rootSize)
	_, _ = rand.Read(secret) // never fails: see crypto/rand
	return Root{secret}
}

// Derive returns 32 bytes for a purpose of their own, e.g. "response URL", by HKDF-SHA256.
func (r Root) Derive(purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, r.secret, nil, "pintle "+purpose, 32)
	if err != nil {
		panic(err) // only of lengths, which are constant
	}
	return derived
}

// Format prints nothing of the root for any verb, so that no log shows it.
func (Root) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "root") }

// SealRoot returns a root as a store keeps it, sealed with the first key.
func (c Codec) SealRoot(root Root) (string, error) {
	if c.keys == nil {
		return "", errNoKeys
	}
	return c.keys.Seal(base64.StdEncoding.EncodeToString(root.secret))
}

// OpenRoot reads what [Codec.SealRoot] returned. Its errors tell a key that is not here.
func (c Codec) OpenRoot(sealed string) (Root, error) {
	if c.keys == nil {
		return Root{}, errNoKeys
	}
	clear, err := c.keys.Open(sealed)
	if err != nil {
		return Root{}, fmt.Errorf("these are not the keys of the store: %w", err)
	}
	secret, err := base64.StdEncoding.DecodeString(clear)
	if err != nil || len(secret) != rootSize {
		return Root{}, errors.New("the root of the store is damaged: restore the store from a copy")
	}
	return Root{secret}, nil
}
