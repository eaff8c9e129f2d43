package wire

import (
	"encoding/json"
	"fmt"
)

// stateField is the member of a response that holds the state.
const stateField = "PintleState"

// State is the answer of a provider to a [Read]: the current state of the resource. It is an extension of Pintle. The
// member PintleState of a response holds it as a JSON object.
type State struct {
	// Gone reports that the resource no longer exists. Properties is then nil.
	Gone bool `json:"gone,omitempty"`
	// Properties is a JSON object of the current properties, in the form in which a template declares them. It omits
	// properties that the provider cannot read. Null means that a property is not set. It may be nil.
	Properties json.RawMessage `json:"properties,omitempty"`
	// Secret lists the properties whose values must not be shown.
	Secret []string `json:"secret,omitempty"`
}

// encode returns the state as JSON.
func (s *State) encode() (json.RawMessage, error) {
	var w objectWriter
	if s.Gone {
		w.raw("gone", json.RawMessage("true"))
	}
	w.raw("properties", s.Properties)
	if len(s.Secret) > 0 {
		names, err := json.Marshal(s.Secret)
		if err != nil {
			return nil, fmt.Errorf("encode the state: %w", err)
		}
		w.raw("secret", names)
	}
	return w.bytes()
}

// readState reads a state. A malformed member counts as missing: only the answer to a Read needs it, and the sender of
// the Read reports the problem.
func readState(raw json.RawMessage) *State {
	if !isSet(raw) || raw[0] != '{' {
		return nil
	}
	var s State
	if json.Unmarshal(raw, &s) != nil || isSet(s.Properties) && s.Properties[0] != '{' {
		return nil
	}
	if !isSet(s.Properties) {
		s.Properties = nil
	}
	return &s
}
