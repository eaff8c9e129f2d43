package engine

import (
	"crypto/rand"
	"fmt"
	"math/big"

	"github.com/pintle-dev/pintle/internal/store"
)

// newKey returns a random stack key.
func newKey() (store.StackKey, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1<<63-1))
	if err != nil {
		return 0, fmt.Errorf("draw a stack key: %w", err)
	}
	return store.StackKey(n.Int64() + 1), nil
}

const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// randomName returns n random characters of A–Z and 0–9.
func randomName(n int) string { return nameFrom(rand.Text(), n) }

// nameFrom makes a name of n characters from the letters and digits of a longer random text.
func nameFrom(text string, n int) string {
	name := make([]byte, 0, n)
	for i := 0; len(name) < n; i++ {
		c := text[i%len(text)]
		if c == '-' {
			continue
		}
		name = append(name, nameLetters[int(c)%len(nameLetters)])
	}
	return string(name)
}
