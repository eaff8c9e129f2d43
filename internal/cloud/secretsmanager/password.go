package secretsmanager

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"
)

// Limits of a generated password in characters. Source: Secrets Manager API Reference, GetRandomPassword.
const (
	DefaultLength = 32
	maxLength     = 4096
	maxExcluded   = 4096
)

// Password configures the generation of a password. The zero value generates 32 characters with at least one of each
// type.
type Password struct {
	// Exclude contains characters that the password must not contain.
	Exclude string
	// NoLowercase, NoUppercase, NoNumbers and NoPunctuation exclude whole types of characters.
	NoLowercase, NoUppercase, NoNumbers, NoPunctuation bool
	// Space also allows the space character.
	Space bool
	// Length is the number of characters, 1 to 4096. Nil means 32.
	Length *int
	// NotEach allows a password that lacks one of the included types.
	NotEach bool
}

// The types of characters. Source: Secrets Manager API Reference, GetRandomPassword.
const (
	lowercase   = "abcdefghijklmnopqrstuvwxyz"
	uppercase   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	numbers     = "0123456789"
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
)

// Generate returns a new password. It returns an [Error] if no password satisfies p.
func (p Password) Generate() (string, error) {
	length := DefaultLength
	if p.Length != nil {
		length = *p.Length
	}
	switch {
	case length < 1 || length > maxLength:
		return "", refuse(CodeParameter, "The PasswordLength value must be between 1 and %d.", maxLength)
	case len(p.Exclude) > maxExcluded:
		return "", refuse(CodeParameter, "ExcludeCharacters must have at most %d characters.", maxExcluded)
	}
	var types []string
	for _, t := range []struct {
		without bool
		from    string
	}{{p.NoLowercase, lowercase}, {p.NoUppercase, uppercase}, {p.NoNumbers, numbers}, {p.NoPunctuation, punctuation}, {!p.Space, " "}} {
		if left := p.allowed(t.from); !t.without && left != "" {
			types = append(types, left)
		}
	}
	switch {
	case len(types) == 0:
		return "", refuse(CodeParameter, "You can't generate a password because the parameters exclude all characters.")
	case !p.NotEach && length < len(types):
		return "", refuse(CodeParameter, "Password length is too short based on the required types.")
	}
	all := strings.Join(types, "")
	password := make([]byte, 0, length)
	if !p.NotEach {
		for _, t := range types {
			password = append(password, pick(t))
		}
	}
	for len(password) < length {
		password = append(password, pick(all))
	}
	for i := len(password) - 1; i > 0; i-- { // so that the required characters are not always first
		j := random(i + 1)
		password[i], password[j] = password[j], password[i]
	}
	return string(password), nil
}

func (p Password) allowed(from string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(p.Exclude, r) {
			return -1
		}
		return r
	}, from)
}

func pick(from string) byte { return from[random(len(from))] }

// random returns a uniformly distributed number from 0 to n-1.
func random(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic(fmt.Sprintf("read random bytes: %v", err)) // crypto/rand does not fail
	}
	return int(i.Int64())
}
