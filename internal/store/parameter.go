package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrExists is the error of [Store.PutParameter] for an existing parameter that may not be overwritten, and of
// [Store.PutEntry] for an existing entry.
var ErrExists = errors.New("it exists already")

// ParameterType is the type of a parameter in the parameter store. The set is closed.
type ParameterType string

// The types.
const (
	ParameterString ParameterType = "String"
	// ParameterList is a list of texts, separated by commas.
	ParameterList ParameterType = "StringList"
	// ParameterSecure is a secret.
	ParameterSecure ParameterType = "SecureString"
)

// ParameterVersions is the number of versions of a parameter that are kept, newest first. Source: Systems Manager,
// quotas.
const ParameterVersions = 100

// ParameterKey identifies a parameter of the parameter store.
type ParameterKey struct {
	Account string
	Region  string
	// Name has no spaces and no control characters.
	Name string
}

// Row returns the key as one unique text, which is the key of the parameter in a database.
func (k ParameterKey) Row() string { return k.Account + " " + k.Region + " " + k.Name }

// RowOf returns the database key of a version of the parameter. These keys sort in the order of the versions.
func (k ParameterKey) RowOf(version int64) string { return fmt.Sprintf("%s %012d", k.Row(), version) }

// check rejects keys whose rows could equal those of other keys.
func (k ParameterKey) check() error {
	if k.Account == "" || k.Region == "" || k.Name == "" || strings.ContainsFunc(k.Row(), func(r rune) bool { return r < ' ' }) ||
		strings.Count(k.Row(), " ") != 2 {
		return fmt.Errorf("%q in %s, %s is not a parameter name", k.Name, k.Account, k.Region)
	}
	return nil
}

// Parameter is one version of a parameter.
type Parameter struct {
	ParameterKey `json:"-"`
	// Version counts from 1.
	Version int64         `json:"-"`
	Type    ParameterType `json:"type"`
	// Value may be secret: a database seals all of it.
	Value       string    `json:"value"`
	Description string    `json:"description,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	Modified    time.Time `json:"modified"`
}

// Check returns an error if a store may not keep the row.
func (p *Parameter) Check() error {
	switch p.Type {
	case ParameterString, ParameterList, ParameterSecure:
		return p.check()
	}
	return fmt.Errorf("parameter %s has the type %q", p.Name, p.Type)
}

// SealParameter returns a version of a parameter as a database keeps it, without its key and number.
func (c Codec) SealParameter(p *Parameter) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode parameter %s: %w", p.Name, err)
	}
	return c.SealDefinition(text)
}

// ScanParameter reads a parameter from a row of its version and the result of [Codec.SealParameter].
func (c Codec) ScanParameter(key ParameterKey, scan func(into ...any) error) (p Parameter, err error) {
	var version int64
	var body []byte
	if err := scan(&version, &body); err != nil {
		return p, err
	}
	text, err := c.OpenDefinition(body)
	if err != nil {
		return p, fmt.Errorf("parameter %s: %w", key.Name, err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("decode parameter %s: %w", key.Name, err)
	}
	p.ParameterKey, p.Version = key, version
	return p, nil
}
