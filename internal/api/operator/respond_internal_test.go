package operator

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// FuzzReadResponse checks that any input is either a valid response or a client error.
func FuzzReadResponse(f *testing.F) {
	for _, text := range []string{
		`{"status": "SUCCESS"}`, `{"status": "FAILED", "reason": "r", "data": {"a": [1]}, "noEcho": true}`, `{"status": 1}`, `[]`,
		`{"status": "SUCCESS"}{}`, "", `null`, `{"status": "SUCCESS", "data": null}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := readResponse(strings.NewReader(text))
		if reported := (*Error)(nil); err != nil {
			if !errors.As(err, &reported) || reported.Status < 400 || reported.Status > 499 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if !in.Status.Valid() || len(in.Data) > 0 && !json.Valid(in.Data) || len(text) > MaxResponse {
			t.Errorf("%q was read as %+v", text, in)
		}
	})
}
