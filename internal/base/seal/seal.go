// Package seal encrypts and authenticates records with AES-256 in Galois/Counter Mode, under keys derived from
// secrets in the configuration.
//
// A sealed record contains the ID of its key, so that keys can be rotated: a [Box] seals with its first key and opens
// with any. The record is bound to a place that it does not contain: a record that was moved elsewhere does not open.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// MinSecret is the minimum length in bytes of a secret from which a key is derived.
const MinSecret = 32

// Overhead is the number of bytes that sealing adds to a record.
const Overhead = 1 + idSize + 12 + 16

const (
	version = 1
	idSize  = 4
)

// ErrKey means that the box does not have the key of a record.
var ErrKey = errors.New("it was sealed under a key that is not here")

// ErrSealed means that a record is damaged, or was sealed for another place.
var ErrSealed = errors.New("it is damaged, or belongs elsewhere")

// Box seals and opens records. Its methods are safe for concurrent use.
type Box struct{ keys []key }

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
}

// New returns a box with a key for each secret. It seals with the first. A secret must be unpredictable and have at
// least [MinSecret] bytes.
func New(secrets ...[]byte) (*Box, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no key to seal with is set")
	}
	b := &Box{}
	for n, secret := range secrets {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("key %d has %d bytes, %d are needed", n+1, len(secret), MinSecret)
		}
		k, err := derive(secret)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, k)
	}
	return b, nil
}

func derive(secret []byte) (key, error) {
	material, err := hkdf.Key(sha256.New, secret, nil, "pintle seal 1", 32+idSize)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(material[:32])
	if err != nil {
		return key{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return key{[idSize]byte(material[32:]), aead}, err
}

// Seal returns the record sealed for a place. Each call returns different bytes.
func (b *Box) Seal(record []byte, place string) []byte {
	k := b.keys[0]
	sealed := make([]byte, 0, len(record)+Overhead)
	sealed = append(append(sealed, version), k.id[:]...)
	return k.aead.Seal(sealed, nil, record, []byte(place))
}

// Open opens a record that was sealed for the place. The error is [ErrKey] or [ErrSealed], and does not quote the
// record.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != version {
		return nil, ErrSealed
	}
	id, text := [idSize]byte(sealed[1:]), sealed[1+idSize:]
	err := ErrKey
	for _, k := range b.keys {
		if k.id != id {
			continue
		}
		record, failed := k.aead.Open(nil, nil, text, []byte(place))
		if failed == nil {
			return record, nil
		}
		err = ErrSealed
	}
	return nil, err
}
