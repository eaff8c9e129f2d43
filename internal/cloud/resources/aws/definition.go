package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// maxDefinition is the maximum length of a state machine definition in bytes. Source: Step Functions, quotas.
const maxDefinition = 1 << 20

// definition returns a state machine definition after substitution.
func (t machine) definition(ctx context.Context, c *resources.Call) (string, error) {
	given := 0
	for _, property := range []string{"Definition", "DefinitionString", "DefinitionS3Location"} {
		if !c.At(property).IsNull() {
			given++
		}
	}
	if given != 1 {
		return "", errDefinition
	}
	substitutions, err := c.TextMap("DefinitionSubstitutions")
	if err != nil {
		return "", err
	}
	var text string
	switch object := c.At("Definition"); {
	case object.Kind() == value.Map:
		text = string(substituted(object, substitutions).JSON())
	case !object.IsNull():
		text = substitute(object.Text(), substitutions)
	case !c.At("DefinitionString").IsNull():
		text = substitute(c.Text("DefinitionString"), substitutions)
	default:
		if text, err = t.stored(ctx, c); err != nil {
			return "", err
		}
		text = substitute(text, substitutions)
	}
	if len(text) > maxDefinition {
		return "", fmt.Errorf("the definition has %d bytes, more than the %d that Step Functions allows", len(text), maxDefinition)
	}
	return text, nil
}

// stored reads a definition from a bucket.
func (t machine) stored(ctx context.Context, c *resources.Call) (string, error) {
	bucket, key := c.Text("DefinitionS3Location", "Bucket"), c.Text("DefinitionS3Location", "Key")
	if t.Open == nil {
		return "", errors.New("DefinitionS3Location is not supported: pass the definition itself")
	}
	body, err := t.Open(ctx, c.Place.Account, bucket, key, c.Text("DefinitionS3Location", "Version"))
	if err != nil {
		return "", fmt.Errorf("read the definition s3://%s/%s: %w", bucket, key, err)
	}
	text, err := io.ReadAll(io.LimitReader(body, maxDefinition+1))
	if closeErr := body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return "", fmt.Errorf("read the definition s3://%s/%s: %w", bucket, key, err)
	}
	return string(text), nil
}

// substituted returns an object with all placeholders in its texts replaced.
func substituted(v value.Value, by map[string]string) value.Value {
	switch v.Kind() {
	case value.String:
		return value.Str(substitute(v.Text(), by))
	case value.List:
		items := make([]value.Value, 0, len(v.Items()))
		for _, item := range v.Items() {
			items = append(items, substituted(item, by))
		}
		return value.Items(items...)
	case value.Map:
		object := value.Object()
		for _, m := range v.Members() {
			object = object.With(substitute(m.Key, by), substituted(m.Value, by))
		}
		return object
	case value.Null, value.Bool, value.Number:
	}
	return v
}

// substitute replaces every known ${name} in one pass. It does not process inserted text again.
func substitute(text string, by map[string]string) string {
	if len(by) == 0 {
		return text
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(after, "}")
		if to, known := by[name]; closed && known {
			out.WriteString(to)
			text = rest
		} else {
			out.WriteString("${")
			text = after
		}
	}
}
