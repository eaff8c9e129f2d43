// Package model reads descriptions of AWS services in botocore's format, complete or trimmed to the parts that calls
// need.
//
// It reads both the compiled [Bundle] and user directories ([Overlay]). The bundle is botocore's files without
// documentation, enumerations and limits.
package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Service describes the operations of one service. It is immutable, so it may be shared.
type Service struct {
	Metadata   Metadata              `json:"metadata"`
	Operations map[string]*Operation `json:"operations"`
	Shapes     map[string]*Shape     `json:"shapes"`
}

// Metadata applies to every operation of a service.
type Metadata struct {
	APIVersion         string     `json:"apiVersion,omitempty"`
	EndpointPrefix     string     `json:"endpointPrefix,omitempty"`
	JSONVersion        string     `json:"jsonVersion,omitempty"`
	Protocol           string     `json:"protocol,omitempty"`
	Protocols          []string   `json:"protocols,omitempty"`
	ServiceID          string     `json:"serviceId,omitempty"`
	SignatureVersion   string     `json:"signatureVersion,omitempty"`
	SigningName        string     `json:"signingName,omitempty"`
	TargetPrefix       string     `json:"targetPrefix,omitempty"`
	ChecksumFormat     string     `json:"checksumFormat,omitempty"`
	AWSQueryCompatible *struct{}  `json:"awsQueryCompatible,omitempty"`
	Auth               []string   `json:"auth,omitempty"`
	XMLNamespace       *Namespace `json:"xmlNamespace,omitempty"`
}

// Operation describes one operation.
type Operation struct {
	Name                 string                 `json:"name,omitempty"`
	HTTP                 HTTP                   `json:"http"`
	Input                *Reference             `json:"input,omitempty"`
	Output               *Reference             `json:"output,omitempty"`
	AuthType             string                 `json:"authtype,omitempty"`
	Auth                 []string               `json:"auth,omitempty"`
	UnsignedPayload      bool                   `json:"unsignedPayload,omitempty"`
	Endpoint             *HostPrefix            `json:"endpoint,omitempty"`
	Discovery            *Discovery             `json:"endpointdiscovery,omitempty"`
	StaticContextParams  map[string]StaticParam `json:"staticContextParams,omitempty"`
	HTTPChecksum         *HTTPChecksum          `json:"httpChecksum,omitempty"`
	HTTPChecksumRequired bool                   `json:"httpChecksumRequired,omitempty"`
}

// HTTP is the method and the URI of an operation.
type HTTP struct {
	Method     string `json:"method"`
	RequestURI string `json:"requestUri"`
}

// HostPrefix is a prefix for the host of the endpoint.
type HostPrefix struct {
	HostPrefix string `json:"hostPrefix,omitempty"`
}

// Discovery indicates that an operation asks the service for its endpoint.
type Discovery struct {
	Required bool `json:"required,omitempty"`
}

// StaticParam is a parameter of the endpoint rules that an operation sets: a string, a bool or a list.
type StaticParam struct {
	Value any `json:"value"`
}

// HTTPChecksum describes the body checksum of an operation.
type HTTPChecksum struct {
	RequestAlgorithmMember  string `json:"requestAlgorithmMember,omitempty"`
	RequestChecksumRequired bool   `json:"requestChecksumRequired,omitempty"`
}

// Namespace is an XML namespace. botocore writes it as an object or as the URI alone.
type Namespace struct {
	URI    string `json:"uri,omitempty"`
	Prefix string `json:"prefix,omitempty"`
}

// UnmarshalJSON reads either form.
func (n *Namespace) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &n.URI)
	}
	type plain Namespace
	return json.Unmarshal(text, (*plain)(n))
}

// Reference is a use of a shape as a member, an element, an input or an output, with the traits of this use.
type Reference struct {
	Shape            string        `json:"shape"`
	Location         string        `json:"location,omitempty"`
	LocationName     string        `json:"locationName,omitempty"`
	QueryName        string        `json:"queryName,omitempty"`
	XMLNamespace     *Namespace    `json:"xmlNamespace,omitempty"`
	XMLAttribute     bool          `json:"xmlAttribute,omitempty"`
	Flattened        bool          `json:"flattened,omitempty"`
	Streaming        bool          `json:"streaming,omitempty"`
	JSONValue        bool          `json:"jsonvalue,omitempty"`
	HostLabel        bool          `json:"hostLabel,omitempty"`
	IdempotencyToken bool          `json:"idempotencyToken,omitempty"`
	ContextParam     *ContextParam `json:"contextParam,omitempty"`
	TimestampFormat  string        `json:"timestampFormat,omitempty"`
	ResultWrapper    string        `json:"resultWrapper,omitempty"`
}

// ContextParam is the name of the endpoint rule parameter that a member sets.
type ContextParam struct {
	Name string `json:"name"`
}

// Shape is a type.
type Shape struct {
	Type            string     `json:"type"`
	Members         Members    `json:"members,omitempty"`
	Member          *Reference `json:"member,omitempty"` // of a list
	Key             *Reference `json:"key,omitempty"`    // of a map, like Value
	Value           *Reference `json:"value,omitempty"`
	Payload         string     `json:"payload,omitempty"`
	LocationName    string     `json:"locationName,omitempty"`
	XMLNamespace    *Namespace `json:"xmlNamespace,omitempty"`
	TimestampFormat string     `json:"timestampFormat,omitempty"`
	Flattened       bool       `json:"flattened,omitempty"`
	Streaming       bool       `json:"streaming,omitempty"`
	Sparse          bool       `json:"sparse,omitempty"`
	Union           bool       `json:"union,omitempty"`
	Document        bool       `json:"document,omitempty"`
	EventStream     bool       `json:"eventstream,omitempty"`
	Exception       bool       `json:"exception,omitempty"`
	Error           *Error     `json:"error,omitempty"`
}

// Error is the wire format of an exception.
type Error struct {
	Code string `json:"code,omitempty"`
}

// Member is a named member of a structure.
type Member struct {
	Name string
	Reference
}

// Members are the members of a structure in the order of the model, which some XML services require.
type Members []Member

// UnmarshalJSON reads an object and keeps its order.
func (m *Members) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errors.New("members are not an object"), err)
	}
	*m = Members{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		member := Member{Name: name.(string)} // a key is always text
		if err := d.Decode(&member.Reference); err != nil {
			return fmt.Errorf("member %s: %w", member.Name, err)
		}
		*m = append(*m, member)
	}
	return nil
}

// MarshalJSON writes an object in the same order.
func (m Members) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, member := range m {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(member.Name)
		if err != nil {
			return nil, err
		}
		ref, err := json.Marshal(member.Reference)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), ref...)
	}
	return append(out, '}'), nil
}

// Parse parses a description and checks that every shape it refers to exists, so callers need not check this again.
func Parse(text []byte) (*Service, error) {
	var s Service
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

var types = map[string]bool{"structure": true, "list": true, "map": true, "string": true, "character": true, "blob": true,
	"boolean": true, "integer": true, "long": true, "short": true, "byte": true, "float": true, "double": true, "timestamp": true,
	"bigdecimal": true, "biginteger": true}

func (s *Service) check() error {
	if s.Metadata.ServiceID == "" || s.Metadata.Protocol == "" {
		return errors.New("the metadata has no serviceId or no protocol")
	}
	known := func(where string, r *Reference) error {
		if r == nil {
			return fmt.Errorf("%s has no shape", where)
		}
		if s.Shapes[r.Shape] == nil {
			return fmt.Errorf("%s names the shape %q, which is not there", where, r.Shape)
		}
		return nil
	}
	for name, o := range s.Operations {
		if o == nil {
			return fmt.Errorf("operation %s is null", name)
		}
		for _, r := range []*Reference{o.Input, o.Output} {
			if r == nil {
				continue
			}
			if err := known("operation "+name, r); err != nil {
				return err
			}
			if s.Shapes[r.Shape].Type != "structure" {
				return fmt.Errorf("operation %s: %s is not a structure", name, r.Shape)
			}
		}
	}
	for name, shape := range s.Shapes {
		if shape == nil || !types[shape.Type] {
			return fmt.Errorf("shape %s has no type that is known", name)
		}
		var refs []*Reference
		for i := range shape.Members {
			refs = append(refs, &shape.Members[i].Reference)
		}
		if shape.Type == "list" || shape.Member != nil { // also check members that the type does not use
			refs = append(refs, shape.Member)
		}
		if shape.Type == "map" || shape.Key != nil || shape.Value != nil {
			refs = append(refs, shape.Key, shape.Value)
		}
		for _, r := range refs {
			if err := known("shape "+name, r); err != nil {
				return err
			}
		}
		if shape.Type == "map" && s.Shapes[shape.Key.Shape].Type != "string" {
			return fmt.Errorf("shape %s: the key is not a string", name)
		}
	}
	return nil
}
