package operator

import (
	"net/http"
	"time"
)

// Key is a key that rows of the store may be sealed with.
type Key struct {
	ID string `json:"id"`
	// Since is when it sealed for the first time.
	Since time.Time `json:"since"`
}

// Keys is the answer of keys.
type Keys struct {
	// Keys are those that rows may be sealed with, the one that seals now last. All of them must be at hand.
	Keys []Key `json:"keys"`
	// Known are the ids of the keys that this server was started with, the one that seals first.
	Known []string `json:"known"`
	// Resealed counts the rows that this server has sealed again since it was started.
	Resealed int `json:"resealed"`
}

func (f *handler) keys(r *http.Request) (any, error) {
	if f.Hooks.Keys == nil {
		return Keys{Keys: []Key{}, Known: []string{}}, nil
	}
	return f.Hooks.Keys(r.Context())
}
