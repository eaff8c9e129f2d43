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

// Root is a secret that a store keeps for as long as it exists. Secrets that must survive key rotation are derived from
// it, such as the signature of a URL that a provider holds. The store keeps it sealed, so neither the keys nor a copy
// of the database reveal it alone. The zero Root is not a root.
type Root struct{ secret []byte }

// NewRoot returns a random root.
func NewRoot() Root {
	secret := make([]byte, rootSize)
	_, _ = rand.Read(secret) // never fails: see crypto/rand
	return Root{secret}
}

// Derive returns 32 bytes for one purpose, e.g. "response URL", by HKDF-SHA256.
func (r Root) Derive(purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, r.secret, nil, "pintle "+purpose, 32)
	if err != nil {
		panic(err) // fails only for bad lengths, which are constant
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

// OpenRoot opens the result of [Codec.SealRoot]. Its errors report a missing key.
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
