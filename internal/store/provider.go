package store

import (
	"encoding/json"
	"fmt"
)

// Provider is a provider known by name: what runs behind the service tokens of that name.
type Provider struct {
	Name string `json:"-"`
	// Holder identifies the owner of the name, who may change and drop it; "" means the operator of the server.
	Holder string `json:"-"`
	// Definition is the provider as its project file or flag defined it, JSON. It may hold secrets, in its environment or
	// its URL, so a database keeps all of it sealed.
	Definition json.RawMessage `json:"-"`
}

// sealedDefinition is a definition in a database.
type sealedDefinition struct {
	Sealed string `json:"sealed"`
}

// SealDefinition returns the definition of a provider as a database keeps it.
func (c Codec) SealDefinition(definition json.RawMessage) ([]byte, error) {
	sealed, err := c.keys.Seal(string(definition))
	if err != nil {
		return nil, fmt.Errorf("seal the definition of a provider: %w", err)
	}
	return json.Marshal(sealedDefinition{sealed})
}

// OpenDefinition reads what [Codec.SealDefinition] returned.
func (c Codec) OpenDefinition(text []byte) (json.RawMessage, error) {
	var sealed sealedDefinition
	if err := json.Unmarshal(text, &sealed); err != nil {
		return nil, fmt.Errorf("decode the definition of a provider: %w", err)
	}
	clear, err := c.keys.Open(sealed.Sealed)
	if err != nil {
		return nil, fmt.Errorf("the definition of a provider: %w", err)
	}
	return json.RawMessage(clear), nil
}

// ResealDefinition does with a provider's definition what [Codec.Reseal] does with values.
func (c Codec) ResealDefinition(text []byte) (fresh []byte, stale bool, err error) {
	var sealed sealedDefinition
	if err := json.Unmarshal(text, &sealed); err != nil {
		return nil, false, fmt.Errorf("decode the definition of a provider: %w", err)
	}
	if !c.keys.stale(sealed.Sealed) {
		return text, false, nil
	}
	definition, err := c.OpenDefinition(text)
	if err == nil {
		fresh, err = c.SealDefinition(definition)
	}
	return fresh, true, err
}
