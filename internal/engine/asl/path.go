package asl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// path is a reference path: "$", followed by names of members. The nil path is JSON's null. Reading from it returns
// an empty object, and writing to it discards the value.
type path []string

// reference is the syntax of supported paths.
var reference = regexp.MustCompile(`^\$(?:\.[A-Za-z_][A-Za-z0-9_-]*)*$`)

// maxDepth is the maximum number of names in a path.
const maxDepth = 32

// readPath reads a path from a field of a state. A missing field means "$".
func readPath(text json.RawMessage) (path, error) {
	if text == nil {
		return path{}, nil
	}
	var s *string
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, errors.New("is not a path")
	}
	if s == nil {
		return nil, nil
	}
	if !reference.MatchString(*s) || strings.Count(*s, ".") > maxDepth {
		return nil, fmt.Errorf("%.80q is not supported: paths are $ or, of members of objects, such as $.Detail.Name", *s)
	}
	return append(path{}, strings.Split(*s, ".")[1:]...), nil
}

// String returns the path as it is written.
func (p path) String() string { return strings.Join(append([]string{"$"}, p...), ".") }

// get returns the value at the path.
func (p path) get(data json.RawMessage) (json.RawMessage, error) {
	if p == nil {
		return json.RawMessage("{}"), nil
	}
	for _, name := range p {
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil || object[name] == nil {
			return nil, fmt.Errorf("Invalid path '%s': there is no %q in the state's data.", p, name) //nolint:staticcheck // a Cause is a sentence
		}
		data = object[name]
	}
	return data, nil
}

// put returns data with a value at the path.
func (p path) put(data, v json.RawMessage) (json.RawMessage, error) {
	switch {
	case p == nil:
		return data, nil
	case len(p) == 0:
		return v, nil
	}
	object := map[string]json.RawMessage{}
	if data != nil && (json.Unmarshal(data, &object) != nil || object == nil) {
		return nil, fmt.Errorf("Unable to apply ReferencePath %s: what is there is no object.", p) //nolint:staticcheck // a Cause is a sentence
	}
	inner, err := p[1:].put(object[p[0]], v)
	if err != nil {
		return nil, err
	}
	object[p[0]] = inner
	return encode(object)
}

// encode is json.Marshal without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
