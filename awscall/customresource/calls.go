package customresource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle"
)

// marker is replaced by the physical ID in parameters.
const marker = "PHYSICAL:RESOURCEID:"

// calls are the properties of a resource.
type calls struct {
	byType map[pintle.RequestType]*call
}

// call is the call for one request type.
type call struct {
	Service, Action string
	Parameters      any // a JSON object, or nil
	ID              *string
	ResponsePath    string
	Ignore          *regexp.Regexp
	Region          string
	AssumedRoleARN  string
	ExternalID      string
	APIVersion      string
	OutputPaths     []string // nil: all
	logData         bool
}

// parse reads the properties. Its errors name the property and never quote parameters.
func parse(properties json.RawMessage) (*calls, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(properties, &raw); err != nil {
		return nil, errors.New("the properties are not a JSON object")
	}
	c := &calls{byType: map[pintle.RequestType]*call{}}
	for _, t := range []pintle.RequestType{pintle.Create, pintle.Update, pintle.Delete} {
		value := bytes.TrimSpace(raw[string(t)])
		if len(value) == 0 || string(value) == "null" {
			continue
		}
		var inside string
		if value[0] == '"' {
			if err := json.Unmarshal(value, &inside); err != nil {
				return nil, fmt.Errorf("%s: it is not a text", t)
			}
			if strings.TrimSpace(inside) == "" {
				continue
			}
			value = []byte(inside)
		}
		parsed, err := parseCall(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		c.byType[t] = parsed
	}
	return c, nil
}

func parseCall(value []byte) (*call, error) {
	var raw struct {
		Service, Action          *string
		Parameters               any
		PhysicalResourceID       *struct{ ID, ResponsePath any } `json:"physicalResourceId"`
		IgnoreErrorCodesMatching string                          `json:"ignoreErrorCodesMatching"`
		Region                   string                          `json:"region"`
		AssumedRoleARN           string                          `json:"assumedRoleArn"`
		ExternalID               string                          `json:"externalId"`
		APIVersion               string                          `json:"apiVersion"`
		OutputPath               string                          `json:"outputPath"`
		OutputPaths              []string                        `json:"outputPaths"`
		LogAPIResponseData       any                             `json:"logApiResponseData"`
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) && mistyped.Field != "" {
			return nil, fmt.Errorf("%s cannot be a JSON %s", mistyped.Field, strings.Fields(mistyped.Value + " value")[0])
		}
		return nil, errors.New("it is not a JSON object of a call, nor the text of one")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON object of the call")
	}
	if raw.Service == nil || raw.Action == nil || *raw.Service == "" || *raw.Action == "" {
		return nil, errors.New("a call needs service and action")
	}
	c := &call{Service: *raw.Service, Action: *raw.Action, Parameters: raw.Parameters, Region: raw.Region, AssumedRoleARN: raw.AssumedRoleARN,
		ExternalID: raw.ExternalID, APIVersion: raw.APIVersion, OutputPaths: raw.OutputPaths}
	if _, isObject := raw.Parameters.(map[string]any); !isObject && raw.Parameters != nil {
		return nil, errors.New("parameters has to be an object")
	}
	if raw.OutputPath != "" {
		c.OutputPaths = []string{raw.OutputPath} // the older option wins
	}
	c.logData = raw.LogAPIResponseData != false && raw.LogAPIResponseData != "false"
	if p := raw.PhysicalResourceID; p != nil {
		if id, ok := text(p.ID); ok {
			c.ID = &id
		}
		c.ResponsePath, _ = text(p.ResponsePath)
	}
	if c.ExternalID != "" && c.AssumedRoleARN == "" {
		return nil, errors.New("ExternalId can only be provided when assumedRoleArn is specified")
	}
	return c, c.ignore(raw.IgnoreErrorCodesMatching)
}

// maxPattern limits the length of a regular expression, because a longer one needs much memory to compile.
const maxPattern = 1000

func (c *call) ignore(pattern string) error {
	if pattern == "" {
		return nil
	}
	if c.ResponsePath != "" {
		return errors.New("physicalResourceId.responsePath cannot be used with ignoreErrorCodesMatching: an error that is ignored has no response")
	}
	if len(pattern) > maxPattern {
		return fmt.Errorf("ignoreErrorCodesMatching is longer than %d bytes", maxPattern)
	}
	var err error
	if c.Ignore, err = regexp.Compile(pattern); err != nil {
		return fmt.Errorf("ignoreErrorCodesMatching is not a supported regular expression (without look-arounds and back references): %w", err)
	}
	return nil
}

// of returns the call for a request, or nil.
func (c *calls) of(t pintle.RequestType) *call {
	if own := c.byType[t]; own != nil || t != pintle.Create {
		return own
	}
	return c.byType[pintle.Update]
}

// id returns the physical ID before the call.
func (c *calls) id(r *pintle.Request) string {
	if r.Type != pintle.Create {
		if own := c.byType[r.Type]; own != nil && own.ID != nil {
			return *own.ID
		}
		return string(r.ID)
	}
	for _, t := range []pintle.RequestType{pintle.Create, pintle.Update, pintle.Delete} {
		if own := c.byType[t]; own != nil && own.ID != nil {
			return *own.ID
		}
	}
	return string(r.LogicalID)
}

// refer returns a copy of v with the marker replaced by the physical ID.
func refer(v any, id string) any {
	switch v := v.(type) {
	case string:
		if v == marker {
			return id
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = refer(item, id)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = refer(item, id)
		}
		return out
	}
	return v
}

func (c *call) logged() bool { return c.logData }

// ignores reports whether an error counts as success.
func (c *call) ignores(err error) bool {
	name := errorName(err)
	return c.Ignore != nil && name != "" && c.Ignore.MatchString(name)
}

// complete adds the attributes region and apiVersion to a response.
func (c *call) complete(flat map[string]any, region string) map[string]any {
	all := map[string]any{"region": region}
	if c.APIVersion != "" {
		all["apiVersion"] = c.APIVersion
	}
	for name, v := range flat {
		all[name] = v // a region in the response wins, as in the CDK
	}
	return all
}

// chosen returns the attributes that begin with one of the paths.
func (c *call) chosen(all map[string]any) map[string]any {
	if c.OutputPaths == nil {
		return all
	}
	out := map[string]any{}
	for name, v := range all {
		for _, path := range c.OutputPaths {
			if strings.HasPrefix(name, path) {
				out[name] = v
				break
			}
		}
	}
	return out
}
