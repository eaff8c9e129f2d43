package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrChanged is what [Store.PutEntry] and [Store.DropEntry] return for an entry that is not at the version they were given.
var ErrChanged = errors.New("it was changed meanwhile")

// EntryKey identifies an entry.
type EntryKey struct {
	Account string
	Region  string
	// Kind is a word.
	Kind string
	// Name has no control characters.
	Name string
}

// Row returns the key as one text, in which no two are alike: what databases know the entry by. They sort by their names
// among those of one account, region and kind.
func (k EntryKey) Row() string {
	return k.Account + " " + k.Region + " " + k.Kind + " " + k.Name
}

// Bounds returns texts between which are the rows of all entries of the key's account, region and kind whose names come after
// the key's, which may be empty.
func (k EntryKey) Bounds() (after, before string) {
	return k.Row(), k.Account + " " + k.Region + " " + k.Kind + "!" // which follows the blank
}

// check refuses keys whose rows could be those of others.
func (k EntryKey) check() error {
	if k.Account == "" || k.Region == "" || k.Kind == "" || k.Name == "" || strings.Contains(k.Account+k.Region+k.Kind, " ") ||
		strings.ContainsFunc(k.Row(), func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("%q in %s, %s is no name of a %s", k.Name, k.Account, k.Region, k.Kind)
	}
	return nil
}

// Entry is a row of a resource outside the stacks, such as a function or a topic. Package registry defines what is in it.
type Entry struct {
	EntryKey
	// Version counts from 1, and again when an entry is made again.
	Version int64
	// Holder is who has made it.
	Holder string
	// Definition is what it is, JSON. It may hold secrets: a database keeps all of it sealed.
	Definition json.RawMessage
}

// Check returns an error if the row is not one that a store may keep.
func (e *Entry) Check() error {
	if !json.Valid(e.Definition) {
		return fmt.Errorf("the definition of %s %s is not JSON", e.Kind, e.Name)
	}
	return e.check()
}

// heldEntry is what is sealed of an entry.
type heldEntry struct {
	Holder     string          `json:"holder,omitempty"`
	Definition json.RawMessage `json:"definition"`
}

// SealEntry returns an entry as a database keeps it, but for its key and version.
func (c Codec) SealEntry(e *Entry) ([]byte, error) {
	text, err := json.Marshal(heldEntry{e.Holder, e.Definition})
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", e.Kind, e.Name, err)
	}
	return c.SealDefinition(text)
}

// ScanEntry reads an entry from a row of its key as [EntryKey.Row], its version and what [Codec.SealEntry] returned.
func (c Codec) ScanEntry(scan func(into ...any) error) (e Entry, err error) {
	var row string
	var body []byte
	if err := scan(&row, &e.Version, &body); err != nil {
		return e, err
	}
	parts := strings.SplitN(row, " ", 4)
	if len(parts) != 4 {
		return e, fmt.Errorf("there is an entry %q", row)
	}
	e.EntryKey = EntryKey{Account: parts[0], Region: parts[1], Kind: parts[2], Name: parts[3]}
	text, err := c.OpenDefinition(body)
	if err != nil {
		return e, fmt.Errorf("%s %s: %w", e.Kind, e.Name, err)
	}
	var held heldEntry
	if err := json.Unmarshal(text, &held); err != nil {
		return e, fmt.Errorf("decode %s %s: %w", e.Kind, e.Name, err)
	}
	e.Holder, e.Definition = held.Holder, held.Definition
	return e, nil
}
