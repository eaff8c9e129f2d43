package query

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	maxToken = 1024 // characters, as in every model of a NextToken
	macSize  = 16
)

// Tokens makes and reads paging tokens (NextToken): positions in a list that only this server can have created. They
// are authenticated but not encrypted, so they must not contain secrets. Tokens is safe for concurrent use.
type Tokens struct {
	key []byte
}

// NewTokens returns tokens for a key of at least 16 bytes that all nodes of a server share. A nil key means a random
// one, whose tokens become invalid when the process exits.
func NewTokens(key []byte) (*Tokens, error) {
	if key == nil {
		key = make([]byte, 32)
		rand.Read(key) // never fails
	}
	if len(key) < 16 {
		return nil, errors.New("query: a key for paging tokens needs at least 16 bytes")
	}
	// The key may be used elsewhere too, so derive one for paging tokens only.
	h := hmac.New(sha256.New, key)
	h.Write([]byte("paging token"))
	return &Tokens{key: h.Sum(nil)}, nil
}

// Encode returns a token for a position, any JSON value of at most about 700 bytes. The scope identifies the list, e.g.
// by the action, the account and the stack. Decode needs the same scope.
func (t *Tokens) Encode(scope string, position any) (string, error) {
	data, err := json.Marshal(position)
	if err != nil {
		return "", fmt.Errorf("encode paging token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(append(t.mac(scope, data), data...))
	if len(token) > maxToken {
		return "", fmt.Errorf("encode paging token: %d characters, %d are allowed", len(token), maxToken)
	}
	return token, nil
}

// Decode decodes a token of the same scope into position. It returns a ValidationError for an invalid token.
func (t *Tokens) Decode(scope, token string, position any) error {
	invalid := Validation("NextToken is not one that this list gave out: start again without it.")
	if len(token) > maxToken || strings.ContainsAny(token, "\r\n") { // base64 ignores line ends
		return invalid
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < macSize || !hmac.Equal(raw[:macSize], t.mac(scope, raw[macSize:])) {
		return invalid
	}
	decoder := json.NewDecoder(bytes.NewReader(raw[macSize:]))
	decoder.DisallowUnknownFields()
	// A token of an earlier version of this program may be authentic but have another format.
	if decoder.Decode(position) != nil {
		return invalid
	}
	return nil
}

func (t *Tokens) mac(scope string, data []byte) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write(fmt.Appendf(nil, "%d:%s", len(scope), scope))
	h.Write(data)
	return h.Sum(nil)[:macSize]
}
