package cdkprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

// function makes a [Function] from f. It returns nil for nil.
func (f EventFunc) function() Function {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, event []byte) ([]byte, error) {
		dec := json.NewDecoder(bytes.NewReader(event))
		dec.UseNumber()
		var decoded map[string]any
		if err := dec.Decode(&decoded); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		result, err := f(ctx, decoded)
		if err != nil || result == nil {
			return nil, err
		}
		encoded, err := encodeResult(result)
		if err != nil {
			made := &unencodableError{err: err}
			made.id, _ = result["PhysicalResourceId"].(string)
			return nil, made
		}
		return encoded, nil
	}
}

// unencodableError is the error of a function that ran but whose result cannot be encoded. Whatever the function made
// exists.
type unencodableError struct {
	err error
	id  string // PhysicalResourceId in the result; may be empty
}

func (e *unencodableError) Error() string { return "the result cannot be encoded: " + e.err.Error() }

func (e *unencodableError) Unwrap() error { return e.err }

// encodeResult encodes a result with its secrets in clear text. Secrets in Data make it NoEcho.
func encodeResult(result map[string]any) (json.RawMessage, error) {
	_, secrets, err := clearjson.Marshal[pintle.Secret](result["Data"])
	if err != nil {
		return nil, err
	}
	if len(secrets) > 0 {
		result = maps.Clone(result)
		result["NoEcho"] = true
	}
	encoded, _, err := clearjson.Marshal[pintle.Secret](result)
	return encoded, err
}
