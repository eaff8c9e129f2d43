package wire

import (
	"encoding/json"
	"fmt"
)

// stateField is the member of a response that has the state.
const stateField = "PintleState"

// State is what a provider answers to a [Read]: the present state of the resource. It is an extension of Pintle. The member
// PintleState of a response holds it, as a JSON object.
type State struct {
	// Gone reports that the resource does not exist any more. Then there are no properties.
	Gone bool `json:"gone,omitempty"`
	// Properties is a JSON object of the present properties, in the form in which a template declares them. One that the
	// provider cannot read is left out; null is one that is not set. It is nil if there are none.
	Properties json.RawMessage `json:"properties,omitempty"`
	// Secret has the names of the properties whose values must not be shown.
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

// readState reads a state. A member of another form counts as missing: only the answer to a Read needs it, and its
// sender reports it.
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
