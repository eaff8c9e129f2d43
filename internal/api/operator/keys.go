package operator

import (
	"net/http"
	"time"
)

// Key is a key that seals rows of the store.
type Key struct {
	ID string `json:"id"`
	// Since is when the key was first used for sealing.
	Since time.Time `json:"since"`
}

// Keys is the answer of keys.
type Keys struct {
	// Keys are the keys that rows may be sealed with, the current one last. The server needs all of them.
	Keys []Key `json:"keys"`
	// Known are the IDs of the keys that this server was started with, the sealing key first.
	Known []string `json:"known"`
	// Resealed is the number of rows that this server has sealed again since its start.
	Resealed int `json:"resealed"`
}

func (f *handler) keys(r *http.Request) (any, error) {
	if f.Hooks.Keys == nil {
		return Keys{Keys: []Key{}, Known: []string{}}, nil
	}
	return f.Hooks.Keys(r.Context())
}
