package store

import (
	"encoding/json"
	"fmt"
)

// Provider is a registered provider, which serves the service tokens of that name.
type Provider struct {
	Name string `json:"-"`
	// Holder identifies the owner of the name, who may change and delete it; "" means the operator of the server.
	Holder string `json:"-"`
	// Definition is the JSON definition of the provider from its project file or flag. Its environment and URL may hold
	// secrets, so a database seals all of it.
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

// OpenDefinition opens the result of [Codec.SealDefinition].
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

// ResealDefinition reseals a provider's definition, as [Codec.Reseal] does for values.
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
