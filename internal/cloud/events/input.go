package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// event is the event that targets get, with its rule and time for input transformers.
type event struct {
	rule registry.Rule
	time time.Time
	body map[string]any
}

// scheduled returns the event of a scheduled rule.
func scheduled(rule registry.Rule, now time.Time) event {
	return event{rule, now, map[string]any{
		"version": "0", "id": uuid.NewString(), "detail-type": "Scheduled Event", "source": "aws.events", "account": rule.Place.Account,
		"time": now.UTC().Format(time.RFC3339), "region": rule.Place.Region, "resources": []any{ARN(rule.Place, rule.Name)}, "detail": map[string]any{},
	}}
}

// input returns the input of a target for an event.
func input(t registry.Target, e event) ([]byte, error) {
	switch {
	case t.Input != nil:
		return []byte(*t.Input), nil
	case t.InputPath != "":
		path, err := parsePath(t.InputPath)
		if err != nil {
			return nil, err
		}
		found, ok := path.find(e.body)
		if !ok {
			return []byte("{}"), nil
		}
		return encode(found)
	case t.Transformer != nil:
		return transform(*t.Transformer, e)
	}
	return encode(e.body)
}

// encode returns JSON without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// path is a JSON path: names and indexes.
type path []any

var pathStep = regexp.MustCompile(`^(?:\.([A-Za-z0-9_-]+)|\[(\d{1,9})\]|\['([^']+)'\]|\["([^"]+)"\])`)

const maxPath = 256

// parsePath parses $, $.detail.list[0] and $.detail['a name'].
func parsePath(text string) (path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok || len(text) > maxPath {
		return nil, errors.New("a JSON path begins with $ and has 256 characters at most")
	}
	var p path
	for rest != "" {
		m := pathStep.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%q is not a step of a JSON path", rest)
		}
		rest = rest[len(m[0]):]
		if m[2] != "" {
			n, err := strconv.Atoi(m[2])
			if err != nil {
				return nil, err
			}
			p = append(p, n)
			continue
		}
		p = append(p, m[1]+m[3]+m[4])
	}
	return p, nil
}

// find returns the value at a path.
func (p path) find(v any) (any, bool) {
	for _, step := range p {
		switch step := step.(type) {
		case string:
			object, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = object[step]; !ok {
				return nil, false
			}
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				return nil, false
			}
			v = list[step]
		}
	}
	return v, true
}

const (
	maxPaths    = 100
	maxVariable = 256
)

var variable = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func checkTransformer(id string, t *registry.Transformer, longest int) error {
	if t == nil {
		return nil
	}
	switch {
	case t.Template == "":
		return invalid("Parameter InputTemplate of target %s must be specified.", id)
	case len(t.Template) > longest:
		return invalid("The InputTemplate of target %s has more than %d bytes.", id, longest)
	case len(t.Paths) > maxPaths:
		return invalid("The InputPathsMap of target %s has more than %d entries.", id, maxPaths)
	}
	for name, text := range t.Paths {
		if !variable.MatchString(name) || len(name) > maxVariable || strings.HasPrefix(strings.ToLower(name), "aws") {
			return invalid("Invalid InputPathsMap for target %s: %.64q is not a name of a variable.", id, name)
		}
		if _, err := parsePath(text); err != nil {
			return invalid("Invalid InputPathsMap for target %s: %s.", id, err)
		}
	}
	for name := range variables(t.Template) {
		if _, known := t.Paths[name]; !known && !strings.HasPrefix(name, "aws.events.") {
			return invalid("Invalid InputTemplate for target %s : Placeholder [%s] is not in InputPathsMap.", id, name)
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`<([A-Za-z0-9_.-]+)>`)

// variables returns the names between < and > in a template.
func variables(template string) map[string]bool {
	names := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		names[m[1]] = true
	}
	return names
}

// transform fills in a template. A variable inside a JSON string is inserted as text, any other as JSON. A variable
// whose path matches no value becomes an empty text, or null. If the result is not JSON, it is sent as one string.
func transform(t registry.Transformer, e event) ([]byte, error) {
	values := map[string]any{
		"aws.events.rule-arn": ARN(e.rule.Place, e.rule.Name), "aws.events.rule-name": e.rule.Name,
		"aws.events.event.ingestion-time": e.time.UTC().Format("2006-01-02T15:04:05.000Z"), "aws.events.event": e.body,
	}
	whole, err := encode(e.body)
	if err != nil {
		return nil, err
	}
	values["aws.events.event.json"] = string(whole)
	for name, text := range t.Paths {
		p, err := parsePath(text)
		if err != nil {
			return nil, err
		}
		if v, ok := p.find(e.body); ok {
			values[name] = v
		}
	}
	var out bytes.Buffer
	quoted := false
	for rest := t.Template; rest != ""; {
		if loc := placeholder.FindStringSubmatchIndex(rest); loc != nil && loc[0] == 0 {
			text, err := filled(values[rest[loc[2]:loc[3]]], quoted)
			if err != nil {
				return nil, err
			}
			out.Write(text)
			rest = rest[loc[1]:]
			continue
		}
		switch {
		case rest[0] == '"':
			quoted = !quoted
		case quoted && rest[0] == '\\' && len(rest) > 1:
			out.WriteByte(rest[0])
			rest = rest[1:]
		}
		out.WriteByte(rest[0])
		rest = rest[1:]
	}
	if out.Len() > MaxInput {
		return nil, fmt.Errorf("the result of the InputTemplate has more than %d bytes", MaxInput)
	}
	if json.Valid(out.Bytes()) {
		return out.Bytes(), nil
	}
	return encode(out.String())
}

// filled returns the JSON of a value, or its text for use inside a string.
func filled(v any, quoted bool) ([]byte, error) {
	if !quoted {
		return encode(v)
	}
	if v == nil {
		return nil, nil
	}
	text, ok := v.(string)
	if !ok {
		whole, err := encode(v)
		if err != nil {
			return nil, err
		}
		text = string(whole)
	}
	inner, err := encode(text)
	if err != nil {
		return nil, err
	}
	return inner[1 : len(inner)-1], nil
}
