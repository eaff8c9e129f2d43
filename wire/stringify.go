package wire

import (
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Stringify returns a JSON value with every number and boolean in it turned into a string, at every depth: 10000000
// becomes "10000000", true becomes "true". Keys keep their order. CloudFormation sends properties to a provider in this
// form. Text that is not JSON, or nests deeper than 64 levels, is an error.
func Stringify(raw json.RawMessage) (json.RawMessage, error) {
	v, err := value.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	return v.Stringified().JSON(), nil
}
