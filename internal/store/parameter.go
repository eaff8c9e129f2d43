package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrExists is what [Store.PutParameter] returns for a parameter that is there and may not be overwritten, and [Store.PutEntry]
// for an entry that is not new.
var ErrExists = errors.New("it exists already")

// ParameterType is what kind of text a parameter of the parameter store is. The set is closed.
type ParameterType string

// The types.
const (
	ParameterString ParameterType = "String"
	// ParameterList is a list of texts, separated by commas.
	ParameterList ParameterType = "StringList"
	// ParameterSecure is a secret.
	ParameterSecure ParameterType = "SecureString"
)

// ParameterVersions is how many versions of a parameter are kept, the newest ones. Source: Systems Manager, quotas.
const ParameterVersions = 100

// ParameterKey identifies a parameter of the parameter store.
type ParameterKey struct {
	Account string
	Region  string
	// Name has no blanks and no control characters.
	Name string
}

// Row returns the key as one text, in which no two are alike: what databases know the parameter by.
func (k ParameterKey) Row() string { return k.Account + " " + k.Region + " " + k.Name }

// RowOf returns the text by which databases know a version of the parameter. They sort as their versions do.
func (k ParameterKey) RowOf(version int64) string { return fmt.Sprintf("%s %012d", k.Row(), version) }

// check refuses keys whose rows could be those of others.
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
	// Value may be secret: a database keeps all of it sealed.
	Value       string    `json:"value"`
	Description string    `json:"description,omitempty"`
	Pattern     string    `json:"pattern,omitempty"`
	Modified    time.Time `json:"modified"`
}

// Check returns an error if the row is not one that a store may keep.
func (p *Parameter) Check() error {
	switch p.Type {
	case ParameterString, ParameterList, ParameterSecure:
		return p.check()
	}
	return fmt.Errorf("parameter %s has the type %q", p.Name, p.Type)
}

// SealParameter returns a version of a parameter as a database keeps it, but for its key and number.
func (c Codec) SealParameter(p *Parameter) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode parameter %s: %w", p.Name, err)
	}
	return c.SealDefinition(text)
}

// ScanParameter reads a parameter from a row of its version and what [Codec.SealParameter] returned.
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
